package shape

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/autoname"
)

// tag is the contents of a field's struct tags:
//
//	Length int `husk:"length,default=2,min=1,replace" doc:"How many words."`
type tag struct {
	name     string
	optional bool
	computed bool
	secret   bool
	replace  bool
	stable   bool
	// writeOnly is for inputs that are never recorded.
	writeOnly bool
	// The texts of the values; the field's type decides what they mean.
	defaultText *string
	minimum     *string
	maximum     *string
	oneOf       []string
	// autoname marks the property with the resource's name; longest is its most characters, 0 for any.
	autoname bool
	longest  int
	// resource is the type that references in the field must have; empty for any resource.
	resource string

	doc        string
	deprecated string
}

const options = "optional, computed, secret, replace, stable, writeonly, default=, min=, max=, oneof=, resource=, autoname"

// parseTag reads a field's tags. A field with the tag husk:"-" is skipped.
func parseTag(st reflect.StructTag) (t tag, skip bool, err error) {
	text, ok := st.Lookup("husk")
	if !ok {
		return tag{}, false, errors.New(`it has no husk tag: name the property, as in husk:"length", or exclude the field with husk:"-"`)
	}
	if text == "-" {
		return tag{}, true, nil
	}
	parts, err := splitTag(text)
	if err != nil {
		return tag{}, false, err
	}
	t.name = parts[0]
	if !isPropertyName(t.name) {
		return tag{}, false, errors.New(`the husk tag must begin with the property's name (letters, digits, and "_"), but begins with ` + quote(t.name))
	}
	for _, part := range parts[1:] {
		key, value, hasValue := strings.Cut(part, "=")
		switch {
		case part == "optional":
			t.optional = true
		case part == "computed":
			t.computed, t.optional = true, true
		case part == "secret":
			t.secret = true
		case part == "replace":
			t.replace = true
		case part == "stable":
			t.stable = true
		case part == "writeonly":
			t.writeOnly, t.secret = true, true
		case key == "default" && hasValue:
			t.defaultText = &value
		case key == "min" && hasValue:
			t.minimum = &value
		case key == "max" && hasValue:
			t.maximum = &value
		case key == "oneof" && hasValue:
			t.oneOf = strings.Split(value, "|")
		case key == "autoname":
			if err := t.readAutoname(value, hasValue); err != nil {
				return tag{}, false, err
			}
		case key == "resource" && hasValue:
			t.resource = value
		default:
			return tag{}, false, errors.New("the husk tag has " + quote(part) + ", but its options are " + options)
		}
	}
	t.doc, t.deprecated = st.Get("doc"), st.Get("deprecated")
	return t, false, nil
}

// readAutoname reads autoname, or autoname=24 where a name has at most 24 characters.
func (t *tag) readAutoname(value string, hasValue bool) error {
	t.autoname, t.computed, t.optional = true, true, true
	if !hasValue {
		return nil
	}
	var err error
	if t.longest, err = strconv.Atoi(value); err != nil || t.longest < autoname.Shortest("-") {
		return errors.New("autoname=" + value + " must be the number of characters that a name may have, " +
			strconv.Itoa(autoname.Shortest("-")) + " or more")
	}
	return nil
}

// splitTag splits at commas outside single quotes, which it takes away.
func splitTag(text string) ([]string, error) {
	var parts []string
	var part []byte
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
		case c == ',' && !quoted:
			parts = append(parts, string(part))
			part = part[:0]
		default:
			part = append(part, c)
		}
	}
	if quoted {
		return nil, errors.New("the husk tag has an opening ' without a closing one")
	}
	return append(parts, string(part)), nil
}

func isPropertyName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func quote(s string) string { return `"` + s + `"` }

// apply writes what the tag says into the property, whose type is known.
func (t *tag) apply(p *schema.Property) error {
	p.Name, p.Description, p.Deprecation = t.name, t.doc, t.deprecated
	p.Secret, p.Replace, p.Computed, p.Stable = t.secret, t.replace, t.computed, t.stable
	p.WriteOnly = t.writeOnly
	p.Required = !t.optional
	if t.defaultText != nil {
		value, err := constant(p.Type, *t.defaultText)
		if err != nil {
			return errors.New("default: " + err.Error())
		}
		p.Default, p.Required = value, false
	}
	var err error
	if p.Minimum, err = bound(p.Type, t.minimum); err != nil {
		return errors.New("min: " + err.Error())
	}
	if p.Maximum, err = bound(p.Type, t.maximum); err != nil {
		return errors.New("max: " + err.Error())
	}
	for _, text := range t.oneOf {
		value, err := constant(p.Type, text)
		if err != nil {
			return errors.New("oneof: " + err.Error())
		}
		p.OneOf = append(p.OneOf, value)
	}
	if len(p.OneOf) > 0 && p.HasDefault() && !slices.ContainsFunc(p.OneOf, func(v property.Value) bool {
		return v.Equal(p.Default)
	}) {
		return errors.New("default: " + *t.defaultText + " is not among the values of oneof")
	}
	return nil
}

// constant returns the value of type t that text stands for.
func constant(t *schema.Type, text string) (property.Value, error) {
	switch t.Kind {
	case schema.KindString:
		return property.String(text), nil
	case schema.KindBool:
		switch text {
		case "true":
			return property.Bool(true), nil
		case "false":
			return property.Bool(false), nil
		}
	case schema.KindInteger, schema.KindNumber:
		f, err := strconv.ParseFloat(text, 64)
		v := property.Number(f)
		if err == nil && (t.Kind == schema.KindNumber || v.IsInteger()) {
			return v, nil
		}
	default:
		return property.Null, errors.New("only a bool, number, or string can have it, not " + t.String())
	}
	return property.Null, errors.New(quote(text) + " is not a valid " + t.String())
}

func bound(t *schema.Type, text *string) (*float64, error) {
	if text == nil {
		return nil, nil
	}
	if t.Kind != schema.KindInteger && t.Kind != schema.KindNumber {
		return nil, errors.New("only a number can have it, not " + t.String())
	}
	v, err := constant(t, *text)
	if err != nil {
		return nil, err
	}
	f, _ := v.AsNumber()
	return &f, nil
}
