package conformance_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/conformance"
)

// brokenRules are those that testdata/wrong can break, each with the one check that
// fails and what is said of it.
var brokenRules = []struct {
	rule, check, message string
}{
	{"handshake", "handshake", `its version "one" is not a semantic version: No Major.Minor.Patch elements found`},
	{"schema", "schema", `the token "memos:index:Note" is not of the form notes:<module>:<name>`},
	{"configure", "configure", "configure: panic: no reader at FRAME (crashed)"},
	{"configure-unknowns", "configure-unknowns", "with reader not known: configure: who reads the notes? (invalid-argument)"},
	{"unknown-tokens", "unknown-tokens", "check accepts notes:index:NoSuchThing, which the schema does not have"},
	{"cancel", "cancel", "cancel: not now"},

	{"check-answers", "check-answers", "the inputs that check returns do not fit the schema: copies: expected integer, got string"},
	{"check-idempotent", "check-idempotent", `text is "cviuwgay." in the first response and "cviuwgay.." in the second`},
	{"check-deterministic", "check-deterministic", `tags.number is "2" in one response and "3" in the next`},
	{"check-olds", "check-olds", `tags.number is "7" in the old inputs and "201" in the new`},
	{"check-defaults", "check-defaults", "copies is not given; its default is 1, and check returns null"},
	{"check-unknowns", "check-unknowns", `text is not known, and check returns ""`},
	{"check-secrets", "check-secrets", "text was given as a secret, and check returns it in plain"},
	{"check-unknown-property", "check-unknown-property", "check accepts noSuchProperty, which the schema does not have"},
	{"check-wrong-type", "check-wrong-type", "check accepts lines as true, but the schema asks for array of string"},
	{"check-range", "check-range", "check accepts copies as 10, which the schema does not allow"},
	{"check-missing", "check-missing", "check accepts inputs without the required title"},

	{"preview-effects", "preview-effects", "after a preview of create, read finds the resource that was deleted before"},
	{"preview-effects-update", "preview-effects", "the preview of update changed note-qjwvgxwo"},
	{"preview-unknowns", "preview-unknowns", `the input text is not known, and the preview of create returns the output as ""`},
	{"preview-agrees", "preview-agrees", "words is 0 in the preview and 1 in the state"},
	{"create", "create", "create: the provider broke the contract: it created a resource without an ID"},
	{"create-incomplete", "create", "the state that create returns does not fit the schema: words: required property is missing; expected integer"},
	{"create-undeclared", "create", "the state that create returns does not fit the schema: letters: no such property; there are colour, copies, label, lines, pin, style, tags, text, title, words"},
	{"create-unknown", "create", "create: the provider broke the contract, but the resource exists; the property words of the state that it answered is unknown, which only a preview allows"},
	{"secrets", "secrets", "pin is a secret by the schema, and create returns it in plain"},
	{"secrets-derived", "secrets", "create returns label in plain, and it holds what was given as the secret pin"},
	{"diff-self", "diff-self", "diff finds that the resource differs from the inputs that it was made from: changes some, text update"},
	{"diff-change", "diff-change", "copies was 1 and is now 2, and diff says: changes none"},
	{"diff-replace", "diff-replace", `title was "qjwvgxwo" and is now "qjwvgxwox", which by the schema replaces the resource, and diff says: changes some, title update`},
	{"diff-consistent", "diff-consistent", "the path copies is there twice"},
	{"diff-deterministic", "diff-deterministic", "one response is changes some, copies update, the next changes some, copies update"},
	{"diff-unknowns", "diff-unknowns", "copies was 1 and is not known now, and diff says: changes none"},
	{"diff-ignore-changes", "diff-ignore-changes", "copies is to be ignored, and diff says: changes some, copies update"},
	{"read", "read", "words is 1 in the result of create and 1000 in that of read"},
	{"read-import", "read-import", "read by the ID alone returns no inputs, without which nothing can be imported"},
	{"stateless", "stateless", `read does not find the resource with the ID "note-qjwvgxwo" that create returned`},
	{"update", "update", `after the update read returns the ID "" in place of "note-qjwvgxwo": an update keeps the ID`},
	{"update-read", "update-read", `copies is 2 in the result of update and 1 in that of read; text is "cviuwgayx" in the result of update and "cviuwgay" in that of read`},
	{"update-settles", "update-settles", "diff finds that the resource differs from the inputs that it was updated to: changes some, text update"},
	{"replace", "replace", `replacing it by one with the same inputs: the new copy has the ID "note-qjwvgxwo" of the old one, and is deleted with it; say in the schema by which inputs the object is known (identity), or deleteBeforeReplace, so that the old copy is deleted first`},
	{"replace-changed", "replace", `replacing it by one with another title: the new copy has the ID "note-1" of the old one, and is deleted with it; say in the schema by which inputs the object is known (identity), or deleteBeforeReplace, so that the old copy is deleted first`},
	{"replace-gone", "replace", `replacing it by one with another title: the new copy does not outlive the old one: read does not find the resource with the ID "note-qjwvgxwox" that create returned; say in the schema by which inputs the object is known (identity), or deleteBeforeReplace, so that the old copy is deleted first`},
	{"replace-unread", "replace", "replacing it by one with the same inputs: the new copy has made note-qjwvgxwo, which deleting the old one removes; say in the schema by which inputs the object is known (identity), or deleteBeforeReplace, so that the old copy is deleted first"},
	{"list", "list", `the list does not have the resource with the ID "note-qjwvgxwo" that was created`},
	{"delete", "delete", `read finds the resource with the ID "note-qjwvgxwo" that was deleted`},
	{"delete-unseen", "delete", `read finds the resource with the ID "note-qjwvgxwo" that was deleted`},
	{"exists", "exists", `exists says true of the resource with the ID "note-qjwvgxwo", and read false`},
	{"delete-twice", "delete-twice", "deleting again: there is no note note-qjwvgxwo"},
	{"cancelled-create", "cancelled-create", "create was cancelled, and did not return within 1s: in the end it said: the call was stopped: context canceled"},

	{"invoke", "invoke", "the result that invoke returns does not fit the schema: words: required property is missing; expected integer"},
	{"invoke-arguments", "invoke-arguments", `invoke accepts noSuchProperty, which the schema does not have`},
	{"invoke-preview", "invoke-preview", "invoke returns an error in a preview: there are no previews (unavailable)"},
	{"invoke-secrets", "invoke-secrets", "invoke returns text in plain, and it holds what was given as the secret text"},
	{"ephemeral", "ephemeral", "renewing an ephemeral value: nobody has the key (invalid-argument)"},
	{"action", "invoke-arguments", "invoke accepts noSuchProperty, which the schema does not have"},
	{"stream", "stream", "closing a stream before its first result: there is no such stream (not-found)"},

	{"construct", "construct", "construct registers urn:pulumi:test::conformance::notes:index:Note::conformance-1, which is not below the component"},
	{"construct-deterministic", "construct-deterministic", `construct registers urn:pulumi:test::conformance::notes:index:Pad$notes:index:Note::conformance-1-1 of {text: "page 1", title: "tjtcewdy"}, and urn:pulumi:test::conformance::notes:index:Pad$notes:index:Note::conformance-1-3 of {text: "page 1", title: "tjtcewdy"} the next time`},
	{"construct-unknowns", "construct-unknowns", "construct with title not known: a pad needs a title (invalid-argument)"},
	{"construct-secrets", "construct-secrets", "construct gives itself an input title in plain, and it holds what was given as the secret title"},
	{"construct-inputs", "construct-inputs", `construct accepts noSuchProperty, which the schema does not have`},

	{"untried-configure", "configure", "it was never seen to work: configure: no quota (unavailable); give the provider a configuration that it can use"},
	{"untried-check", "check-answers", `it was never seen to work: check refuses {text: "cviuwgay", title: "qjwvgxwo"}: text: no quota; give inputs that it takes in a file of cases`},
	{"untried-create", "create", "it was never seen to work: create: no quota (unavailable)"},
	{"untried-read", "read", "it was never seen to work: read: no quota (unavailable)"},
	{"untried-update", "update", "it was never seen to work: update: no quota (unavailable)"},
	{"untried-updates", "update", `it was never seen to work: check refuses "cviuwgayx" as another text: text: it stays; give inputs to update it to in a file of cases`},
	{"untried-delete", "delete", "it was never seen to work: delete: no quota (unavailable)"},
	{"untried-list", "list", "it was never seen to work: list: no quota (unavailable)"},
	{"untried-invoke", "invoke", "it was never seen to work: invoke: no quota (unavailable)"},
	{"untried-stream", "invoke", "it was never seen to work: invoke: no quota (unavailable)"},
	{"untried-construct", "construct", "it was never seen to work: construct: no quota (unavailable)"},
	{"missing-create", "create", "create is not implemented by the provider, although the schema has types that need it"},
	{"missing-update", "update", "diff asks for an update in place, and update is not implemented by the provider"},

	{"hostile-inputs", "hostile-inputs", "diff with {copies: null, text: null, title: null}: panic: copies is no number at FRAME (crashed)"},
}

