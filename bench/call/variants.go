package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/peer"
	"github.com/husk-dev/husk/bench/internal/processor"
	"github.com/husk-dev/husk/bench/internal/programs"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/host"
)

// variant is a way to run the provider.
type variant struct {
	name     string
	provider abi.Provider
	// kind is the type of resource that is asked about.
	kind string
}

type variants struct {
	native, wasm, grpc, declared variant

	host    *host.Host
	process *peer.Process
	// cache is the host's cache, like a user's.
	cache string
}

// each are the variants in the order in which they take turns.
func (v *variants) each() []variant { return []variant{v.native, v.wasm, v.grpc, v.declared} }

func prepare(ctx context.Context) (_ *variants, err error) {
	v := &variants{}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.close(ctx))
		}
	}()
	native, err := guest.New(record.New())
	if err != nil {
		return nil, err
	}
	sandboxed, err := v.load(ctx)
	if err != nil {
		return nil, err
	}
	command, err := programs.Command(ctx, "./peer")
	if err != nil {
		return nil, err
	}
	if v.process, err = peer.Start(ctx, command, bareengine.Configuration()); err != nil {
		return nil, err
	}
	v.native = variant{"native", native, record.RecordType}
	v.wasm = variant{"wasm", sandboxed, record.RecordType}
	v.grpc = variant{"gRPC", v.process.Provider, record.RecordType}
	v.declared = variant{"wasm, declared", sandboxed, record.DeclaredType}
	return v, nil
}

// load starts the provider's module with nothing granted.
func (v *variants) load(ctx context.Context) (abi.Provider, error) {
	wasm, err := programs.Module(ctx, "./record")
	if err != nil {
		return nil, err
	}
	if v.cache, err = os.MkdirTemp("", "husk-bench-*"); err != nil {
		return nil, err
	}
	if v.host, err = host.New(ctx, host.NewConfig().WithCacheDir(v.cache)); err != nil {
		return nil, err
	}
	module, err := v.host.LoadBytes(ctx, wasm)
	if err != nil {
		return nil, err
	}
	return bareengine.Configure(ctx, module, host.ProviderOptions{})
}

func (v *variants) close(ctx context.Context) (err error) {
	if v.process != nil {
		err = v.process.Close()
	}
	if v.host != nil {
		err = errors.Join(err, v.host.Close(ctx))
	}
	if v.cache != "" {
		err = errors.Join(err, os.RemoveAll(v.cache))
	}
	return err
}

// processor returns the processor time of everything that runs.
func (v *variants) processor() time.Duration { return processor.Own() + processor.Of(v.process.PID) }
