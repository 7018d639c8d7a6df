package contacts_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/testkit/pythontest"
)

// process is the provider in Python in a process of the machine's Python, with tests/process.py of the SDK in place of the engine. It asks the SDK
// in a second; typescript/test and python/test ask modules.
type process struct {
	t    testing.TB
	mu   sync.Mutex
	to   io.Writer
	from *bufio.Reader
}

// python returns the command that runs a file of the tests of the SDK in Python.
func python(t testing.TB, file string, args ...string) *exec.Cmd {
	program := pythontest.Find(t)
	root, err := filepath.Abs("../../guest-sdk/python")
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, append([]string{filepath.Join(root, "tests", file)}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+root+string(os.PathListSeparator)+"python")
	return cmd
}

// TestTheSDKInPython runs the SDK's own tests.
func TestTheSDKInPython(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Python again and again")
	}
	for _, file := range []string{"test_sdk.py", "test_component.py"} {
		out, err := python(t, file).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func openPython(t testing.TB) abi.Provider {
	cmd := python(t, "process.py", "provider")
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	require.NoError(t, err)
	from, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, to.Close())
		require.NoError(t, cmd.Wait())
	})
	return abi.ProviderOf((&process{t: t, to: to, from: bufio.NewReader(from)}).serve)
}

var hyphenated = regexp.MustCompile("-.")

