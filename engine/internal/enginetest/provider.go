// Package enginetest holds the common parts of the engine's tests: a provider whose cloud is a map in memory, programs written as
// functions, and a stack without files.
package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// Cloud is the world that providers made by its Load manage. It logs every call
// that changes something.
type Cloud struct {
	mu      sync.Mutex
	objects map[string]property.Map // by ID
	// regions holds where objects are, by ID, if the cloud is regional.
	regions map[string]string
	// owned holds the results of [Cloud.Owner] for objects, by ID.
	owned map[string]string
	// generations tell objects apart that had the same ID one after the other.
	generations map[string]string
	log         []string
	// parameters are the values that providers were parameterized with.
	parameters []string
	loaded     []string
	next       int
	// Types holds the behaviour of each type.
	Types map[string]Type
	// Digest is the digest of the installed module.
	Digest string
	// Hook, if set, is called before each mutating call, with "create name", "update name" ...
	Hook func(call string) error
	// Unhealthy, if set, picks calls that have their effect, but report that their object is not healthy.
	// It gets the same as Hook.
	Unhealthy func(call string) bool
	// Lost, if set, returns the errors of calls that have their effect, and whose answers are lost. It gets the same
	// as Hook.
	Lost func(call, id string) error
	// Asked, if set, is called before calls that change nothing: "check name", "diff name", "read name".
	Asked func(call string) error
	// Owning has an object take along those with its property made as their owner.
	Owning bool
	// Owner, if set, returns the ID of the object that a new one of that name goes with, whatever it is updated to.
	Owner func(name string) string
	// Regional lets a provider reach only the objects in the region of its configuration.
	Regional bool
	// Editions has each state say which module recorded it. Another module asks that the resource be read before it compares
	// it, as ported providers of Terraform do, or replaces it if that cannot be asked for. Objects that several resources may
	// share are left out: a read would find what another one has made.
	Editions bool
	// Schema is the package's; empty for none.
	Schema string
	// Features are the features that the provider claims; nil for all but write-only inputs.
	Features *abi.Features
	// Checked, if set, sees each request of Check.
	Checked func(abi.CheckRequest)
	// These, if set, serve the methods of their names.
	Check       func(abi.CheckRequest) (abi.CheckResponse, error)
	Create      func(abi.CreateRequest) (abi.CreateResponse, error)
	Diff        func(abi.DiffRequest) (abi.DiffResponse, error)
	Read        func(abi.ReadRequest) (abi.ReadResponse, error)
	Exists      func(abi.ExistsRequest) (abi.ExistsResponse, error)
	Configure   func(abi.ConfigureRequest) error
	CheckConfig func(abi.CheckRequest) (abi.CheckResponse, error)
	DiffConfig  func(abi.DiffRequest) (abi.DiffResponse, error)
	Invoke      func(abi.InvokeRequest) (abi.InvokeResponse, error)
	List        func(abi.ListRequest) (abi.ListResponse, error)
	// Construct, if set, makes components.
	Construct func(context.Context, abi.Monitor, abi.ConstructRequest) (abi.ConstructResponse, error)
}

// Type is the behaviour of a resource type.
type Type struct {
	// Replace lists the inputs whose change replaces the resource.
	Replace []string
	// DeleteBeforeReplace says that two cannot exist at once.
	DeleteBeforeReplace bool
	// Computed names outputs that only a real creation knows.
	Computed []string
	// Required names inputs that must be given.
	Required []string
	// Coy says that its previewed updates tell no computed output.
	Coy bool
	// Vague says that its provider cannot tell what differs.
	Vague bool
	// Identity names the inputs that objects are known by: a creation with the same values takes the
	// object over with all that it was. It is empty for objects with an ID of their own.
	Identity []string
	// Declared has the schema declare the identity: the object is deleted before another one with the
	// same identity is made.
	Declared bool
}

// ID returns the ID of an object of the type with these inputs, empty if it gets a new one.
func (t Type) ID(inputs property.Map) string {
	values := make([]string, len(t.Identity))
	for i, key := range t.Identity {
		values[i], _ = inputs.Get(key).Plain().AsString()
	}
	return strings.Join(values, "/")
}

// NewCloud returns an empty cloud of the types Plain, Strict, and Single.
func NewCloud() *Cloud {
	return &Cloud{
		objects: make(map[string]property.Map), regions: make(map[string]string), generations: make(map[string]string), owned: make(map[string]string),
		Types: map[string]Type{
			Plain:  {Computed: []string{"made"}},
			Strict: {Replace: []string{"key"}, Computed: []string{"made"}},
			Single: {Replace: []string{"key"}, Computed: []string{"made"}, DeleteBeforeReplace: true},
		},
	}
}

