// Code generated from wit/ by witgen. DO NOT EDIT.

package canon

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

func liftInitFailure(l *lifter, b []byte, v *abi.InitFailure) {
	v.ID = l.string(b, "id")
	v.State = l.properties(b[8:], "state")
	if l.some(b[16:], "inputs") {
		v.Inputs = new(l.properties(b[20:], "inputs"))
	}
	v.Reasons = liftList(l, b[28:], "reasons", 8, 4, liftString[string])
	v.RefreshBeforeUpdate = l.bool(b[36:], "refresh-before-update")
}

func lowerInitFailure(w *lowerer, b []byte, v *abi.InitFailure) {
	w.string(b, v.ID, "id")
	w.properties(b[8:], v.State, "state")
	if v.Inputs != nil {
		b[16] = 1
		w.properties(b[20:], *v.Inputs, "inputs")
	}
	lowerStrings(w, b[28:], v.Reasons, "reasons")
	w.bool(b[36:], v.RefreshBeforeUpdate)
}

func liftMissingKey(l *lifter, b []byte, v *abi.MissingKey) {
	v.Name = l.string(b, "name")
	v.Description = l.string(b[8:], "description")
}

func lowerMissingKey(w *lowerer, b []byte, v *abi.MissingKey) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Description, "description")
}

func liftError(l *lifter, b []byte, v *abi.Error) {
	v.Kind = abi.ErrorKind(l.enum(b, 9, "kind"))
	v.Origin = abi.ErrorOrigin(l.enum(b[1:], 4, "origin"))
	v.Message = l.string(b[4:], "message")
	v.Path = l.string(b[12:], "path")
	if l.some(b[20:], "init-failure") {
		v.InitFailure = new(abi.InitFailure)
		l.enter("init-failure")
		liftInitFailure(l, b[24:], v.InitFailure)
		l.leave()
	}
	v.MissingKeys = liftList(l, b[64:], "missing-keys", 16, 4, liftMissingKey)
}

func lowerError(w *lowerer, b []byte, v *abi.Error) {
	w.enum(b, uint8(v.Kind), 9, "kind")
	w.enum(b[1:], uint8(v.Origin), 4, "origin")
	w.string(b[4:], v.Message, "message")
	w.string(b[12:], v.Path, "path")
	if v.InitFailure != nil {
		b[20] = 1
		w.enter("init-failure")
		lowerInitFailure(w, b[24:], v.InitFailure)
		w.leave()
	}
	lowerList(w, b[64:], v.MissingKeys, "missing-keys", 16, 4, lowerMissingKey)
}

func liftCheckFailure(l *lifter, b []byte, v *abi.CheckFailure) {
	v.Path = l.string(b, "path")
	v.Reason = l.string(b[8:], "reason")
}

func lowerCheckFailure(w *lowerer, b []byte, v *abi.CheckFailure) {
	w.string(b, v.Path, "path")
	w.string(b[8:], v.Reason, "reason")
}

func liftPropertyDependency(l *lifter, b []byte, v *abi.PropertyDependency) {
	v.Key = l.string(b, "key")
	v.URNs = liftList(l, b[8:], "urns", 8, 4, liftString[urn.URN])
}

func lowerPropertyDependency(w *lowerer, b []byte, v *abi.PropertyDependency) {
	w.string(b, v.Key, "key")
	lowerStrings(w, b[8:], v.URNs, "urns")
}

func liftCustomTimeouts(l *lifter, b []byte, v *abi.CustomTimeouts) {
	v.Create = l.f64(b)
	v.Update = l.f64(b[8:])
	v.Delete = l.f64(b[16:])
	v.Read = l.f64(b[24:])
}

func lowerCustomTimeouts(w *lowerer, b []byte, v *abi.CustomTimeouts) {
	w.f64(b, v.Create)
	w.f64(b[8:], v.Update)
	w.f64(b[16:], v.Delete)
	w.f64(b[24:], v.Read)
}

func liftAliasSpec(l *lifter, b []byte, v *abi.AliasSpec) {
	v.Name = l.string(b, "name")
	v.Type = l.string(b[8:], "type")
	v.Stack = l.string(b[16:], "stack")
	v.Project = l.string(b[24:], "project")
	v.ParentURN = urn.URN(l.string(b[32:], "parent-urn"))
	v.NoParent = l.bool(b[40:], "no-parent")
}

func lowerAliasSpec(w *lowerer, b []byte, v *abi.AliasSpec) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Type, "type")
	w.string(b[16:], v.Stack, "stack")
	w.string(b[24:], v.Project, "project")
	w.string(b[32:], string(v.ParentURN), "parent-urn")
	w.bool(b[40:], v.NoParent)
}

func liftAlias(l *lifter, b []byte, v *abi.Alias) {
	v.Case = abi.AliasCase(l.enum(b, 2, ""))
	switch v.Case {
	case abi.AliasCaseURN:
		v.URN = urn.URN(l.string(b[4:], "urn"))
	case abi.AliasCaseSpec:
		l.enter("spec")
		liftAliasSpec(l, b[4:], &v.Spec)
		l.leave()
	}
}

func lowerAlias(w *lowerer, b []byte, v *abi.Alias) {
	w.enum(b, uint8(v.Case), 2, "")
	switch v.Case {
	case abi.AliasCaseURN:
		w.string(b[4:], string(v.URN), "urn")
	case abi.AliasCaseSpec:
		w.enter("spec")
		lowerAliasSpec(w, b[4:], &v.Spec)
		w.leave()
	}
}

func liftPackageProvider(l *lifter, b []byte, v *abi.PackageProvider) {
	v.Package = l.string(b, "package")
	v.Reference = l.string(b[8:], "reference")
}

func lowerPackageProvider(w *lowerer, b []byte, v *abi.PackageProvider) {
	w.string(b, v.Package, "package")
	w.string(b[8:], v.Reference, "reference")
}

func liftHookBinding(l *lifter, b []byte, v *abi.HookBinding) {
	v.Kind = abi.HookKind(l.enum(b, 7, "kind"))
	v.Names = liftList(l, b[4:], "names", 8, 4, liftString[string])
}

func lowerHookBinding(w *lowerer, b []byte, v *abi.HookBinding) {
	w.enum(b, uint8(v.Kind), 7, "kind")
	lowerStrings(w, b[4:], v.Names, "names")
}

func liftResourceOptions(l *lifter, b []byte, v *abi.ResourceOptions) {
	if l.some(b, "protect") {
		v.Protect = new(l.bool(b[1:], "protect"))
	}
	v.Provider = l.string(b[4:], "provider")
	v.Providers = liftList(l, b[12:], "providers", 16, 4, liftPackageProvider)
	v.Dependencies = liftList(l, b[20:], "dependencies", 8, 4, liftString[urn.URN])
	v.AdditionalSecretOutputs = liftList(l, b[28:], "additional-secret-outputs", 8, 4, liftString[string])
	l.enter("custom-timeouts")
	liftCustomTimeouts(l, b[40:], &v.CustomTimeouts)
	l.leave()
	v.DeletedWith = urn.URN(l.string(b[72:], "deleted-with"))
	if l.some(b[80:], "delete-before-replace") {
		v.DeleteBeforeReplace = new(l.bool(b[81:], "delete-before-replace"))
	}
	v.IgnoreChanges = liftList(l, b[84:], "ignore-changes", 8, 4, liftString[string])
	v.ReplaceOnChanges = liftList(l, b[92:], "replace-on-changes", 8, 4, liftString[string])
	if l.some(b[100:], "retain-on-delete") {
		v.RetainOnDelete = new(l.bool(b[101:], "retain-on-delete"))
	}
	v.Aliases = liftList(l, b[104:], "aliases", 48, 4, liftAlias)
	v.ReplaceWith = liftList(l, b[112:], "replace-with", 8, 4, liftString[urn.URN])
	if l.some(b[120:], "replacement-trigger") {
		v.ReplacementTrigger = new(l.value(b[124:], "replacement-trigger"))
	}
	v.HideDiffs = liftList(l, b[132:], "hide-diffs", 8, 4, liftString[string])
	v.ImportID = l.string(b[140:], "import-id")
	v.Version = l.string(b[148:], "version")
	v.PackageRef = l.string(b[156:], "package-ref")
	v.Hooks = liftList(l, b[164:], "hooks", 12, 4, liftHookBinding)
}

