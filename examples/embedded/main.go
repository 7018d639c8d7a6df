// Command embedded carries out a deployment with nothing but itself, on devices that have
// no shell, no home, and no disk to write to: providers are embedded as modules, the
// program is a Go function, and state is in memory. It is there to be copied.
//
//	husk provider build ../providers/random -o modules/random.wasm
//	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w'
//	./embedded -device lamp
//
// With -precompiled it takes machine code that `husk provider compile` has made, and
// compiles nothing when it starts.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/loader"
)

//go:embed modules
var modules embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var r runner
	flag.StringVar(&r.device, "device", "device", "what the name that is made begins with")
	flag.StringVar(&r.precompiled, "precompiled", "", "load modules from this directory, which husk provider compile has filled")
	flag.BoolVar(&r.stay, "stay", false, "stay when all is done, until an interrupt")
	flag.Parse()
	if err := r.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

type runner struct {
	device, precompiled string
	stay                bool
}

func (r *runner) run(ctx context.Context, out io.Writer) (err error) {
	h, err := host.New(ctx, host.NewConfig().WithPrecompiled(r.precompiled))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()

	providers, err := embedded(h)
	if err != nil {
		return err
	}
	name, keys := state.StackName{Project: "embedded", Name: "device"}, secrets.NewProcessKey()
	store := new(memstore.Store)
	if err := state.Create(ctx, store, name, keys); err != nil {
		return err
	}
	stack, err := state.Open(ctx, store, name, keys, state.Holder{PID: os.Getpid(), Command: "embedded"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close(context.WithoutCancel(ctx))) }()

	result, err := engine.Run(ctx, engine.Deployment{
		Project: name.Project, Stack: name.Name, State: stack, Providers: providers,
	}, engine.Up{Program: goprogram.Func(r.program)})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, property.Display(result.Outputs.Get("name"))); err != nil {
		return err
	}
	if r.stay {
		<-ctx.Done()
	}
	return nil
}

// program declares the resources: a name for the device.
func (r *runner) program(ctx context.Context, s *goprogram.Stack) (outputs property.Map, err error) {
	pet, err := s.Resource(ctx, goprogram.Declaration{
		Type: "random:index/randomPet:RandomPet", Name: "name",
		Inputs: property.MapOf(map[string]property.Value{"prefix": property.String(r.device)}),
	})
	if err != nil {
		return outputs, err
	}
	return property.MapOf(map[string]property.Value{"name": pet.Output("id")}), nil
}

// embedded returns the loader of the providers that are a part of the program. They may compute, and nothing else.
func embedded(h *host.Host) (*loader.Loader, error) {
	l := &loader.Loader{Host: h, Modules: map[string]loader.Module{}}
	for _, name := range []string{"random"} {
		wasm, err := modules.ReadFile("modules/" + name + ".wasm")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no module for the package %q was embedded: build it with `husk provider build … -o modules/%s.wasm`, and this program again", name, name)
		}
		if err != nil {
			return nil, err
		}
		l.Modules[name] = loader.Module{Wasm: wasm}
	}
	return l, nil
}
