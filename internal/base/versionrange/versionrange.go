// Package versionrange reads ranges of semantic versions, such as ">=1.2 <2" or "^1.4", as project files have them.
package versionrange

import (
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
)

// maxText bounds the text of a range, in bytes. The longest sensible ones have under a hundred.
const maxText = 1024

// Range is a set of versions. Its zero value has every release.
type Range struct {
	text     string
	contains semver.Range // nil for all
	// previews says that the text names a version before a release, such as 2.0.0-rc.1.
	previews bool
	// exact is the version of a range that is a single one.
	exact *semver.Version
}

// Parse reads a range. Comparisons that are separated by spaces or commas all have to hold, "||" separates
// alternatives. A comparison is an operator (=, !=, <, <=, >, >=, ^, ~) and a version, whose last numbers may be missing: 1.2
// stands for 1.2.x, and >1.2 for versions newer than all of these. ^ allows newer versions that are compatible, ~ newer patches.
// Empty text, and *, allow all.
func Parse(text string) (Range, error) {
	r := Range{text: strings.TrimSpace(text)}
	if len(text) > maxText {
		return Range{}, fmt.Errorf("a range of versions has at most %d bytes, not %d", maxText, len(text))
	}
	if r.text == "" || r.text == "*" {
		r.text = ""
		return r, nil
	}
	var count int
	for alternative := range strings.SplitSeq(r.text, "||") {
		all := func(semver.Version) bool { return true }
		comparisons := strings.Fields(joinOperators(alternative))
		if len(comparisons) == 0 {
			return Range{}, rangeError(text)
		}
		for _, c := range comparisons {
			one, previews, err := comparison(c)
			if err != nil {
				return Range{}, fmt.Errorf("%w: %w", rangeError(text), err)
			}
			count++
			all = semver.Range(all).AND(one)
			r.previews = r.previews || previews
		}
		if r.contains == nil {
			r.contains = all
		} else {
			r.contains = r.contains.OR(all)
		}
	}
	if v, err := semver.Parse(strings.TrimLeft(r.text, "=v ")); err == nil && count == 1 {
		r.exact = &v
	}
	return r, nil
}

func rangeError(text string) error {
	return fmt.Errorf("%q is not a range of versions such as 1.4.0, ^1.2, or \">=1.2 <2\"", text)
}

// joinOperators removes spaces behind operators, and turns commas into spaces.
func joinOperators(text string) string {
	var b strings.Builder
	operator := false
	for _, r := range strings.ReplaceAll(text, ",", " ") {
		if r == ' ' && operator {
			continue
		}
		operator = strings.ContainsRune("<>=!^~", r)
		b.WriteRune(r)
	}
	return b.String()
}

// comparison reads an operator with a version.
func comparison(text string) (in semver.Range, previews bool, err error) {
	version := strings.TrimLeft(text, "<>=!^~")
	operator := text[:len(text)-len(version)]
	from, below, err := span(strings.TrimPrefix(version, "v"))
	if err != nil {
		return nil, false, err
	}
	previews = len(from.Pre) > 0
	single := below == nil
	not := func(in semver.Range) semver.Range { return func(v semver.Version) bool { return !in(v) } }
	atLeast := func(v semver.Version) bool { return v.GE(from) }
	within := func(v semver.Version) bool {
		if single {
			return v.EQ(from)
		}
		return v.GE(from) && v.LT(*below)
	}
	to := func(end semver.Version) semver.Range {
		return func(v semver.Version) bool { return v.GE(from) && v.LT(end) }
	}
	switch operator {
	case "", "=", "==":
		return within, previews, nil
	case "!", "!=":
		return not(within), previews, nil
	case ">=":
		return atLeast, previews, nil
	case "<":
		return not(atLeast), previews, nil
	case "<=":
		return func(v semver.Version) bool { return v.LT(from) || within(v) }, previews, nil
	case ">":
		return func(v semver.Version) bool { return v.GT(from) && !within(v) }, previews, nil
	case "^":
		return to(nextIncompatible(from, version)), previews, nil
	case "~":
		if strings.Contains(version, ".") {
			return to(semver.Version{Major: from.Major, Minor: from.Minor + 1}), previews, nil
		}
		return to(semver.Version{Major: from.Major + 1}), previews, nil
	}
	return nil, false, fmt.Errorf("there is no operator %q", operator)
}

// nextIncompatible returns the first version that is not compatible with another, whose first numbers are in text: the version
// with the first number that is not zero increased.
func nextIncompatible(from semver.Version, text string) semver.Version {
	switch parts := strings.Count(text, ".") + 1; {
	case from.Major > 0 || parts == 1:
		return semver.Version{Major: from.Major + 1}
	case from.Minor > 0 || parts == 2:
		return semver.Version{Minor: from.Minor + 1}
	default:
		return semver.Version{Patch: from.Patch + 1}
	}
}

// span returns the first of the versions that a text stands for, and the one behind the last; nil if the text is a whole version.
func span(text string) (from semver.Version, below *semver.Version, err error) {
	numbers, rest := text, ""
	if i := strings.IndexAny(text, "-+"); i >= 0 {
		numbers, rest = text[:i], text[i:]
	}
	parts := strings.Split(numbers, ".")
	for len(parts) > 1 && (parts[len(parts)-1] == "x" || parts[len(parts)-1] == "*") {
		parts = parts[:len(parts)-1]
	}
	given := len(parts)
	if given > 3 || given < 3 && rest != "" {
		return from, nil, fmt.Errorf("%q is not a version", text)
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	if from, err = semver.Parse(strings.Join(parts, ".") + rest); err != nil {
		return from, nil, fmt.Errorf("%q is not a version", text)
	}
	switch given {
	case 1:
		below = &semver.Version{Major: from.Major + 1}
	case 2:
		below = &semver.Version{Major: from.Major, Minor: from.Minor + 1}
	}
	return from, below, nil
}

// String returns the text of the range, empty for all versions.
func (r Range) String() string { return r.text }

// Exact returns the version of a range that is a single one, and whether it is.
func (r Range) Exact() (v semver.Version, ok bool) {
	if r.exact == nil {
		return v, false
	}
	return *r.exact, true
}

// Contains reports whether a version is in the range. One before a release, such as 2.0.0-rc.1, is in it only if the
// range names such a version.
func (r Range) Contains(v semver.Version) bool {
	if len(v.Pre) > 0 && !r.previews {
		return false
	}
	return r.contains == nil || r.contains(v)
}

// Newest returns the newest of the versions in the range, and whether there is one.
func (r Range) Newest(versions []semver.Version) (newest semver.Version, ok bool) {
	for _, v := range versions {
		if r.Contains(v) && (!ok || v.GT(newest)) {
			newest, ok = v, true
		}
	}
	return newest, ok
}
