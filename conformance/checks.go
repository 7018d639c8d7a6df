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

// group is what is tested in one go, with one case.
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

// The names of the checks.
const (
	ruleHandshake     = "handshake"
	ruleSchema        = "schema"
	ruleConfigure     = "configure"
	ruleConfigUnknown = "configure-unknowns"
	ruleUnknownTokens = "unknown-tokens"
	ruleCancel        = "cancel"

	ruleCheckAnswers         = "check-answers"
	ruleCheckIdempotent      = "check-idempotent"
	ruleCheckDeterministic   = "check-deterministic"
	ruleCheckOlds            = "check-olds"
	ruleCheckDefaults        = "check-defaults"
	ruleCheckUnknowns        = "check-unknowns"
	ruleCheckSecrets         = "check-secrets"
	ruleCheckUnknownProperty = "check-unknown-property"
	ruleCheckWrongType       = "check-wrong-type"
	ruleCheckRange           = "check-range"
	ruleCheckMissing         = "check-missing"

	rulePreviewEffects    = "preview-effects"
	rulePreviewUnknowns   = "preview-unknowns"
	rulePreviewAgrees     = "preview-agrees"
	ruleCreate            = "create"
	ruleSecrets           = "secrets"
	ruleDiffSelf          = "diff-self"
	ruleDiffChange        = "diff-change"
	ruleDiffReplace       = "diff-replace"
	ruleDiffConsistent    = "diff-consistent"
	ruleDiffDeterministic = "diff-deterministic"
	ruleDiffUnknowns      = "diff-unknowns"
	ruleDiffIgnore        = "diff-ignore-changes"
	ruleRead              = "read"
	ruleReadImport        = "read-import"
	ruleStateless         = "stateless"
	ruleUpdate            = "update"
	ruleUpdateRead        = "update-read"
	ruleUpdateSettles     = "update-settles"
	ruleList              = "list"
	ruleReplace           = "replace"
	ruleDelete            = "delete"
	ruleDeleteTwice       = "delete-twice"
	ruleExpectations      = "expectations"

	ruleCancelledBefore = "cancelled-before"
	ruleCancelledCreate = "cancelled-create"

	ruleInvoke          = "invoke"
	ruleInvokeArguments = "invoke-arguments"
	ruleInvokePreview   = "invoke-preview"
	ruleInvokeSecrets   = "invoke-secrets"
	ruleStream          = "stream"

	ruleConstruct         = "construct"
	ruleConstructSame     = "construct-deterministic"
	ruleConstructUnknowns = "construct-unknowns"
	ruleConstructSecrets  = "construct-secrets"
	ruleConstructInputs   = "construct-inputs"

	ruleHostile = "hostile-inputs"
)

