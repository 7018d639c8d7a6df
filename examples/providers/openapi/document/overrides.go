package document

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Overrides are a user's statements about a service where the document says nothing, or is wrong.
type Overrides struct {
	// Paths are patterns of the paths that are used; none for all. "*" stands for a segment, and "**" for any.
	Paths []string `json:"paths,omitempty"`
	// Resources are overrides by the name of the resource's type: that which the document gives it, or a new one.
	Resources map[string]*Resource `json:"resources,omitempty"`
}

// Resource has a user's statements about a type of resource. Operations are like "POST /pets", or an operationId.
type Resource struct {
	// Name is the type's name in place of that which the document gives it.
	Name string `json:"name,omitempty"`

	Create string `json:"create,omitempty"`
	Read   string `json:"read,omitempty"`
	// Update may be "none": every change replaces the resource.
	Update string `json:"update,omitempty"`
	Delete string `json:"delete,omitempty"`

	// ID is where answers have the value of the last parameter in the path, or the values of several, by parameter:
	// metadata.name.
	ID ID `json:"id,omitempty"`
	// Properties are where answers have properties: {image: config.image}.
	Properties map[string]string `json:"properties,omitempty"`
	// Parameters are optional parameters of queries and headers that programs may give.
	Parameters []string `json:"parameters,omitempty"`
	// ReadOnly are paths of properties that only the service sets, and WriteOnly paths of properties that it does not answer
	// with.
	ReadOnly  []string `json:"readOnly,omitempty"`
	WriteOnly []string `json:"writeOnly,omitempty"`

	// Until says when a creation or an update is done, Failed when it has failed, and Gone when the resource counts as
	// deleted.
	Until  Conditions `json:"until,omitempty"`
	Failed Conditions `json:"failed,omitempty"`
	Gone   Conditions `json:"gone,omitempty"`
}

// None is the update of a resource that every change replaces.
const None = "none"

// ID has paths in answers by parameter of the path. The name "" stands for the last one.
type ID map[string]string

// UnmarshalJSON reads a text or an object.
func (id *ID) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*id = ID{"": one}
		return nil
	}
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		return errors.New("an id is a path in answers, such as metadata.name, or a mapping of such paths by parameter")
	}
	*id = all
	return nil
}

// Conditions are the values that properties have, by path: {status.phase: [Running, Ready]}. All must hold.
type Conditions map[string]Values

// Values are alternatives, each a string, number, or bool.
type Values []any

// UnmarshalJSON reads a value or a list of values.
func (v *Values) UnmarshalJSON(text []byte) error {
	var list []any
	if json.Unmarshal(text, &list) != nil {
		var one any
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		list = []any{one}
	}
	for _, e := range list {
		switch e.(type) {
		case string, float64, bool:
		default:
			return errors.New("a condition is a text, number, or bool, or a list of them")
		}
	}
	*v = list
	return nil
}

// ReadOverrides reads overrides: a JSON object, or the name of a file with YAML or JSON.
func ReadOverrides(ctx context.Context, parameter string) (Overrides, error) {
	text, place := []byte(parameter), "the third parameter"
	if !strings.HasPrefix(strings.TrimSpace(parameter), "{") {
		place = parameter
		data, err := fetch(ctx, &url.URL{Path: parameter})
		if err != nil {
			return Overrides{}, describe(err, place)
		}
		if text, err = yaml.YAMLToJSON(data); err != nil {
			return Overrides{}, guest.InvalidArgument("", place+" is neither JSON nor YAML: "+err.Error())
		}
	}
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		return Overrides{}, guest.InvalidArgument("", place+" is not a mapping: "+err.Error())
	}
	if err := checkKeys(raw, "", reflect.TypeFor[Overrides]()); err != nil {
		return Overrides{}, guest.InvalidArgument("", place+": "+err.Error())
	}
	var o Overrides
	if err := json.Unmarshal(text, &o); err != nil {
		return Overrides{}, guest.InvalidArgument("", place+": "+err.Error())
	}
	return o, nil
}

// wanted returns the expected kind of a value that has another one, "" if it is right or decides for itself.
func wanted(value any, t reflect.Type) string {
	_, isText := value.(string)
	_, isList := value.([]any)
	_, isMapping := value.(map[string]any)
	switch {
	case t == reflect.TypeFor[ID]() || t == reflect.TypeFor[Values]():
	case t.Kind() == reflect.String && !isText:
		return "text"
	case t.Kind() == reflect.Slice && !isList:
		return "a list"
	case (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) && !isMapping:
		return "a mapping"
	}
	return ""
}

// checkKeys reports a key that a mapping does not have.
func checkKeys(value map[string]any, at string, t reflect.Type) error {
	for _, key := range slices.Sorted(maps.Keys(value)) {
		inner, found := t, t.Kind() == reflect.Map
		if found {
			inner = t.Elem()
		} else {
			var known []string
			for i := range t.NumField() {
				name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
				known = append(known, name)
				if name == key {
					inner, found = t.Field(i).Type, true
				}
			}
			if !found {
				hint := "there is " + strings.Join(known, ", ")
				if near := schema.Nearest(key, known); near != "" {
					hint = "did you mean " + near + "?"
				}
				return errors.New(at + key + " is not a key; " + hint)
			}
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if want := wanted(value[key], inner); want != "" {
			return errors.New(at + key + " must be " + want)
		}
		parts, isMapping := value[key].(map[string]any)
		if isMapping && (inner.Kind() == reflect.Struct || inner.Kind() == reflect.Map && inner.Elem().Kind() == reflect.Pointer) {
			if err := checkKeys(parts, at+key+".", inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep leaves only the paths that match one of the patterns, if there are any. One that matches nothing is an error.
func (x *index) keep(patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	kept := map[*operation]bool{}
	for _, pattern := range patterns {
		expression := regexp.QuoteMeta(pattern)
		expression = strings.ReplaceAll(expression, `\*\*`, ".*")
		expression = strings.ReplaceAll(expression, `\*`, "[^/]*")
		matches, err := regexp.Compile("^" + expression + "$")
		if err != nil {
			return guest.InvalidArgument("", "paths: "+err.Error())
		}
		found := false
		for _, o := range x.operations {
			if matches.MatchString(o.path) {
				kept[o], found = true, true
			}
		}
		if !found {
			return guest.InvalidArgument("", "paths: the document has no path like "+pattern)
		}
	}
	x.operations = slices.DeleteFunc(x.operations, func(o *operation) bool { return !kept[o] })
	return nil
}
