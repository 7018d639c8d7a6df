// Command wrong is a provider of notes that breaks the rule that the environment names,
// and keeps to all rules where it names none. It is one module for all of them because
// to build and compile one for each takes minutes.
package main

import (
	"os"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/testdata/notes"
)

// variable is the environment variable, to be granted, with a key of [rules].
const variable = "NOTES_BREAK"

// rules has a provider for each rule that can be broken.
var rules = map[string]func(*notes.Provider) abi.Provider{
	"handshake":          func(p *notes.Provider) abi.Provider { return breaksHandshake{p} },
	"schema":             func(p *notes.Provider) abi.Provider { return breaksSchema{p} },
	"configure":          func(p *notes.Provider) abi.Provider { return breaksConfigure{p} },
	"configure-unknowns": func(p *notes.Provider) abi.Provider { return breaksConfigureUnknowns{p} },
	"unknown-tokens":     func(p *notes.Provider) abi.Provider { return breaksUnknownTokens{p} },
	"cancel":             func(p *notes.Provider) abi.Provider { return breaksCancel{p} },

	"check-answers":          func(p *notes.Provider) abi.Provider { return breaksCheckAnswers{p} },
	"check-idempotent":       func(p *notes.Provider) abi.Provider { return breaksCheckIdempotent{p} },
	"check-deterministic":    func(p *notes.Provider) abi.Provider { return &breaksCheckDeterministic{Provider: p} },
	"check-olds":             func(p *notes.Provider) abi.Provider { return breaksCheckOlds{p} },
	"check-defaults":         func(p *notes.Provider) abi.Provider { return breaksCheckDefaults{p} },
	"check-unknowns":         func(p *notes.Provider) abi.Provider { return breaksCheckUnknowns{p} },
	"check-secrets":          func(p *notes.Provider) abi.Provider { return breaksCheckSecrets{p} },
	"check-unknown-property": func(p *notes.Provider) abi.Provider { return breaksCheckUnknownProperty{p} },
	"check-wrong-type":       func(p *notes.Provider) abi.Provider { return breaksCheckWrongType{p} },
	"check-range":            func(p *notes.Provider) abi.Provider { return breaksCheckRange{p} },
	"check-missing":          func(p *notes.Provider) abi.Provider { return breaksCheckMissing{p} },

	"preview-effects":        func(p *notes.Provider) abi.Provider { return breaksPreviewEffects{p} },
	"preview-effects-update": func(p *notes.Provider) abi.Provider { return breaksPreviewEffectsUpdate{p} },
	"preview-unknowns":       func(p *notes.Provider) abi.Provider { return breaksPreviewUnknowns{p} },
	"preview-agrees":         func(p *notes.Provider) abi.Provider { return breaksPreviewAgrees{p} },
	"create":                 func(p *notes.Provider) abi.Provider { return breaksCreate{p} },
	"create-incomplete":      func(p *notes.Provider) abi.Provider { return breaksCreateIncomplete{p} },
	"create-undeclared":      func(p *notes.Provider) abi.Provider { return breaksCreateUndeclared{p} },
	"create-unknown":         func(p *notes.Provider) abi.Provider { return breaksCreateUnknown{p} },
	"secrets":                func(p *notes.Provider) abi.Provider { return breaksSecrets{p} },
	"secrets-derived":        breaksSecretsDerived,
	"cancelled-create":       func(p *notes.Provider) abi.Provider { return breaksCancelledCreate{p} },

	"diff-self":           func(p *notes.Provider) abi.Provider { return breaksDiffSelf{p} },
	"diff-change":         func(p *notes.Provider) abi.Provider { return breaksDiffChange{p} },
	"diff-replace":        func(p *notes.Provider) abi.Provider { return breaksDiffReplace{p} },
	"diff-consistent":     func(p *notes.Provider) abi.Provider { return breaksDiffConsistent{p} },
	"diff-deterministic":  func(p *notes.Provider) abi.Provider { return &breaksDiffDeterministic{Provider: p} },
	"diff-unknowns":       func(p *notes.Provider) abi.Provider { return breaksDiffUnknowns{p} },
	"diff-ignore-changes": func(p *notes.Provider) abi.Provider { return breaksDiffIgnoreChanges{p} },
	"hostile-inputs":      func(p *notes.Provider) abi.Provider { return breaksHostileInputs{p} },

	"read":            func(p *notes.Provider) abi.Provider { return breaksRead{p} },
	"read-import":     func(p *notes.Provider) abi.Provider { return breaksReadImport{p} },
	"stateless":       func(p *notes.Provider) abi.Provider { return &breaksStateless{Provider: p} },
	"update":          func(p *notes.Provider) abi.Provider { return breaksUpdate{p} },
	"update-read":     func(p *notes.Provider) abi.Provider { return breaksUpdateRead{p} },
	"update-settles":  func(p *notes.Provider) abi.Provider { return breaksUpdateSettles{p} },
	"list":            func(p *notes.Provider) abi.Provider { return breaksList{p} },
	"replace":         func(p *notes.Provider) abi.Provider { return breaksReplace{p} },
	"replace-changed": func(p *notes.Provider) abi.Provider { return breaksReplaceChanged{p} },
	"replace-gone":    func(p *notes.Provider) abi.Provider { return breaksReplaceGone{p} },
	"replace-unread":  func(p *notes.Provider) abi.Provider { return breaksReplaceUnread{p} },
	"delete":          func(p *notes.Provider) abi.Provider { return breaksDelete{p} },
	"delete-unseen":   func(p *notes.Provider) abi.Provider { return breaksDeleteUnseen{breaksDelete{p}} },
	"exists":          func(p *notes.Provider) abi.Provider { return breaksExists{p} },
	"delete-twice":    func(p *notes.Provider) abi.Provider { return breaksDeleteTwice{p} },

	"invoke":           func(p *notes.Provider) abi.Provider { return breaksInvoke{p} },
	"invoke-arguments": func(p *notes.Provider) abi.Provider { return breaksInvokeArguments{p} },
	"invoke-preview":   func(p *notes.Provider) abi.Provider { return breaksInvokePreview{p} },
	"invoke-secrets":   func(p *notes.Provider) abi.Provider { return breaksInvokeSecrets{p} },
	"stream":           func(p *notes.Provider) abi.Provider { return breaksStream{p} },
	"ephemeral":        func(p *notes.Provider) abi.Provider { return breaksEphemeral{p} },
	"action":           func(p *notes.Provider) abi.Provider { return breaksAction{p} },

	"construct":               func(p *notes.Provider) abi.Provider { return breaksConstruct{p} },
	"construct-deterministic": func(p *notes.Provider) abi.Provider { return &breaksConstructDeterministic{Provider: p} },
	"construct-unknowns":      func(p *notes.Provider) abi.Provider { return breaksConstructUnknowns{p} },
	"construct-secrets":       func(p *notes.Provider) abi.Provider { return breaksConstructSecrets{p} },
	"construct-inputs":        func(p *notes.Provider) abi.Provider { return breaksConstructInputs{p} },

	"untried-configure": refusing("configure"),
	"untried-check":     refusing("check"),
	"untried-create":    refusing("create"),
	"untried-read":      refusing("read"),
	"untried-update":    refusing("update"),
	"untried-delete":    refusing("delete"),
	"untried-list":      refusing("list"),
	"untried-invoke":    refusing("invoke"),
	"untried-stream":    refusing("stream"),
	"untried-construct": refusing("construct"),
	"untried-updates":   func(p *notes.Provider) abi.Provider { return breaksUpdateChecks{p} },
	"missing-create":    refusing("create-unimplemented"),
	"missing-update":    refusing("update-unimplemented"),
}

func main() {
	p := notes.New()
	name := os.Getenv(variable)
	if name == "" {
		guest.ServeProvider(p)
		return
	}
	broken, ok := rules[name]
	if !ok {
		panic(variable + "=" + name + ": no such rule")
	}
	guest.ServeProvider(broken(p))
}
