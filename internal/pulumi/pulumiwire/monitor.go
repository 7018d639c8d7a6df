package pulumiwire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// hookNames are the fields for the names of hooks, by their kind.
var hookNames = [...]string{
	abi.HookKindBeforeCreate: "before_create",
	abi.HookKindAfterCreate:  "after_create",
	abi.HookKindBeforeUpdate: "before_update",
	abi.HookKindAfterUpdate:  "after_update",
	abi.HookKindBeforeDelete: "before_delete",
	abi.HookKindAfterDelete:  "after_delete",
	abi.HookKindOnError:      "on_error",
}

// Registration reads a request of RegisterResource. It leaves some fields of the message to the caller, who
// reads or refuses them: transforms, state_migrations, snippetId.
func Registration(in Message) (req abi.RegisterResourceRequest, err error) {
	req = abi.RegisterResourceRequest{
		Type: in.Text("type"), Name: in.Text("name"), Parent: urn.URN(in.Text("parent")),
		Custom: in.Bool("custom"), Remote: in.Bool("remote"),
		PropertyDependencies: in.Dependencies("propertyDependencies"), SourcePosition: sourcePosition(in),
	}
	if req.Inputs, err = in.Properties("object"); err != nil {
		return req, err
	}
	if in.Has("envVarMappings") {
		if !strings.HasPrefix(req.Type, providerType) {
			return req, errors.New("the option envVarMappings is for providers")
		}
		var mappings []property.Entry
		in.EachEntry("envVarMappings", func(source string, target protoreflect.Value) {
			mappings = append(mappings, property.Entry{Key: source, Value: property.String(target.String())})
		})
		req.Inputs = req.Inputs.With("__internal", property.Object(property.NewMap( // as Pulumi has it
			property.Entry{Key: "envVarMappings", Value: property.Object(property.NewMap(mappings...))})))
	}
	o := resourceOptions(in)
	if o.ReplacementTrigger, err = in.OptionalValue("replacement_trigger"); err != nil {
		return req, err
	}
	if o.CustomTimeouts, err = timeouts(in.Message("customTimeouts")); err != nil {
		return req, err
	}
	o.Protect, o.RetainOnDelete = in.OptionalBool("protect"), in.OptionalBool("retainOnDelete")
	if in.Bool("deleteBeforeReplaceDefined") || in.Bool("deleteBeforeReplace") {
		b := in.Bool("deleteBeforeReplace")
		o.DeleteBeforeReplace = &b
	}
	o.Providers = packageProviders(in)
	o.DeletedWith, o.ReplaceWith = urn.URN(in.Text("deletedWith")), URNsOf(in.Texts("replace_with"))
	o.IgnoreChanges, o.ReplaceOnChanges, o.HideDiffs = in.Texts("ignoreChanges"), in.Texts("replaceOnChanges"), in.Texts("hideDiffs")
	o.ImportID = in.Text("importId")
	for _, text := range in.Texts("aliasURNs") {
		u, err := aliasURN(text)
		if err != nil {
			return req, err
		}
		o.Aliases = append(o.Aliases, abi.Alias{Case: abi.AliasCaseURN, URN: u})
	}
	more, err := aliases(in)
	if err != nil {
		return req, err
	}
	o.Aliases = append(o.Aliases, more...)
	o.Hooks = hooks(in.Message("hooks"))
	req.Options = o
	return req, nil
}

// SetRegistered fills the response of RegisterResource. withState says what the caller understands.
func SetRegistered(out Message, response abi.RegisterResourceResponse) {
	out.Set("urn", string(response.URN))
	out.Set("id", response.ID)
	out.SetProperties("object", response.State)
	out.SetDependencies("propertyDependencies", response.StateDependencies)
	out.SetEnum("result", protoreflect.EnumNumber(response.Result))
}

// Outputs reads a request of RegisterResourceOutputs.
func Outputs(in Message) (req abi.RegisterOutputsRequest, err error) {
	req.URN = urn.URN(in.Text("urn"))
	req.Outputs, err = in.Properties("outputs")
	return req, err
}

// Reading reads a request of ReadResource.
func Reading(in Message) (req abi.ReadResourceRequest, err error) {
	req = abi.ReadResourceRequest{
		ID: in.Text("id"), Type: in.Text("type"), Name: in.Text("name"), Parent: urn.URN(in.Text("parent")),
		Options: resourceOptions(in), SourcePosition: sourcePosition(in),
	}
	req.Properties, err = in.Properties("properties")
	return req, err
}