func lowerResourceOptions(w *lowerer, b []byte, v *abi.ResourceOptions) {
	if v.Protect != nil {
		b[0] = 1
		w.bool(b[1:], *v.Protect)
	}
	w.string(b[4:], v.Provider, "provider")
	lowerList(w, b[12:], v.Providers, "providers", 16, 4, lowerPackageProvider)
	lowerStrings(w, b[20:], v.Dependencies, "dependencies")
	lowerStrings(w, b[28:], v.AdditionalSecretOutputs, "additional-secret-outputs")
	w.enter("custom-timeouts")
	lowerCustomTimeouts(w, b[40:], &v.CustomTimeouts)
	w.leave()
	w.string(b[72:], string(v.DeletedWith), "deleted-with")
	if v.DeleteBeforeReplace != nil {
		b[80] = 1
		w.bool(b[81:], *v.DeleteBeforeReplace)
	}
	lowerStrings(w, b[84:], v.IgnoreChanges, "ignore-changes")
	lowerStrings(w, b[92:], v.ReplaceOnChanges, "replace-on-changes")
	if v.RetainOnDelete != nil {
		b[100] = 1
		w.bool(b[101:], *v.RetainOnDelete)
	}
	lowerList(w, b[104:], v.Aliases, "aliases", 48, 4, lowerAlias)
	lowerStrings(w, b[112:], v.ReplaceWith, "replace-with")
	if v.ReplacementTrigger != nil {
		b[120] = 1
		w.value(b[124:], *v.ReplacementTrigger, "replacement-trigger")
	}
	lowerStrings(w, b[132:], v.HideDiffs, "hide-diffs")
	w.string(b[140:], v.ImportID, "import-id")
	w.string(b[148:], v.Version, "version")
	w.string(b[156:], v.PackageRef, "package-ref")
	lowerList(w, b[164:], v.Hooks, "hooks", 12, 4, lowerHookBinding)
}

func liftConfigEntry(l *lifter, b []byte, v *abi.ConfigEntry) {
	v.Key = l.string(b, "key")
	v.Value = l.string(b[8:], "value")
	v.Secret = l.bool(b[16:], "secret")
}

func lowerConfigEntry(w *lowerer, b []byte, v *abi.ConfigEntry) {
	w.string(b, v.Key, "key")
	w.string(b[8:], v.Value, "value")
	w.bool(b[16:], v.Secret)
}

func liftRunContext(l *lifter, b []byte, v *abi.RunContext) {
	v.Project = l.string(b, "project")
	v.Stack = l.string(b[8:], "stack")
	v.Organization = l.string(b[16:], "organization")
	v.Config = liftList(l, b[24:], "config", 20, 4, liftConfigEntry)
	v.DryRun = l.bool(b[32:], "dry-run")
	v.Parallel = u32(b[36:])
}

func lowerRunContext(w *lowerer, b []byte, v *abi.RunContext) {
	w.string(b, v.Project, "project")
	w.string(b[8:], v.Stack, "stack")
	w.string(b[16:], v.Organization, "organization")
	lowerList(w, b[24:], v.Config, "config", 20, 4, lowerConfigEntry)
	w.bool(b[32:], v.DryRun)
	putU32(b[36:], v.Parallel)
}

func liftHandshakeRequest(l *lifter, b []byte, v *abi.HandshakeRequest) {
	v.Engine = l.string(b, "engine")
	v.Features = abi.Features(l.flags(b[8:], 0b1111111, "features"))
}

func lowerHandshakeRequest(w *lowerer, b []byte, v *abi.HandshakeRequest) {
	w.string(b, v.Engine, "engine")
	w.flags(b[8:], uint32(v.Features), 0b1111111, "features")
}

func liftCapabilityRequest(l *lifter, b []byte, v *abi.CapabilityRequest) {
	v.Capability = l.string(b, "capability")
	v.Scope = l.string(b[8:], "scope")
	v.Reason = l.string(b[16:], "reason")
	v.Optional = l.bool(b[24:], "optional")
}

func lowerCapabilityRequest(w *lowerer, b []byte, v *abi.CapabilityRequest) {
	w.string(b, v.Capability, "capability")
	w.string(b[8:], v.Scope, "scope")
	w.string(b[16:], v.Reason, "reason")
	w.bool(b[24:], v.Optional)
}

func liftHandshakeResponse(l *lifter, b []byte, v *abi.HandshakeResponse) {
	v.Name = l.string(b, "name")
	v.Version = l.string(b[8:], "version")
	v.SDK = l.string(b[16:], "sdk")
	v.Features = abi.Features(l.flags(b[24:], 0b1111111, "features"))
	v.Requests = liftList(l, b[28:], "requests", 28, 4, liftCapabilityRequest)
}

func lowerHandshakeResponse(w *lowerer, b []byte, v *abi.HandshakeResponse) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Version, "version")
	w.string(b[16:], v.SDK, "sdk")
	w.flags(b[24:], uint32(v.Features), 0b1111111, "features")
	lowerList(w, b[28:], v.Requests, "requests", 28, 4, lowerCapabilityRequest)
}

func liftParameterValue(l *lifter, b []byte, v *abi.ParameterValue) {
	v.Name = l.string(b, "name")
	v.Version = l.string(b[8:], "version")
	v.Value = l.bytes(b[16:], "value")
}

func lowerParameterValue(w *lowerer, b []byte, v *abi.ParameterValue) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Version, "version")
	w.bytes(b[16:], v.Value, "value")
}

func liftParameters(l *lifter, b []byte, v *abi.Parameters) {
	v.Case = abi.ParametersCase(l.enum(b, 2, ""))
	switch v.Case {
	case abi.ParametersCaseArgs:
		v.Args = liftList(l, b[4:], "args", 8, 4, liftString[string])
	case abi.ParametersCaseValue:
		l.enter("value")
		liftParameterValue(l, b[4:], &v.Value)
		l.leave()
	}
}

func lowerParameters(w *lowerer, b []byte, v *abi.Parameters) {
	w.enum(b, uint8(v.Case), 2, "")
	switch v.Case {
	case abi.ParametersCaseArgs:
		lowerStrings(w, b[4:], v.Args, "args")
	case abi.ParametersCaseValue:
		w.enter("value")
		lowerParameterValue(w, b[4:], &v.Value)
		w.leave()
	}
}

func liftParameterizeRequest(l *lifter, b []byte, v *abi.ParameterizeRequest) {
	l.enter("parameters")
	liftParameters(l, b, &v.Parameters)
	l.leave()
	v.Extension = l.bool(b[28:], "extension")
}

func lowerParameterizeRequest(w *lowerer, b []byte, v *abi.ParameterizeRequest) {
	w.enter("parameters")
	lowerParameters(w, b, &v.Parameters)
	w.leave()
	w.bool(b[28:], v.Extension)
}

func liftParameterizeResponse(l *lifter, b []byte, v *abi.ParameterizeResponse) {
	v.Name = l.string(b, "name")
	v.Version = l.string(b[8:], "version")
	v.Value = l.bytes(b[16:], "value")
}

func lowerParameterizeResponse(w *lowerer, b []byte, v *abi.ParameterizeResponse) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Version, "version")
	w.bytes(b[16:], v.Value, "value")
}

func liftGetSchemaRequest(l *lifter, b []byte, v *abi.GetSchemaRequest) {
	v.Version = u32(b)
	v.SubpackageName = l.string(b[4:], "subpackage-name")
	v.SubpackageVersion = l.string(b[12:], "subpackage-version")
}

func lowerGetSchemaRequest(w *lowerer, b []byte, v *abi.GetSchemaRequest) {
	putU32(b, v.Version)
	w.string(b[4:], v.SubpackageName, "subpackage-name")
	w.string(b[12:], v.SubpackageVersion, "subpackage-version")
}

func liftGetSchemaResponse(l *lifter, b []byte, v *abi.GetSchemaResponse) {
	v.Schema = l.string(b, "schema")
}

