package pulumiwire

import "github.com/husk-dev/husk/abi"

// WriteAnalyzedOptions fills the options of a resource that a policy pack judges.
func WriteAnalyzedOptions(out Message, r abi.PolicyResource) {
	o := r.Options
	out.Set("protect", o.Protect != nil && *o.Protect)
	out.SetTexts("ignoreChanges", o.IgnoreChanges)
	out.SetBool("deleteBeforeReplace", o.DeleteBeforeReplace)
	out.Set("deleteBeforeReplaceDefined", o.DeleteBeforeReplace != nil)
	out.SetTexts("additionalSecretOutputs", o.AdditionalSecretOutputs)
	var aliases []string
	for _, a := range o.Aliases {
		if a.Case == abi.AliasCaseURN {
			aliases = append(aliases, string(a.URN))
		}
	}
	out.SetTexts("aliases", aliases)
	if t := o.CustomTimeouts; t != (abi.CustomTimeouts{}) {
		m := out.Make("customTimeouts")
		for name, seconds := range map[string]float64{"create": t.Create, "update": t.Update, "delete": t.Delete, "read": t.Read} {
			m.Set(name, seconds)
		}
	}
	out.Set("parent", string(r.Parent))
}
