package schema

import (
	"slices"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// maxPaths bounds the paths of the changes of one diff in bytes. A path repeats all that leads to
// its value, so a small map could cause a diff of any size.
const maxPaths = 16 << 20

// Diff compares a resource's checked inputs with its recorded state. An input is compared with the
// output of the same name and type, so changes that a refresh found count, or else with the old
// input. An input that is no longer given is a change only if it was given before, because the
// output may be the provider's choice. A missing old input counts as the default, so a default of a
// later version of the package changes nothing.
//
// Secrets compare by their contents. An unknown input is a change. Write-only inputs have no old
// value, so they are not compared.
func (r *Resource) Diff(request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := diff(&r.Inputs, &r.Outputs, request)
	response.DeleteBeforeReplace = r.DeletesFirst(request)
	return response, err
}

// DiffConfig compares configurations of the package's provider.
func (p *Package) DiffConfig(request abi.DiffRequest) (abi.DiffResponse, error) {
	return diff(&p.Config, &p.Config, request)
}

func diff(inputs, outputs *Object, request abi.DiffRequest) (abi.DiffResponse, error) {
	var d differ
	for _, text := range request.IgnoreChanges {
		path, err := property.ParsePath(text)
		if err != nil {
			e := abi.NewError(abi.ErrorKindInvalidArgument, "ignoreChanges: "+err.Error())
			return abi.DiffResponse{}, e
		}
		d.ignore = append(d.ignore, path)
	}
	response := abi.DiffResponse{HasDetailedDiff: true, Changes: abi.DiffChangesNone}
	properties := inputs.Properties
	if request.News.Is(request.OldInputs) && request.News.Is(request.Olds) {
		// Most often nothing has changed at all, and all three are one bag.
		response.StableKeys = inputs.namesIn(request.News)
		properties = nil
	}
	for i := range properties {
		p := &properties[i]
		oldInput := request.OldInputs.Get(p.Name)
		old, inputDiff := oldInput, true
		if out := outputs.Property(p.Name); out != nil && out.Type.Equal(p.Type) {
			if state := request.Olds.Get(p.Name); !state.Plain().IsNull() {
				old, inputDiff = state, false
			}
		}
		before := len(d.changes)
		d.replaces = false
		if input := request.News.Get(p.Name); !p.WriteOnly && !unchanged(old, oldInput, input) {
			d.property(p, old, oldInput, input, false, inputDiff)
		}
		switch {
		case len(d.changes) == before:
			if request.News.Has(p.Name) {
				if response.StableKeys == nil {
					response.StableKeys = make([]string, 0, len(properties))
				}
				response.StableKeys = append(response.StableKeys, p.Name)
			}
		case d.replaces:
			response.ReplaceKeys = append(response.ReplaceKeys, p.Name)
			fallthrough
		default:
			response.ChangedKeys = append(response.ChangedKeys, p.Name)
		}
	}
	if d.paths > maxPaths {
		return abi.DiffResponse{}, abi.NewError(abi.ErrorKindInvalidArgument,
			"there are too many changes: their paths take more than "+strconv.Itoa(maxPaths)+" bytes")
	}
	for i := range outputs.Properties {
		if p := &outputs.Properties[i]; p.Stable && inputs.Property(p.Name) == nil {
			response.StableKeys = append(response.StableKeys, p.Name)
		}
	}
	if len(response.ReplaceKeys) > 0 {
		response.StableKeys = nil // a new resource has nothing of the old one
	}
	if response.DetailedDiff = d.changes; len(d.changes) > 0 {
		response.Changes = abi.DiffChangesSome
	}
	return response, nil
}

// namesIn returns the names of the properties that m has, or nil.
func (o *Object) namesIn(m property.Map) []string {
	var names []string
	for i := range o.Properties {
		if name := o.Properties[i].Name; m.Has(name) {
			if names == nil {
				names = make([]string, 0, len(o.Properties))
			}
			names = append(names, name)
		}
	}
	return names
}

// unchanged recognizes the most frequent case before a comparison by parts.
func unchanged(old, oldInput, input property.Value) bool {
	return old.EqualContents(input) && (oldInput.Plain().IsNull() || oldInput.EqualContents(input))
}

type differ struct {
	ignore  []property.Path
	path    property.Path
	changes []abi.PropertyDiff
	// paths is the length of the paths of the changes in bytes. After maxPaths no more are noted.
	paths int
	// replaces is set by a change that replaces the resource.
	replaces bool
}

func (d *differ) enter(s property.Segment) {
	if d.path == nil {
		d.path = make(property.Path, 0, firstDepth)
	}
	d.path = append(d.path, s)
}

type change uint8

const (
	added change = iota
	removed
	updated
)

var diffKinds = [...][2]abi.DiffKind{
	added:   {abi.DiffKindAdd, abi.DiffKindAddReplace},
	removed: {abi.DiffKindDelete, abi.DiffKindDeleteReplace},
	updated: {abi.DiffKindUpdate, abi.DiffKindUpdateReplace},
}

// record notes a change at the path. inputDiff is set if there was no old value, or it came from the
// old inputs.
func (d *differ) record(kind change, replace, inputDiff bool) {
	for _, pattern := range d.ignore {
		if pattern.Contains(d.path) {
			return
		}
	}
	k := diffKinds[kind][0]
	if replace {
		k = diffKinds[kind][1]
		d.replaces = true
	}
	if d.paths > maxPaths {
		return
	}
	path := d.path.String()
	d.paths += len(path)
	d.changes = append(d.changes, abi.PropertyDiff{Path: path, Kind: k, InputDiff: inputDiff})
}

// property compares one property; see value for the arguments.
func (d *differ) property(p *Property, old, oldInput, input property.Value, replace, inputDiff bool) {
	if old.Plain().IsNull() && p.HasDefault() && input.Plain().Equal(p.Default) {
		return
	}
	d.enter(property.Key(p.Name))
	d.value(p.Type, old, oldInput, input, replace || p.Replace, inputDiff)
	d.path = d.path[:len(d.path)-1]
}

// value compares an input with the old value: the state's or, if inputDiff is set, the old input.
// The old input decides whether a missing input was given before. replace is set if a change of a
// container of the value replaces the resource.
func (d *differ) value(t *Type, old, oldInput, input property.Value, replace, inputDiff bool) {
	old, oldInput, input = old.Plain(), oldInput.Plain(), input.Plain()
	switch {
	case input.IsNull():
		if !oldInput.IsNull() {
			d.record(removed, replace, true)
		}
		return
	case old.IsNull():
		d.record(added, replace, true)
		return
	}
	if elements, ok := input.AsArray(); ok {
		if oldElements, ok := old.AsArray(); ok {
			oldInputs, _ := oldInput.AsArray()
			d.array(t, oldElements, oldInputs, elements, replace, inputDiff)
			return
		}
	}
	if m, ok := input.AsObject(); ok {
		if oldMap, ok := old.AsObject(); ok {
			oldInputs, _ := oldInput.AsObject()
			d.object(t, oldMap, oldInputs, m, replace, inputDiff)
			return
		}
	}
	if !old.EqualContents(input) {
		d.record(updated, replace, inputDiff)
	}
}

func (d *differ) array(t *Type, old, oldInputs, elements []property.Value, replace, inputDiff bool) {
	for i := range max(len(old), len(elements)) {
		d.enter(property.Index(i))
		switch {
		case i >= len(elements):
			d.record(removed, replace, inputDiff)
		case i >= len(old):
			d.record(added, replace, true)
		default:
			var oldInput property.Value
			if i < len(oldInputs) {
				oldInput = oldInputs[i]
			}
			d.value(t.element(), old[i], oldInput, elements[i], replace, inputDiff)
		}
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *differ) object(t *Type, old, oldInputs, m property.Map, replace, inputDiff bool) {
	keys := m.Keys()
	for _, k := range oldInputs.Keys() {
		if !m.Has(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if t.isWriteOnly(k) {
			continue
		}
		if p := t.property(k); p != nil {
			d.property(p, old.Get(k), oldInputs.Get(k), m.Get(k), replace, inputDiff)
			continue
		}
		d.enter(property.Key(k))
		d.value(t.element(), old.Get(k), oldInputs.Get(k), m.Get(k), replace, inputDiff)
		d.path = d.path[:len(d.path)-1]
	}
}

// element returns the type of the elements of an array or map, or nil.
func (t *Type) element() *Type {
	if t == nil {
		return nil
	}
	return t.Element
}

// property returns a property of an object, or nil.
func (t *Type) property(name string) *Property {
	if t == nil || t.Kind != KindObject {
		return nil
	}
	return t.Object.Property(name)
}
