package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// providerRegistry is the provider of providers. It serves the resources of types
// pulumi:providers:<package> with the methods of any provider, and maps
// provider references to configured providers.
//
// A provider resource lives like this: Check loads its package and keeps the
// loaded provider as pending; Diff asks the pending one; then exactly one of
// Create, Update, and same configures it and makes it known by its reference;
// Delete closes it. Providers that only old resources need are loaded from the
// state on first use.
type providerRegistry struct {
	abi.Unimplemented
	// loadModule makes an unconfigured provider, not yet parameterized.
	loadModule func(context.Context, PackageSpec) (abi.Provider, error)
	secrets    *redact.Secrets // learns the secrets passed to providers
	// withheld has the inputs of resources that are not recorded.
	withheld ephemeral.Values

	pending    locked.Map[urn.URN, *providers.Session]
	configured locked.Once[string, *configuredProvider]
	// stored finds provider resources in the state by reference.
	stored func(ref string) *state.Resource

	mu  sync.Mutex
	all []*providers.Session
}

type configuredProvider struct {
	session abi.Provider
	// loaded is the provider itself, also if a preview cannot configure it.
	loaded *providers.Session
	inputs property.Map
	// extensions holds the sessions for extensions by reference. names has the names of the extensions that session itself
	// serves.
	extensions locked.Once[string, abi.Provider]
	names      locked.Map[string, bool]
}

// versionKey and internalKey are inputs of provider resources that are the
// engine's own and never reach the provider.
const (
	versionKey  = "version"
	internalKey = providers.Internal
)

func ownInputs(inputs property.Map) property.Map { return inputs.Without(versionKey, internalKey) }

// withEngineKeys puts the engine's own inputs back.
func withEngineKeys(checked, inputs property.Map) property.Map {
	for _, k := range []string{versionKey, internalKey} {
		if v, ok := inputs.Lookup(k); ok {
			checked = checked.With(k, v)
		}
	}
	return checked
}

// load makes an unconfigured provider of the package.
func (r *providerRegistry) load(ctx context.Context, spec PackageSpec) (*providers.Session, error) {
	s, err := r.open(ctx, spec.module())
	if err != nil || spec.Parameter == (Parameter{}) {
		return s, err
	}
	_, err = parameterize(ctx, s, spec.Package(), false, abi.Parameters{
		Case:  abi.ParametersCaseValue,
		Value: abi.ParameterValue{Name: spec.Parameter.Name, Version: spec.Parameter.Version, Value: []byte(spec.Parameter.Value)},
	})
	return s, err
}

// open shakes hands with an unconfigured provider.
func (r *providerRegistry) open(ctx context.Context, spec PackageSpec) (*providers.Session, error) {
	p, err := r.loadModule(ctx, spec)
	if err != nil {
		return nil, err
	}
	s, err := providers.Open(ctx, p, spec.Name, r.secrets, &r.withheld)
	if err != nil {
		return nil, errors.Join(err, (&providers.Session{Provider: p}).Close(ctx))
	}
	r.mu.Lock()
	r.all = append(r.all, s)
	r.mu.Unlock()
	return s, nil
}

// Check loads the package and checks its configuration.
func (r *providerRegistry) Check(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	spec, err := specOf(req.Type, req.News)
	if err != nil {
		return abi.CheckResponse{}, err
	}
	s, err := r.load(ctx, spec)
	if err != nil {
		return abi.CheckResponse{}, err
	}
	r.pending.Set(req.URN, s)
	inputs := withDigest(req.News, s.Provider)
	req.News = ownInputs(inputs)
	if req.Olds != nil {
		olds := ownInputs(*req.Olds)
		req.Olds = &olds
	}
	resp, err := s.CheckConfig(ctx, req)
	if errors.Is(err, abi.ErrUnimplemented) {
		return abi.CheckResponse{Inputs: inputs}, nil
	}
	resp.Inputs = withEngineKeys(resp.Inputs, inputs)
	if len(resp.Failures) > 0 && providers.IsDefault(req.URN) {
		resp.Failures = providers.ExplainFailures(spec.provided(), s.ConfigSchema(ctx), resp.Failures)
	}
	return resp, err
}

