// Command waiting measures a ported provider that waits for its service: the creates of one update. Each takes the service 200
// ms. It runs in the root of a checkout.
//
//	go run -C bench ./waiting [-n rounds] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/processor"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
)

const (
	creates = 20
	answer  = 200 * time.Millisecond
	// goal is how long all of the update may take, in milliseconds.
	goal = 400
)

func main() {
	rounds := flag.Int("n", 5, "rounds")
	figures.Main("waiting", func(ctx context.Context) ([]figures.Figure, error) { return measure(ctx, *rounds) })
}

func measure(ctx context.Context, rounds int) (all []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "waiting")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var memory atomic.Uint64
	var h *host.Host
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(answer)
		for now, most := h.Stats().Memory, memory.Load(); now > most && !memory.CompareAndSwap(most, now); most = memory.Load() {
		}
	}))
	defer service.Close()
	allowed, err := grant.ParseHTTP(service.URL)
	if err != nil {
		return nil, err
	}
	built, err := port.Port(ctx, "../testdata/ported/parcels", port.Options{Dir: dir + "/ports", Name: "parcels", Version: "1.0.0"})
	if err != nil {
		return nil, err
	}
	h, err = host.New(ctx, host.NewConfig().WithCacheDir(dir+"/compiled"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	m, err := h.LoadBytes(ctx, built.Wasm)
	if err != nil {
		return nil, err
	}
	l := loader{m, host.Grants{HTTP: []grant.HTTP{allowed}}}
	var took, used []time.Duration
	for range rounds + 1 { // the first warms up
		before, begun := processor.Own(), time.Now()
		if err := update(ctx, l, dir, service.URL); err != nil {
			return nil, err
		}
		took, used = append(took, time.Since(begun)), append(used, processor.Own()-before)
	}
	return []figures.Figure{
		figures.Of(fmt.Sprintf("update with %d creates of %v", creates, answer), figures.Millis(figures.Median(took[1:])), "ms", goal),
		figures.Of("processor time of the update", figures.Millis(figures.Median(used[1:])), "ms", 0),
		figures.Of("memory of its instances", float64(memory.Load())/(1<<20), "MB", 0),
	}, nil
}

// loader loads one module for all packages.
type loader struct {
	*host.Module
	grants host.Grants
}

func (l loader) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	return l.NewProvider(ctx, host.ProviderOptions{Name: spec.Name, Grants: l.grants})
}

// update deploys the resources into an empty stack.
func update(ctx context.Context, l engine.Loader, dir, url string) error {
	keys := secrets.Keys{
		LookupEnv: os.LookupEnv, ReadFile: os.ReadFile, KeyMade: func(string) {},
		ConfigDir: func() (string, error) { return dir, nil },
	}
	store, name := new(memstore.Store), state.StackName{Project: "app", Name: "dev"}
	if err := state.Create(ctx, store, name, keys); err != nil {
		return err
	}
	stack, err := state.Open(ctx, store, name, keys, state.Holder{PID: os.Getpid(), Command: "waiting"})
	if err != nil {
		return err
	}
	defer stack.Close(context.WithoutCancel(ctx))
	_, err = engine.Run(ctx, engine.Deployment{
		Project: name.Project, Stack: name.Name, State: stack, Providers: l, Config: []abi.ConfigEntry{{Key: "parcels:url", Value: url}},
	}, engine.Up{Program: goprogram.Func(program)})
	return err
}

func program(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
	made := make(chan error, creates)
	for n := range creates {
		go func() {
			_, err := s.Resource(ctx, goprogram.Declaration{
				Type: "parcels:index/parcel:Parcel", Name: fmt.Sprint("p", n),
				Inputs: property.NewMap(property.Entry{Key: "to", Value: property.String(fmt.Sprint(n))}),
			})
			made <- err
		}()
	}
	var failures []error
	for range creates {
		failures = append(failures, <-made)
	}
	return property.Map{}, errors.Join(failures...)
}
