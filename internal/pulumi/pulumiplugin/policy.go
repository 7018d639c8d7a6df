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
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// PolicyOptions say which policy pack runs, and who gets what it says.
type PolicyOptions struct {
	// Dir is where it runs, and ProgramDir where its program is.
	Dir, ProgramDir string
	// Version is the pack's version, empty for the one that the program says.
	Version string
	// Run is what is known of the run before [Policy.Configure].
	Run abi.RunContext
	// Command returns how to start it for a run and the address of the engine's services.
	Command func(run abi.RunContext, engine string) *exec.Cmd
	// Log gets its messages, and what it prints with the severity debug. It may be called concurrently.
	Log func(abi.LogEntry)
}

// Policy is a policy pack of Pulumi. Its process starts with the first call. A program knows of its run by its environment, so
// another run has another process.
type Policy struct {
	options PolicyOptions
	engine  *pulumigrpc.Server
	process *process
	client  *pulumigrpc.Client
	// run is the run that the process was started for.
	run string

	policies []policyInfo
	// mu guards levels, which are those in force, by the names of policies.
	mu     sync.Mutex
	levels map[string]abi.PolicyLevel
}

var _ abi.Policy = (*Policy)(nil)

// OpenPolicy returns a policy pack, and starts nothing. [Policy.Handshake] and [Policy.Configure] are called before all else, and
// not at once.
func OpenPolicy(o PolicyOptions) *Policy { return &Policy{options: o} }

// Close ends the process.
func (p *Policy) Close() error {
	if p.process == nil {
		return nil
	}
	p.client.Close()
	p.process.stop()
	p.process = nil
	return p.engine.Close()
}

// start starts the process for a run, unless it was.
func (p *Policy) start(ctx context.Context, run abi.RunContext) error {
	key := fmt.Sprint(run.Project, run.Stack, run.Organization, run.DryRun, run.Config)
	if p.process != nil && p.run == key {
		return nil
	}
	err := p.Close()
	if err != nil {
		return err
	}
	if p.engine, err = listenForEngine(engineMethods(p.options.Log)); err != nil {
		return err
	}
	var address string
	p.process, address, err = startProcess(ctx, Options{
		Dir: p.options.Dir, Command: func(engine string) *exec.Cmd { return p.options.Command(run, engine) },
	}, p.engine.Address, func(line string) {
		p.options.Log(abi.LogEntry{Severity: abi.LogSeverityDebug, Message: line})
	})
	if err != nil {
		return errors.Join(err, p.engine.Close())
	}
	p.client, p.run = pulumigrpc.Dial(address), key
	return p.optional(ctx, "Handshake", func(in pulumiwire.Message) {
		in.Set("engine_address", p.engine.Address)
		in.Set("root_directory", p.options.Dir)
		in.Set("program_directory", p.options.ProgramDir)
	})
}

func (p *Policy) call(ctx context.Context, method string, write func(pulumiwire.Message)) (pulumiwire.Message, error) {
	return callProcess(ctx, p.client, p.process, pulumigrpc.Analyzer, method, write)
}

// optional calls a method that older SDKs lack.
func (p *Policy) optional(ctx context.Context, method string, write func(pulumiwire.Message)) error {
	_, err := p.call(ctx, method, write)
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil
	}
	return err
}

// policyInfo is what the protocol says of a policy and the engine does not need.
type policyInfo struct {
	rule abi.PolicyRule
	// properties are the JSON Schemas of its configuration, and initial is the configuration that the program has given itself.
	properties, initial property.Map
}

// levels are the levels of policies by their numbers in the protocol.
var levels = []abi.PolicyLevel{abi.PolicyLevelAdvisory, abi.PolicyLevelMandatory, abi.PolicyLevelDisabled, abi.PolicyLevelRemediate}

func levelOf(m pulumiwire.Message) (abi.PolicyLevel, error) {
	number := int(m.Enum("enforcementLevel"))
	if number < 0 || number >= len(levels) {
		return 0, abi.NewError(abi.ErrorKindInternal, fmt.Sprintf("the policy pack has a level %d, which is not known", number))
	}
	return levels[number], nil
}

// Handshake asks the pack for its policies.
func (p *Policy) Handshake(ctx context.Context, _ abi.PolicyHandshakeRequest) (abi.PolicyHandshakeResponse, error) {
	if err := p.start(ctx, p.options.Run); err != nil {
		return abi.PolicyHandshakeResponse{}, err
	}
	info, err := p.call(ctx, "GetAnalyzerInfo", nil)
	if err != nil {
		return abi.PolicyHandshakeResponse{}, err
	}
	initial := map[string]pulumiwire.Message{}
	info.EachEntry("initialConfig", func(name string, v protoreflect.Value) { initial[name] = pulumiwire.Message{Reflect: v.Message()} })
	p.policies = nil
	response := abi.PolicyHandshakeResponse{
		Name: printable.Line(info.Text("name")), Version: printable.Line(cmp.Or(p.options.Version, info.Text("version"))), SDK: "a policy pack of Pulumi",
	}
	for _, m := range info.Messages("policies") {
		read, err := readPolicy(m, initial)
		if err != nil {
			return abi.PolicyHandshakeResponse{}, err
		}
		p.policies = append(p.policies, read)
		response.Rules = append(response.Rules, read.rule)
	}
	return response, nil
}