// SetRead fills the response of ReadResource.
func SetRead(out Message, response abi.RegisterResourceResponse) {
	out.Set("urn", string(response.URN))
	out.Set("id", response.ID)
	out.SetProperties("properties", response.State)
	out.SetEnum("result", protoreflect.EnumNumber(response.Result))
}

// Existence reads a request of ExistsResource.
func Existence(in Message) (req abi.ReadResourceRequest, err error) {
	req = abi.ReadResourceRequest{ID: in.Text("id"), Type: in.Text("type"), Parent: urn.URN(in.Text("parent")), Options: abi.ResourceOptions{
		Provider: in.Text("provider"), Version: in.Text("version"), PackageRef: in.Text("packageRef"),
	}}
	req.Properties, err = in.Properties("properties")
	return req, err
}

// Invocation reads a request of Invoke.
func Invocation(in Message) (req abi.MonitorInvokeRequest, err error) {
	req = abi.MonitorInvokeRequest{Token: in.Text("tok"), Options: functionOptions(in)}
	req.Options.Parent, req.Options.DependsOn = urn.URN(in.Text("parent")), URNsOf(in.Texts("dependsOn"))
	req.Args, err = in.Properties("args")
	return req, err
}

// MethodCall reads a request of Call.
func MethodCall(in Message) (req abi.MonitorCallRequest, err error) {
	req = abi.MonitorCallRequest{
		Token: in.Text("tok"), ArgDependencies: in.Dependencies("argDependencies"), Options: functionOptions(in),
	}
	req.Args, err = in.Properties("args")
	return req, err
}

// SetResult fills the response of Invoke or Call.
func SetResult(out Message, result property.Map, failures []abi.CheckFailure) {
	out.SetProperties("return", result)
	for _, f := range failures {
		failure := out.Add("failures")
		failure.Set("property", f.Path)
		failure.Set("reason", f.Reason)
	}
}

// Package reads a request of RegisterPackage.
func Package(in Message) abi.RegisterPackageRequest {
	return abi.RegisterPackageRequest{
		Name: in.Text("name"), Version: in.Text("version"),
		Parameters: parameters(in, "parameterization"), Extension: parameters(in, "extension"),
	}
}

// SetConfig sets the fields config and configSecretKeys.
func SetConfig(out Message, config []abi.ConfigEntry) {
	var secrets []string
	for _, e := range config {
		out.SetText("config", e.Key, e.Value)
		if e.Secret {
			secrets = append(secrets, e.Key)
		}
	}
	out.SetTexts("configSecretKeys", secrets)
}

// resourceOptions returns the options that registered and read resources have.
func resourceOptions(in Message) abi.ResourceOptions {
	return abi.ResourceOptions{
		Provider: in.Text("provider"), Version: in.Text("version"), PackageRef: in.Text("packageRef"),
		Dependencies:            URNsOf(in.Texts("dependencies")),
		AdditionalSecretOutputs: in.Texts("additionalSecretOutputs"),
	}
}

func functionOptions(in Message) abi.FunctionOptions {
	return abi.FunctionOptions{Provider: in.Text("provider"), Version: in.Text("version"), PackageRef: in.Text("packageRef")}
}

func packageProviders(in Message) (providers []abi.PackageProvider) {
	in.EachEntry("providers", func(name string, v protoreflect.Value) {
		providers = append(providers, abi.PackageProvider{Package: name, Reference: v.String()})
	})
	slices.SortFunc(providers, func(a, b abi.PackageProvider) int { return cmp.Compare(a.Package, b.Package) })
	return providers
}

func parameters(in Message, field string) *abi.Parameters {
	if !in.Has(field) {
		return nil
	}
	value := in.Message(field)
	return &abi.Parameters{Case: abi.ParametersCaseValue, Value: abi.ParameterValue{
		Name: value.Text("name"), Version: value.Text("version"), Value: value.Bytes("value"),
	}}
}

func hooks(in Message) (bindings []abi.HookBinding) {
	for kind, name := range hookNames {
		if names := in.Texts(name); len(names) > 0 {
			bindings = append(bindings, abi.HookBinding{Kind: abi.HookKind(kind), Names: names})
		}
	}
	return bindings
}

