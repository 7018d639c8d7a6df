// Package calldoc reads requests of the contract from JSON or YAML, and shows responses in the same form.
// The members of a document are the fields of the types in package abi, in camel case.
package calldoc

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/property/propertyliteral"
)

// Method is a method of [abi.Provider].
type Method struct {
	// Name is the method's name in the contract, such as diff-config.
	Name abi.Method

	request func() any // returns a pointer to a new request; nil for a method without one
	call    func(ctx context.Context, p abi.Provider, request any) (any, error)
}

// methods lacks stream-invoke, stream-next, and stream-close, whose handles end with the process.
var methods = []Method{
	method(abi.MethodHandshake, abi.Provider.Handshake),
	method(abi.MethodParameterize, abi.Provider.Parameterize),
	method(abi.MethodGetSchema, abi.Provider.GetSchema),
	method(abi.MethodGetMapping, abi.Provider.GetMapping),
	method(abi.MethodGetMappings, abi.Provider.GetMappings),
	method(abi.MethodCheckConfig, abi.Provider.CheckConfig),
	method(abi.MethodDiffConfig, abi.Provider.DiffConfig),
	method(abi.MethodConfigure, silent(abi.Provider.Configure)),
	method(abi.MethodCheck, abi.Provider.Check),
	method(abi.MethodDiff, abi.Provider.Diff),
	method(abi.MethodCreate, abi.Provider.Create),
	method(abi.MethodRead, abi.Provider.Read),
	method(abi.MethodUpdate, abi.Provider.Update),
	method(abi.MethodDelete, silent(abi.Provider.Delete)),
	method(abi.MethodList, abi.Provider.List),
	method(abi.MethodInvoke, abi.Provider.Invoke),
	method(abi.MethodOpenEphemeral, abi.Provider.OpenEphemeral),
	method(abi.MethodRenewEphemeral, abi.Provider.RenewEphemeral),
	method(abi.MethodCloseEphemeral, silent(abi.Provider.CloseEphemeral)),
	method(abi.MethodRunAction, abi.Provider.RunAction),
	method(abi.MethodExists, abi.Provider.Exists),
	method(abi.MethodCall, abi.Provider.Call),
	method(abi.MethodConstruct, abi.Provider.Construct),
	{Name: abi.MethodCancel, call: func(ctx context.Context, p abi.Provider, _ any) (any, error) { return struct{}{}, p.Cancel(ctx) }},
}

func method[Q, R any](name abi.Method, call func(abi.Provider, context.Context, Q) (R, error)) Method {
	return Method{
		Name: name, request: func() any { return new(Q) },
		call: func(ctx context.Context, p abi.Provider, request any) (any, error) {
			return call(p, ctx, *request.(*Q))
		},
	}
}

// Unconfigured reports whether the method comes before the provider is configured.
func (m Method) Unconfigured() bool {
	about := m.Name.About()
	return m.request != nil && (about == abi.AboutPackage || about == abi.AboutConfiguration)
}

// silent adds an empty response to a method without one.
func silent[Q any](call func(abi.Provider, context.Context, Q) error) func(abi.Provider, context.Context, Q) (struct{}, error) {
	return func(p abi.Provider, ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, call(p, ctx, request)
	}
}

// Names returns the names of all methods, in the order of the contract.
func Names() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = string(m.Name)
	}
	return names
}

// Find returns the method with a name. The error lists the others.
func Find(name string) (Method, error) {
	for _, m := range methods {
		if string(m.Name) == name {
			return m, nil
		}
	}
	return Method{}, fmt.Errorf("there is no method %s; %sthere are %s", name, didYouMean(name, Names()), strings.Join(Names(), ", "))
}

func didYouMean(name string, known []string) string {
	if near := schema.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %s? ", near)
	}
	return ""
}

// Read returns a pointer to a request, nil if the method has none. The error names the wrong member.
func (m Method) Read(document map[string]any) (request any, err error) {
	if m.request == nil {
		if len(document) > 0 {
			return nil, fmt.Errorf("the method %s has no request", m.Name)
		}
		return nil, nil
	}
	request = m.request()
	return request, readMembers(reflect.ValueOf(request).Elem(), document, "")
}

// Call calls the method with a result of Read.
func (m Method) Call(ctx context.Context, p abi.Provider, request any) (response any, err error) {
	return m.call(ctx, p, request)
}

// Field returns a pointer to a field of a request by its Go name, nil if it has no such field of the type.
func Field[T any](request any, name string) *T {
	if request == nil {
		return nil
	}
	field := reflect.ValueOf(request).Elem().FieldByName(name)
	if !field.IsValid() {
		return nil
	}
	p, _ := field.Addr().Interface().(*T)
	return p
}

// Maps returns the property maps of a request or response.
func Maps(record any) []property.Map {
	var all []property.Map
	v := reflect.Indirect(reflect.ValueOf(record))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		switch x := v.Field(i).Interface().(type) {
		case property.Map:
			all = append(all, x)
		case *property.Map:
			if x != nil {
				all = append(all, *x)
			}
		}
	}
	return all
}

