// Package program is the SDK for programs that are WebAssembly modules. A program declares the resources of a stack:
//
//	func main() {
//		program.Run(func(_ context.Context, s *program.Stack) error {
//			name := s.Resource(deploy.Declaration{
//				Type: "random:index/randomPet:RandomPet", Name: "name",
//				Inputs: deploy.Props{"length": 2},
//			})
//			s.Output("name", name.ID())
//			return nil
//		})
//	}
//
// A module sees nothing of the machine: no files, no variables, no network. It gets the configuration of the stack, and what
// providers return.
package program

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

// Func declares the resources of a stack, without waiting for any. Its error fails the deployment before anything is deleted.
type Func func(ctx context.Context, s *Stack) error

// Stack declares the resources of a stack, see [deploy.Deployment]. Those without another parent lie below the stack.
type Stack struct {
	*deploy.Deployment
	outputs deploy.Props
}

// Output sets an output of the stack. See [deploy.ValueOf] for the types.
func (s *Stack) Output(name string, value any) {
	if s.outputs == nil {
		s.outputs = deploy.Props{}
	}
	s.outputs[name] = value
}

// Config returns the value of a key of the stack's configuration: a text as it is, anything else as JSON. A key without a
// namespace is one of the project. ok is false if it has no value. The text of a secret is a plain text here: use [Stack.Secret]
// for what goes into resources.
func (s *Stack) Config(key string) (value string, ok bool) {
	e := s.entry(key)
	return e.Value, e.Key != ""
}

// Secret returns the value of a key as Config does, as a secret. It is null if the key has no value.
func (s *Stack) Secret(key string) deploy.Out[string] {
	e := s.entry(key)
	if e.Key == "" {
		return deploy.Out[string]{}
	}
	return deploy.Secret(deploy.Known(e.Value))
}

func (s *Stack) entry(key string) abi.ConfigEntry {
	run := s.Context()
	if !strings.Contains(key, ":") {
		key = run.Project + ":" + key
	}
	for _, e := range run.Config {
		if e.Key == key {
			return e
		}
	}
	return abi.ConfigEntry{}
}

// Logger writes messages, which the display of the deployment shows; Debug only with debug output.
type Logger interface {
	Debug(message string)
	Info(message string)
	Warning(message string)
	Error(message string)
	// Status writes how far the program is. The next status replaces it.
	Status(message string)
}

// Log returns the log of a program. Without one, as in most tests, messages go nowhere.
func Log(ctx context.Context) Logger { return call.Log(ctx) }

// served is a program that gets the context of each run from begin.
type served struct {
	declare Func
	begin   func(context.Context) (context.Context, context.CancelFunc)
	monitor func(context.Context) abi.Monitor
}

func (p served) Run(ctx context.Context, request abi.ProgramRunRequest) (abi.ProgramRunResponse, error) {
	ctx, end := p.begin(ctx)
	defer end()
	s := &Stack{}
	run := deploy.Run{Monitor: p.monitor(ctx), Context: &request.Context, Parent: request.Stack, Program: true}
	outputs, err := run.Do(ctx, func(d *deploy.Deployment) error {
		s.Deployment = d
		return p.declare(ctx, s)
	}, func() (property.Map, error) {
		return s.Resolve(s.outputs)
	})
	if err != nil {
		return abi.ProgramRunResponse{}, abi.AsError(err)
	}
	return abi.ProgramRunResponse{Outputs: outputs}, nil
}

const usage = `This is a program for husk, which runs it as a WebAssembly module. Name it in the Husk.yaml beside its directory:

	runtime: wasm
	main: program    # the directory of its source, or a .wasm file

or build the module with

	husk provider build . -o program.wasm

or without husk

	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o program.wasm .
`