func setHooks(out Message, bindings []abi.HookBinding) {
	for _, b := range bindings {
		out.Make("hooks").SetTexts(hookNames[b.Kind], b.Names)
	}
}

func timeouts(given Message) (timeouts abi.CustomTimeouts, err error) {
	for _, t := range []struct {
		name string
		to   *float64
	}{{"create", &timeouts.Create}, {"update", &timeouts.Update}, {"delete", &timeouts.Delete}, {"read", &timeouts.Read}} {
		text := given.Text(t.name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return timeouts, fmt.Errorf("the timeout %s: %w", t.name, err)
		}
		*t.to = d.Seconds()
	}
	return timeouts, nil
}

func setTimeouts(out Message, field string, t abi.CustomTimeouts) {
	for _, f := range []struct {
		name    string
		seconds float64
	}{{"create", t.Create}, {"update", t.Update}, {"delete", t.Delete}, {"read", t.Read}} {
		if f.seconds != 0 {
			out.Make(field).Set(f.name, time.Duration(f.seconds*float64(time.Second)).String())
		}
	}
}

// aliases reads the aliases of a message.
func aliases(in Message) (list []abi.Alias, err error) {
	for _, m := range in.Messages("aliases") {
		var a abi.Alias
		if m.Has("urn") {
			a.Case = abi.AliasCaseURN
			a.URN, err = aliasURN(m.Text("urn"))
		} else {
			spec := m.Message("spec")
			a.Case = abi.AliasCaseSpec
			a.Spec = abi.AliasSpec{
				Name: spec.Text("name"), Type: spec.Text("type"), Stack: spec.Text("stack"), Project: spec.Text("project"), NoParent: spec.Bool("noParent"),
			}
			if parent := spec.Text("parentUrn"); parent != "" {
				a.Spec.ParentURN, err = aliasURN(parent)
			}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// aliasURN reads a URN of an alias. An invalid one would name no resource, and the resource that it should keep would be
// replaced.
func aliasURN(text string) (urn.URN, error) {
	u, err := urn.Parse(text)
	if err != nil {
		return "", fmt.Errorf("an alias: %w", err)
	}
	return u, nil
}

func setAlias(out Message, a abi.Alias) {
	if a.Case == abi.AliasCaseURN {
		out.Set("urn", string(a.URN))
		return
	}
	spec := out.Make("spec")
	spec.Set("name", a.Spec.Name)
	spec.Set("type", a.Spec.Type)
	spec.Set("stack", a.Spec.Stack)
	spec.Set("project", a.Spec.Project)
	if a.Spec.NoParent {
		spec.Set("noParent", true)
	} else if a.Spec.ParentURN != "" {
		spec.Set("parentUrn", string(a.Spec.ParentURN))
	}
}

// sourcePosition returns where a program registers a resource, as file:line:column.
func sourcePosition(in Message) string {
	p := in.Message("sourcePosition")
	file := strings.TrimPrefix(p.Text("uri"), "project:///")
	if file == "" {
		return ""
	}
	position := file
	for _, name := range []string{"line", "column"} {
		n := p.Int(name)
		if n <= 0 {
			break
		}
		position = fmt.Sprintf("%s:%d", position, n)
	}
	return position
}

// Understood returns properties as an SDK takes them. Outputs have no place in the answers of a monitor.
func Understood(p property.Map, secrets, references bool) property.Map {
	kinds := []property.Kind{property.KindOutput}
	if !references {
		kinds = append(kinds, property.KindResourceReference)
	}
	if !secrets {
		kinds = append(kinds, property.KindSecret)
	}
	return p.Lower(kinds...)
}

// Known returns the properties that hold no unknowns, for an SDK that does not support partial values.
func Known(p property.Map) property.Map {
	var entries []property.Entry
	for key, v := range p.All() {
		if !v.ContainsUnknowns() {
			entries = append(entries, property.Entry{Key: key, Value: v})
		}
	}
	return property.NewMap(entries...)
}

const providerType = "pulumi:providers:"

// PackageOf returns the package of a type, a function, or of a provider and its methods, by its token.
func PackageOf(token string) string {
	if name, ok := strings.CutPrefix(token, providerType); ok {
		name, _, _ = strings.Cut(name, "/") // a method of a provider
		return name
	}
	name, _, _ := strings.Cut(token, ":")
	return name
}
