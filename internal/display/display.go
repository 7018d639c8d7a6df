// Package display shows a deployment: as text to people, live on a terminal, and as JSON lines to programs.
// Both read the engine's events and nothing else.
//
// Names, IDs, and messages come from providers and from files. Text displays escape control characters
// in them, because they could control the terminal.
package display

import (
	"errors"
	"strings"

	"github.com/husk-dev/husk/engine"
)

// Display shows one deployment. Its methods are safe for concurrent use.
type Display interface {
	// Event shows an event. Close shows the summary.
	Event(e engine.Event)
	// Close shows the error of the deployment or of its preparation, and the summary.
	Close(err error)
}

// failures returns the parts of an error that are shown one by one: the members of joined errors, each once, without errors that
// only refer to earlier ones.
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

// joined returns the members of an error that is only their list, such as one of errors.Join.
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
