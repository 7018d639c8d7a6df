// Package display shows what a deployment does: to people as text, live where
// there is a terminal, and to programs as JSON lines. Both read the engine's
// events and nothing else, so what they show is what the engine said.
//
// Names, IDs, and messages come from providers and from files; text displays
// escape control characters in them, so that none can write on the terminal.
package display

import (
	"errors"
	"strings"

	"github.com/husk-dev/husk/engine"
)

// Display shows one deployment. Its methods are safe for concurrent use.
type Display interface {
	// Event shows an event. The summary is kept for Close, since it comes last.
	Event(e engine.Event)
	// Close shows the error that the deployment, or what came before it, ended
	// with, and the summary.
	Close(err error)
}

// failures parts an error into what is shown one by one: the members of joined
// errors, each once, and without those that only say that others came before.
func failures(err error) []error {
	var out []error
	seen := map[string]bool{}
	var walk func(error)
	walk = func(err error) {
		if members, ok := joined(err); ok {
			for _, m := range members {
				walk(m)
			}
			return
		}
		if text := err.Error(); !seen[text] {
			seen[text] = true
			out = append(out, err)
		}
	}
	if err != nil {
		walk(err)
	}
	kept := out[:0]
	for _, e := range out {
		if len(out) == 1 || !errors.Is(e, engine.ErrStopped) {
			kept = append(kept, e)
		}
	}
	return kept
}

// joined returns the members of an error that is nothing but their list, as
// those of errors.Join and lists of diagnostics are.
func joined(err error) ([]error, bool) {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, false
	}
	members := list.Unwrap()
	if _, ok := err.(renderer); ok {
		return members, len(members) > 0
	}
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = m.Error()
	}
	return members, err.Error() == strings.Join(texts, "\n")
}
