//go:build !wasip1

package guest

import (
	"context"
	"errors"
	"os"
	"reflect"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
	"github.com/husk-dev/husk/guest-sdk/kv"
	"github.com/husk-dev/husk/internal/build/nativewire"
)

// New returns the provider as an abi.Provider that runs in the calling program. Its methods may be
// called in parallel. Each configuration needs a provider of its own. The error names the resource or
// function, and the field of its Go types, that is wrong.
func New(p Provider) (abi.Provider, error) {
	served, err := provide(p, begin)
	if err != nil {
		return nil, errors.New("provider " + p.Name + ": " + err.Error())
	}
	return served, nil
}

func begin(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, ender) {
	if u != "" {
		ctx = call.WithURN(ctx, u)
	}
	if timeout == 0 {
		return ctx, cancelling(func() {})
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, cancelling(cancel)
}

// cancelling ends a context by its function.
type cancelling context.CancelFunc

func (c cancelling) End() { c() }

// Serve serves the provider to the host that runs the module. It is called in main and returns at
// once. In a program that is not a module it prints how to build one, and exits with status 2, unless husk provider dev --native
// runs the program: then it serves until that ends.
func Serve(p Provider) {
	serveNative(usage(p), func() (abi.Provider, error) { return New(p) })
}

// ServeProvider is [Serve] for a provider that implements the contract itself, such as an adapter.
func ServeProvider(p abi.Provider) {
	serveNative(rawUsage, func() (abi.Provider, error) { return p, nil })
}

func serveNative(usage string, open func() (abi.Provider, error)) {
	if os.Getenv(nativewire.Variable) == "" {
		os.Stderr.WriteString(usage)
		os.Exit(2)
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = nil, os.Stderr // the author's prints are not answers
	nativewire.Serve(in, out, open, func(ctx context.Context, i nativewire.Imports) context.Context {
		return abi.WithMonitor(kv.WithStore(call.WithLog(ctx, i.Log), i.KV), i.Monitor)
	})
	os.Exit(0)
}

// callersMonitor returns the monitor that the caller of Construct or Call passes, nil
// if there is none.
func callersMonitor(ctx context.Context) abi.Monitor { return abi.MonitorFrom(ctx) }

// checkMethods refuses methods with an optional interface's name and other types: dead code.
func checkMethods(creator any, can capabilities) error {
	t := reflect.TypeOf(creator)
	for _, optional := range []struct {
		method, role string
		fits         bool
	}{
		{"Read", "Reader", can.reads}, {"Update", "Updater", can.updates}, {"Delete", "Deleter", can.deletes},
		{"Check", "Checker", can.checks}, {"Diff", "Differ", can.diffs}, {"Preview", "Previewer", can.previews},
		{"List", "Lister", can.lists}, {"Exists", "Exister", can.exists},
	} {
		if _, has := t.MethodByName(optional.method); has && !optional.fits {
			return errors.New("the method " + optional.method + " of " + t.String() + " does not have the types that guest." +
				optional.role + " asks for; inputs and state must have the types of its Create")
		}
	}
	return nil
}
