package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// A plan of a preview holds the update that follows to what the user has seen.
func Example() {
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

	deployment := engine.Deployment{
		Project: name.Project, Stack: name.Name, State: stack, Providers: buckets{},
		Events: func(e engine.Event) {
			if done, ok := e.(engine.StepDone); ok && done.Step.Custom && !done.Step.DefaultProvider {
				fmt.Printf("  %s %s %q\n", done.Step.Op, done.Step.Name, done.Step.ID)
			}
		},
	}
	shop := func(bucket string) goprogram.Func {
		return func(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
			_, err := s.Resource(ctx, goprogram.Declaration{Type: "demo:index:Bucket", Name: bucket})
			return property.Map{}, err
		}
	}
	fmt.Println("preview")
	preview, err := engine.Preview(ctx, deployment, engine.Up{Program: shop("pictures"), DraftPlan: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("another program")
	_, err = engine.Run(ctx, deployment, engine.Up{Program: shop("videos"), Plan: preview.Plan})
	fmt.Println(" ", err != nil)
	fmt.Println("up")
	if _, err := engine.Run(ctx, deployment, engine.Up{Program: shop("pictures"), Plan: preview.Plan}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("destroy")
	if _, err := engine.Run(ctx, deployment, engine.Destroy{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// preview
	//   create pictures ""
	// another program
	//   true
	// up
	//   create pictures "id-of-pictures"
	// destroy
	//   delete pictures "id-of-pictures"
}

// buckets loads providers that are no modules; a host loads modules.
type buckets struct{ abi.Unimplemented }

func (buckets) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return buckets{}, nil }

func (buckets) Create(_ context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: "id-of-" + req.Name, State: req.Inputs}, nil
}

func (buckets) Delete(context.Context, abi.DeleteRequest) error { return nil }
