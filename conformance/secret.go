package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// secretsKept checks that a state keeps secrets: outputs that repeat a secret input, outputs that the
// schema declares as secret, and other outputs that contain the text of a secret.
func (l *life) secretsKept(state property.Map, method string) error {
	if !l.run.takes(abi.FeaturesSecrets) {
		return errNoSecrets
	}
	tried := false
	for i := range l.resource.Outputs.Properties {
		p := &l.resource.Outputs.Properties[i]
		if !p.Secret && !l.checked.Get(p.Name).IsSecret() {
			continue
		}
		tried = true
		path, found := exposed(state, p.Name)
		switch {
		case found && p.Secret:
			return fmt.Errorf("%s is a secret by the schema, and %s returns it in plain", path, method)
		case found:
			return fmt.Errorf("%s was given as a secret, and %s returns it in plain", path, method)
		}
	}
	words := secretWords(&l.resource.Inputs, l.c.Inputs, l.checked)
	if err := leakOutcome(state, words, method+" returns"); err != nil {
		return err
	}
	if !tried && len(words) == 0 {
		return inapplicable("nothing is secret")
	}
	return nil
}

type secretWord struct {
	text string
	// input is the name of the input.
	input string
	// declared reports whether the schema, and not only the caller, makes it a secret.
	declared bool
}

// minSecretWord is the least length, in bytes, of a text that is looked for in outputs. Shorter texts
// are in many places by accident.
const minSecretWord = 8

// secretWords returns the secret texts of checked inputs, without texts that the schema shows.
func secretWords(o *schema.Object, given, checked property.Map) []secretWord {
	var words []secretWord
	for _, name := range checked.Keys() {
		p := o.Property(name)
		if p == nil || len(p.OneOf) > 0 || p.Type.Kind == schema.KindEnum || !p.Const.IsNull() {
			continue
		}
		v := checked.Get(name)
		if p.HasDefault() && v.EqualContents(p.Default) {
			continue
		}
		declared := p.Secret || !given.Get(name).ContainsSecrets()
		property.NewMap(property.Entry{Key: name, Value: v}).EachSecret(func(part property.Value) {
			if text, ok := part.AsString(); ok && len(text) >= minSecretWord {
				words = append(words, secretWord{text, name, declared})
			}
		})
	}
	return words
}

// leakOutcome checks that no output shows a secret word. A text that is secret by the schema must not
// even be part of an output. A text that only the caller made a secret, such as a name, must not be a
// whole output. what begins the message.
func leakOutcome(outputs property.Map, words []secretWord, what string) error {
	var leaked string
	path, found := property.Object(public(outputs)).Find(func(v property.Value) bool {
		s, ok := v.AsString()
		i := slices.IndexFunc(words, func(w secretWord) bool { return s == w.text || w.declared && strings.Contains(s, w.text) })
		if !ok || i < 0 {
			return false
		}
		leaked = words[i].input
		return true
	})
	if found {
		return fmt.Errorf("%s %s in plain, and it holds what was given as the secret %s", what, path, leaked)
	}
	return nil
}

// public returns a map with null in place of its secrets.
func public(m property.Map) property.Map {
	return m.Transform(func(v property.Value) property.Value {
		if o, ok := v.AsOutput(); v.IsSecret() || ok && o.Secret {
			return property.Null
		}
		return v
	})
}

// exposed returns the path of the first known part of a property that is not secret.
func exposed(m property.Map, name string) (path property.Path, found bool) {
	path, found = public(m).Get(name).Find(func(v property.Value) bool {
		switch v.Kind() {
		case property.KindNull, property.KindUnknown, property.KindOutput, property.KindArray, property.KindObject:
			return false
		}
		return true
	})
	return append(property.Path{property.Key(name)}, path...), found
}