func lowerGetSchemaResponse(w *lowerer, b []byte, v *abi.GetSchemaResponse) {
	w.string(b, v.Schema, "schema")
}

func liftGetMappingRequest(l *lifter, b []byte, v *abi.GetMappingRequest) {
	v.Key = l.string(b, "key")
	v.Provider = l.string(b[8:], "provider")
}

func lowerGetMappingRequest(w *lowerer, b []byte, v *abi.GetMappingRequest) {
	w.string(b, v.Key, "key")
	w.string(b[8:], v.Provider, "provider")
}

func liftGetMappingResponse(l *lifter, b []byte, v *abi.GetMappingResponse) {
	v.Provider = l.string(b, "provider")
	v.Data = l.bytes(b[8:], "data")
}

func lowerGetMappingResponse(w *lowerer, b []byte, v *abi.GetMappingResponse) {
	w.string(b, v.Provider, "provider")
	w.bytes(b[8:], v.Data, "data")
}

func liftGetMappingsRequest(l *lifter, b []byte, v *abi.GetMappingsRequest) {
	v.Key = l.string(b, "key")
}

func lowerGetMappingsRequest(w *lowerer, b []byte, v *abi.GetMappingsRequest) {
	w.string(b, v.Key, "key")
}

func liftGetMappingsResponse(l *lifter, b []byte, v *abi.GetMappingsResponse) {
	v.Providers = liftList(l, b, "providers", 8, 4, liftString[string])
}

func lowerGetMappingsResponse(w *lowerer, b []byte, v *abi.GetMappingsResponse) {
	lowerStrings(w, b, v.Providers, "providers")
}

func liftConfigureRequest(l *lifter, b []byte, v *abi.ConfigureRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.ID = l.string(b[24:], "id")
	v.Inputs = l.properties(b[32:], "inputs")
}

func lowerConfigureRequest(w *lowerer, b []byte, v *abi.ConfigureRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.string(b[24:], v.ID, "id")
	w.properties(b[32:], v.Inputs, "inputs")
}

func liftAutonaming(l *lifter, b []byte, v *abi.Autonaming) {
	v.ProposedName = l.string(b, "proposed-name")
	v.Mode = abi.AutonamingMode(l.enum(b[8:], 3, "mode"))
}

func lowerAutonaming(w *lowerer, b []byte, v *abi.Autonaming) {
	w.string(b, v.ProposedName, "proposed-name")
	w.enum(b[8:], uint8(v.Mode), 3, "mode")
}

func liftCheckRequest(l *lifter, b []byte, v *abi.CheckRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	if l.some(b[24:], "olds") {
		v.Olds = new(l.properties(b[28:], "olds"))
	}
	v.News = l.properties(b[36:], "news")
	v.RandomSeed = l.bytes(b[44:], "random-seed")
	if l.some(b[52:], "autonaming") {
		v.Autonaming = new(abi.Autonaming)
		l.enter("autonaming")
		liftAutonaming(l, b[56:], v.Autonaming)
		l.leave()
	}
}

func lowerCheckRequest(w *lowerer, b []byte, v *abi.CheckRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	if v.Olds != nil {
		b[24] = 1
		w.properties(b[28:], *v.Olds, "olds")
	}
	w.properties(b[36:], v.News, "news")
	w.bytes(b[44:], v.RandomSeed, "random-seed")
	if v.Autonaming != nil {
		b[52] = 1
		w.enter("autonaming")
		lowerAutonaming(w, b[56:], v.Autonaming)
		w.leave()
	}
}

func liftCheckResponse(l *lifter, b []byte, v *abi.CheckResponse) {
	v.Inputs = l.properties(b, "inputs")
	v.Failures = liftList(l, b[8:], "failures", 16, 4, liftCheckFailure)
}

func lowerCheckResponse(w *lowerer, b []byte, v *abi.CheckResponse) {
	w.properties(b, v.Inputs, "inputs")
	lowerList(w, b[8:], v.Failures, "failures", 16, 4, lowerCheckFailure)
}

func liftPropertyDiff(l *lifter, b []byte, v *abi.PropertyDiff) {
	v.Path = l.string(b, "path")
	v.Kind = abi.DiffKind(l.enum(b[8:], 6, "kind"))
	v.InputDiff = l.bool(b[9:], "input-diff")
}

func lowerPropertyDiff(w *lowerer, b []byte, v *abi.PropertyDiff) {
	w.string(b, v.Path, "path")
	w.enum(b[8:], uint8(v.Kind), 6, "kind")
	w.bool(b[9:], v.InputDiff)
}

func liftDiffRequest(l *lifter, b []byte, v *abi.DiffRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.ID = l.string(b[24:], "id")
	v.Olds = l.properties(b[32:], "olds")
	v.News = l.properties(b[40:], "news")
	v.OldInputs = l.properties(b[48:], "old-inputs")
	v.IgnoreChanges = liftList(l, b[56:], "ignore-changes", 8, 4, liftString[string])
}

func lowerDiffRequest(w *lowerer, b []byte, v *abi.DiffRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.string(b[24:], v.ID, "id")
	w.properties(b[32:], v.Olds, "olds")
	w.properties(b[40:], v.News, "news")
	w.properties(b[48:], v.OldInputs, "old-inputs")
	lowerStrings(w, b[56:], v.IgnoreChanges, "ignore-changes")
}

func liftDiffResponse(l *lifter, b []byte, v *abi.DiffResponse) {
	v.Changes = abi.DiffChanges(l.enum(b, 4, "changes"))
	v.HasDetailedDiff = l.bool(b[1:], "has-detailed-diff")
	v.DetailedDiff = liftList(l, b[4:], "detailed-diff", 12, 4, liftPropertyDiff)
	v.DeleteBeforeReplace = l.bool(b[12:], "delete-before-replace")
	v.ReplaceKeys = liftList(l, b[16:], "replace-keys", 8, 4, liftString[string])
	v.StableKeys = liftList(l, b[24:], "stable-keys", 8, 4, liftString[string])
	v.ChangedKeys = liftList(l, b[32:], "changed-keys", 8, 4, liftString[string])
}

func lowerDiffResponse(w *lowerer, b []byte, v *abi.DiffResponse) {
	w.enum(b, uint8(v.Changes), 4, "changes")
	w.bool(b[1:], v.HasDetailedDiff)
	lowerList(w, b[4:], v.DetailedDiff, "detailed-diff", 12, 4, lowerPropertyDiff)
	w.bool(b[12:], v.DeleteBeforeReplace)
	lowerStrings(w, b[16:], v.ReplaceKeys, "replace-keys")
	lowerStrings(w, b[24:], v.StableKeys, "stable-keys")
	lowerStrings(w, b[32:], v.ChangedKeys, "changed-keys")
}

func liftCreateRequest(l *lifter, b []byte, v *abi.CreateRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.Inputs = l.properties(b[24:], "inputs")
	v.Timeout = l.f64(b[32:])
	v.Preview = l.bool(b[40:], "preview")
}

func lowerCreateRequest(w *lowerer, b []byte, v *abi.CreateRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.properties(b[24:], v.Inputs, "inputs")
	w.f64(b[32:], v.Timeout)
	w.bool(b[40:], v.Preview)
}

func liftCreateResponse(l *lifter, b []byte, v *abi.CreateResponse) {
	v.ID = l.string(b, "id")
	v.State = l.properties(b[8:], "state")
	v.RefreshBeforeUpdate = l.bool(b[16:], "refresh-before-update")
}

func lowerCreateResponse(w *lowerer, b []byte, v *abi.CreateResponse) {
	w.string(b, v.ID, "id")
	w.properties(b[8:], v.State, "state")
	w.bool(b[16:], v.RefreshBeforeUpdate)
}

func liftReadRequest(l *lifter, b []byte, v *abi.ReadRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.ID = l.string(b[24:], "id")
	if l.some(b[32:], "state") {
		v.State = new(l.properties(b[36:], "state"))
	}
	if l.some(b[44:], "inputs") {
		v.Inputs = new(l.properties(b[48:], "inputs"))
	}
	v.Timeout = l.f64(b[56:])
}