// Diff asks the pending provider whether its new configuration can manage what
// the old one made.
func (r *providerRegistry) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	s, err := r.pendingSession(req.URN)
	if err != nil {
		return abi.DiffResponse{}, err
	}
	resp, _, err := foresee(ctx, s, req)
	if err != nil || resp.Changes == abi.DiffChangesUnknown {
		return resp, err
	}
	for _, key := range changedInternals(req.OldInputs, req.News) {
		resp.Changes = abi.DiffChangesSome
		resp.DetailedDiff = append(slices.Clip(resp.DetailedDiff), abi.PropertyDiff{
			Path: property.Path{property.Key(internalKey), property.Key(key)}.String(),
			Kind: abi.DiffKindUpdate, InputDiff: true,
		})
	}
	return resp, nil
}

// changedInternals returns the keys of the engine's own inputs that make another provider of it.
func changedInternals(olds, news property.Map) (keys []string) {
	if digestOf(olds) != digestOf(news) {
		keys = append(keys, internalDigest)
	}
	before, _ := envVarMappingsOf(olds)
	if now, _ := envVarMappingsOf(news); now != before {
		keys = append(keys, internalEnvVarMappings)
	}
	return keys
}

// diffConfig calls DiffConfig. A provider without it can always go on.
func diffConfig(ctx context.Context, s *providers.Session, req abi.DiffRequest) (abi.DiffResponse, error) {
	resp, _, err := callDiffConfig(ctx, s, req)
	return resp, err
}

func callDiffConfig(ctx context.Context, s *providers.Session, req abi.DiffRequest) (resp abi.DiffResponse, implemented bool, err error) {
	req.Olds, req.News, req.OldInputs = ownInputs(req.Olds), ownInputs(req.News), ownInputs(req.OldInputs)
	resp, err = s.DiffConfig(ctx, req)
	if errors.Is(err, abi.ErrUnimplemented) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, false, nil
	}
	return resp, true, err
}

// foresee is diffConfig for a configuration that a preview may not know: a setting that is not known yet may come to
// replace the provider, unless the provider never tells, or its schema alone decides. unsure says that nothing
// else replaces it.
func foresee(ctx context.Context, s *providers.Session, req abi.DiffRequest) (resp abi.DiffResponse, unsure bool, err error) {
	resp, implemented, err := callDiffConfig(ctx, s, req)
	unknown := unknownKeys(req.OldInputs, req.News)
	if err != nil || !implemented || len(unknown) == 0 {
		return resp, false, err
	}
	if replaced := replacedKeys(resp); len(replaced) > 0 {
		return resp, !slices.ContainsFunc(replaced, func(key string) bool { return !slices.Contains(unknown, key) }), nil
	}
	if resp.Changes == abi.DiffChangesUnknown || s.ComparesBySchema(ctx) {
		return resp, false, nil
	}
	resp.Changes, resp.ReplaceKeys = abi.DiffChangesSome, unknown
	return resp, true, nil
}

