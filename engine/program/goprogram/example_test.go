package goprogram_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// shop is a program: a bucket, an object in it, and a hook that tells of what is made.
func shop(ctx context.Context, s *goprogram.Stack) (outputs property.Map, err error) {
	err = s.Hook(callback.Hook{Name: "tell", Run: func(_ context.Context, step callback.Step) error {
		fmt.Println(step.Kind, step.New.URN.Name(), step.New.ID)
		return nil
	}})
	if err != nil {
		return outputs, err
	}
	s.Transform(func(_ context.Context, r callback.Identity, d *callback.Declaration) error {
		d.Options.Hooks = append(d.Options.Hooks, abi.HookBinding{Kind: abi.HookKindAfterCreate, Names: []string{"tell"}})
		d.Inputs = d.Inputs.With("owner", property.String("team-"+s.RunContext.Stack))
		return nil
	})
	bucket, err := s.Resource(ctx, goprogram.Declaration{Type: "demo:index:Bucket", Name: "pictures"})
	if err != nil {
		return outputs, err
	}
	object, err := s.Resource(ctx, goprogram.Declaration{
		Type: "demo:index:Object", Name: "logo",
		Inputs: property.MapOf(map[string]property.Value{"bucket": bucket.Output("id")}),
	})
	if err != nil {
		return outputs, err
	}
	return property.MapOf(map[string]property.Value{"bucket": object.Output("bucket"), "owner": object.Output("owner")}), nil
}

// A host deploys a program that is a function of its own.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keys := secrets.Keys{
		LookupEnv: os.LookupEnv, ReadFile: os.ReadFile, KeyMade: func(string) {},
		ConfigDir: func() (string, error) { return dir, nil },
	}
	store, name := new(memstore.Store), state.StackName{Project: "shop", Name: "dev"}
	if err := state.Create(ctx, store, name, keys); err != nil {
		log.Fatal(err)
	}
	stack, err := state.Open(ctx, store, name, keys, state.Holder{PID: os.Getpid(), Command: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close(ctx)

	result, err := engine.Run(ctx, engine.Deployment{
		Project: name.Project, Stack: name.Name, State: stack, Providers: demo{},
	}, engine.Up{Program: goprogram.Func(shop)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(property.Display(result.Outputs.Get("bucket")), property.Display(result.Outputs.Get("owner")))
	// Output:
	// after-create pictures id-of-pictures
	// after-create logo id-of-logo
	// "id-of-pictures" "team-dev"
}

// demo is a provider of anything; host.Load makes one of a module.
type demo struct{ abi.Unimplemented }

func (demo) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return demo{}, nil }

func (demo) Create(_ context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: "id-of-" + req.Name, State: req.Inputs}, nil
}
