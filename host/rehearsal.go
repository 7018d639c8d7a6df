package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/fakevalue"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/rewriting"
	"github.com/husk-dev/husk/internal/wasmfile"
)

const (
	// leastToRehearse is from what size on a module is rehearsed, in bytes: machine code of
	// some 5 MB, which takes 5 ms to load.
	leastToRehearse = 1 << 20
	// rehearsalTime is for how long calls are rehearsed, which take the interpreter 10 ms each,
	// and longestRehearsal how long it takes with its preparations, and where that is not enough
	// for the fewest types: users wait for it.
	rehearsalTime    = time.Second
	longestRehearsal = 10 * time.Second
	// rehearsedTypes is how many types of resource are rehearsed, and fewestRehearsed how many
	// are on a machine that is slow, or busy.
	rehearsedTypes  = 20
	fewestRehearsed = 3
)

// rehearsal finds out which functions of a module run when it is asked for the first time. It
// is run by the interpreter, which can tell, on a host of its own where nothing is granted.
type rehearsal struct {
	host   *Host
	module *Module
	// ran are the functions of the metered module that ran, by index, and resumed those that
	// went on with what they had begun before their goroutine was left.
	ran, resumed []bool
	// name and version are what the provider answered to a handshake.
	name, version string
}

// rehearse rehearses a module that is to be installed, nil where that is not done, or fails.
func (h *Host) rehearse(ctx context.Context, m *Module, decoded *wasmfile.Module, metered []byte) *rehearsal {
	if !m.images.frozen || h.config.random != nil || m.World != canon.WorldProvider || len(metered) < leastToRehearse && h.rewriting != rewriting.All {
		return nil
	}
	r := &rehearsal{}
	config := h.config
	config.interpreter, config.cacheDir, config.precompiled, config.audit = true, "", "", nil
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
	ctx, cancel := context.WithTimeout(ctx, longestRehearsal)
	defer cancel()
	images := r.module.images
	if images.base, images.about = r.module.makeBase(ctx); images.base != nil {
		r.forget() // instances begin with the image
	}
	images.made = true
	if r.perform(ctx) != nil && h.rewriting != rewriting.All {
		return nil
	}
	return r
}

// NewFunctionListener implements [experimental.FunctionListenerFactory].
func (r *rehearsal) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
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

// did tells whether a function of the metered module is among those.
func did(what []bool, function int) bool { return function < len(what) && what[function] }

// forget has what ran up to now not count.
func (r *rehearsal) forget() {
	clear(r.ran)
	clear(r.resumed)
}

// rehearsed reports whether a rehearsal calls a method, so that a part of the module may do for it. It
// calls create as in a preview.
func rehearsed(method abi.Method) bool {
	switch method {
	case abi.MethodGetSchema, abi.MethodCheckConfig, abi.MethodCheck, abi.MethodDiff, abi.MethodCreate:
		return true
	}
	return false
}

// harmless tells whether nobody can notice that a guest has called an imported function twice.
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

// perform makes the calls of an engine that finds nothing changed, and of a preview. What the
// provider answers makes no difference.
func (r *rehearsal) perform(ctx context.Context) error {
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
	u := urn.New("rehearsal", "rehearsal", "", kind, "default")
	config := values.Object(&declared.Config)
	checked, err := p.CheckConfig(ctx, abi.CheckRequest{URN: u, Name: "default", Type: kind, News: config})
	if err == nil && len(checked.Failures) == 0 {
		config = checked.Inputs
	}
	_ = p.Configure(ctx, abi.ConfigureRequest{URN: u, Name: "default", Type: kind, ID: "1", Inputs: config})
	for n, resource := range declared.Resources {
		if n == rehearsedTypes || n >= fewestRehearsed && time.Since(begun) > rehearsalTime || ctx.Err() != nil {
			break
		}
		if !resource.Component {
			rehearse(ctx, p, resource, values)
		}
	}
	return nil
}

// introduced is a provider of the module after its handshake.
func (r *rehearsal) introduced(ctx context.Context) (p *Provider, shaken abi.HandshakeResponse, err error) {
	if p, err = r.module.NewProvider(ctx, ProviderOptions{Instances: 1, Lenient: true, AskGuest: true}); err != nil {
		return nil, shaken, err
	}
	p.limited = true
	shaken, err = p.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.FeaturesSecrets |
		abi.FeaturesResourceReferences | abi.FeaturesOutputs | abi.FeaturesAutonaming | abi.FeaturesPreview})
	if err != nil {
		return nil, shaken, errors.Join(err, p.Close())
	}
	r.name, r.version = shaken.Name, shaken.Version
	return p, shaken, nil
}

func (r *rehearsal) schema(ctx context.Context) (*schema.Package, error) {
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

// rehearse asks for a resource as if it did not change, did change, and was new.
func rehearse(ctx context.Context, p abi.Provider, resource *schema.Resource, values *fakevalue.Generator) {
	u := urn.New("rehearsal", "rehearsal", "", resource.Token, "it")
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
