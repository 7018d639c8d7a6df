package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/fakevalue"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/modulerewriting"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
	"github.com/husk-dev/husk/internal/wasmsubset"
)

const (
	// leastToProfile is the size in bytes from which a module is profiled: its machine code loads in 5 ms.
	leastToProfile = 1 << 20
	// mostToProfile is the size in bytes above which a module is not profiled: the interpreter takes 16 times
	// as much memory. A module of pulumi-go-provider has 70 MB.
	mostToProfile = 80 << 20
	// profileTime bounds profiled calls, 10 ms each in the interpreter. longestProfile bounds all of
	// the profile, for which users wait.
	profileTime    = time.Second
	longestProfile = 10 * time.Second
	// profiledTypes is how many types of resource are profiled, fewestProfiled how many on a slow machine.
	profiledTypes  = 20
	fewestProfiled = 3
)

// profile finds out which functions run in a module's first calls. The interpreter runs them, on a host of
// its own where nothing is granted.
type profile struct {
	host   *Host
	module *Module
	// ran are the functions of the metered module that ran, by index, and resumed those that went on after
	// their goroutine had been left.
	ran, resumed []bool
	// name and version are what the provider answered to a handshake.
	name, version string
}

// profile profiles a module that is to be installed, nil if that is not done, or fails.
func (h *Host) profile(ctx context.Context, m *Module, decoded *wasmfile.Module, metered []byte) *profile {
	if len(metered) > mostToProfile {
		return nil
	}
	if !m.images.frozen || h.config.random != nil || m.World != canon.WorldProvider || len(metered) < leastToProfile && h.rewriting != modulerewriting.All {
		return nil
	}
	r := &profile{}
	config := h.config
	config.interpreter, config.cacheDir, config.precompiled = true, "", ""
	config.audit, config.learn = nil, nil
	var err error
	if r.host, err = New(h.stopped, config); err != nil {
		return nil
	}
	defer func() {
		_ = r.host.Close(context.Background()) // it has nothing to lose
		r.host, r.module = nil, nil
	}()
	compiled, err := r.host.runtime.CompileModule(experimental.WithFunctionListenerFactory(ctx, r), metered)
	if err != nil {
		return nil // which the compiler will say, too
	}
	r.module = r.host.newModule(m.Info)
	r.module.code, r.module.images = compiledTo(compiled), newImages(decoded, m.images.account)
	defer r.module.images.close()
	ctx, cancel := context.WithTimeout(ctx, longestProfile)
	defer cancel()
	r.module.ensureBase(ctx)
	if r.module.images.base != nil {
		r.forget() // instances begin with the image
	}
	if r.perform(ctx) != nil && h.rewriting != modulerewriting.All {
		return nil
	}
	return r
}

// NewFunctionListener implements [experimental.FunctionListenerFactory].
func (r *profile) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
	if f.GoFunction() != nil {
		return nil
	}
	index := int(f.Index())
	more := max(0, index+1-len(r.ran))
	r.ran, r.resumed = append(r.ran, make([]bool, more)...), append(r.resumed, make([]bool, more)...)
	return experimental.FunctionListenerFunc(func(_ context.Context, _ api.Module, _ api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
		r.ran[index] = true
		if len(params) > 0 && params[0] != 0 {
			r.resumed[index] = true
		}
	})
}

// did reports whether a function of the metered module is among those.
func did(what []bool, function int) bool { return function < len(what) && what[function] }

// forget drops what ran up to now.
func (r *profile) forget() {
	clear(r.ran)
	clear(r.resumed)
}

// profiled reports whether a profile calls a method, so that a part of the module may do for it.
func profiled(method abi.Method) bool {
	switch method {
	case abi.MethodGetSchema, abi.MethodCheckConfig, abi.MethodCheck, abi.MethodDiff, abi.MethodCreate:
		return true
	}
	return false
}

// harmless reports whether nobody can notice that a guest has called an imported function twice.
func harmless(i wasmfile.Import) bool {
	switch i.Module {
	case meter.Module:
		return true
	case wasi.ModuleName:
		switch i.Name {
		case "args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "clock_time_get", "random_get", "sched_yield":
			return true
		}
		return false
	}
	return strings.HasPrefix(i.Module, canon.Package+"/control@") && i.Name == "cancelled"
}