func lowerReadRequest(w *lowerer, b []byte, v *abi.ReadRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.string(b[24:], v.ID, "id")
	if v.State != nil {
		b[32] = 1
		w.properties(b[36:], *v.State, "state")
	}
	if v.Inputs != nil {
		b[44] = 1
		w.properties(b[48:], *v.Inputs, "inputs")
	}
	w.f64(b[56:], v.Timeout)
}

func liftReadResponse(l *lifter, b []byte, v *abi.ReadResponse) {
	v.ID = l.string(b, "id")
	v.State = l.properties(b[8:], "state")
	if l.some(b[16:], "inputs") {
		v.Inputs = new(l.properties(b[20:], "inputs"))
	}
	v.RefreshBeforeUpdate = l.bool(b[28:], "refresh-before-update")
}

func lowerReadResponse(w *lowerer, b []byte, v *abi.ReadResponse) {
	w.string(b, v.ID, "id")
	w.properties(b[8:], v.State, "state")
	if v.Inputs != nil {
		b[16] = 1
		w.properties(b[20:], *v.Inputs, "inputs")
	}
	w.bool(b[28:], v.RefreshBeforeUpdate)
}

func liftUpdateRequest(l *lifter, b []byte, v *abi.UpdateRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.ID = l.string(b[24:], "id")
	v.Olds = l.properties(b[32:], "olds")
	v.News = l.properties(b[40:], "news")
	v.OldInputs = l.properties(b[48:], "old-inputs")
	v.IgnoreChanges = liftList(l, b[56:], "ignore-changes", 8, 4, liftString[string])
	v.Timeout = l.f64(b[64:])
	v.Preview = l.bool(b[72:], "preview")
}

func lowerUpdateRequest(w *lowerer, b []byte, v *abi.UpdateRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.string(b[24:], v.ID, "id")
	w.properties(b[32:], v.Olds, "olds")
	w.properties(b[40:], v.News, "news")
	w.properties(b[48:], v.OldInputs, "old-inputs")
	lowerStrings(w, b[56:], v.IgnoreChanges, "ignore-changes")
	w.f64(b[64:], v.Timeout)
	w.bool(b[72:], v.Preview)
}

func liftUpdateResponse(l *lifter, b []byte, v *abi.UpdateResponse) {
	v.State = l.properties(b, "state")
	v.RefreshBeforeUpdate = l.bool(b[8:], "refresh-before-update")
}

func lowerUpdateResponse(w *lowerer, b []byte, v *abi.UpdateResponse) {
	w.properties(b, v.State, "state")
	w.bool(b[8:], v.RefreshBeforeUpdate)
}

func liftDeleteRequest(l *lifter, b []byte, v *abi.DeleteRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.ID = l.string(b[24:], "id")
	v.State = l.properties(b[32:], "state")
	v.OldInputs = l.properties(b[40:], "old-inputs")
	v.Timeout = l.f64(b[48:])
}

func lowerDeleteRequest(w *lowerer, b []byte, v *abi.DeleteRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.string(b[24:], v.ID, "id")
	w.properties(b[32:], v.State, "state")
	w.properties(b[40:], v.OldInputs, "old-inputs")
	w.f64(b[48:], v.Timeout)
}

func liftListRequest(l *lifter, b []byte, v *abi.ListRequest) {
	v.Token = l.string(b, "token")
	v.Query = l.properties(b[8:], "query")
	v.Limit = u64(b[16:])
	v.PageSize = u64(b[24:])
	v.ContinuationToken = l.string(b[32:], "continuation-token")
}

func lowerListRequest(w *lowerer, b []byte, v *abi.ListRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Query, "query")
	putU64(b[16:], v.Limit)
	putU64(b[24:], v.PageSize)
	w.string(b[32:], v.ContinuationToken, "continuation-token")
}

func liftListedResource(l *lifter, b []byte, v *abi.ListedResource) {
	v.ID = l.string(b, "id")
	v.Name = l.string(b[8:], "name")
}

func lowerListedResource(w *lowerer, b []byte, v *abi.ListedResource) {
	w.string(b, v.ID, "id")
	w.string(b[8:], v.Name, "name")
}

func liftListResponse(l *lifter, b []byte, v *abi.ListResponse) {
	v.Resources = liftList(l, b, "resources", 16, 4, liftListedResource)
	v.ContinuationToken = l.string(b[8:], "continuation-token")
}

func lowerListResponse(w *lowerer, b []byte, v *abi.ListResponse) {
	lowerList(w, b, v.Resources, "resources", 16, 4, lowerListedResource)
	w.string(b[8:], v.ContinuationToken, "continuation-token")
}

func liftInvokeRequest(l *lifter, b []byte, v *abi.InvokeRequest) {
	v.Token = l.string(b, "token")
	v.Args = l.properties(b[8:], "args")
	v.Preview = l.bool(b[16:], "preview")
}

func lowerInvokeRequest(w *lowerer, b []byte, v *abi.InvokeRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Args, "args")
	w.bool(b[16:], v.Preview)
}

func liftInvokeResponse(l *lifter, b []byte, v *abi.InvokeResponse) {
	v.Result = l.properties(b, "result")
	v.Failures = liftList(l, b[8:], "failures", 16, 4, liftCheckFailure)
}

func lowerInvokeResponse(w *lowerer, b []byte, v *abi.InvokeResponse) {
	w.properties(b, v.Result, "result")
	lowerList(w, b[8:], v.Failures, "failures", 16, 4, lowerCheckFailure)
}

func liftOpenEphemeralRequest(l *lifter, b []byte, v *abi.OpenEphemeralRequest) {
	v.Token = l.string(b, "token")
	v.Args = l.properties(b[8:], "args")
	v.Preview = l.bool(b[16:], "preview")
}

func lowerOpenEphemeralRequest(w *lowerer, b []byte, v *abi.OpenEphemeralRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Args, "args")
	w.bool(b[16:], v.Preview)
}

func liftOpenEphemeralResponse(l *lifter, b []byte, v *abi.OpenEphemeralResponse) {
	v.Result = l.properties(b, "result")
	v.Failures = liftList(l, b[8:], "failures", 16, 4, liftCheckFailure)
	v.Private = l.bytes(b[16:], "private")
	v.RenewAfter = l.f64(b[24:])
}

func lowerOpenEphemeralResponse(w *lowerer, b []byte, v *abi.OpenEphemeralResponse) {
	w.properties(b, v.Result, "result")
	lowerList(w, b[8:], v.Failures, "failures", 16, 4, lowerCheckFailure)
	w.bytes(b[16:], v.Private, "private")
	w.f64(b[24:], v.RenewAfter)
}

func liftRenewEphemeralRequest(l *lifter, b []byte, v *abi.RenewEphemeralRequest) {
	v.Token = l.string(b, "token")
	v.Private = l.bytes(b[8:], "private")
}

func lowerRenewEphemeralRequest(w *lowerer, b []byte, v *abi.RenewEphemeralRequest) {
	w.string(b, v.Token, "token")
	w.bytes(b[8:], v.Private, "private")
}

func liftRenewEphemeralResponse(l *lifter, b []byte, v *abi.RenewEphemeralResponse) {
	v.Private = l.bytes(b, "private")
	v.RenewAfter = l.f64(b[8:])
}

func lowerRenewEphemeralResponse(w *lowerer, b []byte, v *abi.RenewEphemeralResponse) {
	w.bytes(b, v.Private, "private")
	w.f64(b[8:], v.RenewAfter)
}

func liftCloseEphemeralRequest(l *lifter, b []byte, v *abi.CloseEphemeralRequest) {
	v.Token = l.string(b, "token")
	v.Private = l.bytes(b[8:], "private")
}

func lowerCloseEphemeralRequest(w *lowerer, b []byte, v *abi.CloseEphemeralRequest) {
	w.string(b, v.Token, "token")
	w.bytes(b[8:], v.Private, "private")
}

func liftRunActionRequest(l *lifter, b []byte, v *abi.RunActionRequest) {
	v.Token = l.string(b, "token")
	v.Args = l.properties(b[8:], "args")
	v.Preview = l.bool(b[16:], "preview")
}

func lowerRunActionRequest(w *lowerer, b []byte, v *abi.RunActionRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Args, "args")
	w.bool(b[16:], v.Preview)
}

