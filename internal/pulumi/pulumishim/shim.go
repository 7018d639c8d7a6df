// Package pulumishim serves a provider over Pulumi's ResourceProvider protocol, so that Pulumi's engine
// uses a sandboxed module as one of its plugins.
package pulumishim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// features are the contract's features that Pulumi's engine has. It does not know write-only inputs.
const features = abi.AllFeatures &^ (abi.FeaturesWriteOnly | abi.FeaturesReadFirst)

// Shim serves one provider with one configuration, as a plugin of Pulumi does. Close it after use.
type Shim struct {
	// Name and Version are the module's.
	Name, Version string

	provider abi.Provider
	features abi.Features
	server   *pulumigrpc.Server

	// running are the calls that run. Cancel ends them.
	running  context.Context
	cancel   context.CancelFunc
	detached context.Context

	mu sync.Mutex
	// engine logs messages, nil before its address is known.
	engine *pulumigrpc.Client
	// begun is set by the first call that needs the package to be known. Later parameters belong to an extension.
	begun bool
	// configuring is held while the provider is configured. configured is the configuration that it has, nil before
	// there is one.
	configuring chan struct{}
	configured  *property.Map
	// given has the results of parameters, by their text: a further run of Pulumi on the same port gives them again.
	given map[string]abi.ParameterizeResponse
	// parameterized is the package that parameters made of the provider, and extensions are those beside it.
	parameterized *abi.ParameterizeResponse
	extensions    map[string]abi.ParameterizeResponse
}

