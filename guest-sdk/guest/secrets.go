package guest

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
)

// inheritSecrets marks as secret what is secret in the property of the same name of
// source: the inputs that a state was made from, or what was recorded of it. Where m
// repeats the source, which it would do in the form of repeated, the marks are as
// precise as the source's; otherwise the property is secret as a whole.
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

// minSecretText is the length, in bytes, from which a text that is found elsewhere is
// taken for the secret that it repeats: shorter ones are there by accident.
const minSecretText = 8

// secretTexts returns the texts that are secret in m.
func secretTexts(m property.Map) []string {
	var texts []string
	m.EachSecret(func(v property.Value) {
		if s, ok := v.AsString(); ok && len(s) >= minSecretText {
			texts = append(texts, s)
		}
	})
	return texts
}

// hideTexts marks as secret what is one of the texts: a provider's code does not see
// what is secret, and may answer it under another name.
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

// copyMarks marks those parts of v as secret that are so in from, which has the same
// contents, but for zeros that it may lack.
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

// allSecret marks every property as secret.
func allSecret(m property.Map) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for name, v := range m.All() {
		entries = append(entries, property.Entry{Key: name, Value: property.Secret(v)})
	}
	return property.NewMap(entries...)
}

// merge carries what the author's Check changed in the Go variable, from before to
// after, over to the inputs it was loaded from, which have unknowns and secrets where
// the variable has zeros and plain values. What is not known stays so.
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