// perform makes the calls of an update without changes, and of a preview. Answers make no difference.
func (r *profile) perform(ctx context.Context) error {
	begun := time.Now()
	declared, err := r.schema(ctx)
	if err != nil {
		return err
	}
	if declared.Deferred {
		r.forget() // hosts know the schema when they load the part
	}
	p, shaken, err := r.introduced(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	values := &fakevalue.Generator{
		Random: rand.New(rand.NewPCG(1, 1)), Optional: func() bool { return true },
		References: shaken.Features&abi.FeaturesResourceReferences != 0,
	}
	kind := "pulumi:providers:" + shaken.Name
	u := urn.New("profile", "profile", "", kind, "default")
	config := values.Object(&declared.Config)
	checked, err := p.CheckConfig(ctx, abi.CheckRequest{URN: u, Name: "default", Type: kind, News: config})
	if err == nil && len(checked.Failures) == 0 {
		config = checked.Inputs
	}
	_ = p.Configure(ctx, abi.ConfigureRequest{URN: u, Name: "default", Type: kind, ID: "1", Inputs: config})
	for n, resource := range declared.Resources {
		if n == profiledTypes || n >= fewestProfiled && time.Since(begun) > profileTime || ctx.Err() != nil {
			break
		}
		if !resource.Component {
			profileResource(ctx, p, resource, values)
		}
	}
	return nil
}

// introduced returns a provider of the module after its handshake.
func (r *profile) introduced(ctx context.Context) (p *Provider, shaken abi.HandshakeResponse, err error) {
	if p, err = r.module.NewProvider(ctx, ProviderOptions{Instances: 1, Lenient: true, AskGuest: true}); err != nil {
		return nil, shaken, err
	}
	p.limited = true
	shaken, err = p.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.AllFeatures})
	if err != nil {
		return nil, shaken, errors.Join(err, p.Close())
	}
	r.name, r.version = shaken.Name, shaken.Version
	return p, shaken, nil
}

func (r *profile) schema(ctx context.Context) (*schema.Package, error) {
	p, _, err := r.introduced(ctx)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	response, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	if err != nil {
		return nil, err
	}
	return schemajson.Parse([]byte(response.Schema))
}

// profileResource calls for a resource that did not change, did change, and is new.
func profileResource(ctx context.Context, p abi.Provider, resource *schema.Resource, values *fakevalue.Generator) {
	u := urn.New("profile", "profile", "", resource.Token, "it")
	seed := [32]byte{1}
	check := func(inputs property.Map, olds *property.Map) property.Map {
		answer, err := p.Check(ctx, abi.CheckRequest{URN: u, Name: "it", Type: resource.Token, Olds: olds, News: inputs, RandomSeed: seed[:]})
		if err == nil && len(answer.Failures) == 0 {
			return answer.Inputs
		}
		return inputs
	}
	olds := check(values.Object(&resource.Inputs), nil)
	state := values.Object(&resource.Outputs)
	for name, v := range olds.All() { // most states repeat the inputs
		state = state.With(name, v)
	}
	for _, inputs := range []property.Map{olds, values.Object(&resource.Inputs)} {
		news := check(inputs, &olds)
		_, _ = p.Diff(ctx, abi.DiffRequest{URN: u, Name: "it", Type: resource.Token, ID: "1", Olds: state, News: news, OldInputs: olds})
	}
	_, _ = p.Create(ctx, abi.CreateRequest{URN: u, Name: "it", Type: resource.Token, Inputs: olds, Preview: true})
}

// A tenth of a Go provider's code runs until its first calls are answered; all of it is 20 MB of machine
// code, which loads in 20 ms. So the cache also keeps a part of each module: the functions that ran in a
// profile. All others trap. Instances begin with the part. After a trap, the call is made again with the
// whole module, and so are later ones.
//
// That is safe: the part imports nothing that has an effect, and an instance knows only its image, its
// setup, and what it may lose between two calls. A stream, whose instance must stay, needs the whole.