// Open shakes hands with a provider, and serves it at a port of this machine, 0 for a free one. engine is the
// address at which Pulumi takes messages, empty if it is not known yet.
func Open(ctx context.Context, p abi.Provider, engine string, port int) (*Shim, error) {
	who, err := p.Handshake(ctx, abi.HandshakeRequest{Engine: "pulumi", Features: features})
	if errors.Is(err, abi.ErrUnimplemented) {
		who, err = abi.HandshakeResponse{Features: features}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Shim{Name: who.Name, Version: who.Version, provider: p, features: who.Features, given: map[string]abi.ParameterizeResponse{}, extensions: map[string]abi.ParameterizeResponse{}}
	s.configuring = make(chan struct{}, 1)
	s.detached = context.WithoutCancel(ctx)
	s.running, s.cancel = context.WithCancel(s.detached)
	s.Attach(engine)
	if s.server, err = pulumigrpc.Listen(port); err != nil {
		return nil, fmt.Errorf("listening for calls of Pulumi: %w", err)
	}
	s.server.Serve(pulumigrpc.ResourceProvider, s.methods())
	s.server.ServeStream(pulumigrpc.ResourceProvider, "List", s.list)
	return s, nil
}

// Address is the host and port at which the provider is served.
func (s *Shim) Address() string { return s.server.Address }

// Close ends the service.
func (s *Shim) Close() error {
	s.cancel()
	return s.server.Close()
}

// Attach has messages go to an engine.
func (s *Shim) Attach(address string) {
	if address == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine = pulumigrpc.Dial(address)
}

// logTimeout bounds how long a message waits for an engine that is gone.
const logTimeout = 5 * time.Second

// Log passes a message to Pulumi. It reports whether the engine took it.
func (s *Shim) Log(e abi.LogEntry) bool {
	s.mu.Lock()
	engine := s.engine
	s.mu.Unlock()
	if engine == nil {
		return false
	}
	in := pulumigrpc.Request(pulumigrpc.Engine, "Log")
	in.SetEnum("severity", severities[e.Severity])
	in.Set("message", e.Message)
	in.Set("urn", string(e.URN))
	in.Set("ephemeral", e.Ephemeral)
	ctx, cancel := context.WithTimeout(s.detached, logTimeout)
	defer cancel()
	_, err := engine.Call(ctx, pulumigrpc.Engine, "Log", in)
	return err == nil
}

func (s *Shim) has(f abi.Features) bool { return s.features&f != 0 }

// during returns the context of a call, which ends with the call of Pulumi and with Cancel.
func (s *Shim) during(ctx context.Context) (context.Context, func()) {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(running, cancel)
	return ctx, func() { stop(); cancel() }
}

// serve makes a method of functions that read a request, answer it, and write the response.
func serve[Q, R any](s *Shim, read func(pulumiwire.Message) (Q, error), answer func(context.Context, Q) (R, error), write func(pulumiwire.Message, R)) pulumigrpc.Method {
	return func(ctx context.Context, in, out pulumiwire.Message) error {
		request, err := read(in)
		if err != nil {
			return abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
		}
		ctx, end := s.during(ctx)
		defer end()
		response, err := answer(ctx, request)
		if err != nil {
			return err
		}
		write(out, response)
		return nil
	}
}

func (s *Shim) methods() map[string]pulumigrpc.Method {
	return map[string]pulumigrpc.Method{
		"Handshake":     s.handshake,
		"Attach":        s.attach,
		"GetPluginInfo": s.pluginInfo,
		"Parameterize":  s.parameterize,
		"GetSchema":     s.getSchema,
		"GetMapping":    s.getMapping,
		"GetMappings":   s.getMappings,
		"CheckConfig":   serve(s, pulumiwire.ReadCheck, s.checkConfig, pulumiwire.WriteChecked),
		"DiffConfig":    serve(s, pulumiwire.ReadDiff, s.diffConfig, pulumiwire.WriteDifference),
		"Configure":     serve(s, pulumiwire.ReadConfigure, s.configure, s.writeConfigured),
		"Check":         serve(s, pulumiwire.ReadCheck, s.check, pulumiwire.WriteChecked),
		"Diff":          serve(s, pulumiwire.ReadDiff, s.provider.Diff, pulumiwire.WriteDifference),
		"Create":        serve(s, pulumiwire.ReadCreate, s.create, pulumiwire.WriteCreated),
		"Read":          serve(s, pulumiwire.ReadRead, s.read, pulumiwire.WriteFound),
		"Update":        serve(s, pulumiwire.ReadUpdate, s.update, pulumiwire.WriteUpdated),
		"Delete":        serve(s, pulumiwire.ReadDelete, s.delete, func(pulumiwire.Message, struct{}) {}),
		"Invoke": serve(s, pulumiwire.ReadInvoke, s.provider.Invoke, func(out pulumiwire.Message, resp abi.InvokeResponse) {
			pulumiwire.SetResult(out, resp.Result, resp.Failures)
		}),
		"Call":      s.call,
		"Construct": s.construct,
		"Cancel":    s.cancelAll,
	}
}

func (s *Shim) handshake(_ context.Context, in, out pulumiwire.Message) error {
	s.Attach(in.Text("engine_address"))
	out.Set("accept_secrets", s.has(abi.FeaturesSecrets))
	out.Set("accept_resources", s.has(abi.FeaturesResourceReferences))
	out.Set("accept_outputs", s.has(abi.FeaturesOutputs))
	out.Set("supports_autonaming_configuration", s.has(abi.FeaturesAutonaming))
	return nil
}

func (s *Shim) attach(_ context.Context, in, _ pulumiwire.Message) error {
	s.Attach(in.Text("address"))
	return nil
}

func (s *Shim) pluginInfo(_ context.Context, _, out pulumiwire.Message) error {
	out.Set("version", s.Version)
	return nil
}

// cancelAll tells the calls that run to end. Later calls are served, because they clean up.
func (s *Shim) cancelAll(ctx context.Context, _, _ pulumiwire.Message) error {
	s.mu.Lock()
	s.cancel()
	s.running, s.cancel = context.WithCancel(s.detached)
	s.mu.Unlock()
	if err := s.provider.Cancel(ctx); err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		return err
	}
	return nil
}