// Calls returns the log of mutating calls and empties it.
func (c *Cloud) Calls() []string {
	return c.take(&c.log)
}

func (c *Cloud) take(list *[]string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := *list
	*list = nil
	return out
}

// Snapshot returns the objects that exist, by ID.
func (c *Cloud) Snapshot() map[string]property.Map {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.objects)
}

// IDs returns the IDs of the objects that exist.
func (c *Cloud) IDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.objects))
}

// Parameters returns the values that providers were parameterized with, and
// empties the list.
func (c *Cloud) Parameters() []string {
	return c.take(&c.parameters)
}

// Objects returns the number of objects that exist.
func (c *Cloud) Objects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.objects)
}

// Change changes an object behind the provider's back; a nil function removes it.
func (c *Cloud) Change(id string, f func(property.Map) property.Map) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		c.vanish(id)
		return
	}
	c.objects[id] = f(c.objects[id])
}

// Put makes an object that no provider has made.
func (c *Cloud) Put(id, region string, properties property.Map) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[id], c.regions[id] = properties, region
}

// Region returns where an object is.
func (c *Cloud) Region(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.regions[id]
}

// Load implements engine.Loader.
func (c *Cloud) Load(_ context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded = append(c.loaded, spec.Digest)
	return &provider{cloud: c, name: spec.Name, digest: cmp.Or(spec.Digest, c.Digest)}, nil
}

// Loaded returns the digests that providers were asked for by, and empties the list.
func (c *Cloud) Loaded() []string {
	return c.take(&c.loaded)
}

// Digest implements engine.Digester.
func (p *provider) Digest() string { return p.digest }

func (c *Cloud) begin(call string) error {
	c.mu.Lock()
	c.log = append(c.log, call)
	hook := c.Hook
	c.mu.Unlock()
	if hook != nil {
		return hook(call)
	}
	return nil
}

type provider struct {
	abi.Unimplemented
	cloud  *Cloud
	name   string
	digest string

	mu         sync.Mutex
	extended   map[string]bool // the packages beside its own
	region     string
	readsFirst bool // whether it may ask for a read
}

// recorded is a state as this module records it.
func (p *provider) recorded(state property.Map) property.Map {
	if p.cloud.Editions {
		state = state.With(edition, property.String(p.digest))
	}
	return state
}

// edition is the property that says which module recorded a state.
const edition = "edition"

// found returns an object that the provider reaches. The caller holds the cloud's lock.
func (p *provider) found(id string) (property.Map, bool) {
	state, ok := p.cloud.objects[id]
	return state, ok && (!p.cloud.Regional || p.cloud.regions[id] == p.region)
}

// serves is an error for a type or function of a package that the provider does not know.
func (p *provider) serves(token string) error {
	pkg, _, _ := strings.Cut(token, ":")
	p.mu.Lock()
	defer p.mu.Unlock()
	if pkg == p.name || p.extended[pkg] {
		return nil
	}
	return abi.NewError(abi.ErrorKindNotFound, "the provider "+p.name+" does not serve "+token)
}

func (p *provider) Handshake(_ context.Context, req abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	features := req.Features &^ abi.FeaturesWriteOnly
	if p.cloud.Features != nil {
		features &= *p.cloud.Features
	}
	p.readsFirst = features&abi.FeaturesReadFirst != 0
	return abi.HandshakeResponse{Name: p.name, Version: "1.0.0", Features: features}, nil
}

