package pulumi

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
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

// Construct makes a component. The server reaches the engine at an address, which is there during the
// call.
func (p *provider) Construct(ctx context.Context, request abi.ConstructRequest) (response abi.ConstructResponse, err error) {
	if err := p.decided(); err != nil {
		return response, err
	}
	monitor, err := listenForMonitor(ctx, request.Context)
	if err != nil {
		return response, err
	}
	defer monitor.stop()
	options := request.Options
	err = p.call(ctx, "", "Construct", func(q message) {
		setContext(q, request.Context, monitor.address)
		q.set("accepts_output_values", true)
		q.set("type", request.Type)
		q.set("name", request.Name)
		q.set("parent", string(request.Parent))
		q.setProperties("inputs", p.lowerDependent(request.Inputs))
		q.setDependencies("inputDependencies", request.InputDependencies)
		q.setBool("protect", options.Protect)
		for _, given := range options.Providers {
			q.setText("providers", given.Package, given.Reference)
		}
		q.setTexts("dependencies", textsOf(options.Dependencies))
		q.setTexts("additionalSecretOutputs", options.AdditionalSecretOutputs)
		if t := options.CustomTimeouts; t != (abi.CustomTimeouts{}) {
			timeouts := q.make("customTimeouts")
			for name, seconds := range map[string]float64{"create": t.Create, "update": t.Update, "delete": t.Delete, "read": t.Read} {
				if seconds != 0 {
					timeouts.set(name, time.Duration(seconds*float64(time.Second)).String())
				}
			}
		}
		q.set("deletedWith", string(options.DeletedWith))
		q.setBool("deleteBeforeReplace", options.DeleteBeforeReplace)
		q.setTexts("ignoreChanges", options.IgnoreChanges)
		q.setTexts("replaceOnChanges", options.ReplaceOnChanges)
		q.setBool("retainOnDelete", options.RetainOnDelete)
		q.setTexts("replace_with", textsOf(options.ReplaceWith))
		if options.ReplacementTrigger != nil {
			q.setValue("replacement_trigger", *options.ReplacementTrigger)
		}
		setAliases(q, options.Aliases)
		for _, h := range options.Hooks {
			q.make("resource_hooks").setTexts(hookNames[h.Kind], h.Names)
		}
	}, func(r message) (err error) {
		response.URN = urn.URN(r.text("urn"))
		response.StateDependencies = r.dependencies("stateDependencies")
		response.State, err = r.properties("state")
		return err
	})
	return response, err
}

// Call calls a method of a component.
func (p *provider) Call(ctx context.Context, request abi.CallRequest) (response abi.CallResponse, err error) {
	if err := p.decided(); err != nil {
		return response, err
	}
	monitor, err := listenForMonitor(ctx, request.Context)
	if err != nil {
		return response, err
	}
	defer monitor.stop()
	err = p.call(ctx, "", "Call", func(q message) {
		setContext(q, request.Context, monitor.address)
		q.set("accepts_output_values", true)
		q.set("tok", request.Token)
		q.setProperties("args", p.lowerDependent(request.Args))
		q.setDependencies("argDependencies", request.ArgDependencies)
	}, func(r message) (err error) {
		response.Failures = failuresOf(r)
		response.ResultDependencies = r.dependencies("returnDependencies")
		response.Result, err = r.properties("return")
		return err
	})
	return response, err
}

// setContext sets the fields that tell of the deployment.
func setContext(q message, c abi.RunContext, monitor string) {
	q.set("project", c.Project)
	q.set("stack", c.Stack)
	q.set("organization", c.Organization)
	q.set("dryRun", c.DryRun)
	q.set("parallel", int32(c.Parallel))
	q.set("monitorEndpoint", monitor)
	setConfig(q, c.Config)
}

func setConfig(q message, config []abi.ConfigEntry) {
	var secrets []string
	for _, e := range config {
		q.setText("config", e.Key, e.Value)
		if e.Secret {
			secrets = append(secrets, e.Key)
		}
	}
	q.setTexts("configSecretKeys", secrets)
}

// setAliases sets the field aliases, which before version 3.213 was a list of URNs.
func setAliases(q message, aliases []abi.Alias) {
	d := q.field("aliases")
	if d == nil || d.Message() != nil {
		for _, a := range aliases {
			setAlias(q.add("aliases"), a)
		}
		return
	}
	var urns []string
	for _, a := range aliases {
		if a.Case != abi.AliasCaseURN {
			q.refuse(abi.NewError(abi.ErrorKindInvalidArgument, "the component's SDK takes aliases that are URNs alone: write the whole URN of the alias "+a.Spec.Name))
		}
		urns = append(urns, string(a.URN))
	}
	q.setTexts("aliases", urns)
}

func setAlias(q message, a abi.Alias) {
	if a.Case == abi.AliasCaseURN {
		q.set("urn", string(a.URN))
		return
	}
	spec := q.make("spec")
	spec.set("name", a.Spec.Name)
	spec.set("type", a.Spec.Type)
	spec.set("stack", a.Spec.Stack)
	spec.set("project", a.Spec.Project)
	if a.Spec.NoParent {
		spec.set("noParent", true)
	} else if a.Spec.ParentURN != "" {
		spec.set("parentUrn", string(a.Spec.ParentURN))
	}
}

func aliasOf(m message) abi.Alias {
	if m.has("urn") {
		return abi.Alias{Case: abi.AliasCaseURN, URN: urn.URN(m.text("urn"))}
	}
	spec := m.message("spec")
	return abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{
		Name: spec.text("name"), Type: spec.text("type"), Stack: spec.text("stack"), Project: spec.text("project"),
		ParentURN: urn.URN(spec.text("parentUrn")), NoParent: spec.bool("noParent"),
	}}
}