func liftRunActionResponse(l *lifter, b []byte, v *abi.RunActionResponse) {
	v.Failures = liftList(l, b, "failures", 16, 4, liftCheckFailure)
}

func lowerRunActionResponse(w *lowerer, b []byte, v *abi.RunActionResponse) {
	lowerList(w, b, v.Failures, "failures", 16, 4, lowerCheckFailure)
}

func liftExistsRequest(l *lifter, b []byte, v *abi.ExistsRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Name = l.string(b[8:], "name")
	v.Type = l.string(b[16:], "type")
	v.ID = l.string(b[24:], "id")
	if l.some(b[32:], "state") {
		v.State = new(l.properties(b[36:], "state"))
	}
	v.Timeout = l.f64(b[48:])
}

func lowerExistsRequest(w *lowerer, b []byte, v *abi.ExistsRequest) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Type, "type")
	w.string(b[24:], v.ID, "id")
	if v.State != nil {
		b[32] = 1
		w.properties(b[36:], *v.State, "state")
	}
	w.f64(b[48:], v.Timeout)
}

func liftExistsResponse(l *lifter, b []byte, v *abi.ExistsResponse) {
	v.Exists = l.bool(b, "exists")
}

func lowerExistsResponse(w *lowerer, b []byte, v *abi.ExistsResponse) {
	w.bool(b, v.Exists)
}

func liftStreamItem(l *lifter, b []byte, v *abi.StreamItem) {
	if l.some(b, "result") {
		v.Result = new(l.properties(b[4:], "result"))
	}
}

func lowerStreamItem(w *lowerer, b []byte, v *abi.StreamItem) {
	if v.Result != nil {
		b[0] = 1
		w.properties(b[4:], *v.Result, "result")
	}
}

func liftCallRequest(l *lifter, b []byte, v *abi.CallRequest) {
	v.Token = l.string(b, "token")
	v.Args = l.properties(b[8:], "args")
	v.ArgDependencies = liftList(l, b[16:], "arg-dependencies", 16, 4, liftPropertyDependency)
	l.enter("context")
	liftRunContext(l, b[24:], &v.Context)
	l.leave()
}

func lowerCallRequest(w *lowerer, b []byte, v *abi.CallRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Args, "args")
	lowerList(w, b[16:], v.ArgDependencies, "arg-dependencies", 16, 4, lowerPropertyDependency)
	w.enter("context")
	lowerRunContext(w, b[24:], &v.Context)
	w.leave()
}

func liftCallResponse(l *lifter, b []byte, v *abi.CallResponse) {
	v.Result = l.properties(b, "result")
	v.Failures = liftList(l, b[8:], "failures", 16, 4, liftCheckFailure)
	v.ResultDependencies = liftList(l, b[16:], "result-dependencies", 16, 4, liftPropertyDependency)
}

func lowerCallResponse(w *lowerer, b []byte, v *abi.CallResponse) {
	w.properties(b, v.Result, "result")
	lowerList(w, b[8:], v.Failures, "failures", 16, 4, lowerCheckFailure)
	lowerList(w, b[16:], v.ResultDependencies, "result-dependencies", 16, 4, lowerPropertyDependency)
}

func liftConstructRequest(l *lifter, b []byte, v *abi.ConstructRequest) {
	v.Type = l.string(b, "type")
	v.Name = l.string(b[8:], "name")
	v.Parent = urn.URN(l.string(b[16:], "parent"))
	v.Inputs = l.properties(b[24:], "inputs")
	v.InputDependencies = liftList(l, b[32:], "input-dependencies", 16, 4, liftPropertyDependency)
	l.enter("options")
	liftResourceOptions(l, b[40:], &v.Options)
	l.leave()
	l.enter("context")
	liftRunContext(l, b[216:], &v.Context)
	l.leave()
}

func lowerConstructRequest(w *lowerer, b []byte, v *abi.ConstructRequest) {
	w.string(b, v.Type, "type")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], string(v.Parent), "parent")
	w.properties(b[24:], v.Inputs, "inputs")
	lowerList(w, b[32:], v.InputDependencies, "input-dependencies", 16, 4, lowerPropertyDependency)
	w.enter("options")
	lowerResourceOptions(w, b[40:], &v.Options)
	w.leave()
	w.enter("context")
	lowerRunContext(w, b[216:], &v.Context)
	w.leave()
}

func liftConstructResponse(l *lifter, b []byte, v *abi.ConstructResponse) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.State = l.properties(b[8:], "state")
	v.StateDependencies = liftList(l, b[16:], "state-dependencies", 16, 4, liftPropertyDependency)
}

func lowerConstructResponse(w *lowerer, b []byte, v *abi.ConstructResponse) {
	w.string(b, string(v.URN), "urn")
	w.properties(b[8:], v.State, "state")
	lowerList(w, b[16:], v.StateDependencies, "state-dependencies", 16, 4, lowerPropertyDependency)
}

func liftPolicyRule(l *lifter, b []byte, v *abi.PolicyRule) {
	v.Name = l.string(b, "name")
	v.Description = l.string(b[8:], "description")
	v.Level = abi.PolicyLevel(l.enum(b[16:], 4, "level"))
	v.Actions = abi.PolicyActions(l.flags(b[17:], 0b111, "actions"))
	v.ConfigSchema = l.string(b[20:], "config-schema")
}

func lowerPolicyRule(w *lowerer, b []byte, v *abi.PolicyRule) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Description, "description")
	w.enum(b[16:], uint8(v.Level), 4, "level")
	w.flags(b[17:], uint32(v.Actions), 0b111, "actions")
	w.string(b[20:], v.ConfigSchema, "config-schema")
}

func liftPolicyHandshakeRequest(l *lifter, b []byte, v *abi.PolicyHandshakeRequest) {
	v.Engine = l.string(b, "engine")
}

func lowerPolicyHandshakeRequest(w *lowerer, b []byte, v *abi.PolicyHandshakeRequest) {
	w.string(b, v.Engine, "engine")
}

func liftPolicyHandshakeResponse(l *lifter, b []byte, v *abi.PolicyHandshakeResponse) {
	v.Name = l.string(b, "name")
	v.Version = l.string(b[8:], "version")
	v.SDK = l.string(b[16:], "sdk")
	v.Rules = liftList(l, b[24:], "rules", 28, 4, liftPolicyRule)
}

func lowerPolicyHandshakeResponse(w *lowerer, b []byte, v *abi.PolicyHandshakeResponse) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Version, "version")
	w.string(b[16:], v.SDK, "sdk")
	lowerList(w, b[24:], v.Rules, "rules", 28, 4, lowerPolicyRule)
}

func liftPolicyRuleConfig(l *lifter, b []byte, v *abi.PolicyRuleConfig) {
	v.Name = l.string(b, "name")
	v.Level = abi.PolicyLevel(l.enum(b[8:], 4, "level"))
	v.Properties = l.properties(b[12:], "properties")
}

func lowerPolicyRuleConfig(w *lowerer, b []byte, v *abi.PolicyRuleConfig) {
	w.string(b, v.Name, "name")
	w.enum(b[8:], uint8(v.Level), 4, "level")
	w.properties(b[12:], v.Properties, "properties")
}

func liftPolicyConfigureRequest(l *lifter, b []byte, v *abi.PolicyConfigureRequest) {
	l.enter("context")
	liftRunContext(l, b, &v.Context)
	l.leave()
	v.Rules = liftList(l, b[40:], "rules", 20, 4, liftPolicyRuleConfig)
}

func lowerPolicyConfigureRequest(w *lowerer, b []byte, v *abi.PolicyConfigureRequest) {
	w.enter("context")
	lowerRunContext(w, b, &v.Context)
	w.leave()
	lowerList(w, b[40:], v.Rules, "rules", 20, 4, lowerPolicyRuleConfig)
}

func liftPolicyProviderResource(l *lifter, b []byte, v *abi.PolicyProviderResource) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Type = l.string(b[8:], "type")
	v.Name = l.string(b[16:], "name")
	v.Properties = l.properties(b[24:], "properties")
}

