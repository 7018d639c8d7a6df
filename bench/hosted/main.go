// Command hosted is a process that hosts the provider of the benchmarks as a module. They
// start it, as an engine's process would be started:
//
//	hosted start MODULE CACHE [VARIABLE]
//
// loads the module with the cache, answers one Check, prints a line, and ends. With a
// variable, which is granted to the module, it cannot use the module's base image.
package main

import (
	"context"
	"errors"
	"fmt"
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

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) >= 3 && args[0] == "start":
		return start(ctx, args[1], args[2], args[3:])
	default:
		return errors.New("usage: hosted start MODULE CACHE [VARIABLE]")
	}
}

func start(ctx context.Context, file, cache string, variables []string) error {
	h, err := host.New(ctx, host.NewConfig().WithCacheDir(cache))
	if err != nil {
		return err
	}
	module, err := h.Load(ctx, file)
	if err != nil {
		return err
	}
	p, err := bareengine.Configure(ctx, module, host.ProviderOptions{Grants: host.Grants{Env: variables}})
	if err != nil {
		return err
	}
	if _, err := bareengine.Small().Question(record.RecordType).Check(ctx, p); err != nil {
		return err
	}
	fmt.Println("checked")
	return h.Close(ctx)
}
