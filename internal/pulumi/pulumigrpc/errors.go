package pulumigrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// codes are Pulumi's codes for Husk's kinds of errors. For all others it must take it that nobody knows whether the call had its
// effect.
var codes = map[abi.ErrorKind]connect.Code{
	abi.ErrorKindInvalidArgument: connect.CodeInvalidArgument,
	abi.ErrorKindNotFound:        connect.CodeNotFound,
	abi.ErrorKindUnimplemented:   connect.CodeUnimplemented,
	abi.ErrorKindUnavailable:     connect.CodeUnavailable,
	abi.ErrorKindCancelled:       connect.CodeCanceled,
	abi.ErrorKindDenied:          connect.CodePermissionDenied,
}

// kinds are Husk's kinds of errors for Pulumi's codes. All others are internal: that a service refuses a credential, for example,
// is nothing that a grant would change.
var kinds = map[connect.Code]abi.ErrorKind{
	connect.CodeInvalidArgument:  abi.ErrorKindInvalidArgument,
	connect.CodeOutOfRange:       abi.ErrorKindInvalidArgument,
	connect.CodeNotFound:         abi.ErrorKindNotFound,
	connect.CodeUnimplemented:    abi.ErrorKindUnimplemented,
	connect.CodeUnavailable:      abi.ErrorKindUnavailable,
	connect.CodeCanceled:         abi.ErrorKindCancelled,
	connect.CodeDeadlineExceeded: abi.ErrorKindCancelled,
}

// initFailed is the detail of an error about an object that exists.
const initFailed = "pulumirpc.ErrorResourceInitFailed"

// changing are the methods that change objects. Pulumi forgets what a failed call of them may have made, unless
// the code says that nobody knows.
var changing = map[string]bool{
	pathOf(ResourceProvider, "Create"): true, pathOf(ResourceProvider, "Update"): true, pathOf(ResourceProvider, "Delete"): true,
}

// codeOf returns the code of a method's error.
func codeOf(path string, e *abi.Error) connect.Code {
	code, ok := codes[e.Kind]
	switch {
	case !ok:
		return connect.CodeUnknown
	case changing[path] && (e.Kind == abi.ErrorKindUnavailable || e.Kind == abi.ErrorKindCancelled):
		return connect.CodeUnknown // the call was cut off, and may have had its effect
	}
	return code
}

// statusOf returns the error of a method as the protocol has it, with a partial state and missing keys as its details.
func statusOf(path string, err error) error {
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*connect.Error](err); ok {
		return status
	}
	e := abi.AsError(err)
	code := codeOf(path, e)
	status := connect.NewError(code, errors.New(e.Error()))
	add := func(m pulumiwire.Message) {
		if detail, err := connect.NewErrorDetail(m.Reflect.Interface()); err == nil {
			status.AddDetail(detail)
		}
	}
	if f := e.InitFailure; f != nil {
		m := NewMessage(initFailed)
		m.Set("id", f.ID)
		m.SetProperties("properties", f.State)
		if f.Inputs != nil {
			m.SetProperties("inputs", *f.Inputs)
		}
		reasons := f.Reasons
		if len(reasons) == 0 {
			reasons = []string{e.Message}
		}
		m.SetTexts("reasons", reasons)
		m.Set("refresh_before_update", f.RefreshBeforeUpdate)
		add(m)
	}
	if len(e.MissingKeys) > 0 {
		m := NewMessage("pulumirpc.ConfigureErrorMissingKeys")
		for _, key := range e.MissingKeys {
			missing := m.Add("missingKeys")
			missing.Set("name", key.Name)
			missing.Set("description", key.Description)
		}
		add(m)
	}
	return status
}

// ErrNoAnswer is the cause of an error of a call that the server did not answer, such as one that has ended.
var ErrNoAnswer = errors.New("the server did not answer")

// errorOf returns an error of a server as Husk has it, with its details.
func errorOf(err error) error {
	status, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return abi.AsError(err)
	}
	e := abi.NewError(abi.ErrorKindInternal, status.Message())
	if kind, ok := kinds[status.Code()]; ok {
		e.Kind = kind
	}
	if !connect.IsWireError(err) && e.Kind != abi.ErrorKindCancelled && e.Kind != abi.ErrorKindUnimplemented {
		e.Cause = ErrNoAnswer
		e.Kind = abi.ErrorKindUnavailable // no answer of the server, such as one that is too large: nobody knows what it has done
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Kind = abi.ErrorKindCancelled
	}
	for _, detail := range status.Details() {
		if err := explain(e, detail); err != nil {
			kind := abi.ErrorKindInternal
			if detail.Type() == initFailed {
				kind = abi.ErrorKindCrashed // there is an object, and nobody knows which
			}
			return abi.NewError(kind, fmt.Sprintf("%s\nWhat the provider sends with it cannot be read: %v", status.Message(), err))
		}
	}
	return e
}

// explain adds to an error what one of its details tells. A detail of a type that nobody knows says nothing.
func explain(e *abi.Error, detail *connect.ErrorDetail) error {
	read := func() (pulumiwire.Message, error) {
		m := NewMessage(protoreflect.FullName(detail.Type()))
		return m, proto.Unmarshal(detail.Bytes(), m.Reflect.Interface())
	}
	switch detail.Type() {
	case initFailed:
		m, err := read()
		if err != nil {
			return err
		}
		failure := &abi.InitFailure{ID: m.Text("id"), Reasons: m.Texts("reasons"), RefreshBeforeUpdate: m.Bool("refresh_before_update")}
		var faults []pulumiwire.Fault
		failure.State, faults = m.Readable("properties")
		pulumiwire.LeaveOut(failure, faults)
		if failure.Inputs, err = m.OptionalProperties("inputs"); err != nil {
			failure.Inputs = nil // the engine keeps the request's
			failure.Reasons = append(failure.Reasons, "the inputs that the provider sent with it could not be read: "+err.Error())
		}
		e.Kind, e.InitFailure = abi.ErrorKindInitFailed, failure
	case "pulumirpc.ConfigureErrorMissingKeys":
		m, err := read()
		if err != nil {
			return err
		}
		e.Kind = abi.ErrorKindInvalidArgument
		for _, key := range m.Messages("missingKeys") {
			e.MissingKeys = append(e.MissingKeys, abi.MissingKey{Name: key.Text("name"), Description: key.Text("description")})
		}
	case "pulumirpc.InputPropertiesError":
		m, err := read()
		if err != nil {
			return err
		}
		e.Kind = abi.ErrorKindInvalidArgument
		faults := m.Messages("errors")
		if len(faults) == 1 {
			if path := faults[0].Text("property_path"); path != "" {
				if _, err := property.ParsePath(path); err == nil {
					e.Path = path
					e.Message = strings.TrimPrefix(e.Message+": "+faults[0].Text("reason"), ": ")
					return nil
				}
			}
		}
		for _, f := range faults {
			e.Message += "\n" + f.Text("property_path") + ": " + f.Text("reason")
		}
	case "pulumirpc.ErrorCause":
		m, err := read()
		if err != nil {
			return err
		}
		if cause := m.Text("message"); cause != "" && !strings.Contains(e.Message, cause) {
			e.Message = strings.TrimPrefix(e.Message+": "+cause, ": ")
		}
	}
	return nil
}
