package guest

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
)

// inheritSecrets marks the properties of m as secret that are secret in source: inputs, or a recorded
// state. If m repeats the source, which looks like repeated then, only the same parts are marked;
// otherwise the whole property.
func inheritSecrets(m, source, repeated property.Map) property.Map {
	for name, from := range source.All() {
		v, ok := m.Lookup(name)
		if !ok || v.IsSecret() || !from.ContainsSecrets() {
			continue
		}
		if v.EqualContents(repeated.Get(name)) {
			v = copyMarks(v, from)
		} else {
			v = property.Secret(v)
		}
		m = m.With(name, v)
	}
	return hideTexts(m, secretTexts(source))
}

// minSecretText is the least length in bytes of a secret that is looked for elsewhere. Shorter texts
// are found by accident.
const minSecretText = 8

func secretTexts(m property.Map) []string {
	var texts []string
	m.EachSecret(func(v property.Value) {
		if s, ok := v.AsString(); ok && len(s) >= minSecretText {
			texts = append(texts, s)
		}
	})
	return texts
}

// hideTexts marks the texts as secret, which a provider may return under another name.
func hideTexts(m property.Map, texts []string) property.Map {
	if len(texts) == 0 {
		return m
	}
	return m.Transform(func(v property.Value) property.Value {
		if s, ok := v.AsString(); ok && slices.Contains(texts, s) {
			return property.Secret(v)
		}
		return v
	})
}

// copyMarks marks the secret parts of from in v, which has the same contents and maybe more zeros.
func copyMarks(v, from property.Value) property.Value {
	if v.IsSecret() || !from.ContainsSecrets() {
		return v
	}
	elements, isArray := v.AsArray()
	fromElements, fromArray := from.AsArray()
	m, isObject := v.AsObject()
	fromMap, fromObject := from.AsObject()
	switch {
	case isArray && fromArray:
		marked := make([]property.Value, len(elements))
		for i := range elements {
			marked[i] = elements[i]
			if i < len(fromElements) {
				marked[i] = copyMarks(elements[i], fromElements[i])
			}
		}
		return property.Array(marked...)
	case isObject && fromObject:
		marked := make([]property.Entry, 0, m.Len())
		for _, e := range m.Entries() {
			marked = append(marked, property.Entry{Key: e.Key, Value: copyMarks(e.Value, fromMap.Get(e.Key))})
		}
		return property.Object(property.NewMap(marked...))
	}
	return property.Secret(v)
}

func allSecret(m property.Map) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for name, v := range m.All() {
		entries = append(entries, property.Entry{Key: name, Value: property.Secret(v)})
	}
	return property.NewMap(entries...)
}

// merge applies the changes of the author's Check, from before to after, to the inputs. These have
// unknowns and secrets that a Go variable cannot hold. Unknowns stay.
func merge(inputs, before, after property.Map) property.Map {
	names := before.Keys()
	for _, e := range after.Entries() {
		if !before.Has(e.Key) {
			names = append(names, e.Key)
		}
	}
	for _, name := range names {
		old, now := before.Get(name), after.Get(name)
		if old.EqualContents(now) {
			continue
		}
		given := inputs.Get(name)
		inner, nested := given.Plain().AsObject()
		oldInner, wasNested := old.Plain().AsObject()
		nowInner, isNested := now.Plain().AsObject()
		switch {
		case given.Plain().IsUnknown():
			continue
		case now.IsNull():
			inputs = inputs.Without(name)
			continue
		case nested && wasNested && isNested:
			now = property.Object(merge(inner, oldInner, nowInner))
		}
		if given.IsSecret() || !nested && given.ContainsSecrets() {
			now = property.Secret(now.Plain())
		}
		inputs = inputs.With(name, now)
	}
	return inputs
}
