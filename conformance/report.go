package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/internal/base/sorted"
)

// Status is the outcome of a check.
type Status string

// The statuses.
const (
	// OK means that the provider keeps the rule in every case that could be tried.
	OK Status = "ok"
	// Failed means that the provider breaks the rule in at least one case.
	Failed Status = "failed"
	// Skipped means that no case could be tried.
	Skipped Status = "skipped"
	// NotApplicable means that the subject has nothing that the rule is about.
	NotApplicable Status = "not-applicable"
)

// Report is the result of a run.
type Report struct {
	// Name, Version, and SDK come from the handshake.
	Name    string
	Version string
	SDK     string
	// Seed is the seed of the generated inputs.
	Seed uint64
	// Results are sorted by subject, the package first, and then by the order of the checks.
	Results []Result

	given *Cases
}

// Result is the outcome of one check for one subject.
type Result struct {
	// Subject is a resource type, a function, [Package], or [Configuration].
	Subject string      `json:"subject"`
	Kind    SubjectKind `json:"kind"`
	Check   string      `json:"check"`
	Rule    string      `json:"rule"`
	Status  Status      `json:"status"`
	// Tried is the number of cases that tested the rule.
	Tried int `json:"tried"`
	// Untested marks a failure because no case could be tried, although the rule applies.
	// [Options.AllowUntested] makes it a skipped check.
	Untested bool `json:"untested,omitempty"`
	// Message is the failure, or the reason of a skipped check.
	Message string `json:"message,omitempty"`
	// Case is the failed case, made as small as possible; nil if the failure has no case.
	Case *Case `json:"-"`
}

// SubjectKind is the kind of a subject.
type SubjectKind string

// The kinds of subjects.
const (
	KindPackage       SubjectKind = "package"
	KindConfiguration SubjectKind = "configuration"
	KindResource      SubjectKind = "resource"
	KindFunction      SubjectKind = "function"
)

// Count returns how many results have the status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// Failures returns the results that failed.
func (r *Report) Failures() []Result {
	var failed []Result
	for _, result := range r.Results {
		if result.Status == Failed {
			failed = append(failed, result)
		}
	}
	return failed
}

// Rerun returns cases with which a run repeats the failed check, and nothing else.
func (r *Report) Rerun(failed Result) *Cases {
	seed := r.Seed
	c := &Cases{Provider: r.Name + " " + r.Version, Checks: []string{failed.Check}, Seed: &seed}
	if r.given != nil {
		c.Parameters, c.Extension, c.Config = r.given.Parameters, r.given.Extension, r.given.Config
	}
	if failed.Case == nil {
		return c
	}
	one := []Case{*failed.Case}
	switch failed.Kind {
	case KindConfiguration:
		c.Configurations = one
	case KindResource:
		c.Resources = map[string][]Case{failed.Subject: one}
	case KindFunction:
		c.Functions = map[string][]Case{failed.Subject: one}
	}
	return c
}

// skip is the outcome of a rule that was not tested.
type skip struct {
	reason string
	why    skipKind
}

// skipKind is the reason why a rule was not tested. A greater reason replaces a smaller one.
type skipKind uint8

const (
	// doesNotApply: the subject has nothing that the rule is about.
	doesNotApply skipKind = iota
	// cannotBeSeen: the effect cannot be observed, or the options or the outcome of another check
	// prevent the test.
	cannotBeSeen
	// wasRefused: the provider refused the test.
	wasRefused
)

func (s *skip) Error() string { return s.reason }

// refused returns the outcome if the provider refuses the test. A rule whose tests were all refused fails.
func refused(format string, args ...any) error {
	return &skip{fmt.Sprintf(format, args...), wasRefused}
}

// unseen returns the outcome if the effect cannot be observed.
func unseen(format string, args ...any) error {
	return &skip{fmt.Sprintf(format, args...), cannotBeSeen}
}

func inapplicable(reason string) error { return &skip{reason, doesNotApply} }

func isSkip(err error) bool {
	_, ok := errors.AsType[*skip](err)
	return ok
}

// follows returns the outcome of a rule whose test the outcome of another check prevents.
func follows(why error) error {
	if s, ok := errors.AsType[*skip](why); ok && s.why == doesNotApply {
		return s
	}
	return &skip{why.Error(), cannotBeSeen}
}

// findings collects the outcomes for one subject.
type findings struct {
	subject string
	kind    SubjectKind
	only    []string
	results map[string]*found
	// during marks the checks that have an outcome in the current case.
	during  map[string]bool
	current *Case
	// replaced marks the properties whose change has replaced a resource.
	replaced map[string]bool
}

func newFindings(subject string, kind SubjectKind, only []string) *findings {
	return &findings{subject: subject, kind: kind, only: only, results: map[string]*found{}, replaced: map[string]bool{}}
}