func lowerPolicyProviderResource(w *lowerer, b []byte, v *abi.PolicyProviderResource) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Type, "type")
	w.string(b[16:], v.Name, "name")
	w.properties(b[24:], v.Properties, "properties")
}

func liftPolicyResource(l *lifter, b []byte, v *abi.PolicyResource) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Type = l.string(b[8:], "type")
	v.Name = l.string(b[16:], "name")
	v.Custom = l.bool(b[24:], "custom")
	v.ID = l.string(b[28:], "id")
	v.Properties = l.properties(b[36:], "properties")
	v.Parent = urn.URN(l.string(b[44:], "parent"))
	v.Dependencies = liftList(l, b[52:], "dependencies", 8, 4, liftString[urn.URN])
	v.PropertyDependencies = liftList(l, b[60:], "property-dependencies", 16, 4, liftPropertyDependency)
	l.enter("options")
	liftResourceOptions(l, b[72:], &v.Options)
	l.leave()
	if l.some(b[248:], "provider") {
		v.Provider = new(abi.PolicyProviderResource)
		l.enter("provider")
		liftPolicyProviderResource(l, b[252:], v.Provider)
		l.leave()
	}
}

func lowerPolicyResource(w *lowerer, b []byte, v *abi.PolicyResource) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.Type, "type")
	w.string(b[16:], v.Name, "name")
	w.bool(b[24:], v.Custom)
	w.string(b[28:], v.ID, "id")
	w.properties(b[36:], v.Properties, "properties")
	w.string(b[44:], string(v.Parent), "parent")
	lowerStrings(w, b[52:], v.Dependencies, "dependencies")
	lowerList(w, b[60:], v.PropertyDependencies, "property-dependencies", 16, 4, lowerPropertyDependency)
	w.enter("options")
	lowerResourceOptions(w, b[72:], &v.Options)
	w.leave()
	if v.Provider != nil {
		b[248] = 1
		w.enter("provider")
		lowerPolicyProviderResource(w, b[252:], v.Provider)
		w.leave()
	}
}

func liftPolicyAnalyzeRequest(l *lifter, b []byte, v *abi.PolicyAnalyzeRequest) {
	l.enter("resource")
	liftPolicyResource(l, b, &v.Resource)
	l.leave()
}

func lowerPolicyAnalyzeRequest(w *lowerer, b []byte, v *abi.PolicyAnalyzeRequest) {
	w.enter("resource")
	lowerPolicyResource(w, b, &v.Resource)
	w.leave()
}

func liftPolicyViolation(l *lifter, b []byte, v *abi.PolicyViolation) {
	v.Rule = l.string(b, "rule")
	v.Message = l.string(b[8:], "message")
	v.Path = l.string(b[16:], "path")
	v.URN = urn.URN(l.string(b[24:], "urn"))
}

func lowerPolicyViolation(w *lowerer, b []byte, v *abi.PolicyViolation) {
	w.string(b, v.Rule, "rule")
	w.string(b[8:], v.Message, "message")
	w.string(b[16:], v.Path, "path")
	w.string(b[24:], string(v.URN), "urn")
}

func liftPolicyAnalyzeResponse(l *lifter, b []byte, v *abi.PolicyAnalyzeResponse) {
	v.Violations = liftList(l, b, "violations", 32, 4, liftPolicyViolation)
}

func lowerPolicyAnalyzeResponse(w *lowerer, b []byte, v *abi.PolicyAnalyzeResponse) {
	lowerList(w, b, v.Violations, "violations", 32, 4, lowerPolicyViolation)
}

func liftPolicyRemediateRequest(l *lifter, b []byte, v *abi.PolicyRemediateRequest) {
	l.enter("resource")
	liftPolicyResource(l, b, &v.Resource)
	l.leave()
}

func lowerPolicyRemediateRequest(w *lowerer, b []byte, v *abi.PolicyRemediateRequest) {
	w.enter("resource")
	lowerPolicyResource(w, b, &v.Resource)
	w.leave()
}

func liftPolicyRemediation(l *lifter, b []byte, v *abi.PolicyRemediation) {
	v.Rule = l.string(b, "rule")
	if l.some(b[8:], "properties") {
		v.Properties = new(l.properties(b[12:], "properties"))
	}
	v.Message = l.string(b[20:], "message")
}

func lowerPolicyRemediation(w *lowerer, b []byte, v *abi.PolicyRemediation) {
	w.string(b, v.Rule, "rule")
	if v.Properties != nil {
		b[8] = 1
		w.properties(b[12:], *v.Properties, "properties")
	}
	w.string(b[20:], v.Message, "message")
}

func liftPolicyRemediateResponse(l *lifter, b []byte, v *abi.PolicyRemediateResponse) {
	v.Remediations = liftList(l, b, "remediations", 28, 4, liftPolicyRemediation)
}

func lowerPolicyRemediateResponse(w *lowerer, b []byte, v *abi.PolicyRemediateResponse) {
	lowerList(w, b, v.Remediations, "remediations", 28, 4, lowerPolicyRemediation)
}

func liftPolicyAnalyzeStackRequest(l *lifter, b []byte, v *abi.PolicyAnalyzeStackRequest) {
	v.Resources = liftList(l, b, "resources", 288, 8, liftPolicyResource)
}

func lowerPolicyAnalyzeStackRequest(w *lowerer, b []byte, v *abi.PolicyAnalyzeStackRequest) {
	lowerList(w, b, v.Resources, "resources", 288, 8, lowerPolicyResource)
}

func liftProgramRunRequest(l *lifter, b []byte, v *abi.ProgramRunRequest) {
	v.Engine = l.string(b, "engine")
	l.enter("context")
	liftRunContext(l, b[8:], &v.Context)
	l.leave()
	v.Stack = urn.URN(l.string(b[48:], "stack"))
}

func lowerProgramRunRequest(w *lowerer, b []byte, v *abi.ProgramRunRequest) {
	w.string(b, v.Engine, "engine")
	w.enter("context")
	lowerRunContext(w, b[8:], &v.Context)
	w.leave()
	w.string(b[48:], string(v.Stack), "stack")
}

func liftProgramRunResponse(l *lifter, b []byte, v *abi.ProgramRunResponse) {
	v.Outputs = l.properties(b, "outputs")
}

func lowerProgramRunResponse(w *lowerer, b []byte, v *abi.ProgramRunResponse) {
	w.properties(b, v.Outputs, "outputs")
}

func liftLogEntry(l *lifter, b []byte, v *abi.LogEntry) {
	v.Severity = abi.LogSeverity(l.enum(b, 4, "severity"))
	v.Message = l.string(b[4:], "message")
	v.URN = urn.URN(l.string(b[12:], "urn"))
	v.Ephemeral = l.bool(b[20:], "ephemeral")
}

func lowerLogEntry(w *lowerer, b []byte, v *abi.LogEntry) {
	w.enum(b, uint8(v.Severity), 4, "severity")
	w.string(b[4:], v.Message, "message")
	w.string(b[12:], string(v.URN), "urn")
	w.bool(b[20:], v.Ephemeral)
}

func liftHTTPHeader(l *lifter, b []byte, v *abi.HTTPHeader) {
	v.Name = l.string(b, "name")
	v.Value = l.bytes(b[8:], "value")
}

func lowerHTTPHeader(w *lowerer, b []byte, v *abi.HTTPHeader) {
	w.string(b, v.Name, "name")
	w.bytes(b[8:], v.Value, "value")
}

func liftHTTPRequest(l *lifter, b []byte, v *abi.HTTPRequest) {
	v.Method = l.string(b, "method")
	v.URL = l.string(b[8:], "url")
	v.Headers = liftList(l, b[16:], "headers", 16, 4, liftHTTPHeader)
	v.Body = l.bytes(b[24:], "body")
	v.TimeoutMs = u64(b[32:])
}

func lowerHTTPRequest(w *lowerer, b []byte, v *abi.HTTPRequest) {
	w.string(b, v.Method, "method")
	w.string(b[8:], v.URL, "url")
	lowerList(w, b[16:], v.Headers, "headers", 16, 4, lowerHTTPHeader)
	w.bytes(b[24:], v.Body, "body")
	putU64(b[32:], v.TimeoutMs)
}