// Shown returns a response as plain JSON values. Secrets are hidden unless show is set. Empty fields are
// left out, except property maps and enumerations.
func Shown(response any, show bool) map[string]any {
	return shown(reflect.ValueOf(response), show).(map[string]any)
}

// read sets v from a tree of JSON or YAML.
func read(v reflect.Value, tree any, at string) error {
	wrong := func(wanted string) error {
		return fmt.Errorf("%s: must be %s", strings.TrimPrefix(at, "."), wanted)
	}
	switch p := v.Addr().Interface().(type) {
	case *property.Map:
		members, ok := tree.(map[string]any)
		if !ok {
			return wrong("an object")
		}
		var err error
		if *p, err = propertyliteral.DecodeMap(members); err != nil {
			err = fmt.Errorf("%s: %w", strings.TrimPrefix(at, "."), err)
		}
		return err
	case *property.Value:
		var err error
		if *p, err = propertyliteral.Decode(tree); err != nil {
			err = fmt.Errorf("%s: %w", strings.TrimPrefix(at, "."), err)
		}
		return err
	case *[]byte:
		text, _ := tree.(string)
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil || text == "" {
			return wrong("bytes in base64")
		}
		*p = data
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return read(v.Elem(), tree, at)
	case reflect.Struct:
		members, ok := tree.(map[string]any)
		if !ok {
			return wrong("an object")
		}
		return readMembers(v, members, at)
	case reflect.Slice:
		elements, ok := tree.([]any)
		if !ok {
			return wrong("a list")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
		for i, element := range elements {
			if err := read(v.Index(i), element, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.String, reflect.Bool:
		scalar := reflect.ValueOf(tree)
		if scalar.Kind() != v.Kind() {
			return wrong(map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "true or false"}[v.Kind()])
		}
		v.Set(scalar.Convert(v.Type()))
		return nil
	case reflect.Uint8:
		cases := casesOf(v.Type())
		text, _ := tree.(string)
		n := slices.Index(cases, text)
		if n < 0 {
			return wrong("one of " + strings.Join(cases, ", "))
		}
		v.SetUint(uint64(n))
		return nil
	default:
		return readNumber(v, tree, wrong)
	}
}

func readMembers(v reflect.Value, members map[string]any, at string) error {
	fields := make(map[string]int)
	for i := range v.NumField() {
		fields[memberName(v.Type().Field(i).Name)] = i
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i, known := fields[name]
		if !known {
			names := slices.Sorted(maps.Keys(fields))
			return fmt.Errorf("%s: there is no such member; %sthere are %s",
				strings.TrimPrefix(at+"."+name, "."), didYouMean(name, names), strings.Join(names, ", "))
		}
		if err := read(v.Field(i), members[name], at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func readNumber(v reflect.Value, tree any, wrong func(string) error) error {
	n := reflect.ValueOf(tree)
	switch {
	case !n.IsValid() || !n.CanInt() && !n.CanUint() && !n.CanFloat():
		return wrong("a number")
	case v.CanFloat():
		v.SetFloat(n.Convert(v.Type()).Float())
		return nil
	}
	f := n.Convert(reflect.TypeFor[float64]()).Float()
	if f != float64(uint64(f)) || v.OverflowUint(uint64(f)) {
		return wrong("a natural number")
	}
	v.SetUint(uint64(f))
	return nil
}

// casesOf returns the names of an enumeration, in their order.
func casesOf(enumeration reflect.Type) []string {
	var names []string
	for n := range uint64(1 << 8) {
		v := reflect.New(enumeration).Elem()
		v.SetUint(n)
		name := fmt.Sprint(v.Interface())
		if name == "invalid" {
			break
		}
		names = append(names, name)
	}
	return names
}

// ShownMap is [Shown] for a property map.
func ShownMap(m property.Map, show bool) map[string]any {
	if show {
		m = m.Unwrap()
	}
	return engine.DisplayOutputs(m)
}

func shown(v reflect.Value, show bool) any {
	if v.Kind() == reflect.Pointer {
		return shown(v.Elem(), show)
	}
	switch x := v.Interface().(type) {
	case property.Map:
		return ShownMap(x, show)
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		out := make(map[string]any, v.NumField())
		for i := range v.NumField() {
			_, always := v.Field(i).Interface().(property.Map)
			if always || v.Field(i).Kind() == reflect.Uint8 || !v.Field(i).IsZero() {
				out[memberName(v.Type().Field(i).Name)] = shown(v.Field(i), show)
			}
		}
		return out
	case reflect.String:
		return v.String()
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = shown(v.Index(i), show)
		}
		return out
	default:
		return v.Interface()
	}
}

// memberName returns the name of a field in camel case. Initials such as URN are one word.
func memberName(field string) string {
	letters := []rune(strings.ReplaceAll(field, "URNs", "Urns"))
	var b strings.Builder
	for i, r := range letters {
		begins := unicode.IsUpper(r) && (i > 0 && !unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if i == 0 || !begins {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
