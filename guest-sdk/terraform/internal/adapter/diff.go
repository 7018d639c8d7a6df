package adapter

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// change is a change of a resource that exists.
type change struct {
	id                    string
	olds, news, oldInputs property.Map
	ignore                []string
	operation             string
	timeout               float64
}

// planChange plans a change. Ignored properties are as they were.
func (p *provider) planChange(ctx context.Context, r *resource, c change) (*plan, error) {
	prior, err := p.recorded(ctx, r, c.olds, c.id)
	if err != nil {
		return nil, err
	}
	olds := c.oldInputs
	if prior.outdated {
		olds = renamed(r.Attributes, olds, prior.names, "")
	}
	if !fits(r.Attributes, c.news) { // a refresh compares with the inputs of another edition
		c.news = renamed(r.Attributes, c.news, nil, "")
	}
	news := property.Object(c.news)
	for _, text := range c.ignore {
		path, err := property.ParsePath(text)
		if err != nil {
			return nil, abi.NewError(abi.ErrorKindInvalidArgument, "ignoreChanges: "+err.Error())
		}
		if kept, ok := path.Copy(property.Object(olds), news); ok {
			news = kept
		}
	}
	inputs, _ := news.AsObject()
	config, err := r.config(inputs, c.operation, c.timeout)
	if err != nil {
		return nil, err
	}
	return p.plan(ctx, r, prior, config)
}

func (p *provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	r, err := p.resource(ctx, typeOf(request.Type, request.URN))
	if err != nil {
		return abi.DiffResponse{}, err
	}
	if p.undecided.Load() {
		return r.Resource.Diff(request) // the provider cannot plan
	}
	if err := p.decided(ctx); err != nil {
		return abi.DiffResponse{}, err
	}
	if m, err := metaOf(request.Olds); err == nil && p.readsFirst.Load() && r.outdated(m) {
		return abi.DiffResponse{Changes: abi.DiffChangesOutdated, DeleteBeforeReplace: r.DeletesFirst(request)}, nil
	}
	ctx, end := begin(ctx, request.URN, 0)
	defer end()
	do, err := p.planChange(ctx, r, change{
		id: request.ID, olds: request.Olds, news: request.News, oldInputs: request.OldInputs, ignore: request.IgnoreChanges, operation: "update",
	})
	if err != nil {
		return abi.DiffResponse{}, err
	}
	changes := r.changes(do)
	response := abi.DiffResponse{
		HasDetailedDiff: true, Changes: abi.DiffChangesNone, DeleteBeforeReplace: r.DeletesFirst(request),
	}
	if do.prior.tainted {
		// No property asks for the replacement, so the detailed diff does not have it.
		response.Changes, response.DeleteBeforeReplace, response.ReplaceKeys = abi.DiffChangesSome, true, []string{metaKey}
	}
	for _, c := range changes {
		if ignored(request.IgnoreChanges, c.path) {
			continue
		}
		_, was := c.path.Get(property.Object(request.Olds))
		response.DetailedDiff = append(response.DetailedDiff, abi.PropertyDiff{Path: c.path.String(), Kind: c.kind(), InputDiff: !was})
		response.Changes = abi.DiffChangesSome
		top, _ := c.path[0].Key()
		if r.Inputs.Property(top) != nil {
			response.ChangedKeys = insert(response.ChangedKeys, top)
			if c.replace {
				response.ReplaceKeys = insert(response.ReplaceKeys, top)
			}
		} else if c.replace {
			response.ReplaceKeys = insert(response.ReplaceKeys, top)
			response.ChangedKeys = insert(response.ChangedKeys, top)
		}
	}
	if len(response.ReplaceKeys) == 0 {
		response.StableKeys = r.stable(do, changes)
	}
	return response, nil
}

func ignored(patterns []string, path property.Path) bool {
	return slices.ContainsFunc(patterns, func(text string) bool {
		pattern, err := property.ParsePath(text)
		return err == nil && pattern.Contains(path)
	})
}

// insert inserts a text into a sorted list that does not have it.
func insert(list []string, text string) []string {
	at, has := slices.BinarySearch(list, text)
	if has {
		return list
	}
	return slices.Insert(list, at, text)
}

// stable returns the properties that the plan does not change.
func (r *resource) stable(do *plan, changes []difference) []string {
	var names []string
	before, after := fields(do.prior.value), fields(do.planned)
	for _, a := range r.Attributes.List {
		if a.Hidden || a.WriteOnly || a.Name == "id" && isID(a) || isNull(before[a.Name]) || !same(before[a.Name], after[a.Name]) {
			continue
		}
		names = insert(names, a.Property)
	}
	return names
}

