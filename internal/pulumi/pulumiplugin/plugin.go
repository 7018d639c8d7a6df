package pulumiplugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// Options select the plugin, and the receivers of its messages.
type Options struct {
	// Name is the package, and Program the executable.
	Name, Program string
	// Dir is where it runs.
	Dir string
	// Command returns how to start what is a program of another kind, in Dir, for the address of the engine's services; nil for the
	// executable.
	Command func(engine string) *exec.Cmd
	// EnvVarMappings have it see the variables of its keys under the names that are their values, beside all others.
	EnvVarMappings map[string]string
	// Log gets its messages, and its output with the severity debug. It may be called concurrently.
	Log func(abi.LogEntry)
	// WantedVersion returns the version of a package that counts, given the one that a component's SDK wants; nil keeps
	// that.
	WantedVersion func(pkg, wanted string) string
}

// Plugin is a running plugin with one configuration. Close it after use.
type Plugin struct {
	abi.Unimplemented // for methods that Pulumi's protocol lacks, such as ephemeral values

	name    string
	wanted  func(pkg, wanted string) string
	process *process
	engine  *pulumigrpc.Server
	client  *pulumigrpc.Client

	// accepted has the features that the plugin understands.
	accepted atomic.Pointer[accepted]
	// told is the version that the plugin reports for itself or, with parameters, for the package that it became.
	told atomic.Pointer[string]
	// undecided is true while the configuration holds unknowns. The plugin must not be called then.
	undecided atomic.Bool
}

var _ abi.Provider = (*Plugin)(nil)

// Start starts a plugin.
func Start(ctx context.Context, o Options) (*Plugin, error) {
	p := &Plugin{name: o.Name, wanted: o.WantedVersion}
	if p.wanted == nil {
		p.wanted = func(_, wanted string) string { return wanted }
	}
	p.accepted.Store(&accepted{preview: true})
	var err error
	if p.engine, err = listenForEngine(engineMethods(o.Log)); err != nil {
		return nil, err
	}
	var address string
	p.process, address, err = startProcess(ctx, o, p.engine.Address, func(line string) {
		o.Log(abi.LogEntry{Severity: abi.LogSeverityDebug, Message: line})
	})
	if err != nil {
		return nil, errors.Join(err, p.engine.Close())
	}
	p.client = pulumigrpc.Dial(address)
	return p, nil
}

// Close ends the process.
func (p *Plugin) Close() error {
	p.client.Close()
	p.process.stop()
	return p.engine.Close()
}

func engineMethods(log func(abi.LogEntry)) map[string]pulumigrpc.Method {
	return map[string]pulumigrpc.Method{
		"Log": func(_ context.Context, in, _ pulumiwire.Message) error {
			severity := abi.LogSeverity(in.Enum("severity"))
			if severity > abi.LogSeverityError {
				return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("Log: there is no severity %d", severity))
			}
			log(abi.LogEntry{Severity: severity, Message: strings.TrimRight(in.Text("message"), "\n"), URN: urn.URN(in.Text("urn")), Ephemeral: in.Bool("ephemeral")})
			return nil
		},
		// The stack has no resource that a provider may know.
		"GetRootResource": func(context.Context, pulumiwire.Message, pulumiwire.Message) error { return nil },
	}
}

// call calls a method of the plugin.
func (p *Plugin) call(ctx context.Context, method string, write func(pulumiwire.Message)) (pulumiwire.Message, error) {
	return callProcess(ctx, p.client, p.process, pulumigrpc.ResourceProvider, method, write)
}

// callProcess calls a method of a process.
func callProcess(ctx context.Context, c *pulumigrpc.Client, p *process, service, method string, write func(pulumiwire.Message)) (pulumiwire.Message, error) {
	in := pulumigrpc.Request(service, method)
	if write != nil {
		write(in)
	}
	out, err := c.Call(ctx, service, method, in)
	if errors.Is(err, pulumigrpc.ErrNoAnswer) {
		p.awaitEnd()
	}
	if err != nil && p.hasEnded() {
		return out, abi.NewError(abi.ErrorKindCrashed, "the "+p.program+" has ended: "+err.Error()+p.printed())
	}
	return out, err
}

// accepted says which values and calls a plugin understands.
type accepted struct {
	secrets, references, outputs, preview, autonaming bool
	// final is true once a handshake said so. Plugins of the time before answer it to Configure.
	final bool
}

// lower returns properties of a resource as the plugin understands them.
func (p *Plugin) lower(m property.Map) property.Map {
	a := p.accepted.Load()
	foreign := []property.Kind{property.KindOutput}
	if !a.secrets {
		foreign = append(foreign, property.KindSecret)
	}
	if !a.references {
		foreign = append(foreign, property.KindResourceReference)
	}
	return m.Lower(foreign...)
}

