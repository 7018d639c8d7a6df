package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// shape makes the program of a stack of so many resources.
type shape func(size int) program

var shapes = map[string]shape{"flat": flat, "chain": chain, "fan": fan}

// program registers resources below the stack's root.
type program func(ctx context.Context, m abi.Monitor) error

// Run implements engine.Program.
func (p program) Run(ctx context.Context, run abi.RunContext, m abi.Monitor) error {
	root := abi.RegisterResourceRequest{Type: urn.RootType, Name: run.Project + "-" + run.Stack}
	if _, err := m.RegisterResource(ctx, root); err != nil {
		return err
	}
	return p(ctx, m)
}

const resourceType = "bench:index:Thing"

// thing registers a resource, with an input of each of some others.
func thing(ctx context.Context, m abi.Monitor, i int, on ...abi.RegisterResourceResponse) (abi.RegisterResourceResponse, error) {
	var names []property.Value
	for _, of := range on {
		names = append(names, property.OutputOf(property.Output{Value: of.State.Get("name"), Dependencies: []string{string(of.URN)}}))
	}
	return m.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: resourceType, Name: fmt.Sprintf("thing-%07d", i), Custom: true,
		Inputs: property.NewMap(
			property.Entry{Key: "name", Value: property.String(fmt.Sprintf("the thing called %d", i))},
			property.Entry{Key: "size", Value: property.Number(float64(i))},
			property.Entry{Key: "enabled", Value: property.Bool(true)},
			property.Entry{Key: "text", Value: property.String("a few words, as resources have them")},
			property.Entry{Key: "of", Value: property.Array(names...)},
		),
	})
}

// registrations is how many a program has under way at once, where they can be.
const registrations = 64

// abreast registers the resources first to last-1, many at once.
func abreast(ctx context.Context, m abi.Monitor, first, last int, on ...abi.RegisterResourceResponse) ([]abi.RegisterResourceResponse, error) {
	made := make([]abi.RegisterResourceResponse, last-first)
	errs := make([]error, last-first)
	slots := make(chan struct{}, registrations)
	var wg sync.WaitGroup
	for i := range made {
		slots <- struct{}{}
		wg.Go(func() {
			made[i], errs[i] = thing(ctx, m, first+i, on...)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

// flat is resources that do not depend on each other.
func flat(size int) program {
	return func(ctx context.Context, m abi.Monitor) error {
		_, err := abreast(ctx, m, 0, size)
		return err
	}
}

// chain returns resources that each depend on the one before.
func chain(size int) program {
	return func(ctx context.Context, m abi.Monitor) error {
		var on []abi.RegisterResourceResponse
		for i := range size {
			made, err := thing(ctx, m, i, on...)
			if err != nil {
				return err
			}
			on = []abi.RegisterResourceResponse{made}
		}
		return nil
	}
}

// fan is a resource that all but the last depend on, and a last that depends on those.
func fan(size int) program {
	return func(ctx context.Context, m abi.Monitor) error {
		first, err := thing(ctx, m, 0)
		if err != nil {
			return err
		}
		made, err := abreast(ctx, m, 1, size-1, first)
		if err != nil {
			return err
		}
		_, err = thing(ctx, m, size-1, made...)
		return err
	}
}
