package pulumi

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// kinds are Husk's kinds of errors by Pulumi's codes. All others are internal: that a service refuses a credential, for example,
// is nothing that a grant would change.
var kinds = map[codes.Code]abi.ErrorKind{
	codes.InvalidArgument:  abi.ErrorKindInvalidArgument,
	codes.OutOfRange:       abi.ErrorKindInvalidArgument,
	codes.NotFound:         abi.ErrorKindNotFound,
	codes.Unimplemented:    abi.ErrorKindUnimplemented,
	codes.Unavailable:      abi.ErrorKindUnavailable,
	codes.Canceled:         abi.ErrorKindCancelled,
	codes.DeadlineExceeded: abi.ErrorKindCancelled,
}

// errorOf returns the error of a server as Husk has it, with its details.
func errorOf(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e
	}
	s, ok := status.FromError(err)
	if !ok {
		return abi.AsError(err)
	}
	// The message of a status that another error wraps has the words of gRPC in it.
	e := abi.NewError(abi.ErrorKindInternal, strings.ReplaceAll(s.Message(), "rpc error: code = "+s.Code().String()+" desc = ", ""))
	if kind, ok := kinds[s.Code()]; ok {
		e.Kind = kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Kind = abi.ErrorKindCancelled
	}
	for _, detail := range s.Details() {
		m, err := messageOf(detail)
		if err != nil {
			continue // a detail of a type that nobody knows says nothing
		}
		switch m.Descriptor().FullName() {
		case "pulumirpc.ErrorResourceInitFailed":
			e.Kind, e.InitFailure = abi.ErrorKindInitFailed, initFailureOf(m)
		case "pulumirpc.ConfigureErrorMissingKeys":
			e.Kind = abi.ErrorKindInvalidArgument
			for _, key := range m.messages("missingKeys") {
				e.MissingKeys = append(e.MissingKeys, abi.MissingKey{Name: key.text("name"), Description: key.text("description")})
			}
		case "pulumirpc.InputPropertiesError":
			e.Kind = abi.ErrorKindInvalidArgument
			explain(e, m.messages("errors"))
		case "pulumirpc.ErrorCause":
			if cause := m.text("message"); cause != "" && !strings.Contains(e.Message, cause) {
				e.Message = strings.TrimPrefix(e.Message+": "+cause, ": ")
			}
		}
	}
	return e
}

// explain adds the faults of properties. If there is only one, the error gets its path.
func explain(e *abi.Error, faults []message) {
	if len(faults) == 1 && isPath(faults[0].text("property_path")) {
		e.Path = faults[0].text("property_path")
		e.Message = strings.TrimPrefix(e.Message+": "+faults[0].text("reason"), ": ")
		return
	}
	for _, f := range faults {
		e.Message += "\n" + f.text("property_path") + ": " + f.text("reason")
	}
}

// initFailureOf returns the provider's report on an object that exists. Inputs that cannot be read whole are taken from the
// request.
func initFailureOf(m message) *abi.InitFailure {
	failure := &abi.InitFailure{ID: m.text("id"), Reasons: m.texts("reasons"), RefreshBeforeUpdate: m.bool("refresh_before_update")}
	var faults []fault
	failure.State, faults = m.readable("properties")
	inputs, err := m.optionalProperties("inputs")
	if err == nil {
		failure.Inputs = inputs
	} else {
		failure.Reasons = append(failure.Reasons, "the inputs that the provider sent with it could not be read: "+err.Error())
	}
	leaveOut(failure, faults)
	return failure
}

// leaveOut says in a failure what of the object's state could not be read.
func leaveOut(failure *abi.InitFailure, faults []fault) {
	for _, f := range faults {
		failure.Reasons = append(failure.Reasons, "the resource exists, but its state could not be read: "+f.Error())
		failure.RefreshBeforeUpdate = true
	}
}

// unread returns the error of an object that exists, and whose state could be read in part.
func unread(id string, state property.Map, refresh bool, faults []fault) error {
	e := abi.NewError(abi.ErrorKindInitFailed, "the resource exists, but the state that the provider answered could not be read whole")
	e.InitFailure = &abi.InitFailure{ID: id, State: state, RefreshBeforeUpdate: refresh}
	leaveOut(e.InitFailure, faults)
	return e
}

// isPath reports whether a text is a path to a property.
func isPath(text string) bool {
	_, err := property.ParsePath(text)
	return text != "" && err == nil
}

// pathOf returns a path as Husk has it: a text that is none is the name of a property.
func pathOf(text string) string {
	if text == "" || isPath(text) {
		return text
	}
	return property.Path{property.Key(text)}.String()
}

// statusOf returns an error of the engine as a server of the protocol answers it.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	e := abi.AsError(err)
	code := codes.Unknown
	for c, kind := range kinds {
		if kind == e.Kind && c != codes.OutOfRange && c != codes.DeadlineExceeded {
			code = c
		}
	}
	return status.Error(code, e.Error())
}