// readPolicy reads a policy. initial is the configuration that the program gives its policies by their names, or all.
func readPolicy(m pulumiwire.Message, initial map[string]pulumiwire.Message) (info policyInfo, err error) {
	r := &info.rule
	r.Name, r.Description = printable.Line(m.Text("name")), printable.Text(m.Text("description"))
	if r.Level, err = levelOf(m); err != nil {
		return info, err
	}
	switch m.Enum("policy_type") {
	case 1:
		r.Actions = abi.PolicyActionsRemediate | abi.PolicyActionsAnalyze
	case 2:
		r.Actions = abi.PolicyActionsAnalyzeStack
	default: // older SDKs do not say
		r.Actions = abi.PolicyActionsRemediate | abi.PolicyActionsAnalyze | abi.PolicyActionsAnalyzeStack
	}
	for _, name := range []string{"all", r.Name} {
		if given, ok := initial[name]; ok {
			if r.Level, err = levelOf(given); err != nil {
				return info, err
			}
			if info.initial, err = given.Properties("properties"); err != nil {
				return info, unreadable("GetAnalyzerInfo", abi.ErrorKindInternal, err)
			}
		}
	}
	given := m.Message("configSchema")
	if info.properties, err = given.Properties("properties"); err != nil {
		return info, unreadable("GetAnalyzerInfo", abi.ErrorKindInternal, err)
	}
	described := struct {
		Name     string `json:"name"`
		Provider struct {
			InputProperties map[string]any `json:"inputProperties"`
			RequiredInputs  []string       `json:"requiredInputs"`
		} `json:"provider"`
	}{Name: r.Name}
	described.Provider.InputProperties = map[string]any{}
	for _, m := range []property.Map{info.properties, info.initial} {
		for key := range m.All() { // Configure checks the values: the types of JSON Schema are others
			described.Provider.InputProperties[key] = map[string]string{"$ref": "pulumi.json#/Any"}
		}
	}
	for _, key := range given.Texts("required") {
		if _, has := info.standard(key); !has {
			described.Provider.RequiredInputs = append(described.Provider.RequiredInputs, key)
		}
	}
	text, err := json.Marshal(described)
	r.ConfigSchema = string(text)
	return info, err
}

// standard returns the value of a property that the operator has not given.
func (i *policyInfo) standard(key string) (property.Value, bool) {
	if v, ok := i.initial.Lookup(key); ok {
		return v, true
	}
	described, _ := i.properties.Get(key).AsObject()
	return described.Lookup("default")
}

// Configure tells the pack its run, and the levels and configuration of its policies.
func (p *Policy) Configure(ctx context.Context, request abi.PolicyConfigureRequest) error {
	if err := p.start(ctx, request.Context); err != nil {
		return err
	}
	err := p.optional(ctx, "ConfigureStack", func(in pulumiwire.Message) {
		in.Set("stack", request.Context.Stack)
		in.Set("project", request.Context.Project)
		in.Set("organization", request.Context.Organization)
		in.Set("dry_run", request.Context.DryRun)
		var secrets []string
		for _, e := range request.Context.Config {
			in.SetText("config", e.Key, e.Value)
			if e.Secret {
				secrets = append(secrets, e.Key)
			}
		}
		in.SetTexts("config_secret_keys", secrets)
	})
	if err != nil {
		return err
	}
	inForce := map[string]abi.PolicyLevel{}
	properties := map[string]property.Map{}
	for _, r := range request.Rules {
		i := slices.IndexFunc(p.policies, func(i policyInfo) bool { return i.rule.Name == r.Name })
		if i < 0 {
			return abi.NewError(abi.ErrorKindInvalidArgument, "there is no policy "+r.Name)
		}
		info, config := &p.policies[i], r.Properties
		for _, keys := range []property.Map{info.properties, info.initial} {
			for key := range keys.All() {
				if v, ok := info.standard(key); ok && !config.Has(key) {
					config = config.With(key, v)
				}
			}
		}
		for key, v := range config.All() {
			if described, ok := info.properties.Get(key).AsObject(); ok && r.Level != abi.PolicyLevelDisabled {
				if err := fits(described, v); err != nil {
					return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("the configuration of the policy %s: %s: %v", r.Name, key, err))
				}
			}
		}
		inForce[r.Name], properties[r.Name] = r.Level, config
	}
	p.mu.Lock()
	p.levels = inForce
	p.mu.Unlock()
	_, err = p.call(ctx, "Configure", func(in pulumiwire.Message) {
		for name, level := range inForce {
			config := in.MakeEntry("policyConfig", name)
			config.SetEnum("enforcementLevel", protoreflect.EnumNumber(slices.Index(levels, level)))
			config.SetProperties("properties", properties[name])
		}
	})
	return err
}