// difference is a property that a plan changes.
type difference struct {
	path    property.Path
	change  property.ChangeKind
	replace bool
	// computed is set for properties that only the provider sets.
	computed bool
}

func (d difference) kind() abi.DiffKind {
	kinds := map[property.ChangeKind][2]abi.DiffKind{
		property.ChangeAdd:    {abi.DiffKindAdd, abi.DiffKindAddReplace},
		property.ChangeDelete: {abi.DiffKindDelete, abi.DiffKindDeleteReplace},
		property.ChangeUpdate: {abi.DiffKindUpdate, abi.DiffKindUpdateReplace},
	}[d.change]
	if d.replace {
		return kinds[1]
	}
	return kinds[0]
}

// changes returns the changes of a plan, sorted by path. Outputs that the provider computes anew because of another change are
// left out.
func (r *resource) changes(do *plan) []difference {
	var d differ
	d.object(r.Attributes, do.prior.value, do.planned, do.config, false)
	replaced := r.replaced(do)
	for _, path := range replaced {
		found := false
		for i := range d.list {
			if path.Contains(d.list[i].path) || d.list[i].path.Contains(path) {
				d.list[i].replace, found = true, true
			}
		}
		if !found {
			d.list = append(d.list, difference{path: path, change: property.ChangeUpdate, replace: true})
		}
	}
	// Values that the provider computes anew follow from other changes, even inputs that the program leaves to it.
	configured, planned := fields(do.config), fields(do.planned)
	for i := range d.list {
		top, _ := d.list[i].path[0].Key()
		if a := r.Attributes.OfProperty(top); a != nil && a.Computed && isNull(configured[a.Name]) && isUnknown(planned[a.Name]) {
			d.list[i].computed = true
		}
	}
	if slices.ContainsFunc(d.list, func(c difference) bool { return !c.computed }) {
		replaces := slices.ContainsFunc(d.list, func(c difference) bool { return !c.computed && c.replace })
		d.list = slices.DeleteFunc(d.list, func(c difference) bool { return c.computed && (replaces || !c.replace) })
	}
	slices.SortFunc(d.list, func(a, b difference) int { return strings.Compare(a.path.String(), b.path.String()) })
	return d.list
}

// replaced returns the properties whose changes replace the resource, sorted: providers list them in any
// order.
func (r *resource) replaced(do *plan) []property.Path {
	var paths []property.Path
	where := &located{r.Attributes, do.planned}
	for _, path := range do.replace {
		if path == nil || len(path.Steps()) == 0 {
			continue
		}
		before, wasThere := walk(do.prior.value, path)
		after, isThere := walk(do.planned, path)
		if wasThere && isThere && same(before, after) || !wasThere && !isThere {
			continue // providers name attributes that do not change, too
		}
		at := where.path(path)
		if len(at) == 0 {
			at = (&located{r.Attributes, do.prior.value}).path(path)
		}
		if len(at) > 0 && !slices.ContainsFunc(paths, at.Equal) {
			paths = append(paths, at)
		}
	}
	slices.SortFunc(paths, func(p, q property.Path) int { return strings.Compare(p.String(), q.String()) })
	return paths
}

// replacing returns a property whose planned change replaces the resource, or nil.
func (r *resource) replacing(do *plan) property.Path {
	if paths := r.replaced(do); len(paths) > 0 {
		return paths[0]
	}
	return nil
}

// walk returns the part of a value at a path. A part of null is null.
func walk(v tftypes.Value, path *tftypes.AttributePath) (part tftypes.Value, ok bool) {
	for _, step := range path.Steps() {
		if isNull(v) || isUnknown(v) {
			return v, true
		}
		switch step := step.(type) {
		case tftypes.AttributeName:
			v, ok = fields(v)[string(step)]
		case tftypes.ElementKeyString:
			v, ok = fields(v)[string(step)]
		case tftypes.ElementKeyInt:
			list := elements(v)
			if ok = int(step) < len(list); ok {
				v = list[step]
			}
		case tftypes.ElementKeyValue:
			list := elements(v)
			i := indexOf(list, tftypes.Value(step))
			if ok = i >= 0; ok {
				v = list[i]
			}
		}
		if !ok {
			return tftypes.Value{}, false
		}
	}
	return v, true
}

// differ collects the innermost differences of two values.
type differ struct {
	path property.Path
	list []difference
}

