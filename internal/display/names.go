package display

import (
	"strings"
	"time"

	"github.com/husk-dev/husk/engine"
)

// ShortType returns a type for people: without a module that repeats the name.
func ShortType(typ string) string { return shortType(typ) }

// Subject names a resource for people, such as tls:PrivateKey caKey.
func Subject(typ, name string) string { return subject(typ, name) }

// Brief returns a time with three digits.
func Brief(d time.Duration) string { return brief(d.Microseconds()) }

// Amount returns a number with a suffix for thousands, empty for 0.
func Amount(n uint64, unit string) string { return amount(n, unit) }

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

// TextDifference compares two renderings of texts by what they hold, or line by line. It returns what they hold, such as JSON,
// and lines that begin with +, -, or another sign. There are none if they would say no more than the texts.
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
