package pulumiplugin

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
)

// fits returns how a value breaks the JSON Schema of a policy's property, as far as the SDKs for policy packs describe it: types,
// choices, and bounds.
func fits(described property.Map, v property.Value) error {
	if choices, ok := described.Get("enum").AsArray(); ok && !slices.ContainsFunc(choices, v.Equal) {
		return fmt.Errorf("it is not one of the %d values that the policy takes", len(choices))
	}
	if constant, ok := described.Lookup("const"); ok && !constant.Equal(v) {
		return errors.New("it is not the one value that the policy takes")
	}
	if err := fitsType(described.Get("type"), v); err != nil {
		return err
	}
	bound := func(key string, n float64, breaks func(n, bound float64) bool) error {
		if b, ok := described.Get(key).AsNumber(); ok && breaks(n, b) {
			return fmt.Errorf("it breaks the bound %s: %v", key, b)
		}
		return nil
	}
	below := func(n, bound float64) bool { return n < bound }
	above := func(n, bound float64) bool { return n > bound }
	var errs []error
	if n, ok := v.AsNumber(); ok {
		errs = append(errs, bound("minimum", n, below), bound("maximum", n, above),
			bound("exclusiveMinimum", n, func(n, b float64) bool { return n <= b }), bound("exclusiveMaximum", n, func(n, b float64) bool { return n >= b }),
			bound("multipleOf", n, func(n, b float64) bool { return b > 0 && math.Mod(n, b) != 0 }))
	}
	if s, ok := v.AsString(); ok {
		length := float64(utf8.RuneCountInString(s))
		errs = append(errs, bound("minLength", length, below), bound("maxLength", length, above))
		if pattern, ok := described.Get("pattern").AsString(); ok {
			re, err := regexp.Compile(pattern)
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("the policy's pattern for it cannot be read: %w", err))
			case !re.MatchString(s):
				errs = append(errs, fmt.Errorf("it does not match %s", pattern))
			}
		}
	}
	if elements, ok := v.AsArray(); ok {
		n := float64(len(elements))
		errs = append(errs, bound("minItems", n, below), bound("maxItems", n, above))
		if items, ok := described.Get("items").AsObject(); ok {
			for i, e := range elements {
				if err := fits(items, e); err != nil {
					errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
				}
			}
		}
	}
	if m, ok := v.AsObject(); ok {
		properties, _ := described.Get("properties").AsObject()
		for key, e := range m.All() {
			if inner, ok := properties.Get(key).AsObject(); ok {
				if err := fits(inner, e); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", key, err))
				}
			}
		}
	}
	return cmp.Or(errs...)
}

// fitsType checks a type, or a list of types of which one is enough.
func fitsType(described, v property.Value) error {
	names, ok := described.AsArray()
	if !ok {
		if described.IsNull() {
			return nil
		}
		names = []property.Value{described}
	}
	n, isNumber := v.AsNumber()
	_, isString := v.AsString()
	_, isBool := v.AsBool()
	_, isArray := v.AsArray()
	_, isObject := v.AsObject()
	is := map[string]bool{
		"string": isString, "boolean": isBool, "number": isNumber, "integer": isNumber && n == math.Trunc(n), "array": isArray, "object": isObject,
		"null": v.IsNull(),
	}
	var want []string
	for _, name := range names {
		text, _ := name.AsString()
		if is[text] {
			return nil
		}
		want = append(want, text)
	}
	return fmt.Errorf("it must be of the type %v", want)
}
