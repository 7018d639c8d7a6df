package conformance

import (
	"fmt"
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
		path, found := exposed(state.Get(p.Name), property.Path{property.Key(p.Name)})
		switch {
		case found && p.Secret:
			return fmt.Errorf("%s is a secret by the schema, and %s answers it in plain", path, method)
		case found:
			return fmt.Errorf("%s was given as a secret, and %s answers it in plain", path, method)
		}
	}
	words := secretWords(&l.resource.Inputs, l.c.Inputs, l.checked)
	if err := leakOutcome(state, words, method+" answers"); err != nil {
		return err
	}
	if !tried && len(words) == 0 {
		return inapplicable("nothing is secret")
	}
	return nil
}

// secretWord is a text of a secret input.
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
		v.Transform(func(part property.Value) property.Value {
			if inner, ok := part.AsSecret(); ok {
				for _, text := range textsOf(inner) {
					words = append(words, secretWord{text, name, declared})
				}
			}
			return part
		})
	}
	return words
}

// textsOf returns the longer texts in a value.
func textsOf(v property.Value) []string {
	var texts []string
	v.Transform(func(part property.Value) property.Value {
		if s, ok := part.AsString(); ok && len(s) >= minSecretWord {
			texts = append(texts, s)
		}
		return part
	})
	return texts
}

// leakOutcome checks that no output shows a secret word. A text that is secret by the schema must not
// even be part of an output. A text that only the caller made a secret, such as a name, must not be a
// whole output. what begins the message.
func leakOutcome(outputs property.Map, words []secretWord, what string) error {
	for _, name := range outputs.Keys() {
		if path, word := leaked(outputs.Get(name), property.Path{property.Key(name)}, words); word != nil {
			return fmt.Errorf("%s %s in plain, and it holds what was given as the secret %s", what, path, word.input)
		}
	}
	return nil
}

func leaked(v property.Value, at property.Path, words []secretWord) (property.Path, *secretWord) {
	if s, ok := v.AsString(); ok {
		for i, w := range words {
			if s == w.text || w.declared && strings.Contains(s, w.text) {
				return at, &words[i]
			}
		}
	}
	if elements, ok := v.AsArray(); ok {
		for i, e := range elements {
			if path, word := leaked(e, at.Append(property.Index(i)), words); word != nil {
				return path, word
			}
		}
	}
	if m, ok := v.AsObject(); ok {
		for _, key := range m.Keys() {
			if path, word := leaked(m.Get(key), at.Append(property.Key(key)), words); word != nil {
				return path, word
			}
		}
	}
	return nil, nil // secrets are no way in
}