// Parameterize makes the provider into the package that the first argument or
// the value names, or extends it with that.
func (p *provider) Parameterize(_ context.Context, req abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	value := req.Parameters.Value
	if req.Parameters.Case == abi.ParametersCaseArgs {
		args := req.Parameters.Args
		value = abi.ParameterValue{Name: args[0], Version: "2.0.0", Value: fmt.Appendf(nil, "%q", args)}
	}
	p.cloud.mu.Lock()
	p.cloud.parameters = append(p.cloud.parameters, string(value.Value))
	p.cloud.mu.Unlock()
	if !req.Extension {
		p.name = value.Name
		return abi.ParameterizeResponse(value), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.extended == nil {
		p.extended = make(map[string]bool)
	}
	p.extended[value.Name] = true
	return abi.ParameterizeResponse(value), nil
}

func (p *provider) CheckConfig(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	if p.cloud.CheckConfig != nil {
		return p.cloud.CheckConfig(req)
	}
	return abi.CheckResponse{Inputs: req.News}, nil
}

func (p *provider) DiffConfig(_ context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	if p.cloud.DiffConfig != nil {
		return p.cloud.DiffConfig(req)
	}
	return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
}

func (p *provider) Configure(_ context.Context, req abi.ConfigureRequest) error {
	p.region = ""
	if region := req.Inputs.Get("region").Plain(); !region.IsNull() {
		p.region = property.Display(region)
	}
	if p.cloud.Configure != nil {
		return p.cloud.Configure(req)
	}
	return nil
}

func (p *provider) GetSchema(ctx context.Context, req abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	if p.cloud.Schema == "" {
		return p.Unimplemented.GetSchema(ctx, req)
	}
	return abi.GetSchemaResponse{Schema: p.cloud.Schema}, nil
}

func (p *provider) Cancel(context.Context) error { return nil }

func (p *provider) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	if p.cloud.Checked != nil {
		p.cloud.Checked(req)
	}
	if p.cloud.Check != nil {
		return p.cloud.Check(req)
	}
	if err := p.serves(req.Type); err != nil {
		return abi.CheckResponse{}, err
	}
	if err := p.cloud.asked("check " + req.Name); err != nil {
		return abi.CheckResponse{}, err
	}
	var failures []abi.CheckFailure
	for _, k := range p.cloud.Types[req.Type].Required {
		if !req.News.Has(k) {
			failures = append(failures, abi.CheckFailure{Path: k, Reason: "missing required property"})
		}
	}
	return abi.CheckResponse{Inputs: req.News, Failures: failures}, nil
}

