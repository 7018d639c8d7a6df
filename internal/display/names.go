package display

import (
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
