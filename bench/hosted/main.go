// Command hosted is a process that hosts the provider of the benchmarks as a module. They
// start it, as an engine's process would be started:
//
//	hosted start MODULE CACHE [VARIABLE]
//
// loads the module with the cache, calls one Check, prints a line, and ends. With a
// variable, which is granted to the module, it cannot use the module's base image.
//
//	hosted keep MODULE CACHE
//
// reads lines like "100 true": it makes so many configurations in all, calls each new one once, or not, and prints a line. It
// ends with its input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/husk-dev/husk/bench/internal/bareengine"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/host"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "hosted: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	const usage = "usage: hosted start MODULE CACHE [VARIABLE], or hosted keep MODULE CACHE"
	if len(args) < 3 {
		return errors.New(usage)
	}
	h, err := host.New(ctx, host.NewConfig().WithCacheDir(args[2]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	module, err := h.Load(ctx, args[1])
	if err != nil {
		return err
	}
	switch {
	case args[0] == "start":
		if err := one(ctx, module, host.Grants{Env: args[3:]}, true); err != nil {
			return err
		}
		fmt.Println("checked")
		return nil
	case args[0] == "keep" && len(args) == 3:
		return keep(ctx, module)
	default:
		return errors.New(usage)
	}
}

// one makes a configuration, which lives as long as the host, and calls it.
func one(ctx context.Context, module *host.Module, grants host.Grants, call bool) error {
	p, err := bareengine.Configure(ctx, module, host.ProviderOptions{Grants: grants})
	if err != nil || !call {
		return err
	}
	_, err = bareengine.Small().Question(record.RecordType).Check(ctx, p)
	return err
}

func keep(ctx context.Context, module *host.Module) error {
	for made := 0; ; {
		var size int
		var call bool
		if _, err := fmt.Scanln(&size, &call); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for ; made < size; made++ {
			if err := one(ctx, module, host.Grants{}, call); err != nil {
				return err
			}
		}
		fmt.Println(made)
	}
}
