package callback_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// An error hook has a creation tried again.
func Example() {
	program := func(ctx context.Context, s *goprogram.Stack) (outputs property.Map, err error) {
		err = s.ErrorHook(callback.ErrorHook{Name: "again", Run: func(_ context.Context, f callback.Failure) (retry bool, err error) {
			fmt.Printf("attempt %d to %s %s failed\n", len(f.Errors), f.Operation, f.New.URN.Name())
			return len(f.Errors) < 3, nil
		}})
		if err != nil {
			return outputs, err
		}
		_, err = s.Resource(ctx, goprogram.Declaration{Type: "demo:index:Queue", Name: "orders", Options: abi.ResourceOptions{
			Hooks: []abi.HookBinding{{Kind: abi.HookKindOnError, Names: []string{"again"}}},
		}})
		return outputs, err
	}

	ctx := context.Background()
	store, name, keys := new(memstore.Store), state.StackName{Project: "shop", Name: "dev"}, secrets.NewProcessKey()
	if err := state.Create(ctx, store, name, keys); err != nil {
		log.Fatal(err)
	}
	stack, err := state.Open(ctx, store, name, keys, state.Holder{Command: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close(ctx)
	result, err := engine.Run(ctx, engine.Deployment{
		Project: name.Project, Stack: name.Name, State: stack, Providers: &busy{},
	}, engine.Up{Program: goprogram.Func(program)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created:", result.Changes.Create)
	// Output:
	// attempt 1 to create orders failed
	// attempt 2 to create orders failed
	// created: 2
}

// busy is a provider whose first two creations fail.
type busy struct {
	abi.Unimplemented
	creations int
}

func (p *busy) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return p, nil }

func (p *busy) Create(_ context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	if p.creations++; p.creations < 3 {
		return abi.CreateResponse{}, errors.New("the service is busy")
	}
	return abi.CreateResponse{ID: req.Name, State: req.Inputs}, nil
}
