package adapter

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
)

// leastSecret is the least length, in bytes, of a secret text that is looked for in a state. Shorter ones
// are in many places by accident.
const leastSecret = 8

// keepSecrets marks the parts of a state that are secret in the inputs or in the state before: properties at the same place, and
// texts that hold a secret.
func keepSecrets(state, from property.Map) property.Map {
	if !from.ContainsSecrets() {
		return state
	}
	kept, _ := keepIn(property.Object(state), property.Object(from)).AsObject()
	var words []string
	from.Without(metaKey).EachSecret(func(v property.Value) {
		if s, ok := v.AsString(); ok && len(s) >= leastSecret {
			words = append(words, s)
		}
	})
	marked, _ := markWords(property.Object(kept), words).AsObject()
	return marked
}

// markWords marks the texts that hold one of the words.
func markWords(v property.Value, words []string) property.Value {
	if s, ok := v.AsString(); ok && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) }) {
		return property.Secret(v)
	}
	if list, ok := v.AsArray(); ok {
		out := make([]property.Value, len(list))
		for i := range list {
			out[i] = markWords(list[i], words)
		}
		return property.Array(out...)
	}
	if m, ok := v.AsObject(); ok {
		entries := make([]property.Entry, 0, m.Len())
		for key, part := range m.All() {
			entries = append(entries, property.Entry{Key: key, Value: markWords(part, words)})
		}
		return property.Object(property.NewMap(entries...))
	}
	return v
}

func keepIn(v, from property.Value) property.Value {
	if from.IsSecret() {
		return property.Secret(v.Unwrap())
	}
	if !from.ContainsSecrets() || v.IsSecret() {
		return v
	}
	if m, ok := from.AsObject(); ok {
		if to, ok := v.AsObject(); ok {
			for key, part := range m.All() {
				if value, has := to.Lookup(key); has {
					to = to.With(key, keepIn(value, part))
				}
			}
			return property.Object(to)
		}
	}
	if list, ok := from.AsArray(); ok {
		if to, ok := v.AsArray(); ok && len(to) == len(list) {
			out := make([]property.Value, len(to))
			for i := range to {
				out[i] = keepIn(to[i], list[i])
			}
			return property.Array(out...)
		}
	}
	return property.Secret(v.Unwrap())
}
