package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/meter"
)

// imports are the modules of functions that the modules of a host may import. One is made when
// a module that imports it is to run for the first time: most need two of a dozen.
type imports struct {
	mu   sync.Mutex
	made map[string]bool
}

// importsFor makes what a module imports.
func (h *Host) importsFor(m *Module) error {
	h.imports.mu.Lock()
	defer h.imports.mu.Unlock()
	if h.imports.made == nil {
		h.imports.made = make(map[string]bool)
	}
	need := func(name string, instantiate func() error) error {
		if h.imports.made[name] {
			return nil
		}
		if err := instantiate(); err != nil {
			return fmt.Errorf("making the host module %s: %w", name, err)
		}
		h.imports.made[name] = true
		return nil
	}
	err := need(meter.Module, func() error { return instantiateMeter(h.stopped, h.runtime) })
	for _, i := range m.Imports {
		err = errors.Join(err, need(i.Module, func() error {
			if i.Module == wasi.ModuleName {
				return wasi.Instantiate(h.stopped, h.runtime)
			}
			return instantiateImports(h.stopped, h.runtime, i.Module)
		}))
	}
	return err
}

// instantiateImports adds an interface of the contract to a runtime, for all of its
// guests. What a call may use of it is in its instance.
func instantiateImports(ctx context.Context, runtime wazero.Runtime, name string) error {
	builder := runtime.NewHostModuleBuilder(name)
	for _, i := range canon.ImportTable() {
		if i.Module == name {
			builder.NewFunctionBuilder().
				WithName(i.Name).
				WithGoModuleFunction(importFunc(i), i.Params, i.Results).
				Export(i.Name)
		}
	}
	_, err := builder.Instantiate(ctx)
	return err
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
		guest.ledger.passed()
		if waits {
			guest.sandbox.budget.Leave()
			defer guest.sandbox.budget.Enter()
		}
		guest.hostCalls++
		// What the host does for the guest ends with the caller's context.
		if err := i.Call(guest.call.soft(), guest.guest, guest.grantedImports(), stack); err != nil {
			panic(err)
		}
	}
}

// grantedImports returns what the running call may use. It is made when the call first uses
// something. A capability is added here, and to eachHeld if a call can leave something of it open.
func (i *instance) grantedImports() *canon.Imports {
	if i.imports != nil {
		return i.imports
	}
	s, used := i.sandbox, i.used()
	i.call.http = &capability.HTTP{Client: s.http, Used: used, Ledger: &i.ledger}
	i.call.assets.Ledger = &i.ledger
	i.imports = &canon.Imports{
		Log:     guestLog{i},
		Control: guestControl{i},
		Files:   capability.Files{System: s.files, Used: used},
		Assets:  &i.call.assets,
		HTTP:    i.call.http,
		TCP:     i.tcp,
		KV:      capability.NewKV(s.store, s.configuredAs(), s.advice, used),
		Monitor: capability.DeniedMonitor{},
	}
	if i.call.monitor != nil {
		i.call.started = capability.NewMonitor(i.call.monitor, &i.ledger)
		i.imports.Monitor = i.call.started
	}
	return i.imports
}

// eachHeld visits what the call may have open, with the name of the function that closes one.
func (r *running) eachHeld(visit func(name string, held capability.Held)) {
	visit("assets.close", &r.assets)
	if r.http != nil {
		visit("http.close", r.http)
	}
}

// guestControl tells a guest about its call.
type guestControl struct{ *instance }

func (c guestControl) Cancelled(context.Context) bool { return c.call.soft().Err() != nil }
