package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// recordedOption is an option of resources that the state keeps.
type recordedOption struct {
	name string
	// record puts what the program says into a resource.
	record func(*state.Resource, *abi.ResourceOptions)
	// same reports whether two resources have the same.
	same func(a, b *state.Resource) bool
	// text returns the text that a plan compares; nil if an update may deviate.
	text func(*state.Resource) string
}

// recordedOptions are all such options. From the row of an option follows that a registration
// records it, that a change of it alone is written, and that a plan holds an update to it.
var recordedOptions = []recordedOption{
	flag("protect", func(r *state.Resource) *bool { return &r.Protect }, func(o *abi.ResourceOptions) *bool { return o.Protect }),
	flag("retainOnDelete", func(r *state.Resource) *bool { return &r.RetainOnDelete }, func(o *abi.ResourceOptions) *bool { return o.RetainOnDelete }),
	option("deletedWith", func(r *state.Resource) *urn.URN { return &r.DeletedWith }, func(o *abi.ResourceOptions) urn.URN { return o.DeletedWith },
		equal, func(u urn.URN) string { return string(u) }),
	list("replaceWith", func(r *state.Resource) *[]urn.URN { return &r.ReplaceWith }, func(o *abi.ResourceOptions) []urn.URN { return o.ReplaceWith }),
	list("ignoreChanges", func(r *state.Resource) *[]string { return &r.IgnoreChanges }, func(o *abi.ResourceOptions) []string { return o.IgnoreChanges }),
	list("replaceOnChanges", func(r *state.Resource) *[]string { return &r.ReplaceOnChanges }, func(o *abi.ResourceOptions) []string { return o.ReplaceOnChanges }),
	list("additionalSecretOutputs", func(r *state.Resource) *[]string { return &r.AdditionalSecretOutputs },
		func(o *abi.ResourceOptions) []string { return o.AdditionalSecretOutputs }),
	{"customTimeouts", recordTimeouts, func(a, b *state.Resource) bool { return timeouts(a) == timeouts(b) }, timeoutsText},
	option("hooks", func(r *state.Resource) *map[string][]string { return &r.ResourceHooks },
		func(o *abi.ResourceOptions) map[string][]string { return recordedHooks(o.Hooks) },
		func(a, b map[string][]string) bool { return maps.EqualFunc(a, b, slices.Equal) },
		func(hooks map[string][]string) string { return fmt.Sprint(hooks) }),
	option("hideDiffs", func(r *state.Resource) *[]property.Path { return &r.HideDiff }, hiddenPaths,
		func(a, b []property.Path) bool { return slices.EqualFunc(a, b, property.Path.Equal) }, nil),
	option("replacementTrigger", func(r *state.Resource) *property.Value { return &r.ReplacementTrigger }, trigger,
		property.Value.Equal, nil), // checkGoal compares it as a property, since it may hold unknowns
}

// option returns the option that a resource has in a field. A plan does not compare it if text is nil.
func option[T any](
	name string, field func(*state.Resource) *T, value func(*abi.ResourceOptions) T, equal func(a, b T) bool, text func(T) string,
) recordedOption {
	o := recordedOption{
		name:   name,
		record: func(n *state.Resource, o *abi.ResourceOptions) { *field(n) = value(o) },
		same:   func(a, b *state.Resource) bool { return equal(*field(a), *field(b)) },
	}
	if text != nil {
		o.text = func(r *state.Resource) string { return text(*field(r)) }
	}
	return o
}

func equal[T comparable](a, b T) bool { return a == b }

func flag(name string, field func(*state.Resource) *bool, value func(*abi.ResourceOptions) *bool) recordedOption {
	isSet := func(o *abi.ResourceOptions) bool {
		set := value(o)
		return set != nil && *set
	}
	return option(name, field, isSet, equal, func(set bool) string { return fmt.Sprint(set) })
}

func list[T ~string](name string, field func(*state.Resource) *[]T, value func(*abi.ResourceOptions) []T) recordedOption {
	return option(name, field, value, slices.Equal, join)
}

// sameOptions reports whether two resources are recorded with the same options.
func sameOptions(a, b *state.Resource) bool {
	return !slices.ContainsFunc(recordedOptions, func(o recordedOption) bool { return !o.same(a, b) })
}

func recordTimeouts(n *state.Resource, o *abi.ResourceOptions) {
	if t := state.CustomTimeouts(o.CustomTimeouts); t != (state.CustomTimeouts{}) {
		n.CustomTimeouts = &t
	}
}

func timeouts(res *state.Resource) state.CustomTimeouts {
	if res.CustomTimeouts == nil {
		return state.CustomTimeouts{}
	}
	return *res.CustomTimeouts
}

func timeoutsText(res *state.Resource) string {
	t := timeouts(res)
	return fmt.Sprintf("create %vs, update %vs, delete %vs, read %vs", t.Create, t.Update, t.Delete, t.Read)
}

// hiddenPaths returns the properties whose differences are not shown, without texts that are not paths.
func hiddenPaths(o *abi.ResourceOptions) (paths []property.Path) {
	for _, text := range o.HideDiffs {
		if path, err := property.ParsePath(text); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func trigger(o *abi.ResourceOptions) property.Value {
	if o.ReplacementTrigger == nil {
		return property.Null
	}
	return o.ReplacementTrigger.Lower(property.KindOutput)
}

// hookKey returns the name of a kind of hook in the state.
func hookKey(k abi.HookKind) string { return strings.ReplaceAll(k.String(), "-", "_") }

// recordedHooks returns bindings as they are recorded.
func recordedHooks(bindings []abi.HookBinding) (recorded map[string][]string) {
	for _, b := range bindings {
		if len(b.Names) == 0 {
			continue
		}
		if recorded == nil {
			recorded = make(map[string][]string)
		}
		recorded[hookKey(b.Kind)] = slices.Concat(recorded[hookKey(b.Kind)], b.Names)
	}
	return recorded
}