func (p *provider) Diff(_ context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	if p.cloud.Diff != nil {
		return p.cloud.Diff(req)
	}
	if err := p.cloud.asked("diff " + req.Name); err != nil {
		return abi.DiffResponse{}, err
	}
	t := p.cloud.Types[req.Type]
	if t.Vague {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	resp := abi.DiffResponse{Changes: abi.DiffChangesNone, HasDetailedDiff: true, DeleteBeforeReplace: t.DeleteBeforeReplace}
	if by, _ := req.Olds.Get(edition).Plain().AsString(); p.cloud.Editions && t.Identity == nil && by != p.digest {
		resp.Changes = abi.DiffChangesOutdated
		if !p.readsFirst {
			resp.Changes, resp.ReplaceKeys = abi.DiffChangesSome, []string{edition}
		}
		return resp, nil
	}
	if t.Declared && t.ID(req.OldInputs) == t.ID(req.News) {
		resp.DeleteBeforeReplace = true
	}
	for _, c := range property.Diff(req.OldInputs.Unwrap(), req.News.Unwrap()) {
		kind := abi.DiffKindUpdate
		switch c.Kind {
		case property.ChangeAdd:
			kind = abi.DiffKindAdd
		case property.ChangeDelete:
			kind = abi.DiffKindDelete
		}
		key, _ := c.Path[0].Key()
		if slices.Contains(t.Replace, key) {
			kind++ // the replacing kinds follow the plain ones
			resp.ReplaceKeys = append(resp.ReplaceKeys, key)
		}
		resp.Changes = abi.DiffChangesSome
		resp.DetailedDiff = append(resp.DetailedDiff, abi.PropertyDiff{Path: c.Path.String(), Kind: kind, InputDiff: true})
	}
	return resp, nil
}

// outputs are the inputs and the computed properties.
func (p *provider) outputs(typ, id string, inputs property.Map) property.Map {
	for _, k := range p.cloud.Types[typ].Computed {
		v := property.Unknown
		if id != "" {
			v = property.String(k + " of " + id + p.cloud.generations[id])
		}
		inputs = inputs.With(k, v)
	}
	return inputs
}

func (p *provider) Create(_ context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	if p.cloud.Create != nil {
		return p.cloud.Create(req)
	}
	if req.Preview {
		return abi.CreateResponse{State: p.outputs(req.Type, "", req.Inputs)}, nil
	}
	if err := p.cloud.begin("create " + req.Name); err != nil {
		return abi.CreateResponse{}, err
	}
	c := p.cloud
	var owner string
	if c.Owner != nil {
		owner = c.Owner(req.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.Types[req.Type].ID(req.Inputs)
	if id == "" {
		c.next++
		id = fmt.Sprintf("%s-%d", req.Name, c.next)
	}
	if c.Types[req.Type].Identity != nil { // another object with the same ID
		c.next++
		c.generations[id] = fmt.Sprintf("#%d", c.next)
	}
	c.objects[id], c.regions[id], c.owned[id] = p.outputs(req.Type, id, req.Inputs), p.region, owner
	if err := c.health("create "+req.Name, id); err != nil {
		return abi.CreateResponse{}, err
	}
	return abi.CreateResponse{ID: id, State: p.recorded(c.objects[id])}, nil
}

func (c *Cloud) asked(call string) error {
	if c.Asked == nil {
		return nil
	}
	return c.Asked(call)
}

// vanish removes an object and all that it owns. The caller holds the lock.
func (c *Cloud) vanish(id string) {
	delete(c.objects, id)
	delete(c.owned, id)
	for other, owner := range c.owned {
		if owner == id {
			c.vanish(other)
		}
	}
	if !c.Owning {
		return
	}
	for other, object := range c.objects {
		owner, _ := object.Get("owner").Plain().AsString()
		if owner, _, _ = strings.Cut(owner, "#"); owner == "made of "+id {
			c.vanish(other)
		}
	}
}

// health is the failure of a call that had its effect, nil for most.
func (c *Cloud) health(call, id string) error {
	if c.Lost != nil {
		if err := c.Lost(call, id); err != nil {
			return err
		}
	}
	if c.Unhealthy == nil || !c.Unhealthy(call) {
		return nil
	}
	return &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{
		ID: id, State: c.objects[id], Reasons: []string{"it is not healthy"},
	}}
}

func (p *provider) Read(_ context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	if p.cloud.Read != nil {
		return p.cloud.Read(req)
	}
	if err := p.serves(req.Type); err != nil {
		return abi.ReadResponse{}, err
	}
	if err := p.cloud.asked("read " + req.Name); err != nil {
		return abi.ReadResponse{}, err
	}
	p.cloud.mu.Lock()
	defer p.cloud.mu.Unlock()
	state, ok := p.found(req.ID)
	if !ok {
		return abi.ReadResponse{}, nil
	}
	inputs := state.Without(p.cloud.Types[req.Type].Computed...)
	return abi.ReadResponse{ID: req.ID, State: p.recorded(state), Inputs: &inputs}, nil
}

func (p *provider) Exists(ctx context.Context, req abi.ExistsRequest) (abi.ExistsResponse, error) {
	if p.cloud.Exists != nil {
		return p.cloud.Exists(req)
	}
	return p.Unimplemented.Exists(ctx, req)
}

func (p *provider) Update(_ context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	if req.Preview {
		id := req.ID
		if p.cloud.Types[req.Type].Coy {
			id = ""
		}
		return abi.UpdateResponse{State: p.outputs(req.Type, id, req.News)}, nil
	}
	if err := p.cloud.begin("update " + req.Name); err != nil {
		return abi.UpdateResponse{}, err
	}
	c := p.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := p.found(req.ID); !ok {
		return abi.UpdateResponse{}, abi.NewError(abi.ErrorKindNotFound, "object "+req.ID+" does not exist")
	}
	c.objects[req.ID] = p.outputs(req.Type, req.ID, req.News)
	return abi.UpdateResponse{State: p.recorded(c.objects[req.ID])}, c.health("update "+req.Name, req.ID)
}

func (p *provider) Delete(_ context.Context, req abi.DeleteRequest) error {
	if err := p.serves(req.Type); err != nil {
		return err
	}
	if err := p.cloud.begin("delete " + req.ID); err != nil {
		return err
	}
	c := p.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := p.found(req.ID); !ok {
		return abi.NewError(abi.ErrorKindNotFound, "object "+req.ID+" does not exist")
	}
	c.vanish(req.ID)
	if c.Lost != nil {
		return c.Lost("delete "+req.ID, req.ID)
	}
	return nil
}

func (p *provider) Invoke(_ context.Context, req abi.InvokeRequest) (abi.InvokeResponse, error) {
	if err := p.serves(req.Token); err != nil {
		return abi.InvokeResponse{}, err
	}
	if p.cloud.Invoke == nil {
		return p.Unimplemented.Invoke(context.Background(), req)
	}
	return p.cloud.Invoke(req)
}

func (p *provider) List(ctx context.Context, req abi.ListRequest) (abi.ListResponse, error) {
	if p.cloud.List == nil {
		return p.Unimplemented.List(ctx, req)
	}
	return p.cloud.List(req)
}

func (p *provider) Construct(ctx context.Context, req abi.ConstructRequest) (abi.ConstructResponse, error) {
	if p.cloud.Construct == nil {
		return p.Unimplemented.Construct(ctx, req)
	}
	return p.cloud.Construct(ctx, abi.MonitorFrom(ctx), req)
}

// Call answers the methods of all resources with the region of the provider that is asked.
func (p *provider) Call(context.Context, abi.CallRequest) (abi.CallResponse, error) {
	return abi.CallResponse{Result: Props("region", strings.Trim(p.region, `"`))}, nil
}

// ReplacedByRegion makes the provider's region its identity.
func ReplacedByRegion(req abi.DiffRequest) (abi.DiffResponse, error) {
	if req.OldInputs.Get("region").Equal(req.News.Get("region")) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	return abi.DiffResponse{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"region"}}, nil
}