// firstPart is the part of a module that is loaded first.
type firstPart struct {
	// code is nil where there is no part.
	code func() (wazero.CompiledModule, error)
	// exceeded is set once the whole module is needed.
	exceeded atomic.Bool
}

// layout is what has become of a module that is compiled.
type layout struct {
	decoded *wasmfile.Module
	metered []byte
	// copied are the functions that have copies, see [relooper.Rewrite].
	copied []int
}

// relooped returns a module whose functions that ran in the profile are faster; nil if none can be.
func (h *Host) relooped(decoded *wasmfile.Module, of *profile) *layout {
	if of == nil && h.rewriting != modulerewriting.All {
		return nil
	}
	rewritten, copied := relooper.Rewrite(decoded, h.config.limits.Module(), func(function int) bool {
		return h.rewriting == modulerewriting.All || did(of.ran, function+1)
	})
	if rewritten == nil {
		return nil
	}
	metered, err := h.meter(rewritten)
	if err != nil {
		return nil
	}
	return &layout{rewritten, metered, copied}
}

// partOf returns a module of what runs in the profile, nil if that is most of it.
func (h *Host) partOf(whole *layout, of *profile) []byte {
	m, err := wasmfile.Read(whole.metered, wasmfile.Limits(h.config.limits.Module()))
	if err != nil {
		return nil // the rewriter has added more than the module may have
	}
	var imported []wasmfile.Import
	for _, i := range m.Imports {
		if i.Kind == api.ExternTypeFunc {
			imported = append(imported, i)
		}
	}
	// The rewriter has added an imported function, and copies behind all others.
	copies := len(whole.decoded.Functions) + 1 - len(whole.copied)
	small := wasmsubset.Extract(m, func(function int) bool {
		switch n := function - copies; {
		case function < len(imported):
			return harmless(imported[function])
		case n < 0:
			return did(of.ran, function)
		case n < len(whole.copied):
			return did(of.resumed, whole.copied[n]+1)
		}
		return did(of.ran, function-len(whole.copied))
	})
	if len(small) > len(whole.metered)/2 && h.rewriting != modulerewriting.All {
		return nil
	}
	return small
}

// Preload loads all of the module's code in the background, for a caller that will make calls with an effect.
func (m *Module) Preload() {
	if m.part.inUse() {
		m.host.background(func() { _, _ = m.code() }) // who needs it gets the error, too
	}
}

// inUse reports whether instances begin with the part.
func (p *firstPart) inUse() bool { return p.code != nil && !p.exceeded.Load() }

// errPart is a call that needs more than the part of the module. It never leaves the package.
var errPart = errors.New("the whole module is needed")

// codeFor returns the code for an instance that begins with the image, and whether it is a part.
func (m *Module) codeFor(from *snapshot) (code wazero.CompiledModule, partial bool, err error) {
	if m.part.inUse() && from != nil && from.base != nil {
		if code, err := m.part.code(); err == nil {
			return code, true, nil
		}
		m.part.exceeded.Store(true) // it is only slower without
	}
	code, err = m.code()
	return code, false, err
}

// fetchCode loads what the first instance needs.
func (s *sandbox) fetchCode() {
	load := s.module.code
	if s.module.part.inUse() && s.beginsWithBase() {
		load = s.module.part.code
	}
	_, _ = load() // who needs it gets the error, too
}

// needsWhole reports whether a call failed for want of the whole module. The instance is spoiled then.
func (i *instance) needsWhole(r *guestcall.Call, err error) bool {
	if _, answered := errors.AsType[*abi.Error](err); answered || !guestcall.IsTrap(err) || r.Hard().Err() != nil || i.wasmInstance == nil || !i.wasmInstance.partial {
		return false
	}
	i.sandbox.needWhole()
	i.exceeded, i.spoiled = true, true
	return true
}

// needWhole has calls from now on made with the whole module.
func (s *sandbox) needWhole() {
	if part := &s.module.part; part.inUse() {
		part.exceeded.Store(true)
	}
}

// useless reports whether a wasmInstance is of a part that the module has exceeded.
func (m *Module) useless(b *wasmInstance) bool { return b.partial && m.part.exceeded.Load() }
