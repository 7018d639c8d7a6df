package schema

import "github.com/husk-dev/husk/abi/property"

// HasWriteOnly reports whether a property of the object, or of an object in it, is write-only.
func (o *Object) HasWriteOnly() bool { return o.hasWriteOnly(map[*Object]bool{}) }

func (o *Object) hasWriteOnly(seen map[*Object]bool) bool {
	if seen[o] {
		return false
	}
	seen[o] = true
	for i := range o.Properties {
		if p := &o.Properties[i]; p.WriteOnly || p.Type.hasWriteOnly(seen) {
			return true
		}
	}
	return false
}

func (t *Type) hasWriteOnly(seen map[*Object]bool) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case KindArray, KindMap:
		return t.Element.hasWriteOnly(seen)
	case KindObject:
		return t.Object.hasWriteOnly(seen)
	case KindUnion:
		for _, alternative := range t.OneOf {
			if alternative.hasWriteOnly(seen) {
				return true
			}
		}
	}
	return false
}

// WriteOnly returns the paths of the values of m that are write-only, none of them inside another. In a union, a value is
// write-only if one of the alternatives makes it so.
func (o *Object) WriteOnly(m property.Map) []property.Path {
	var paths []property.Path
	o.writeOnly(m, nil, &paths)
	return paths
}

func (o *Object) writeOnly(m property.Map, at property.Path, paths *[]property.Path) {
	for name, v := range m.All() {
		p := o.Property(name)
		if p == nil {
			continue
		}
		path := at.Append(property.Key(name))
		if p.WriteOnly {
			*paths = append(*paths, path)
		} else {
			p.Type.writeOnly(v.Plain(), path, paths)
		}
	}
}

func (t *Type) writeOnly(v property.Value, at property.Path, paths *[]property.Path) {
	if t == nil {
		return
	}
	switch t.Kind {
	case KindArray:
		elements, _ := v.AsArray()
		for i, e := range elements {
			t.Element.writeOnly(e.Plain(), at.Append(property.Index(i)), paths)
		}
	case KindMap:
		m, _ := v.AsObject()
		for k, e := range m.All() {
			t.Element.writeOnly(e.Plain(), at.Append(property.Key(k)), paths)
		}
	case KindObject:
		if m, ok := v.AsObject(); ok {
			t.Object.writeOnly(m, at, paths)
		}
	case KindUnion:
		before := len(*paths)
		for _, alternative := range t.OneOf {
			if alternative.writeOnly(v, at, paths); len(*paths) > before {
				return
			}
		}
	}
}

// isWriteOnly reports whether a property of an object is write-only, in a union in one of the alternatives.
func (t *Type) isWriteOnly(name string) bool {
	if t == nil || t.Kind != KindUnion {
		p := t.property(name)
		return p != nil && p.WriteOnly
	}
	for _, alternative := range t.OneOf {
		if alternative.isWriteOnly(name) {
			return true
		}
	}
	return false
}
