package pulumiwire

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

// ReadConstruct reads a request of Construct. The address is the engine's resource monitor's.
func ReadConstruct(in Message) (req abi.ConstructRequest, monitor string, err error) {
	req = abi.ConstructRequest{
		Type: in.Text("type"), Name: in.Text("name"), Parent: urn.URN(in.Text("parent")),
		InputDependencies: in.Dependencies("inputDependencies"), Context: readContext(in),
	}
	if req.Inputs, err = in.Properties("inputs"); err != nil {
		return req, "", err
	}
	o := abi.ResourceOptions{
		Protect: in.OptionalBool("protect"), RetainOnDelete: in.OptionalBool("retainOnDelete"), DeleteBeforeReplace: in.OptionalBool("deleteBeforeReplace"),
		Providers: packageProviders(in), Dependencies: URNsOf(in.Texts("dependencies")),
		AdditionalSecretOutputs: in.Texts("additionalSecretOutputs"),
		DeletedWith:             urn.URN(in.Text("deletedWith")), ReplaceWith: URNsOf(in.Texts("replace_with")),
		IgnoreChanges: in.Texts("ignoreChanges"), ReplaceOnChanges: in.Texts("replaceOnChanges"),
		Hooks: hooks(in.Message("resource_hooks")),
	}
	if o.Aliases, err = aliases(in); err != nil {
		return req, "", err
	}
	if o.CustomTimeouts, err = timeouts(in.Message("customTimeouts")); err != nil {
		return req, "", err
	}
	o.ReplacementTrigger, err = in.OptionalValue("replacement_trigger")
	req.Options = o
	return req, in.Text("monitorEndpoint"), err
}

func WriteConstruct(out Message, req abi.ConstructRequest, monitor string) {
	writeContext(out, req.Context, monitor)
	out.Set("type", req.Type)
	out.Set("name", req.Name)
	out.Set("parent", string(req.Parent))
	out.SetProperties("inputs", req.Inputs)
	out.SetDependencies("inputDependencies", req.InputDependencies)
	o := req.Options
	out.SetBool("protect", o.Protect)
	out.SetBool("retainOnDelete", o.RetainOnDelete)
	out.SetBool("deleteBeforeReplace", o.DeleteBeforeReplace)
	for _, p := range o.Providers {
		out.SetText("providers", p.Package, p.Reference)
	}
	out.SetTexts("dependencies", TextsOf(o.Dependencies))
	out.SetTexts("additionalSecretOutputs", o.AdditionalSecretOutputs)
	setTimeouts(out, "customTimeouts", o.CustomTimeouts)
	out.Set("deletedWith", string(o.DeletedWith))
	out.SetTexts("replace_with", TextsOf(o.ReplaceWith))
	out.SetTexts("ignoreChanges", o.IgnoreChanges)
	out.SetTexts("replaceOnChanges", o.ReplaceOnChanges)
	for _, a := range o.Aliases {
		setAlias(out.Add("aliases"), a)
	}
	for _, b := range o.Hooks {
		out.Make("resource_hooks").SetTexts(hookNames[b.Kind], b.Names)
	}
	if o.ReplacementTrigger != nil {
		out.SetValue("replacement_trigger", *o.ReplacementTrigger)
	}
}

func ReadConstructed(in Message) (resp abi.ConstructResponse, err error) {
	resp.URN, resp.StateDependencies = urn.URN(in.Text("urn")), in.Dependencies("stateDependencies")
	resp.State, err = in.Properties("state")
	return resp, err
}

func WriteConstructed(out Message, resp abi.ConstructResponse) {
	out.Set("urn", string(resp.URN))
	out.SetProperties("state", resp.State)
	out.SetDependencies("stateDependencies", resp.StateDependencies)
}

// ReadCall reads a request of the provider's Call. The address is the engine's resource monitor's.
func ReadCall(in Message) (req abi.CallRequest, monitor string, err error) {
	req = abi.CallRequest{Token: in.Text("tok"), ArgDependencies: in.Dependencies("argDependencies"), Context: readContext(in)}
	req.Args, err = in.Properties("args")
	return req, in.Text("monitorEndpoint"), err
}

func WriteCall(out Message, req abi.CallRequest, monitor string) {
	writeContext(out, req.Context, monitor)
	out.Set("tok", req.Token)
	out.SetProperties("args", req.Args)
	out.SetDependencies("argDependencies", req.ArgDependencies)
}

func ReadCalled(in Message) (resp abi.CallResponse, err error) {
	resp.Failures, resp.ResultDependencies = readFailures(in), in.Dependencies("returnDependencies")
	resp.Result, err = in.Properties("return")
	return resp, err
}

