// Package schemachange says what differs between two versions of a package, and whether programs that use the older one
// can go on with the newer.
package schemachange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// Change is one difference.
type Change struct {
	// Breaking is set if a program may not go on as it is, or if what it made may be replaced.
	Breaking bool `json:"breaking"`
	// Where names what has changed, such as random:RandomPet input length.
	Where string `json:"where"`
	What  string `json:"what"`
}

// String returns the change for people.
func (c Change) String() string { return c.Where + " " + c.What }

// Between returns the differences between two versions of a package: breaking ones first, then by place.
func Between(before, after *schema.Package) []Change {
	c := &comparison{seen: make(map[pair]bool)}
	c.object("configuration", &before.Config, &after.Config, given)
	each(before.Resources, after.Resources, func(r *schema.Resource) string { return r.Token }, c.resource)
	each(before.Functions, after.Functions, func(f *schema.Function) string { return f.Token }, c.function)
	sorted.By(c.changes, func(a, b Change) int {
		if a.Breaking != b.Breaking {
			if a.Breaking {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Where, b.Where)
	})
	return c.changes
}

// each calls do with the elements of two lists that have the same name, nil for none.
func each[T any](before, after []*T, name func(*T) string, do func(before, after *T)) {
	find := func(list []*T, wanted string) *T {
		if i := slices.IndexFunc(list, func(e *T) bool { return name(e) == wanted }); i >= 0 {
			return list[i]
		}
		return nil
	}
	for _, b := range before {
		do(b, find(after, name(b)))
	}
	for _, a := range after {
		if find(before, name(a)) == nil {
			do(nil, a)
		}
	}
}

// direction is whether programs give values or get them.
type direction bool

const (
	given direction = false
	got   direction = true
)

func (d direction) String() string {
	if d == got {
		return "output"
	}
	return "input"
}

// pair are objects that are being compared.
type pair struct {
	before, after *schema.Object
	direction     direction
}

type comparison struct {
	changes []Change
	seen    map[pair]bool
}

func (c *comparison) add(breaking bool, where, format string, args ...any) {
	c.changes = append(c.changes, Change{breaking, where, fmt.Sprintf(format, args...)})
}

func (c *comparison) resource(before, after *schema.Resource) {
	switch {
	case before == nil:
		c.add(false, after.Token, "is new")
		return
	case after == nil:
		c.add(true, before.Token, "is gone")
		return
	}
	where := before.Token
	if before.Component != after.Component {
		c.add(true, where, "is %s now", map[bool]string{true: "a component", false: "no component"}[after.Component])
	}
	if !slices.Equal(before.Identity, after.Identity) {
		c.add(true, where, "is identified by %s now, and was by %s", list(after.Identity), list(before.Identity))
	}
	for _, alias := range before.Aliases {
		if !slices.Contains(after.Aliases, alias) {
			c.add(true, where, "has no alias %s", alias)
		}
	}
	c.object(where, &before.Inputs, &after.Inputs, given)
	c.object(where, &before.Outputs, &after.Outputs, got)
	for _, m := range before.Methods {
		if !slices.Contains(after.Methods, m) {
			c.add(true, where, "has no method %s", m.Name)
		}
	}
	for _, m := range after.Methods {
		if !slices.ContainsFunc(before.Methods, func(o schema.Method) bool { return o.Name == m.Name }) {
			c.add(false, where, "has a method %s", m.Name)
		}
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "its ID"
	}
	return strings.Join(names, ", ")
}

func (c *comparison) function(before, after *schema.Function) {
	switch {
	case before == nil:
		c.add(false, after.Token, "is new")
		return
	case after == nil:
		c.add(true, before.Token, "is gone")
		return
	}
	where := before.Token
	for _, kind := range []struct {
		name          string
		before, after bool
	}{{"streams", before.Streams, after.Streams}, {"is ephemeral", before.Ephemeral, after.Ephemeral}, {"is an action", before.Action, after.Action}} {
		if kind.before != kind.after {
			c.add(true, where, "%s: %t now, and was %t", kind.name, kind.after, kind.before)
		}
	}
	c.object(where, &before.Args, &after.Args, given)
	c.object(where, &before.Result, &after.Result, got)
	switch {
	case (before.Returns == nil) != (after.Returns == nil):
		c.add(true, where, "returns something of another form")
	case before.Returns != nil:
		c.types(where+" result", before.Returns, after.Returns, got)
	}
}

func (c *comparison) object(where string, before, after *schema.Object, d direction) {
	key := pair{before, after, d}
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	for i := range before.Properties {
		b := &before.Properties[i]
		at := where + " " + d.String() + " " + b.Name
		if strings.Contains(where, " ") && where != "configuration" {
			at = where + "." + b.Name
		}
		a := after.Property(b.Name)
		if a == nil {
			c.add(true, at, "is gone")
			continue
		}
		c.property(at, b, a, d)
	}
	for i := range after.Properties {
		a := &after.Properties[i]
		if before.Property(a.Name) != nil {
			continue
		}
		at := where + " " + d.String() + " " + a.Name
		if strings.Contains(where, " ") && where != "configuration" {
			at = where + "." + a.Name
		}
		if d == given && a.Required && !a.HasDefault() && !a.Computed {
			c.add(true, at, "is new, and must be given")
		} else {
			c.add(false, at, "is new")
		}
	}
}

func (c *comparison) property(where string, before, after *schema.Property, d direction) {
	c.types(where, before.Type, after.Type, d)
	switch must, had := after.Required, before.Required; {
	case d == given && must && !had && !after.HasDefault() && !after.Computed:
		c.add(true, where, "must be given now")
	case d == given && had && !must:
		c.add(false, where, "need not be given any more")
	case d == got && had && !must:
		c.add(true, where, "may be missing now")
	}
	if before.Secret && !after.Secret {
		c.add(true, where, "is not secret any more")
	} else if !before.Secret && after.Secret {
		c.add(false, where, "is a secret now")
	}
	if d == got {
		return
	}
	if !before.Replace && after.Replace {
		c.add(true, where, "replaces the resource now if it changes")
	}
	if before.WriteOnly != after.WriteOnly {
		c.add(true, where, "is %s now", map[bool]string{true: "never recorded", false: "recorded"}[after.WriteOnly])
	}
	if before.HasDefault() && !same(before.Default, after.Default) {
		c.add(true, where, "has another default")
	}
	if !same(before.Const, after.Const) {
		c.add(true, where, "has another value that is the only allowed one")
	}
	c.values(where, before.OneOf, after.OneOf)
	if after.Minimum != nil && (before.Minimum == nil || *after.Minimum > *before.Minimum) {
		c.add(true, where, "must be at least %v now", *after.Minimum)
	}
	if after.Maximum != nil && (before.Maximum == nil || *after.Maximum < *before.Maximum) {
		c.add(true, where, "must be at most %v now", *after.Maximum)
	}
}

func same(a, b property.Value) bool { return a.Equal(b) }

// values compares the values that are allowed, all if there are none.
func (c *comparison) values(where string, before, after []property.Value) {
	has := func(list []property.Value, v property.Value) bool {
		return slices.ContainsFunc(list, func(o property.Value) bool { return same(o, v) })
	}
	if len(before) == 0 && len(after) > 0 {
		c.add(true, where, "takes only some values now")
		return
	}
	for _, v := range before {
		if len(after) > 0 && !has(after, v) {
			c.add(true, where, "does not take %v any more", v)
		}
	}
	for _, v := range after {
		if !has(before, v) {
			c.add(false, where, "takes %v", v)
		}
	}
}

func (c *comparison) types(where string, before, after *schema.Type, d direction) {
	if before == nil || after == nil {
		if before != after {
			c.add(true, where, "has another type")
		}
		return
	}
	wider, narrower := after, before
	if d == got {
		wider, narrower = before, after
	}
	switch {
	case before.Kind == after.Kind:
	case accepts(wider, narrower):
		c.add(false, where, "is %s now, and was %s", after, before)
		return
	default:
		c.add(true, where, "is %s now, and was %s", after, before)
		return
	}
	switch before.Kind {
	case schema.KindArray, schema.KindMap:
		c.types(where, before.Element, after.Element, d)
	case schema.KindObject:
		if before.Object != nil && after.Object != nil {
			at := where
			if !strings.Contains(at, " ") {
				at += " "
			}
			c.object(at, before.Object, after.Object, d)
		}
	case schema.KindEnum:
		if d == given {
			c.values(where, before.Values, after.Values)
		} else {
			c.values(where, after.Values, before.Values)
		}
	case schema.KindResource:
		if before.Token != after.Token {
			c.add(true, where, "is %s now, and was %s", after, before)
		}
	case schema.KindUnion:
		if !slices.EqualFunc(before.OneOf, after.OneOf, func(a, b *schema.Type) bool { return a.String() == b.String() }) {
			c.add(!accepts(wider, narrower), where, "is %s now, and was %s", after, before)
		}
	}
}

// accepts reports whether a type has all values of another.
func accepts(wide, narrow *schema.Type) bool {
	alternatives := []*schema.Type{wide}
	if wide.Kind == schema.KindUnion {
		alternatives = wide.OneOf
	}
	parts := []*schema.Type{narrow}
	if narrow.Kind == schema.KindUnion {
		parts = narrow.OneOf
	}
	for _, p := range parts {
		if !slices.ContainsFunc(alternatives, func(a *schema.Type) bool {
			return a.Kind == schema.KindAny || a.String() == p.String() || a.Kind == schema.KindNumber && p.Kind == schema.KindInteger ||
				a.Kind == schema.KindString && p.Kind == schema.KindEnum
		}) {
			return false
		}
	}
	return true
}

// Least returns the least version that may have changes, after one without them: by the rules of semantic versions, where
// versions before 1.0.0 count their minor number as others the major one.
func Least(before semver.Version, changes []Change) semver.Version {
	breaking := slices.ContainsFunc(changes, func(c Change) bool { return c.Breaking })
	v := semver.Version{Major: before.Major, Minor: before.Minor, Patch: before.Patch}
	switch {
	case breaking && v.Major > 0:
		return semver.Version{Major: v.Major + 1}
	case breaking || len(changes) > 0 && v.Major > 0:
		return semver.Version{Major: v.Major, Minor: v.Minor + 1}
	case len(before.Pre) > 0:
		return v
	}
	v.Patch++
	return v
}

// Allows reports whether a version may have changes since another: it is at least [Least], or a version before that release.
func Allows(before, after semver.Version, changes []Change) bool {
	least := Least(before, changes)
	release := semver.Version{Major: after.Major, Minor: after.Minor, Patch: after.Patch}
	return after.GT(before) && release.GE(least)
}