// lowerComponent returns inputs of a component as the plugin understands them. As in Pulumi, their secrets stay: they become
// inputs of other resources, where nobody could mark them again.
func (p *Plugin) lowerComponent(m property.Map) property.Map {
	a := p.accepted.Load()
	var foreign []property.Kind
	if !a.references {
		foreign = append(foreign, property.KindResourceReference)
	}
	if !a.outputs {
		foreign = append(foreign, property.KindOutput)
	}
	return m.Lower(foreign...)
}

// lowerArgs returns arguments of a method as the plugin understands them.
func (p *Plugin) lowerArgs(m property.Map) property.Map {
	if p.accepted.Load().secrets {
		return p.lowerComponent(m)
	}
	return p.lower(m)
}

func (p *Plugin) lowerOptional(m *property.Map) *property.Map {
	if m == nil {
		return nil
	}
	lowered := p.lower(*m)
	return &lowered
}

// mark marks properties of a response secret whose namesake in the request holds a secret, because the
// plugin does not tell secrets apart.
func (p *Plugin) mark(response, request property.Map) property.Map {
	if p.accepted.Load().secrets || !request.ContainsSecrets() {
		return response
	}
	entries := slices.Clone(response.Entries())
	for i, e := range entries {
		if asked, ok := request.Lookup(e.Key); ok && asked.ContainsSecrets() && !e.Value.ContainsSecrets() {
			entries[i].Value = property.Secret(e.Value)
		}
	}
	return property.SortedMap(entries)
}

// markAll marks all properties of a result that was made of secret arguments.
func (p *Plugin) markAll(result, args property.Map) property.Map {
	if p.accepted.Load().secrets || !args.ContainsSecrets() {
		return result
	}
	entries := slices.Clone(result.Entries())
	for i := range entries {
		entries[i].Value = property.Secret(entries[i].Value)
	}
	return property.SortedMap(entries)
}

// decided returns an error while the configuration is not known.
func (p *Plugin) decided() error {
	if p.undecided.Load() {
		return abi.NewError(abi.ErrorKindUnavailable, "the configuration of "+p.name+" is not known in this preview: it depends on a resource that does not exist yet")
	}
	return nil
}

// Handshake asks the plugin what it understands. Values that it does not understand are lowered here, so the engine may send all.
func (p *Plugin) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response := abi.HandshakeResponse{
		Name: p.name, SDK: "a native plugin of Pulumi",
		Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs | abi.FeaturesPreview,
	}
	out, err := p.call(ctx, "Handshake", func(in pulumiwire.Message) {
		in.Set("engine_address", p.engine.Address)
		in.Set("configure_with_urn", true)
		in.Set("supports_refresh_before_update", true)
		in.Set("invoke_with_preview", true)
	})
	switch {
	case err == nil:
		p.accepted.Store(&accepted{
			secrets: out.Bool("accept_secrets"), references: out.Bool("accept_resources"), outputs: out.Bool("accept_outputs"),
			autonaming: out.Bool("supports_autonaming_configuration"), preview: true, final: true,
		})
	case !errors.Is(err, abi.ErrUnimplemented):
		return abi.HandshakeResponse{}, err
	}
	if p.accepted.Load().autonaming {
		response.Features |= abi.FeaturesAutonaming
	}
	response.Features &= request.Features
	response.Version, err = p.version(ctx)
	p.told.Store(&response.Version)
	return response, err
}

// version returns the version that the plugin reports, in its schema if nowhere else.
func (p *Plugin) version(ctx context.Context) (string, error) {
	out, err := p.call(ctx, "GetPluginInfo", nil)
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		return "", err
	}
	told := out.Text("version")
	if told == "" {
		if schema, err := p.GetSchema(ctx, abi.GetSchemaRequest{}); err == nil {
			told = packageOf(schema.Schema).Version
		}
	}
	return strings.TrimPrefix(cmp.Or(told, "0.0.0"), "v"), nil
}

// document is the part of a package schema that matters here.
type document struct {
	Version          string `json:"version"`
	Parameterization struct {
		Parameter []byte `json:"parameter"`
	} `json:"parameterization"`
}

// packageOf returns a zero document for a text that is not a schema.
func packageOf(schema string) (d document) {
	if json.Unmarshal([]byte(schema), &d) != nil {
		return document{}
	}
	return d
}