func readContext(in Message) abi.RunContext {
	c := abi.RunContext{
		Project: in.Text("project"), Stack: in.Text("stack"), Organization: in.Text("organization"),
		DryRun: in.Bool("dryRun"), Parallel: uint32(max(in.Int("parallel"), 0)),
	}
	secrets := in.Texts("configSecretKeys")
	in.EachEntry("config", func(key string, v protoreflect.Value) {
		c.Config = append(c.Config, abi.ConfigEntry{Key: key, Value: v.String(), Secret: slices.Contains(secrets, key)})
	})
	slices.SortFunc(c.Config, func(a, b abi.ConfigEntry) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return c
}

func writeContext(out Message, c abi.RunContext, monitor string) {
	out.Set("project", c.Project)
	out.Set("stack", c.Stack)
	out.Set("organization", c.Organization)
	out.Set("dryRun", c.DryRun)
	out.Set("parallel", int32(min(c.Parallel, 1<<30)))
	out.Set("monitorEndpoint", monitor)
	out.Set("accepts_output_values", true)
	SetConfig(out, c.Config)
}

// WriteRegistration fills a request of RegisterResource, for a caller that understands all values.
func WriteRegistration(out Message, req abi.RegisterResourceRequest) {
	out.Set("type", req.Type)
	out.Set("name", req.Name)
	out.Set("parent", string(req.Parent))
	out.Set("custom", req.Custom)
	out.Set("remote", req.Remote)
	out.SetProperties("object", req.Inputs)
	out.SetDependencies("propertyDependencies", req.PropertyDependencies)
	o := req.Options
	writeResourceOptions(out, o)
	for _, name := range []string{"acceptSecrets", "acceptResources", "supportsPartialValues", "supportsResultReporting", "aliasSpecs"} {
		out.Set(name, true)
	}
	out.SetBool("protect", o.Protect)
	out.SetBool("retainOnDelete", o.RetainOnDelete)
	if o.DeleteBeforeReplace != nil {
		out.Set("deleteBeforeReplace", *o.DeleteBeforeReplace)
		out.Set("deleteBeforeReplaceDefined", true)
	}
	for _, p := range o.Providers {
		out.SetText("providers", p.Package, p.Reference)
	}
	setTimeouts(out, "customTimeouts", o.CustomTimeouts)
	out.Set("deletedWith", string(o.DeletedWith))
	out.SetTexts("replace_with", TextsOf(o.ReplaceWith))
	out.SetTexts("ignoreChanges", o.IgnoreChanges)
	out.SetTexts("replaceOnChanges", o.ReplaceOnChanges)
	out.SetTexts("hideDiffs", o.HideDiffs)
	out.Set("importId", o.ImportID)
	for _, a := range o.Aliases {
		setAlias(out.Add("aliases"), a)
	}
	setHooks(out, o.Hooks)
	if o.ReplacementTrigger != nil {
		out.SetValue("replacement_trigger", *o.ReplacementTrigger)
	}
}

// writeResourceOptions is the counterpart of resourceOptions.
func writeResourceOptions(out Message, o abi.ResourceOptions) {
	out.Set("provider", o.Provider)
	out.Set("version", o.Version)
	out.Set("packageRef", o.PackageRef)
	out.SetTexts("dependencies", TextsOf(o.Dependencies))
	out.SetTexts("additionalSecretOutputs", o.AdditionalSecretOutputs)
}

func ReadRegistered(in Message) (resp abi.RegisterResourceResponse, err error) {
	resp = abi.RegisterResourceResponse{
		URN: urn.URN(in.Text("urn")), ID: in.Text("id"), StateDependencies: in.Dependencies("propertyDependencies"),
		Result: abi.RegistrationResult(in.Enum("result")),
	}
	if isUnknown(resp.ID) {
		resp.ID = ""
	}
	resp.State, err = in.Properties("object")
	return resp, err
}

func WriteOutputs(out Message, req abi.RegisterOutputsRequest) {
	out.Set("urn", string(req.URN))
	out.SetProperties("outputs", req.Outputs)
}

func WriteReading(out Message, req abi.ReadResourceRequest) {
	out.Set("id", req.ID)
	out.Set("type", req.Type)
	out.Set("name", req.Name)
	out.Set("parent", string(req.Parent))
	out.SetProperties("properties", req.Properties)
	writeResourceOptions(out, req.Options)
	out.Set("acceptSecrets", true)
	out.Set("acceptResources", true)
}

func ReadReading(in Message) (resp abi.ReadResourceResponse, err error) {
	resp.URN = urn.URN(in.Text("urn"))
	resp.State, err = in.Properties("properties")
	return resp, err
}

func WriteInvocation(out Message, req abi.MonitorInvokeRequest) {
	out.Set("tok", req.Token)
	out.SetProperties("args", req.Args)
	writeFunctionOptions(out, req.Options)
	out.Set("parent", string(req.Options.Parent))
	out.SetTexts("dependsOn", TextsOf(req.Options.DependsOn))
	out.Set("acceptResources", true)
}

func writeFunctionOptions(out Message, o abi.FunctionOptions) {
	out.Set("provider", o.Provider)
	out.Set("version", o.Version)
	out.Set("packageRef", o.PackageRef)
}

func ReadInvocation(in Message) (resp abi.MonitorInvokeResponse, err error) {
	resp.Failures, resp.Unknown = readFailures(in), in.Bool("unknown")
	resp.Result, err = in.Properties("return")
	return resp, err
}

func WriteMethodCall(out Message, req abi.MonitorCallRequest) {
	out.Set("tok", req.Token)
	out.SetProperties("args", req.Args)
	out.SetDependencies("argDependencies", req.ArgDependencies)
	writeFunctionOptions(out, req.Options)
}

func WritePackage(out Message, req abi.RegisterPackageRequest) {
	out.Set("name", req.Name)
	out.Set("version", req.Version)
	if req.Parameters != nil {
		writeParameters(out, "parameterization", req.Parameters.Value)
	}
	if req.Extension != nil {
		writeParameters(out, "extension", req.Extension.Value)
	}
}
