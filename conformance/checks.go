package conformance

import "slices"

// Check is one rule of the contract.
type Check struct {
	// Name names it in reports and in Options.Only, for example check-idempotent.
	Name string
	// Rule says on one line what a provider must do.
	Rule string

	group group
}

// group is a set of checks that run in one go, with one case.
type group uint8

const (
	groupPackage   group = iota
	groupInputs          // check of a resource or of the configuration
	groupLife            // of a resource
	groupCancel          // of a creation
	groupHostile         // of a resource or a function
	groupFunction        // of a function
	groupComponent       // of a component
)

// checks lists all checks in the order of reports and of their declarations.
var checks []Check

// check declares a check and returns its name.
func check(g group, name, rule string) string {
	checks = append(checks, Check{name, rule, g})
	return name
}

var (
	ruleHandshake     = check(groupPackage, "handshake", "the handshake returns a name, a semantic version, and only features that were offered; the same each time")
	ruleSchema        = check(groupPackage, "schema", "the schema can be read, is of the name and version of the handshake, and its tokens belong to the package")
	ruleConfigure     = check(groupPackage, "configure", "a configuration that check-config accepts can be applied")
	ruleConfigUnknown = check(groupPackage, "configure-unknowns", "a configuration that is not known yet can be applied, for previews")
	ruleUnknownTokens = check(groupPackage, "unknown-tokens", "a resource type or function that does not exist is an error of kind not-found or invalid-argument that names it")
	ruleCancel        = check(groupPackage, "cancel", "cancel succeeds, or is not implemented")

	ruleCheckAnswers         = check(groupInputs, "check-answers", "check returns inputs of the schema's types, or failures at paths of the inputs")
	ruleCheckIdempotent      = check(groupInputs, "check-idempotent", "checked inputs, checked again, are unchanged")
	ruleCheckDeterministic   = check(groupInputs, "check-deterministic", "the same request gets the same response, from another instance too")
	ruleCheckOlds            = check(groupInputs, "check-olds", "a default that the provider chose stays the one in the old inputs")
	ruleCheckDefaults        = check(groupInputs, "check-defaults", "inputs that are not given have the schema's defaults")
	ruleCheckUnknowns        = check(groupInputs, "check-unknowns", "inputs that are not known yet are accepted, and stay unknown")
	ruleCheckSecrets         = check(groupInputs, "check-secrets", "inputs that are secret stay secret")
	ruleCheckUnknownProperty = check(groupInputs, "check-unknown-property", "a property that the schema does not have is refused, at its path")
	ruleCheckWrongType       = check(groupInputs, "check-wrong-type", "a value of another type than the schema's is refused, at its path")
	ruleCheckRange           = check(groupInputs, "check-range", "a value outside of the schema's bounds, or not among its values, is refused, at its path")
	ruleCheckMissing         = check(groupInputs, "check-missing", "a required property that is missing is refused, at its path")

	rulePreviewEffects    = check(groupLife, "preview-effects", "previews of create and update change nothing")
	rulePreviewUnknowns   = check(groupLife, "preview-unknowns", "a preview tolerates inputs that are not known yet, and does not claim to know outputs that repeat them")
	rulePreviewAgrees     = check(groupLife, "preview-agrees", "create returns the values that the preview claims to know")
	ruleCreate            = check(groupLife, "create", "create returns an ID and the whole state: all required properties, nothing that the schema lacks, nothing unknown")
	ruleSecrets           = check(groupLife, "secrets", "what was given as a secret, or is one by the schema, is not in the state in plain")
	ruleDiffSelf          = check(groupLife, "diff-self", "a resource does not differ from the inputs that it was made from")
	ruleDiffChange        = check(groupLife, "diff-change", "a changed input is found, where the state repeats it")
	ruleDiffReplace       = check(groupLife, "diff-replace", "a change of a property that replaces the resource says so, at its path")
	ruleDiffConsistent    = check(groupLife, "diff-consistent", "the parts of a diff agree: changes, paths, and keys; each path once")
	ruleDiffDeterministic = check(groupLife, "diff-deterministic", "the same request gets the same response, from another instance too")
	ruleDiffUnknowns      = check(groupLife, "diff-unknowns", "an input that is not known yet is a change")
	ruleDiffIgnore        = check(groupLife, "diff-ignore-changes", "ignored paths are unchanged")
	ruleRead              = check(groupLife, "read", "read finds what create returned")
	ruleReadImport        = check(groupLife, "read-import", "read by the ID alone finds the same, with inputs")
	ruleStateless         = check(groupLife, "stateless", "another instance reads the same: nothing is kept in memory")
	ruleUpdate            = check(groupLife, "update", "update returns the whole state, and the resource keeps its ID")
	ruleUpdateRead        = check(groupLife, "update-read", "read finds what update returned")
	ruleUpdateSettles     = check(groupLife, "update-settles", "after an update nothing differs")
	ruleList              = check(groupLife, "list", "list finds what was created")
	ruleReplace           = check(groupLife, "replace", "what replaces a resource outlives the old copy, which is deleted after it was made, or before, where the schema or diff says so")
	ruleDelete            = check(groupLife, "delete", "what was deleted is not found")
	ruleExists            = check(groupLife, "exists", "exists agrees with read on what was created and deleted")
	ruleDeleteTwice       = check(groupLife, "delete-twice", "a deleted object can be deleted again")
	ruleExpectations      = check(groupLife, "expectations", "the outcome is the one that the case expects")

	ruleCancelledBefore = check(groupCancel, "cancelled-before", "a call that is cancelled before it begins returns cancelled, and the provider can be used afterwards")
	ruleCancelledCreate = check(groupCancel, "cancelled-create", "a create that is cancelled returns promptly")

	ruleInvoke          = check(groupFunction, "invoke", "a function returns results of the schema's types, nothing unknown")
	ruleInvokeArguments = check(groupFunction, "invoke-arguments", "arguments that are unheard of, missing, or of another type are refused, at their paths")
	ruleInvokePreview   = check(groupFunction, "invoke-preview", "a function returns in previews too, and changes nothing")
	ruleInvokeSecrets   = check(groupFunction, "invoke-secrets", "what was passed as a secret is not in the results in plain")
	ruleStream          = check(groupFunction, "stream", "a stream can be closed early and again, and does not get in the way of another one")
	ruleEphemeral       = check(groupFunction, "ephemeral", "an ephemeral value can be renewed and closed by another instance, and closed again")

	ruleConstruct         = check(groupComponent, "construct", "construct registers the component once, all else below it, and its outputs, and returns the same")
	ruleConstructSame     = check(groupComponent, "construct-deterministic", "the same inputs make the same resources, from another instance too")
	ruleConstructUnknowns = check(groupComponent, "construct-unknowns", "a component can be previewed with inputs that are not known yet")
	ruleConstructSecrets  = check(groupComponent, "construct-secrets", "what was given as a secret is not in the outputs, nor in the inputs of children, in plain")
	ruleConstructInputs   = check(groupComponent, "construct-inputs", "inputs that are unheard of, missing, or of another type are refused, at their paths")

	ruleHostile = check(groupHostile, "hostile-inputs", "inputs of any shape crash nothing")
)

// Checks returns all checks, in the order of reports.
func Checks() []Check { return slices.Clone(checks) }

func ruleOf(name string) string {
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	return checks[i].Rule
}

func rulesOf(g group) []string {
	var names []string
	for _, c := range checks {
		if c.group == g {
			names = append(names, c.Name)
		}
	}
	return names
}