// serve serves a call of the contract.
func (p *process) serve(ctx context.Context, c *abi.Call) error {
	if ctx.Err() != nil {
		return abi.AsError(ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sent, err := framed(reflect.ValueOf(c.Request))
	if err != nil {
		return abi.NewError(abi.ErrorKindInvalidArgument, "the request cannot be passed to the provider: "+err.Error())
	}
	method := hyphenated.ReplaceAllStringFunc(string(c.Method), func(s string) string { return strings.ToUpper(s[1:]) })
	line, err := json.Marshal(map[string]any{"method": method, "request": sent})
	require.NoError(p.t, err)
	_, err = p.to.Write(append(line, '\n'))
	require.NoError(p.t, err)
	var got struct {
		Call                  string
		Params, Answer, Error map[string]any
	}
	for {
		line, err = p.from.ReadBytes('\n')
		require.NoError(p.t, err, "to %s", method)
		got.Call = ""
		require.NoError(p.t, json.Unmarshal(line, &got))
		if got.Call == "" {
			break
		}
		line, err = json.Marshal(p.monitor(ctx, got.Call, got.Params))
		require.NoError(p.t, err)
		_, err = p.to.Write(append(line, '\n'))
		require.NoError(p.t, err)
	}
	if got.Error != nil {
		e := &abi.Error{}
		unframe(p.t, reflect.ValueOf(e).Elem(), got.Error)
		return e
	}
	unframe(p.t, reflect.ValueOf(c.Response).Elem(), got.Answer)
	return nil
}

// monitor has the monitor of the call serve the provider.
func (p *process) monitor(ctx context.Context, function string, params map[string]any) map[string]any {
	m := abi.MonitorFrom(ctx)
	var answer any = struct{}{}
	var err error
	switch function {
	case "monitorRegisterResource":
		var request abi.RegisterResourceRequest
		unframe(p.t, reflect.ValueOf(&request).Elem(), params)
		answer, err = m.RegisterResource(ctx, request)
	case "monitorRegisterOutputs":
		var request abi.RegisterOutputsRequest
		unframe(p.t, reflect.ValueOf(&request).Elem(), params)
		err = m.RegisterOutputs(ctx, request)
	case "monitorStart":
		var operation abi.Operation
		unframe(p.t, reflect.ValueOf(&operation).Elem(), params)
		answer, err = m.Start(ctx, operation)
	case "monitorWait":
		answer, err = m.Wait(ctx)
	default:
		p.t.Errorf("the provider calls %s", function)
	}
	name := "answer"
	if err != nil {
		name, answer = "error", abi.AsError(err)
	}
	sent, err := framed(reflect.ValueOf(answer))
	require.NoError(p.t, err)
	return map[string]any{name: sent}
}

// key returns the name that a field has in a module.
func key(field string) string {
	if strings.ToUpper(field) == field {
		return strings.ToLower(field)
	}
	field = initials.Replace(field)
	return strings.ToLower(field[:1]) + field[1:]
}

var initials = strings.NewReplacer("URN", "Urn", "ID", "Id")

// caseOf returns the field of a variant that counts, which is invalid where nothing is in it, and its name.
func caseOf(v reflect.Value) (reflect.Value, string) {
	name := v.FieldByName("Case").Interface().(fmt.Stringer).String()
	name = hyphenated.ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
	return v.FieldByNameFunc(func(field string) bool { return key(field) == name }), name
}

var features = []string{"secrets", "resourceReferences", "outputs", "autonaming", "preview", "writeOnly", "readFirst"}

// framed returns what JSON has for a value of the contract.
func framed(v reflect.Value) (any, error) {
	switch x := v.Interface().(type) {
	case property.Map:
		data, err := guestcbor.Marshal(x)
		return map[string]any{"cbor": base64.StdEncoding.EncodeToString(data)}, err
	case property.Value:
		data, err := guestcbor.Marshal(property.NewMap(property.Entry{Key: "one", Value: x}))
		return map[string]any{"one": base64.StdEncoding.EncodeToString(data)}, err
	case abi.Features:
		all := map[string]any{}
		for i, name := range features {
			all[name] = x>>i&1 == 1
		}
		return all, nil
	case []byte:
		return base64.StdEncoding.EncodeToString(x), nil
	case fmt.Stringer:
		if v.Kind() == reflect.Uint8 {
			return x.String(), nil
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return framed(v.Elem())
	case reflect.Struct:
		all := map[string]any{}
		if v.FieldByName("Case").IsValid() {
			field, name := caseOf(v)
			all["case"] = name
			if !field.IsValid() {
				return all, nil
			}
			one, err := framed(field)
			all["value"] = one
			return all, err
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() || f.Name == "Cause" {
				continue
			}
			one, err := framed(v.Field(i))
			if err != nil {
				return nil, err
			}
			all[key(v.Type().Field(i).Name)] = one
		}
		return all, nil
	case reflect.Slice:
		all := make([]any, v.Len())
		for i := range all {
			one, err := framed(v.Index(i))
			if err != nil {
				return nil, err
			}
			all[i] = one
		}
		return all, nil
	}
	return v.Interface(), nil
}

// unframe sets a value of the contract. What is missing is zero.
func unframe(t testing.TB, to reflect.Value, from any) {
	if from == nil {
		return
	}
	switch x := to.Addr().Interface().(type) {
	case *property.Map:
		data, err := base64.StdEncoding.DecodeString(from.(map[string]any)["cbor"].(string))
		require.NoError(t, err)
		*x, err = guestcbor.Unmarshal(data)
		require.NoError(t, err)
		return
	case *property.Value:
		data, err := base64.StdEncoding.DecodeString(from.(map[string]any)["one"].(string))
		require.NoError(t, err)
		m, err := guestcbor.Unmarshal(data)
		require.NoError(t, err)
		*x = m.Get("one")
		return
	case *abi.Features:
		for i, name := range features {
			if from.(map[string]any)[name] == true {
				*x |= 1 << i
			}
		}
		return
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		unframe(t, to.Elem(), from)
	case reflect.Struct:
		all := from.(map[string]any)
		if c := to.FieldByName("Case"); c.IsValid() {
			for i := range 8 {
				c.SetUint(uint64(i))
				if field, name := caseOf(to); name == all["case"] {
					unframe(t, field, all["value"])
					return
				}
			}
			t.Errorf("no such case: %v", all["case"])
			return
		}
		for i := range to.NumField() {
			if f := to.Type().Field(i); f.IsExported() && f.Name != "Cause" {
				unframe(t, to.Field(i), all[key(f.Name)])
			}
		}
	case reflect.Slice:
		all := from.([]any)
		to.Set(reflect.MakeSlice(to.Type(), len(all), len(all)))
		for i := range all {
			unframe(t, to.Index(i), all[i])
		}
	case reflect.Uint8: // an enumeration
		for i := range 32 {
			to.SetUint(uint64(i))
			if to.Interface().(fmt.Stringer).String() == from {
				return
			}
		}
		t.Errorf("no such case: %v", from)
	default:
		to.Set(reflect.ValueOf(from).Convert(to.Type()))
	}
}
