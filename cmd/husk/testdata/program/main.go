// Command program is a program for tests, whose configuration says what it does beside its resources.
package main

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/program"
)

func main() { program.Run(declare) }

func declare(ctx context.Context, s *program.Stack) error {
	first := thing(s, "first", deploy.Props{"key": s.Secret("key")}, nil)
	group := s.Group(deploy.Declaration{Type: "demo:index:Group", Name: "group"})
	// The label of the first is known once it exists.
	second := thing(s, "second", deploy.Props{"parts": deploy.All(deploy.Field[string](first, "label"))}, group)
	label := s.Invoke("lab:index:label", deploy.Props{"name": deploy.Field[string](first, "name")}, deploy.Options{})
	s.Output("label", deploy.Field[string](second, "label"))
	s.Output("invoked", deploy.Field[string](label, "label"))
	s.Output("key", deploy.Field[string](first, "key"))
	mode, _ := s.Config("mode")
	return misbehave(ctx, s, mode)
}

func thing(s *program.Stack, name string, inputs deploy.Props, parent *deploy.Child) *deploy.Child {
	inputs["name"] = name
	return s.Resource(deploy.Declaration{Type: "lab:index:Thing", Name: name, Inputs: inputs, Options: deploy.Options{Parent: parent}})
}

func misbehave(ctx context.Context, s *program.Stack, mode string) error {
	switch mode {
	case "fail":
		return errors.New("no such mood")
	case "trap":
		var none map[string]int
		none["one"] = 1
	case "loop":
		program.Log(ctx).Info("computing")
		for n := uint64(1); n != 0; n += 2 {
		}
	case "wait":
		s.Resource(deploy.Declaration{Type: "lab:index:Wait", Name: "waiting", Inputs: deploy.Props{"begun": "out/begun", "until": "out/go"}})
	case "memory":
		var kept [][]byte
		for range 1 << 20 {
			kept = append(kept, make([]byte, 1<<20))
		}
		s.Output("kept", len(kept))
	case "twice":
		thing(s, "first", deploy.Props{}, nil)
	case "trouble": // the things do not depend on it
		bad := s.Resource(deploy.Declaration{Type: "lab:index:Trouble", Name: "bad", Inputs: deploy.Props{"kind": "fail"}})
		thing(s, "after", deploy.Props{"parts": deploy.All(bad.ID())}, nil)
	case "file":
		path, _ := s.Config("path")
		letter := property.Asset{Source: property.SourcePath, Path: path}
		s.Resource(deploy.Declaration{Type: "lab:index:Parcel", Name: "parcel", Inputs: deploy.Props{"letter": letter}})
	}
	return nil
}
