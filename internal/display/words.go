package display

import (
	"fmt"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// words show an operation.
type words struct {
	// symbol is at most two characters.
	symbol string
	// running is for live lines, done for the end, planned for previews.
	running, done, planned string
	paint                  func(Style, string) string
}

var operationWords = map[engine.Op]words{
	engine.OpSame:              {"=", "checking", "unchanged", "unchanged", Style.faint},
	engine.OpCreate:            {"+", "creating", "created", "create", Style.good},
	engine.OpUpdate:            {"~", "updating", "updated", "update", Style.warning},
	engine.OpReplace:           {"+-", "replacing", "replaced", "replace", Style.note},
	engine.OpCreateReplacement: {"+-", "replacing", "replaced", "replace", Style.note},
	engine.OpDeleteReplaced:    {"--", "deleting the old copy", "deleted the old copy", "delete the old copy", Style.bad},
	engine.OpDelete:            {"-", "deleting", "deleted", "delete", Style.bad},
	engine.OpRead:              {">", "reading", "read", "read", Style.note},
	engine.OpReadReplacement:   {">-", "reading", "read in its place", "read in its place", Style.note},
	engine.OpRefresh:           {"~", "reading", "read", "read", Style.faint},
	engine.OpImport:            {"<", "importing", "imported", "import", Style.good},
	engine.OpDiscard:           {"<", "forgetting", "forgotten", "forget", Style.faint},
}

// refreshWords are the words for the findings of a refresh, which Husk did not change.
var refreshWords = map[engine.Op]words{
	engine.OpUpdate: {"~", "reading", "drifted", "drifted", Style.warning},
	engine.OpDelete: {"-", "reading", "is gone", "is gone", Style.bad},
}

// wordsOf returns the words for a step, or for the finding of a refresh.
func wordsOf(op engine.Op, refresh bool) words {
	if w, ok := refreshWords[op]; ok && refresh {
		return w
	}
	if w, ok := operationWords[op]; ok {
		return w
	}
	return words{"*", string(op), string(op), string(op), Style.faint}
}

// quiet reports whether a successful step is left out of the text.
func quiet(op engine.Op) bool {
	return op == engine.OpSame || op == engine.OpRemovePendingReplace || op == engine.OpRefresh ||
		op == engine.OpExtendParameterize
}

// subject names a resource for people: tls:PrivateKey caKey.
func subject(typ, name string) string { return Escape(shortType(typ) + " " + name) }

// shortType shortens a type as programs write it.
func shortType(typ string) string {
	if typ == urn.RootType {
		return "stack"
	}
	return schema.ShortToken(typ)
}

// duration returns a time in the precision that matters to people: 0.3s, 12s, 2m05s.
func duration(d time.Duration) string {
	d = max(d, 0) // clocks of two threads may differ
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	default:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}

func milliseconds(ms int64) string { return duration(time.Duration(ms) * time.Millisecond) }

var operations = map[string]struct{ doing, previewing string }{
	"preview": {"Previewing", "Previewing an update of"},
	"up":      {"Updating", "Previewing an update of"},
	"refresh": {"Refreshing", "Previewing a refresh of"},
	"destroy": {"Destroying", "Previewing the destruction of"},
	"action":  {"Running an action of", "Previewing an action of"},
	"import":  {"Importing into", "Previewing an import into"},
}

// ShortType returns a type for people: without a module that repeats the name.
func ShortType(typ string) string { return shortType(typ) }

// Subject names a resource for people, such as tls:PrivateKey caKey.
func Subject(typ, name string) string { return subject(typ, name) }

// Brief returns a time with three digits.
func Brief(d time.Duration) string { return brief(d.Microseconds()) }

// Amount returns a number with a suffix for thousands, empty for 0.
func Amount(n uint64, unit string) string { return amount(n, unit) }

// Megabytes returns a size for people.
func Megabytes[N int | int64 | uint64](bytes N) string {
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// Done says in a word what a step did, or in a preview what it would do. A step that refreshed says what it found.
func Done(op engine.Op, dryRun, refreshed bool) string {
	w := wordsOf(op, refreshed)
	if dryRun {
		return w.planned
	}
	return w.done
}

// ProviderName returns the package of a provider, with the provider's name unless that is default.
func ProviderName(p engine.ProviderCosts) string { return providerName(p) }

// TextDifference compares two renderings of texts by their contents, or line by line. It returns the kind of contents, such as
// JSON, and lines that begin with +, -, or another sign. There are none if they would say no more than the texts.
func TextDifference(before, after string) (kind string, lines []string) {
	kind, lines = differingTexts(Style{}, before, after)
	return kind, boundedLines(Style{}, lines)
}

// TextLines returns a rendering as it is to be read: a text of several lines without its quotes and escapes.
func TextLines(rendering string) string {
	if _, lines := wholeValue(rendering); lines != nil {
		return strings.Join(lines, "\n")
	}
	return Escape(rendering)
}
