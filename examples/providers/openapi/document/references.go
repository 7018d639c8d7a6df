package document

import (
	"errors"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi3"
)

// checkWhole refuses a document with null in place of an object, or with a $ref that leads to itself.
// The library leaves a nil pointer there, which the translation does not expect.
func checkWhole(spec *openapi3.T) error {
	c := wholeness{seen: map[any]bool{}, resolved: true}
	c.walk(reflect.ValueOf(spec), "")
	return c.found
}

// checkConvertible refuses a Swagger document with null in place of an object. Its references are
// resolved later.
func checkConvertible(old *openapi2.T) error {
	c := wholeness{seen: map[any]bool{}}
	c.walk(reflect.ValueOf(old), "")
	return c.found
}

// wholeness looks for references without a target.
type wholeness struct {
	// seen are the pointers that were followed: a document may be recursive.
	seen map[any]bool
	// resolved says that references have the value that they lead to.
	resolved bool
	// found is the first problem.
	found error
}

func (c *wholeness) walk(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Pointer:
		if key := [2]any{v.Type(), v.Pointer()}; v.IsNil() || c.seen[key] || c.found != nil {
			return
		} else {
			c.seen[key] = true
		}
		c.walk(v.Elem(), at)
	case reflect.Struct:
		c.check(v, at)
		for i := range v.NumField() {
			c.walk(v.Field(i), member(at, fieldName(v.Type().Field(i))))
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			c.element(v.MapIndex(key), member(at, key.String()))
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.element(v.Index(i), member(at, strconv.Itoa(i)))
		}
	}
}

func (c *wholeness) element(v reflect.Value, at string) {
	if v.Kind() == reflect.Pointer && v.IsNil() && c.found == nil {
		c.found = errors.New("there is nothing at " + at + ", where an object must be")
	}
	c.walk(v, at)
}

// check notes a reference that has led nowhere.
func (c *wholeness) check(v reflect.Value, at string) {
	ref, value := v.FieldByName("Ref"), v.FieldByName("Value")
	if c.found != nil || !c.resolved || !ref.IsValid() || ref.Kind() != reflect.String || ref.String() == "" {
		return
	}
	nothing := value.IsValid() && value.Kind() == reflect.Pointer && value.IsNil()
	if v.Type() == reflect.TypeFor[openapi3.PathItem]() {
		nothing = isEmptyPath(v)
	}
	if nothing {
		c.found = errors.New("the $ref to " + ref.String() + ", at " + at + ", leads only to itself: nothing is described there")
	}
}

func isEmptyPath(item reflect.Value) bool {
	for i := range item.NumField() {
		field := item.Field(i)
		if kind := field.Kind(); (kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map) &&
			item.Type().Field(i).IsExported() && item.Type().Field(i).Name != "Origin" && !field.IsNil() {
			return false
		}
	}
	return true
}

// fieldName returns the name of a field in documents, empty if they do not have it.
func fieldName(f reflect.StructField) string {
	if !f.IsExported() || f.Anonymous || f.Name == "Value" {
		return ""
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func member(at, name string) string {
	if at == "" || name == "" {
		return at + name
	}
	return at + "." + name
}

// internalNames returns the names of the targets that a document refers to outside of its components. They do not depend on the
// place of the document.
func internalNames(spec *openapi3.T, at *url.URL) openapi3.RefNameResolver {
	component := func(fragment string) string { return (&url.URL{Path: at.Path, Fragment: fragment}).String() }
	// taken are the references that have a name, by collection and name.
	taken := map[string]string{}
	for collection, names := range componentNames(spec.Components) {
		for _, name := range names {
			taken[collection+"/"+name] = component("/components/" + collection + "/" + name)
		}
	}
	return func(spec *openapi3.T, ref openapi3.ComponentRef) string {
		file, fragment := at.Path, strings.TrimPrefix(ref.RefString(), "#")
		if place := ref.RefPath(); place != nil {
			file, fragment = place.Path, place.Fragment
		}
		refersTo := (&url.URL{Path: file, Fragment: fragment}).String()
		if own, ok := openapi3.ReferencesComponentInRootDocument(spec, ref); ok {
			file, fragment = at.Path, strings.TrimPrefix(own, "#")
			refersTo = component(fragment)
		}
		if file == at.Path {
			file = ""
		}
		file = strings.TrimPrefix(strings.TrimSuffix(file, path.Ext(file)), path.Dir(at.Path)+"/")
		collection := ref.CollectionName()
		name := file + "_" + strings.TrimPrefix(strings.TrimPrefix(fragment, "/components/"+collection), "/")
		name = strings.Trim(openapi3.InvalidIdentifierCharRegExp.ReplaceAllString(name, "_"), "_.")
		for n, candidate := 1, name; ; n++ {
			if n > 1 || name == "" {
				candidate = name + "_" + strconv.Itoa(n)
			}
			if other := taken[collection+"/"+candidate]; other == "" || other == refersTo {
				taken[collection+"/"+candidate] = refersTo
				return candidate
			}
		}
	}
}

func componentNames(c *openapi3.Components) map[string][]string {
	return map[string][]string{
		"schemas": slices.Collect(maps.Keys(c.Schemas)), "parameters": slices.Collect(maps.Keys(c.Parameters)),
		"requestBodies": slices.Collect(maps.Keys(c.RequestBodies)), "responses": slices.Collect(maps.Keys(c.Responses)),
		"securitySchemes": slices.Collect(maps.Keys(c.SecuritySchemes)),
	}
}