// Remediate has the pack correct a resource.
func (p *Policy) Remediate(ctx context.Context, request abi.PolicyRemediateRequest) (response abi.PolicyRemediateResponse, err error) {
	out, err := p.call(ctx, "Remediate", func(in pulumiwire.Message) { writeResource(in, request.Resource) })
	if err != nil {
		return response, err
	}
	for _, m := range out.Messages("remediations") {
		made := abi.PolicyRemediation{Rule: printable.Line(m.Text("policyName")), Message: printable.Text(cmp.Or(m.Text("diagnostic"), m.Text("description")))}
		if m.Text("diagnostic") == "" {
			if made.Properties, err = m.OptionalProperties("properties"); err != nil {
				return response, unreadable("Remediate", abi.ErrorKindInternal, err)
			}
		}
		response.Remediations = append(response.Remediations, made)
	}
	return response, nil
}

// Analyze has the pack judge a resource.
func (p *Policy) Analyze(ctx context.Context, request abi.PolicyAnalyzeRequest) (abi.PolicyAnalyzeResponse, error) {
	out, err := p.call(ctx, "Analyze", func(in pulumiwire.Message) { writeResource(in, request.Resource) })
	if err != nil {
		return abi.PolicyAnalyzeResponse{}, err
	}
	return p.found(out, func(urn.URN) urn.URN { return request.Resource.URN })
}

// AnalyzeStack has the pack judge all resources together.
func (p *Policy) AnalyzeStack(ctx context.Context, request abi.PolicyAnalyzeStackRequest) (abi.PolicyAnalyzeResponse, error) {
	out, err := p.call(ctx, "AnalyzeStack", func(in pulumiwire.Message) {
		for _, r := range request.Resources {
			m := in.Add("resources")
			writeResource(m, r)
			m.Set("parent", string(r.Parent))
			m.SetTexts("dependencies", pulumiwire.TextsOf(r.Dependencies))
			m.SetDependencies("propertyDependencies", r.PropertyDependencies)
		}
	})
	if err != nil {
		return abi.PolicyAnalyzeResponse{}, err
	}
	return p.found(out, func(named urn.URN) urn.URN {
		if slices.ContainsFunc(request.Resources, func(r abi.PolicyResource) bool { return r.URN == named }) {
			return named
		}
		return "" // a program may name what it likes
	})
}

// found reads what a pack found wrong. What is only advice of a policy with another level, such as that it cannot judge a value which
// is not known yet, is a warning.
func (p *Policy) found(out pulumiwire.Message, about func(urn.URN) urn.URN) (response abi.PolicyAnalyzeResponse, err error) {
	p.mu.Lock()
	inForce := p.levels
	p.mu.Unlock()
	for _, m := range out.Messages("diagnostics") {
		level, err := levelOf(m)
		if err != nil {
			return response, err
		}
		// The SDKs begin the message with the description.
		message := strings.TrimPrefix(m.Text("message"), m.Text("description")+"\n")
		v := abi.PolicyViolation{
			Rule: printable.Line(m.Text("policyName")), Message: printable.Text(message), URN: about(urn.URN(m.Text("urn"))),
		}
		if level == abi.PolicyLevelAdvisory && inForce[v.Rule] != abi.PolicyLevelAdvisory {
			p.options.Log(abi.LogEntry{Severity: abi.LogSeverityWarning, Message: v.Message, URN: v.URN})
			continue
		}
		response.Violations = append(response.Violations, v)
	}
	return response, nil
}

// Cancel tells the pack that nothing more is asked of it.
func (p *Policy) Cancel(ctx context.Context) error {
	if p.process == nil {
		return nil
	}
	return p.optional(ctx, "Cancel", nil)
}

// writeResource writes a resource as Analyze, Remediate, and AnalyzeStack have it.
func writeResource(out pulumiwire.Message, r abi.PolicyResource) {
	foreign := []property.Kind{property.KindOutput, property.KindResourceReference}
	out.Set("type", r.Type)
	out.Set("urn", string(r.URN))
	out.Set("name", r.Name)
	out.SetProperties("properties", r.Properties.Lower(foreign...))
	pulumiwire.WriteAnalyzedOptions(out.Make("options"), r)
	if r.Provider != nil {
		m := out.Make("provider")
		m.Set("type", r.Provider.Type)
		m.Set("urn", string(r.Provider.URN))
		m.Set("name", r.Provider.Name)
		m.SetProperties("properties", r.Provider.Properties.Lower(foreign...))
	}
}