func liftHTTPResponse(l *lifter, b []byte, v *abi.HTTPResponse) {
	v.Status = u16(b)
	v.Headers = liftList(l, b[4:], "headers", 16, 4, liftHTTPHeader)
	v.Body = l.bytes(b[12:], "body")
	v.Trailers = liftList(l, b[20:], "trailers", 16, 4, liftHTTPHeader)
}

func lowerHTTPResponse(w *lowerer, b []byte, v *abi.HTTPResponse) {
	putU16(b, v.Status)
	lowerList(w, b[4:], v.Headers, "headers", 16, 4, lowerHTTPHeader)
	w.bytes(b[12:], v.Body, "body")
	lowerList(w, b[20:], v.Trailers, "trailers", 16, 4, lowerHTTPHeader)
}

func liftHTTPResponseHead(l *lifter, b []byte, v *abi.HTTPResponseHead) {
	v.Status = u16(b)
	v.Headers = liftList(l, b[4:], "headers", 16, 4, liftHTTPHeader)
}

func lowerHTTPResponseHead(w *lowerer, b []byte, v *abi.HTTPResponseHead) {
	putU16(b, v.Status)
	lowerList(w, b[4:], v.Headers, "headers", 16, 4, lowerHTTPHeader)
}

func liftHTTPChunk(l *lifter, b []byte, v *abi.HTTPChunk) {
	v.Data = l.bytes(b, "data")
	v.Trailers = liftList(l, b[8:], "trailers", 16, 4, liftHTTPHeader)
}

func lowerHTTPChunk(w *lowerer, b []byte, v *abi.HTTPChunk) {
	w.bytes(b, v.Data, "data")
	lowerList(w, b[8:], v.Trailers, "trailers", 16, 4, lowerHTTPHeader)
}

func liftTCPConnectRequest(l *lifter, b []byte, v *abi.TCPConnectRequest) {
	v.Host = l.string(b, "host")
	v.Port = u16(b[8:])
	v.TimeoutMs = u64(b[16:])
}

func lowerTCPConnectRequest(w *lowerer, b []byte, v *abi.TCPConnectRequest) {
	w.string(b, v.Host, "host")
	putU16(b[8:], v.Port)
	putU64(b[16:], v.TimeoutMs)
}

func liftKVItem(l *lifter, b []byte, v *abi.KVItem) {
	if l.some(b, "value") {
		v.Value = new(l.bytes(b[4:], "value"))
	}
	v.Revision = u64(b[16:])
}

func lowerKVItem(w *lowerer, b []byte, v *abi.KVItem) {
	if v.Value != nil {
		b[0] = 1
		w.bytes(b[4:], *v.Value, "value")
	}
	putU64(b[16:], v.Revision)
}

func liftRegisterResourceRequest(l *lifter, b []byte, v *abi.RegisterResourceRequest) {
	v.Type = l.string(b, "type")
	v.Name = l.string(b[8:], "name")
	v.Parent = urn.URN(l.string(b[16:], "parent"))
	v.Custom = l.bool(b[24:], "custom")
	v.Remote = l.bool(b[25:], "remote")
	v.Inputs = l.properties(b[28:], "inputs")
	v.PropertyDependencies = liftList(l, b[36:], "property-dependencies", 16, 4, liftPropertyDependency)
	l.enter("options")
	liftResourceOptions(l, b[48:], &v.Options)
	l.leave()
	v.SourcePosition = l.string(b[224:], "source-position")
}

func lowerRegisterResourceRequest(w *lowerer, b []byte, v *abi.RegisterResourceRequest) {
	w.string(b, v.Type, "type")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], string(v.Parent), "parent")
	w.bool(b[24:], v.Custom)
	w.bool(b[25:], v.Remote)
	w.properties(b[28:], v.Inputs, "inputs")
	lowerList(w, b[36:], v.PropertyDependencies, "property-dependencies", 16, 4, lowerPropertyDependency)
	w.enter("options")
	lowerResourceOptions(w, b[48:], &v.Options)
	w.leave()
	w.string(b[224:], v.SourcePosition, "source-position")
}

func liftRegisterResourceResponse(l *lifter, b []byte, v *abi.RegisterResourceResponse) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.ID = l.string(b[8:], "id")
	v.State = l.properties(b[16:], "state")
	v.StateDependencies = liftList(l, b[24:], "state-dependencies", 16, 4, liftPropertyDependency)
	v.Result = abi.RegistrationResult(l.enum(b[32:], 3, "result"))
}

func lowerRegisterResourceResponse(w *lowerer, b []byte, v *abi.RegisterResourceResponse) {
	w.string(b, string(v.URN), "urn")
	w.string(b[8:], v.ID, "id")
	w.properties(b[16:], v.State, "state")
	lowerList(w, b[24:], v.StateDependencies, "state-dependencies", 16, 4, lowerPropertyDependency)
	w.enum(b[32:], uint8(v.Result), 3, "result")
}

func liftRegisterOutputsRequest(l *lifter, b []byte, v *abi.RegisterOutputsRequest) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.Outputs = l.properties(b[8:], "outputs")
}

func lowerRegisterOutputsRequest(w *lowerer, b []byte, v *abi.RegisterOutputsRequest) {
	w.string(b, string(v.URN), "urn")
	w.properties(b[8:], v.Outputs, "outputs")
}

func liftReadResourceRequest(l *lifter, b []byte, v *abi.ReadResourceRequest) {
	v.ID = l.string(b, "id")
	v.Type = l.string(b[8:], "type")
	v.Name = l.string(b[16:], "name")
	v.Parent = urn.URN(l.string(b[24:], "parent"))
	v.Properties = l.properties(b[32:], "properties")
	l.enter("options")
	liftResourceOptions(l, b[40:], &v.Options)
	l.leave()
	v.SourcePosition = l.string(b[216:], "source-position")
}

func lowerReadResourceRequest(w *lowerer, b []byte, v *abi.ReadResourceRequest) {
	w.string(b, v.ID, "id")
	w.string(b[8:], v.Type, "type")
	w.string(b[16:], v.Name, "name")
	w.string(b[24:], string(v.Parent), "parent")
	w.properties(b[32:], v.Properties, "properties")
	w.enter("options")
	lowerResourceOptions(w, b[40:], &v.Options)
	w.leave()
	w.string(b[216:], v.SourcePosition, "source-position")
}

func liftReadResourceResponse(l *lifter, b []byte, v *abi.ReadResourceResponse) {
	v.URN = urn.URN(l.string(b, "urn"))
	v.State = l.properties(b[8:], "state")
}

func lowerReadResourceResponse(w *lowerer, b []byte, v *abi.ReadResourceResponse) {
	w.string(b, string(v.URN), "urn")
	w.properties(b[8:], v.State, "state")
}

func liftFunctionOptions(l *lifter, b []byte, v *abi.FunctionOptions) {
	v.Provider = l.string(b, "provider")
	v.Version = l.string(b[8:], "version")
	v.PackageRef = l.string(b[16:], "package-ref")
	v.Parent = urn.URN(l.string(b[24:], "parent"))
	v.DependsOn = liftList(l, b[32:], "depends-on", 8, 4, liftString[urn.URN])
}

func lowerFunctionOptions(w *lowerer, b []byte, v *abi.FunctionOptions) {
	w.string(b, v.Provider, "provider")
	w.string(b[8:], v.Version, "version")
	w.string(b[16:], v.PackageRef, "package-ref")
	w.string(b[24:], string(v.Parent), "parent")
	lowerStrings(w, b[32:], v.DependsOn, "depends-on")
}

func liftMonitorInvokeRequest(l *lifter, b []byte, v *abi.MonitorInvokeRequest) {
	v.Token = l.string(b, "token")
	v.Args = l.properties(b[8:], "args")
	l.enter("options")
	liftFunctionOptions(l, b[16:], &v.Options)
	l.leave()
}

func lowerMonitorInvokeRequest(w *lowerer, b []byte, v *abi.MonitorInvokeRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Args, "args")
	w.enter("options")
	lowerFunctionOptions(w, b[16:], &v.Options)
	w.leave()
}