func (p *Plugin) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	out, err := p.call(ctx, "Parameterize", func(in pulumiwire.Message) { pulumiwire.WriteParameters(in, request.Parameters) })
	if err != nil {
		return abi.ParameterizeResponse{}, err
	}
	response := abi.ParameterizeResponse{Name: out.Text("name"), Version: out.Text("version"), Value: request.Parameters.Value.Value}
	if request.Parameters.Case == abi.ParametersCaseArgs { // the protocol has the value in the schema alone
		schema, err := p.GetSchema(ctx, abi.GetSchemaRequest{SubpackageName: response.Name, SubpackageVersion: response.Version})
		if err != nil {
			return abi.ParameterizeResponse{}, fmt.Errorf("the schema of the parameterized package %s: %w", response.Name, err)
		}
		response.Value = packageOf(schema.Schema).Parameterization.Parameter
	}
	if !request.Extension {
		p.name = response.Name
		p.told.Store(&response.Version)
	}
	return response, nil
}

func (p *Plugin) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	out, err := p.call(ctx, "GetSchema", func(in pulumiwire.Message) {
		in.Set("version", int32(request.Version))
		in.Set("subpackage_name", request.SubpackageName)
		in.Set("subpackage_version", request.SubpackageVersion)
	})
	return abi.GetSchemaResponse{Schema: out.Text("schema")}, err
}

func (p *Plugin) GetMapping(ctx context.Context, request abi.GetMappingRequest) (abi.GetMappingResponse, error) {
	out, err := p.call(ctx, "GetMapping", func(in pulumiwire.Message) {
		in.Set("key", request.Key)
		in.Set("provider", request.Provider)
	})
	return abi.GetMappingResponse{Provider: out.Text("provider"), Data: out.Bytes("data")}, err
}

func (p *Plugin) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	out, err := p.call(ctx, "GetMappings", func(in pulumiwire.Message) { in.Set("key", request.Key) })
	return abi.GetMappingsResponse{Providers: out.Texts("providers")}, err
}

func (p *Plugin) Cancel(ctx context.Context) error {
	_, err := p.call(ctx, "Cancel", nil)
	return err
}

// versionKey is the configuration key in which Pulumi's engine tells plugins their own version.
const versionKey = "version"

// withVersion adds the plugin's version to its configuration. The version does not change while the plugin runs, so it
// makes no difference between an old and a new configuration.
func (p *Plugin) withVersion(config property.Map) property.Map {
	version := p.told.Load()
	if version == nil || *version == "" || config.Has(versionKey) {
		return config
	}
	return config.With(versionKey, property.String(*version))
}

func (p *Plugin) CheckConfig(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	_, given := request.News.Lookup(versionKey)
	request.News = p.withVersion(request.News)
	if request.Olds != nil {
		olds := p.withVersion(*request.Olds)
		request.Olds = &olds
	}
	response, err := p.check(ctx, "CheckConfig", request)
	if !given {
		response.Inputs = response.Inputs.Without(versionKey)
	}
	return response, err
}

func (p *Plugin) DiffConfig(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	request.Olds, request.News, request.OldInputs = p.withVersion(request.Olds), p.withVersion(request.News), p.withVersion(request.OldInputs)
	return p.diff(ctx, "DiffConfig", request)
}

// Configure sends the configuration in both forms of the protocol: as texts, and as properties.
func (p *Plugin) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	p.undecided.Store(request.Inputs.ContainsUnknowns())
	if p.undecided.Load() {
		return nil // a preview, in which no method of the plugin is called
	}
	request.Inputs = p.withVersion(request.Inputs)
	texts := map[string]string{}
	for key, v := range request.Inputs.All() {
		text, err := configText(v)
		if err != nil {
			return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("%s: %v", key, err))
		}
		texts[p.name+":config:"+key] = text
	}
	out, err := p.call(ctx, "Configure", func(in pulumiwire.Message) {
		in.Set("urn", string(request.URN))
		in.Set("name", request.Name)
		in.Set("type", request.Type)
		in.Set("id", request.ID)
		for _, name := range []string{"acceptSecrets", "acceptResources", "sends_old_inputs", "sends_old_inputs_to_delete"} {
			in.Set(name, true)
		}
		for key, text := range texts {
			in.SetText("variables", key, text)
		}
		in.SetProperties("args", request.Inputs.Lower(property.KindOutput))
	})
	if err == nil && !p.accepted.Load().final {
		p.accepted.Store(&accepted{
			secrets: out.Bool("acceptSecrets"), references: out.Bool("acceptResources"), outputs: out.Bool("acceptOutputs"),
			autonaming: out.Bool("supports_autonaming_configuration"), preview: out.Bool("supportsPreview"),
		})
	}
	return err
}

// configText returns a value of the configuration as a text: a string as it is, all others as JSON.
func configText(v property.Value) (string, error) {
	plain := v.Lower(property.KindSecret, property.KindOutput, property.KindResourceReference)
	if text, ok := plain.AsString(); ok {
		return text, nil
	}
	text, err := json.Marshal(pulumiwire.ToValue(plain).AsInterface())
	return string(text), err
}