func (d *differ) add(kind property.ChangeKind, computed bool) {
	for i := range d.list {
		// A path is in a diff once. That an element of a set is added where there is one says that this one is removed.
		if d.list[i].path.Equal(d.path) {
			d.list[i].change = property.ChangeAdd
			return
		}
	}
	d.list = append(d.list, difference{path: slices.Clone(d.path), change: kind, computed: computed})
}

func (d *differ) at(s property.Segment, do func()) {
	d.path = append(d.path, s)
	do()
	d.path = d.path[:len(d.path)-1]
}

func (d *differ) object(s *tf.Attributes, old, new, config tftypes.Value, computed bool) {
	before, after, asked := fields(old), fields(new), fields(config)
	for _, a := range s.List {
		x, y, z := before[a.Name], after[a.Name], asked[a.Name]
		if a.Hidden || a.WriteOnly || same(x, y) {
			continue
		}
		typ := a.Type
		if a.Flat && max(len(elements(x)), len(elements(y))) > 1 {
			d.at(property.Key(a.Property), func() { d.add(property.ChangeUpdate, computed || !a.Settable()) })
			continue
		}
		if a.Flat && !isUnknown(x) && !isUnknown(y) {
			typ, x, y, z = typ.Element, at(elements(x), 0), at(elements(y), 0), at(elements(z), 0)
		}
		d.at(property.Key(a.Property), func() { d.value(typ, x, y, z, computed || !a.Settable() || a.Name == "id" && isID(a)) })
	}
}

func (d *differ) value(t *tf.Type, old, new, config tftypes.Value, computed bool) {
	switch {
	case same(old, new):
		return
	case isNull(old):
		if t.Kind == tf.List || t.Kind == tf.Set || t.Kind == tf.Map {
			if !isUnknown(new) && len(elements(new))+len(fields(new)) == 0 {
				return // no elements at all, as far as properties tell
			}
		}
		d.add(property.ChangeAdd, computed)
		return
	case isNull(new):
		d.add(property.ChangeDelete, computed)
		return
	case isUnknown(old) || isUnknown(new):
		d.add(property.ChangeUpdate, computed)
		return
	}
	switch t.Kind {
	case tf.Object:
		d.object(t.Object, old, new, config, computed)
	case tf.List:
		before, after, asked := elements(old), elements(new), elements(config)
		for i := range max(len(before), len(after)) {
			d.at(property.Index(i), func() { d.value(t.Element, at(before, i), at(after, i), at(asked, i), computed) })
		}
	case tf.Map:
		before, after, asked := fields(old), fields(new), fields(config)
		for key := range before {
			d.at(property.Key(key), func() { d.value(t.Element, before[key], after[key], asked[key], computed) })
		}
		for key := range after {
			if _, was := before[key]; !was {
				d.at(property.Key(key), func() { d.value(t.Element, tftypes.Value{}, after[key], asked[key], computed) })
			}
		}
	case tf.Set:
		d.set(t, elements(old), elements(new), elements(config), computed)
	default:
		d.add(property.ChangeUpdate, computed)
	}
}

// set compares sets: elements that only one of them has are deleted, at their index in the state, or added, at their
// index in the configuration. The provider has its own order.
func (d *differ) set(t *tf.Type, before, after, asked []tftypes.Value, computed bool) {
	for i, v := range before {
		if indexOf(after, v) < 0 {
			d.at(property.Index(i), func() { d.add(property.ChangeDelete, computed) })
		}
	}
	place := places(t.Element, after, asked)
	for i, v := range after {
		if indexOf(before, v) < 0 || isUnknown(v) {
			d.at(property.Index(place[i]), func() { d.add(property.ChangeAdd, computed) })
		}
	}
}

// places returns the index in a configuration of each element that a provider plans for it. An element that stems from
// none has an index that no element of the configuration has.
func places(t *tf.Type, planned, asked []tftypes.Value) []int {
	out, used := make([]int, len(planned)), make([]bool, len(asked))
	for i := range out {
		out[i] = -1
	}
	for _, stems := range []func(planned, asked tftypes.Value) bool{
		same,
		func(v, w tftypes.Value) bool { return mayStem(t, v, w, false) },
		func(v, w tftypes.Value) bool { return mayStem(t, v, w, true) },
	} {
		for i, v := range planned {
			for j, w := range asked {
				if out[i] < 0 && !used[j] && stems(v, w) {
					out[i], used[j] = j, true
				}
			}
		}
	}
	next := len(asked)
	for i := range out {
		if out[i] < 0 {
			out[i], next = next, next+1
		}
	}
	return out
}