// replacedKeys returns the top-level properties whose change replaces a resource.
func replacedKeys(resp abi.DiffResponse) []string {
	keys := slices.Clone(resp.ReplaceKeys)
	for _, p := range resp.DetailedDiff {
		path, err := property.ParsePath(p.Path)
		if err != nil || len(path) == 0 || !diffKinds[p.Kind].replaces {
			continue
		}
		if key, ok := path[0].Key(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// unknownKeys returns the settings that are not known.
func unknownKeys(olds, news property.Map) (keys []string) {
	for key, v := range ownInputs(news).All() {
		if v.ContainsUnknowns() && !olds.Get(key).Equal(v) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *providerRegistry) pendingSession(u urn.URN) (*providers.Session, error) {
	s := r.pending.Get(u)
	if s == nil {
		return nil, fmt.Errorf("provider %s was not checked in this deployment", u)
	}
	return s, nil
}

// Create configures the pending provider and gives it an ID.
func (r *providerRegistry) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	id := providers.UnknownID
	if !req.Preview {
		id = uuid.NewString()
	}
	if err := r.configurePending(ctx, req.URN, id, req.Inputs); err != nil {
		return abi.CreateResponse{}, err
	}
	return abi.CreateResponse{ID: id, State: req.Inputs}, nil
}

// Update configures the pending provider under the reference of the old one.
func (r *providerRegistry) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	if err := r.configurePending(ctx, req.URN, req.ID, req.News); err != nil {
		return abi.UpdateResponse{}, err
	}
	return abi.UpdateResponse{State: req.News}, nil
}

// same configures the pending provider of an unchanged resource.
func (r *providerRegistry) same(ctx context.Context, u urn.URN, id string, inputs property.Map) error {
	return r.configurePending(ctx, u, id, inputs)
}

// Delete forgets the provider. It is closed at the end of the deployment, since
// deletions of its resources may still be under way.
func (r *providerRegistry) Delete(context.Context, abi.DeleteRequest) error { return nil }

func (r *providerRegistry) configurePending(ctx context.Context, u urn.URN, id string, inputs property.Map) error {
	s, err := r.pendingSession(u)
	if err != nil {
		return err
	}
	configured, err := r.configure(ctx, s, u, id, inputs)
	if err != nil {
		return err
	}
	r.pending.Remove(u)
	r.configured.Set(providers.Reference(u, id), &configuredProvider{session: configured, loaded: s, inputs: inputs})
	return nil
}

// configure applies a configuration. A provider whose configuration is not
// known yet, which only a preview meets, is not configured.
func (r *providerRegistry) configure(ctx context.Context, s *providers.Session, u urn.URN, id string, inputs property.Map) (abi.Provider, error) {
	own := ownInputs(inputs)
	if own.ContainsUnknowns() {
		return providers.Unconfigured{}, nil
	}
	err := s.Configure(ctx, abi.ConfigureRequest{URN: u, Name: u.Name(), Type: u.Type(), ID: id, Inputs: own})
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		return nil, providers.ExplainMissingKeys(u, s.ConfigSchema(ctx), err)
	}
	return s, nil
}

// lookup returns the configured provider of a reference. It loads the provider from the state
// if no registration has made it yet.
func (r *providerRegistry) lookup(ctx context.Context, ref string) (*configuredProvider, error) {
	u, id, err := providers.SplitReference(ref)
	if err != nil {
		return nil, err
	}
	return r.configured.Get(ctx, ref, func() (*configuredProvider, error) {
		res := r.stored(ref)
		if res == nil {
			return nil, fmt.Errorf("provider %s is neither registered nor in the state", u)
		}
		spec, err := recordedSpec(res.Type, res.Inputs)
		if err != nil {
			return nil, err
		}
		s, err := r.load(ctx, spec)
		if err != nil {
			return nil, err
		}
		session, err := r.configure(ctx, s, u, id, res.Inputs)
		if e, ok := errors.AsType[*abi.Error](err); ok && len(e.MissingKeys) > 0 && !providers.IsDefault(u) {
			err = fmt.Errorf("%w\n  if the program opens a value for it, which the state does not have, run the program with --run-program", err)
		}
		return &configuredProvider{session: session, loaded: s, inputs: res.Inputs}, err
	})
}

// plugins lists the packages that were loaded, for the manifest of the state.
func (r *providerRegistry) plugins() []state.Plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []state.Plugin
	for _, s := range r.all {
		p := state.Plugin{Name: s.Name, Type: "resource", Version: s.Version}
		if p.Name != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	sorted.By(out, func(a, b state.Plugin) int { return strings.Compare(a.Name+a.Version, b.Name+b.Version) })
	return out
}

func (r *providerRegistry) close(ctx context.Context) error {
	r.mu.Lock()
	all := slices.Clone(r.all)
	r.all = nil
	r.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close(ctx))
	}
	return errors.Join(errs...)
}
