package source

import (
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program/budget"
)

// Report collects the problems of a file. It is safe for concurrent use.
type Report struct {
	File *File
	// Budget is charged for reading the file; nil means no bound.
	Budget *budget.Budget

	mu          sync.Mutex
	diagnostics Diagnostics
	// seen are the diagnostics that there are: each is told once.
	seen map[told]bool
	// warnings counts those among the diagnostics.
	warnings int
	// compared counts the names that were compared for a suggestion.
	compared int
}

type told struct {
	file            string
	line, column    int
	summary, detail string
}

const (
	// maxProblems bounds the diagnostics of one report: nobody reads as many.
	maxProblems = 1000
	// maxWarnings leaves room for errors.
	maxWarnings = maxProblems / 2
	// maxCompared bounds the names that are compared for suggestions in one report: 20 misspelt names of 5,000.
	maxCompared = 100_000
)

// Add adds diagnostics, as far as they can be read by anybody.
func (r *Report) Add(ds ...Diagnostic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range ds {
		key := told{d.File, d.Line, d.Column, d.Summary, d.Detail}
		switch {
		case r.seen[key], len(r.diagnostics) >= maxProblems, d.Severity == Warning && r.warnings >= maxWarnings:
		default:
			if d.Severity == Warning {
				r.warnings++
			}
			if r.seen == nil {
				r.seen = map[told]bool{}
			}
			r.seen[key] = true
			r.diagnostics = append(r.diagnostics, d)
		}
	}
}

// Full reports whether further problems are left out, so that nobody need look for them.
func (r *Report) Full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.diagnostics) >= maxProblems
}

// DidYouMean is [DidYouMean] for one of many names: it suggests nothing once many were compared.
func (r *Report) DidYouMean(name string, candidates func() []string) string {
	known := r.compare(candidates)
	if known == nil {
		return ""
	}
	return DidYouMean(name, known)
}

// Nearest returns the candidate that is meant by a misspelt name, empty if there is none, or once many were compared.
func (r *Report) Nearest(name string, candidates func() []string) string {
	return schema.Nearest(name, r.compare(candidates))
}

func (r *Report) compare(candidates func() []string) (known []string) {
	r.Compare(0, func() { known = candidates() })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compared += len(known)
	return known
}

// Compare runs search, which compares a misspelt name with so many others, unless too many names were compared already.
func (r *Report) Compare(among int, search func()) {
	r.mu.Lock()
	r.compared += 1 + among
	enough := r.compared > maxCompared
	r.mu.Unlock()
	if !enough {
		search()
	}
}

// Spend charges the budget for work at a node, and reports whether it may go on. That it may not is reported once.
func (r *Report) Spend(n *yaml.Node, steps int, bytes int64) bool {
	if r.Budget.Step(steps) && r.Budget.Hold(bytes) {
		return true
	}
	if e := r.Budget.Tell(); e != nil {
		d := r.File.Errorf(Of(n), "%v", e)
		d.Cause = e
		r.mu.Lock()
		defer r.mu.Unlock()
		r.diagnostics = append(r.diagnostics, d) // however many there are
	}
	return false
}

// Errorf adds an error at a node.
func (r *Report) Errorf(n *yaml.Node, format string, args ...any) {
	r.Add(r.File.Errorf(Of(n), format, args...))
}

// Warnf adds a warning at a node.
func (r *Report) Warnf(n *yaml.Node, format string, args ...any) {
	d := r.File.Errorf(Of(n), format, args...)
	d.Severity = Warning
	r.Add(d)
}

// Diagnostics returns the added diagnostics, in the order of the file.
func (r *Report) Diagnostics() Diagnostics {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.diagnostics.Sorted()
	if len(all) >= maxProblems {
		more := r.File.Errorf(Position{}, "these are the first %d problems; there may be more", maxProblems)
		more.Severity = Warning
		all = append(all, more)
	}
	return all
}

// Text returns the text of a scalar, and reports anything else. what names the scalar in errors: "a name".
func (r *Report) Text(n *yaml.Node, what string) (string, bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		r.Errorf(n, "%s must be text, not %s", what, Describe(n))
		return "", false
	}
	return n.Value, true
}

// Name returns the text of a scalar that names a package, and reports anything else. The word null is a name, as it is in a key:
// there is a provider of that name.
func (r *Report) Name(n *yaml.Node, what string) (string, bool) {
	if n := Resolve(n); IsNull(n) && n.Value == "null" {
		return n.Value, true
	}
	return r.Text(n, what)
}

// Bool returns the truth value of a scalar. Anything else is reported.
func (r *Report) Bool(n *yaml.Node, what string) (value, ok bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&value) != nil {
		r.Errorf(n, "%s must be true or false, not %s", what, Describe(n))
		return false, false
	}
	return value, true
}

// Elements returns the elements of a list. Anything else is reported.
func (r *Report) Elements(n *yaml.Node, what string) []*yaml.Node {
	n = Resolve(n)
	if IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.Errorf(n, "%s must be a list, not %s", what, Describe(n))
		return nil
	}
	elements := make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		elements[i] = Resolve(e)
	}
	return elements
}

// IsEmpty reports whether a node is null, or a list or mapping without elements.
func IsEmpty(n *yaml.Node) bool {
	n = Resolve(n)
	return IsNull(n) || n.Kind != yaml.ScalarNode && len(n.Content) == 0
}

// IsNull reports whether a node is null or has no value.
func IsNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Describe says what a node is, for messages, but not its value.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return "nothing"
		case "!!bool":
			return "a truth value"
		case "!!int", "!!float":
			return "a number"
		}
		return "text"
	default:
		return fmt.Sprintf("a YAML node of kind %d", n.Kind)
	}
}