// checks are all checks, in the order of reports.
var checks = []Check{
	{ruleHandshake, "the handshake answers a name, a semantic version, and only features that were offered; the same each time", groupPackage},
	{ruleSchema, "the schema can be read, is of the name and version of the handshake, and its tokens belong to the package", groupPackage},
	{ruleConfigure, "a configuration that check-config accepts can be applied", groupPackage},
	{ruleConfigUnknown, "a configuration that is not known yet can be applied, for previews", groupPackage},
	{ruleUnknownTokens, "a resource type or function that does not exist is an error of kind not-found or invalid-argument that names it", groupPackage},
	{ruleCancel, "cancel succeeds, or is not implemented", groupPackage},

	{ruleCheckAnswers, "check answers inputs of the schema's types, or failures at paths of the inputs", groupInputs},
	{ruleCheckIdempotent, "checked inputs, checked again, are unchanged", groupInputs},
	{ruleCheckDeterministic, "the same request gets the same answer, from another instance too", groupInputs},
	{ruleCheckOlds, "a default that the provider chose stays the one in the old inputs", groupInputs},
	{ruleCheckDefaults, "inputs that are not given have the schema's defaults", groupInputs},
	{ruleCheckUnknowns, "inputs that are not known yet are accepted, and stay unknown", groupInputs},
	{ruleCheckSecrets, "inputs that are secret stay secret", groupInputs},
	{ruleCheckUnknownProperty, "a property that the schema does not have is refused, at its path", groupInputs},
	{ruleCheckWrongType, "a value of another type than the schema's is refused, at its path", groupInputs},
	{ruleCheckRange, "a value outside of the schema's bounds, or not among its values, is refused, at its path", groupInputs},
	{ruleCheckMissing, "a required property that is missing is refused, at its path", groupInputs},

	{rulePreviewEffects, "previews of create and update change nothing", groupLife},
	{rulePreviewUnknowns, "a preview tolerates inputs that are not known yet, and does not claim to know outputs that repeat them", groupLife},
	{rulePreviewAgrees, "what a preview claims to know is what create gives", groupLife},
	{ruleCreate, "create answers an ID and the whole state: what is required, nothing that the schema lacks, nothing unknown", groupLife},
	{ruleSecrets, "what was given as a secret, or is one by the schema, is not in the state in plain", groupLife},
	{ruleDiffSelf, "a resource does not differ from the inputs that it was made from", groupLife},
	{ruleDiffChange, "a changed input is found, where the state repeats it", groupLife},
	{ruleDiffReplace, "a change of a property that replaces the resource says so, at its path", groupLife},
	{ruleDiffConsistent, "the parts of a diff agree: changes, paths, and keys; each path once", groupLife},
	{ruleDiffDeterministic, "the same request gets the same answer, from another instance too", groupLife},
	{ruleDiffUnknowns, "an input that is not known yet is a change", groupLife},
	{ruleDiffIgnore, "ignored paths are unchanged", groupLife},
	{ruleRead, "read finds what create answered", groupLife},
	{ruleReadImport, "read by the ID alone finds the same, with inputs", groupLife},
	{ruleStateless, "another instance reads the same: nothing is kept in memory", groupLife},
	{ruleUpdate, "update answers the whole state, and the resource keeps its ID", groupLife},
	{ruleUpdateRead, "read finds what update answered", groupLife},
	{ruleUpdateSettles, "after an update nothing differs", groupLife},
	{ruleList, "list finds what was created", groupLife},
	{ruleReplace, "what replaces a resource outlives the old copy, which is deleted after it was made, or before, where the schema or diff says so", groupLife},
	{ruleDelete, "what was deleted is not found", groupLife},
	{ruleDeleteTwice, "what is gone can be deleted again, or is not found", groupLife},
	{ruleExpectations, "what the case expects is what happens", groupLife},

	{ruleCancelledBefore, "a call that is cancelled before it begins answers cancelled, and the provider can be used afterwards", groupCancel},
	{ruleCancelledCreate, "a create that is cancelled answers promptly", groupCancel},

	{ruleInvoke, "a function answers results of the schema's types, nothing unknown", groupFunction},
	{ruleInvokeArguments, "arguments that are unheard of, missing, or of another type are refused, at their paths", groupFunction},
	{ruleInvokePreview, "a function answers in previews too, and changes nothing", groupFunction},
	{ruleInvokeSecrets, "what was passed as a secret is not in the results in plain", groupFunction},
	{ruleStream, "a stream can be closed early and again, and does not get in the way of another one", groupFunction},

	{ruleConstruct, "construct registers the component once, all else below it, and its outputs, and answers the same", groupComponent},
	{ruleConstructSame, "the same inputs make the same resources, from another instance too", groupComponent},
	{ruleConstructUnknowns, "a component can be previewed with inputs that are not known yet", groupComponent},
	{ruleConstructSecrets, "what was given as a secret is not in the outputs, nor in the inputs of children, in plain", groupComponent},
	{ruleConstructInputs, "inputs that are unheard of, missing, or of another type are refused, at their paths", groupComponent},

	{ruleHostile, "inputs of any shape crash nothing", groupHostile},
}

// Checks returns all checks, in the order of reports.
func Checks() []Check { return slices.Clone(checks) }

// ruleOf returns the rule of a check.
func ruleOf(name string) string {
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	return checks[i].Rule
}

// rulesOf returns the names of the checks of a group.
func rulesOf(g group) []string {
	var names []string
	for _, c := range checks {
		if c.group == g {
			names = append(names, c.Name)
		}
	}
	return names
}