func liftMonitorInvokeResponse(l *lifter, b []byte, v *abi.MonitorInvokeResponse) {
	v.Result = l.properties(b, "result")
	v.Failures = liftList(l, b[8:], "failures", 16, 4, liftCheckFailure)
	v.Unknown = l.bool(b[16:], "unknown")
}

func lowerMonitorInvokeResponse(w *lowerer, b []byte, v *abi.MonitorInvokeResponse) {
	w.properties(b, v.Result, "result")
	lowerList(w, b[8:], v.Failures, "failures", 16, 4, lowerCheckFailure)
	w.bool(b[16:], v.Unknown)
}

func liftMonitorCallRequest(l *lifter, b []byte, v *abi.MonitorCallRequest) {
	v.Token = l.string(b, "token")
	v.Args = l.properties(b[8:], "args")
	v.ArgDependencies = liftList(l, b[16:], "arg-dependencies", 16, 4, liftPropertyDependency)
	l.enter("options")
	liftFunctionOptions(l, b[24:], &v.Options)
	l.leave()
}

func lowerMonitorCallRequest(w *lowerer, b []byte, v *abi.MonitorCallRequest) {
	w.string(b, v.Token, "token")
	w.properties(b[8:], v.Args, "args")
	lowerList(w, b[16:], v.ArgDependencies, "arg-dependencies", 16, 4, lowerPropertyDependency)
	w.enter("options")
	lowerFunctionOptions(w, b[24:], &v.Options)
	w.leave()
}

func liftMonitorCallResponse(l *lifter, b []byte, v *abi.MonitorCallResponse) {
	v.Result = l.properties(b, "result")
	v.Failures = liftList(l, b[8:], "failures", 16, 4, liftCheckFailure)
	v.ResultDependencies = liftList(l, b[16:], "result-dependencies", 16, 4, liftPropertyDependency)
}

func lowerMonitorCallResponse(w *lowerer, b []byte, v *abi.MonitorCallResponse) {
	w.properties(b, v.Result, "result")
	lowerList(w, b[8:], v.Failures, "failures", 16, 4, lowerCheckFailure)
	lowerList(w, b[16:], v.ResultDependencies, "result-dependencies", 16, 4, lowerPropertyDependency)
}

func liftRegisterPackageRequest(l *lifter, b []byte, v *abi.RegisterPackageRequest) {
	v.Name = l.string(b, "name")
	v.Version = l.string(b[8:], "version")
	if l.some(b[16:], "parameters") {
		v.Parameters = new(abi.Parameters)
		l.enter("parameters")
		liftParameters(l, b[20:], v.Parameters)
		l.leave()
	}
	if l.some(b[48:], "extension") {
		v.Extension = new(abi.Parameters)
		l.enter("extension")
		liftParameters(l, b[52:], v.Extension)
		l.leave()
	}
}

func lowerRegisterPackageRequest(w *lowerer, b []byte, v *abi.RegisterPackageRequest) {
	w.string(b, v.Name, "name")
	w.string(b[8:], v.Version, "version")
	if v.Parameters != nil {
		b[16] = 1
		w.enter("parameters")
		lowerParameters(w, b[20:], v.Parameters)
		w.leave()
	}
	if v.Extension != nil {
		b[48] = 1
		w.enter("extension")
		lowerParameters(w, b[52:], v.Extension)
		w.leave()
	}
}

func liftRegisterPackageResponse(l *lifter, b []byte, v *abi.RegisterPackageResponse) {
	v.PackageRef = l.string(b, "package-ref")
	v.Name = l.string(b[8:], "name")
	v.Version = l.string(b[16:], "version")
}

func lowerRegisterPackageResponse(w *lowerer, b []byte, v *abi.RegisterPackageResponse) {
	w.string(b, v.PackageRef, "package-ref")
	w.string(b[8:], v.Name, "name")
	w.string(b[16:], v.Version, "version")
}

func liftOperation(l *lifter, b []byte, v *abi.Operation) {
	v.Case = abi.OperationCase(l.enum(b, 5, ""))
	switch v.Case {
	case abi.OperationCaseRegisterResource:
		l.enter("register-resource")
		liftRegisterResourceRequest(l, b[8:], &v.RegisterResource)
		l.leave()
	case abi.OperationCaseRegisterOutputs:
		l.enter("register-outputs")
		liftRegisterOutputsRequest(l, b[8:], &v.RegisterOutputs)
		l.leave()
	case abi.OperationCaseReadResource:
		l.enter("read-resource")
		liftReadResourceRequest(l, b[8:], &v.ReadResource)
		l.leave()
	case abi.OperationCaseInvoke:
		l.enter("invoke")
		liftMonitorInvokeRequest(l, b[8:], &v.Invoke)
		l.leave()
	case abi.OperationCaseCall:
		l.enter("call")
		liftMonitorCallRequest(l, b[8:], &v.Call)
		l.leave()
	}
}

func lowerOperation(w *lowerer, b []byte, v *abi.Operation) {
	w.enum(b, uint8(v.Case), 5, "")
	switch v.Case {
	case abi.OperationCaseRegisterResource:
		w.enter("register-resource")
		lowerRegisterResourceRequest(w, b[8:], &v.RegisterResource)
		w.leave()
	case abi.OperationCaseRegisterOutputs:
		w.enter("register-outputs")
		lowerRegisterOutputsRequest(w, b[8:], &v.RegisterOutputs)
		w.leave()
	case abi.OperationCaseReadResource:
		w.enter("read-resource")
		lowerReadResourceRequest(w, b[8:], &v.ReadResource)
		w.leave()
	case abi.OperationCaseInvoke:
		w.enter("invoke")
		lowerMonitorInvokeRequest(w, b[8:], &v.Invoke)
		w.leave()
	case abi.OperationCaseCall:
		w.enter("call")
		lowerMonitorCallRequest(w, b[8:], &v.Call)
		w.leave()
	}
}

func liftOutcome(l *lifter, b []byte, v *abi.Outcome) {
	v.Case = abi.OutcomeCase(l.enum(b, 6, ""))
	switch v.Case {
	case abi.OutcomeCaseRegistered:
		l.enter("registered")
		liftRegisterResourceResponse(l, b[4:], &v.Registered)
		l.leave()
	case abi.OutcomeCaseResourceRead:
		l.enter("resource-read")
		liftReadResourceResponse(l, b[4:], &v.ResourceRead)
		l.leave()
	case abi.OutcomeCaseInvoked:
		l.enter("invoked")
		liftMonitorInvokeResponse(l, b[4:], &v.Invoked)
		l.leave()
	case abi.OutcomeCaseCalled:
		l.enter("called")
		liftMonitorCallResponse(l, b[4:], &v.Called)
		l.leave()
	case abi.OutcomeCaseFailed:
		l.enter("failed")
		v.Failed = l.failure(b[4:])
		l.leave()
	}
}

func lowerOutcome(w *lowerer, b []byte, v *abi.Outcome) {
	w.enum(b, uint8(v.Case), 6, "")
	switch v.Case {
	case abi.OutcomeCaseRegistered:
		w.enter("registered")
		lowerRegisterResourceResponse(w, b[4:], &v.Registered)
		w.leave()
	case abi.OutcomeCaseResourceRead:
		w.enter("resource-read")
		lowerReadResourceResponse(w, b[4:], &v.ResourceRead)
		w.leave()
	case abi.OutcomeCaseInvoked:
		w.enter("invoked")
		lowerMonitorInvokeResponse(w, b[4:], &v.Invoked)
		w.leave()
	case abi.OutcomeCaseCalled:
		w.enter("called")
		lowerMonitorCallResponse(w, b[4:], &v.Called)
		w.leave()
	case abi.OutcomeCaseFailed:
		w.enter("failed")
		w.failure(b[4:], v.Failed)
		w.leave()
	}
}

func liftCompleted(l *lifter, b []byte, v *abi.Completed) {
	v.Handle = abi.OperationHandle(u64(b))
	l.enter("outcome")
	liftOutcome(l, b[8:], &v.Outcome)
	l.leave()
}

func lowerCompleted(w *lowerer, b []byte, v *abi.Completed) {
	putU64(b, uint64(v.Handle))
	w.enter("outcome")
	lowerOutcome(w, b[8:], &v.Outcome)
	w.leave()
}