// begin begins a case; nil for none.
func (f *findings) begin(c *Case) { f.during, f.current = map[string]bool{}, c }

// wants reports whether one of the checks is to run.
func (f *findings) wants(names ...string) bool {
	return len(f.only) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(f.only, name) })
}

// report records the outcome of a check: nil is OK, a *skip is a skipped check, any other error is a
// failure. The first failure stays. Checks that were not asked for are recorded, too, because they may
// be the reason for others.
func (f *findings) report(name string, outcome error) {
	f.during[name] = true
	result := f.results[name]
	if result == nil {
		result = &found{Result: Result{Subject: f.subject, Kind: f.kind, Check: name, Rule: ruleOf(name), Status: NotApplicable}}
		f.results[name] = result
	}
	untried := result.Status == Skipped || result.Status == NotApplicable
	skipped, isSkip := errors.AsType[*skip](outcome)
	switch {
	case isSkip:
		if untried && (result.Message == "" || skipped.why > result.why) {
			result.why, result.Message, result.Case = skipped.why, skipped.reason, f.current
			if skipped.why > doesNotApply {
				result.Status = Skipped
			}
		}
		return
	case outcome == nil && untried:
		result.Status, result.Message, result.Case = OK, "", nil
	case outcome != nil && result.Status != Failed:
		result.Status, result.Message, result.Case = Failed, outcome.Error(), f.current
	}
	result.Tried++
}

// try runs a check if it is to run, and reports its outcome.
func (f *findings) try(name string, outcome func() error) {
	if f.wants(name) {
		f.report(name, outcome())
	}
}

// found is the outcome of a check so far.
type found struct {
	Result
	// why is the reason of a skipped check.
	why skipKind
}

func (f *findings) failed(name string) bool {
	return f.results[name] != nil && f.results[name].Status == Failed
}

// rest skips the checks that have no outcome in the current case.
func (f *findings) rest(why error, names ...string) {
	for _, name := range names {
		if !f.during[name] {
			f.report(name, follows(why))
		}
	}
}

// rootRules lists the checks that all others of a subject depend on.
var rootRules = []string{ruleHandshake, ruleSchema, ruleConfigure, ruleCheckAnswers, ruleCreate, ruleInvoke, ruleConstruct}

func (r *run) add(f *findings) {
	f.addTo(r.report, slices.Contains(r.options.AllowUntested, f.subject))
}

// addTo adds the outcomes to a report. A check that the provider refused in all cases fails, unless
// that is allowed. If a root is among these, only the root fails.
func (f *findings) addTo(r *Report, allowUntested bool) {
	unroot := func(name string) bool {
		result := f.results[name]
		return result != nil && result.Status == Skipped && result.why == wasRefused
	}
	rootless := slices.ContainsFunc(rootRules, unroot)
	missing := false
	for name, result := range f.results {
		if !allowUntested && unroot(name) && (!rootless || slices.Contains(rootRules, name)) {
			result.Status, result.Untested = Failed, true
			result.Message = "it was never seen to work: " + result.Message
		}
		missing = missing || result.Status == Skipped && f.wants(name)
	}
	for name, result := range f.results {
		if f.wants(name) || missing && result.Status == Failed {
			r.Results = append(r.Results, result.Result)
		}
	}
}

// sort puts the package first, and the checks of each subject in their order.
func (r *Report) sort() {
	subjects := []string{Package, Configuration}
	for _, result := range r.Results {
		if !slices.Contains(subjects, result.Subject) {
			subjects = append(subjects, result.Subject)
		}
	}
	sorted.By(r.Results, func(a, b Result) int {
		return cmp.Or(slices.Index(subjects, a.Subject)-slices.Index(subjects, b.Subject), position(a.Check)-position(b.Check))
	})
}

func position(name string) int {
	return slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
}

// MarshalJSON returns the report for programs. It contains the secrets of cases in plain.
func (r *Report) MarshalJSON() ([]byte, error) {
	type result struct {
		Result
		Rerun map[string]any `json:"rerun,omitempty"`
	}
	document := struct {
		Provider string         `json:"provider"`
		Version  string         `json:"version"`
		SDK      string         `json:"sdk,omitempty"`
		Seed     uint64         `json:"seed"`
		Counts   map[Status]int `json:"counts"`
		Results  []result       `json:"results"`
	}{
		Provider: r.Name, Version: r.Version, SDK: r.SDK, Seed: r.Seed,
		Counts: map[Status]int{}, Results: []result{},
	}
	for _, s := range []Status{OK, Failed, Skipped, NotApplicable} {
		document.Counts[s] = r.Count(s)
	}
	for _, found := range r.Results {
		out := result{Result: found}
		if found.Status == Failed {
			out.Rerun = r.Rerun(found).Document()
		}
		document.Results = append(document.Results, out)
	}
	return json.Marshal(document)
}
