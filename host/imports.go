package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi/canon"
)

// instantiateImports adds the contract's interfaces to a runtime, for all of its
// guests. What a call may use of them is in its instance.
func instantiateImports(ctx context.Context, runtime wazero.Runtime) error {
	builders := make(map[string]wazero.HostModuleBuilder)
	for _, i := range canon.ImportTable() {
		builder, ok := builders[i.Module]
		if !ok {
			builder = runtime.NewHostModuleBuilder(i.Module)
			builders[i.Module] = builder
		}
		builder.NewFunctionBuilder().
			WithName(i.Name).
			WithGoModuleFunction(importFunc(i), i.Params, i.Results).
			Export(i.Name)
	}
	for name, builder := range builders {
		if _, err := builder.Instantiate(ctx); err != nil {
			return fmt.Errorf("making the host module %s: %w", name, err)
		}
	}
	return nil
}

// errNotReady is a guest that uses the contract before it can be called back, which
// passing results needs: in its start function.
var errNotReady = errors.New("the module calls the host before it is initialized")

func importFunc(i canon.Import) api.GoModuleFunc {
	// Who waits for other resources waits for instances that may need memory.
	waits := strings.HasPrefix(i.Module, canon.Package+"/monitor@")
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		if ctx.Err() != nil {
			panic(context.Cause(ctx))
		}
		guest, ok := ctx.Value(instanceKey{}).(*instance)
		if !ok || guest.exports == nil {
			panic(errNotReady)
		}
		guest.call.hostCall()
		if waits {
			guest.sandbox.budget.leave()
			defer guest.sandbox.budget.enter()
		}
		guest.hostCalls++
		// What the host does for the guest ends with the caller's context.
		if err := i.Call(guest.call.soft, guest.guest, &guest.imports, stack); err != nil {
			panic(err)
		}
	}
}

// grantedImports is what the call that begins may use. A capability is added here.
func (i *instance) grantedImports() canon.Imports {
	imports := canon.Imports{
		Log:     guestLog{i},
		Control: guestControl{i},
		Files:   guestFiles{i.sandbox, i.used()},
		Assets:  i.call.assets,
		HTTP:    &guestHTTP{client: i.sandbox.http, used: i.used()},
		TCP:     i.tcp,
		KV:      i.sandbox.guestKV(i.used()),
		Monitor: i.call.monitor,
	}
	if imports.Monitor == nil {
		imports.Monitor = deniedMonitor{}
	}
	return imports
}

// guestControl tells a guest about its call.
type guestControl struct{ *instance }

func (c guestControl) Cancelled(context.Context) bool { return c.call.soft.Err() != nil }