// A module that breaks a rule fails the check that is for it, with a message that says
// what is wrong, and no other.
func TestModules(t *testing.T) {
	module := loadModule(t)
	t.Run("right", func(t *testing.T) {
		require.Empty(t, outcomes(testModule(t, module, conformance.Options{Seed: 1}, slog.DiscardHandler)))
	})
	for _, broken := range brokenRules {
		t.Run(broken.rule, func(t *testing.T) {
			t.Setenv(rule, broken.rule)
			options := conformance.Options{Seed: 1, Generated: 2}
			for _, check := range conformance.Checks() {
				// Hostile inputs are many, and each stream takes an instance of its own: these
				// take longer than all else together.
				costly := check.Name == "hostile-inputs" || check.Name == "stream"
				if !costly || broken.check == check.Name {
					options.Only = append(options.Only, check.Name)
				}
			}
			begun := make(begins, 1)
			if broken.check == "cancelled-create" {
				options.CancelOnce(begun.wait)
				// Less than the time after which the host ends the call.
				options.Only, options.Promptness = []string{broken.check}, cancelGrace-200*time.Millisecond
			}
			report := testModule(t, module, options, begun)
			require.Equal(t, map[string]string{broken.check: broken.message}, outcomes(report))
		})
	}
}

// Every check has a rule that testdata/wrong breaks, or a wrong provider in this
// package's own tests where the host would not let a module be wrong.
func TestEveryCheckCanFail(t *testing.T) {
	failing := map[string]bool{"cancelled-before": true, "expectations": true}
	for _, broken := range brokenRules {
		failing[broken.check] = true
	}
	for _, check := range conformance.Checks() {
		require.True(t, failing[check.Name], "no module is wrong in what %s looks at", check.Name)
	}
}
