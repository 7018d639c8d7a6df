package pulumiwire

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

// SetOptions fills a message of options, as transforms get and return them.
func SetOptions(out Message, o abi.ResourceOptions) {
	out.SetTexts("depends_on", TextsOf(o.Dependencies))
	out.SetBool("protect", o.Protect)
	out.SetTexts("ignore_changes", o.IgnoreChanges)
	out.SetTexts("replace_on_changes", o.ReplaceOnChanges)
	out.Set("version", o.Version)
	for _, a := range o.Aliases {
		setAlias(out.Add("aliases"), a)
	}
	out.Set("provider", o.Provider)
	setTimeouts(out, "custom_timeouts", o.CustomTimeouts)
	out.SetBool("retain_on_delete", o.RetainOnDelete)
	out.Set("deleted_with", string(o.DeletedWith))
	out.SetBool("delete_before_replace", o.DeleteBeforeReplace)
	out.SetTexts("additional_secret_outputs", o.AdditionalSecretOutputs)
	for _, p := range o.Providers {
		out.SetText("providers", p.Package, p.Reference)
	}
	setHooks(out, o.Hooks)
	out.Set("import", o.ImportID)
	out.SetTexts("hide_diff", o.HideDiffs)
	out.SetTexts("replace_with", TextsOf(o.ReplaceWith))
	if o.ReplacementTrigger != nil {
		out.SetValue("replacement_trigger", *o.ReplacementTrigger)
	}
}

// Options reads a message of options. The package is not among them, and stays the same.
func Options(in Message, before abi.ResourceOptions) (o abi.ResourceOptions, err error) {
	o = abi.ResourceOptions{
		PackageRef:   before.PackageRef,
		Dependencies: URNsOf(in.Texts("depends_on")),
		Protect:      in.OptionalBool("protect"), RetainOnDelete: in.OptionalBool("retain_on_delete"),
		DeleteBeforeReplace: in.OptionalBool("delete_before_replace"),
		IgnoreChanges:       in.Texts("ignore_changes"), ReplaceOnChanges: in.Texts("replace_on_changes"), HideDiffs: in.Texts("hide_diff"),
		Version: in.Text("version"), Provider: in.Text("provider"), Providers: packageProviders(in),
		DeletedWith: urn.URN(in.Text("deleted_with")), ReplaceWith: URNsOf(in.Texts("replace_with")),
		AdditionalSecretOutputs: in.Texts("additional_secret_outputs"),
		Hooks:                   hooks(in.Message("hooks")), ImportID: in.Text("import"),
	}
	if o.Aliases, err = aliases(in); err != nil {
		return o, err
	}
	if o.CustomTimeouts, err = timeouts(in.Message("custom_timeouts")); err != nil {
		return o, err
	}
	o.ReplacementTrigger, err = in.OptionalValue("replacement_trigger")
	return o, err
}