// parameterize makes the provider into another package. In Pulumi's protocol the first parameters do that, unless something was
// asked before. Later ones belong to extensions.
func (s *Shim) parameterize(ctx context.Context, in, out pulumiwire.Message) error {
	given := pulumiwire.ReadParameters(in)
	key := fmt.Sprintf("%q", given)
	s.mu.Lock()
	extension := s.begun
	s.begun = true
	was, again := s.given[key]
	s.mu.Unlock()
	if again {
		out.Set("name", was.Name)
		out.Set("version", was.Version)
		return nil
	}
	became, err := s.provider.Parameterize(ctx, abi.ParameterizeRequest{Parameters: given, Extension: extension})
	if err != nil {
		return err
	}
	if given.Case == abi.ParametersCaseValue && len(became.Value) == 0 {
		became.Value = given.Value.Value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given[key] = became
	if extension {
		s.extensions[became.Name] = became
	} else {
		s.parameterized = &became
	}
	out.Set("name", became.Name)
	out.Set("version", became.Version)
	return nil
}

func (s *Shim) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// getSchema answers with the schema of the provider, of the package that parameters made of it, or of an
// extension. Pulumi names that package in each case.
func (s *Shim) getSchema(ctx context.Context, in, out pulumiwire.Message) error {
	s.begin()
	request := abi.GetSchemaRequest{
		Version: uint32(max(in.Int("version"), 0)), SubpackageName: in.Text("subpackage_name"), SubpackageVersion: in.Text("subpackage_version"),
	}
	s.mu.Lock()
	became := s.parameterized
	if is, ok := s.extensions[request.SubpackageName]; ok {
		became = &is
	} else if became != nil && (request.SubpackageName == "" || request.SubpackageName == became.Name) {
		request.SubpackageName, request.SubpackageVersion = "", ""
	}
	s.mu.Unlock()
	response, err := s.provider.GetSchema(ctx, request)
	if err != nil {
		return err
	}
	text, err := s.completed(response.Schema, became)
	if err != nil {
		return err
	}
	out.Set("schema", text)
	return nil
}

// moduleFormat finds the module in a token. It matches tokens with the file of the resource, as bridged providers have them
// (random:index/randomPet:RandomPet), and tokens without (web:pages:Page).
const moduleFormat = "^(.*?)(?:/[^/]*)?$"

// completed adds to a schema what Pulumi's generators of SDKs and its engine need, unless it is there: how
// tokens name modules, and for a parameterized package what made it.
func (s *Shim) completed(text string, became *abi.ParameterizeResponse) (string, error) {
	unreadable := func(err error) error {
		return abi.NewError(abi.ErrorKindInternal, "the schema of "+s.Name+" cannot be read: "+err.Error())
	}
	var document, meta map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &document); err != nil || document == nil {
		return "", unreadable(cmp.Or(err, errors.New("it is not an object")))
	}
	if raw := document["meta"]; raw != nil {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return "", unreadable(err)
		}
	}
	set := func(object map[string]json.RawMessage, key string, value any) (err error) {
		if object[key] == nil {
			object[key], err = json.Marshal(value)
		}
		return err
	}
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	if err := set(meta, "moduleFormat", moduleFormat); err != nil {
		return "", err
	}
	delete(document, "meta")
	if err := set(document, "meta", meta); err != nil {
		return "", err
	}
	if became != nil {
		made := map[string]any{"baseProvider": map[string]string{"name": s.Name, "version": s.Version}, "parameter": became.Value}
		if err := set(document, "parameterization", made); err != nil {
			return "", err
		}
	}
	whole, err := json.Marshal(document)
	return string(whole), err
}

func (s *Shim) getMapping(ctx context.Context, in, out pulumiwire.Message) error {
	response, err := s.provider.GetMapping(ctx, abi.GetMappingRequest{Key: in.Text("key"), Provider: in.Text("provider")})
	if errors.Is(err, abi.ErrUnimplemented) || errors.Is(err, abi.ErrNotFound) {
		return nil // an empty answer says that there is none
	}
	if err == nil {
		out.Set("provider", response.Provider)
		out.Set("data", response.Data)
	}
	return err
}

func (s *Shim) getMappings(ctx context.Context, in, out pulumiwire.Message) error {
	response, err := s.provider.GetMappings(ctx, abi.GetMappingsRequest{Key: in.Text("key")})
	if err == nil {
		out.SetTexts("providers", response.Providers)
	}
	return err
}

// nested decodes a configuration by its schema, as the engine of Husk does: the SDKs and stacks of Pulumi have
// lists and objects as JSON texts.
func (s *Shim) nested(ctx context.Context, config property.Map) property.Map {
	for _, v := range config.All() {
		if !schemajson.LooksNested(v) {
			continue
		}
		response, err := s.provider.GetSchema(ctx, abi.GetSchemaRequest{})
		if err != nil {
			return config
		}
		pkg, err := schemajson.Parse([]byte(response.Schema))
		if err != nil {
			return config
		}
		return schemajson.Nested(&pkg.Config, config)
	}
	return config
}
