package pulumitest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/secrets/b64"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

const (
	root  = "urn:pulumi:dev::proj::pulumi:pulumi:Stack::proj-dev"
	thing = "urn:pulumi:dev::proj::test:index:Thing::thing"
	other = "urn:pulumi:dev::proj::test:index:Thing::other"
)

// samples are values of the types that have rules of their own; all others follow from
// their kinds, so that a field which is new is filled without a word here.
var samples = map[reflect.Type]any{
	reflect.TypeFor[resource.URN]():               resource.URN(other),
	reflect.TypeFor[urn.URN]():                    urn.URN(other),
	reflect.TypeFor[tokens.Type]():                tokens.Type("test:index:Thing"),
	reflect.TypeFor[time.Time]():                  time.Date(2024, 3, 1, 10, 0, 0, 123456789, time.UTC),
	reflect.TypeFor[json.RawMessage]():            json.RawMessage(`{"salt":"x"}`),
	reflect.TypeFor[resource.PropertyPath]():      resource.PropertyPath{"tags", "a \"b\"", 3, "*"},
	reflect.TypeFor[property.Path]():              property.Path{property.Key("tags"), property.Key(`a "b"`), property.Index(3), property.Wildcard()},
	reflect.TypeFor[property.Map]():               property.MapOf(map[string]property.Value{"size": property.Number(2.5), "secret": property.Secret(property.String("word"))}),
	reflect.TypeFor[property.Value]():             property.Secret(property.String("trigger")),
	reflect.TypeFor[semver.Version]():             semver.MustParse("1.2.3"),
	reflect.TypeFor[map[string]any]():             map[string]any{"size": 2.5, "list": []any{nil, true, "text"}},
	reflect.TypeFor[apitype.OperationV2]():        apitype.OperationV2{Type: apitype.OperationTypeCreating, Resource: apitype.ResourceV3{URN: thing, Type: "test:index:Thing", Custom: true}},
	reflect.TypeFor[apitype.SecretsProvidersV1](): apitype.SecretsProvidersV1{Type: b64.Type},
}

// sample returns a value of a type in which nothing is empty.
func sample(t reflect.Type) reflect.Value {
	if v, ok := samples[t]; ok {
		return reflect.ValueOf(v)
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("some text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf("anything"))
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem()))
	case reflect.Slice:
		v = reflect.Append(v, sample(t.Elem()))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(sample(t.Key()), sample(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(sample(t.Field(i).Type))
			}
		}
	default:
		panic(fmt.Sprintf("no sample of %s", t))
	}
	return v
}

// variant is a value of a struct with one or all of its fields set.
type variant[T any] struct {
	name  string
	value T
}

// variants returns base with each of its empty fields set alone, and one with all of them.
func variants[T any](base T) []variant[T] {
	all := base
	list := []variant[T]{{"nothing", base}}
	of := reflect.ValueOf(&all).Elem()
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if !field.IsExported() || !of.Field(i).IsZero() {
			continue
		}
		one := base
		reflect.ValueOf(&one).Elem().Field(i).Set(sample(field.Type))
		of.Field(i).Set(sample(field.Type))
		list = append(list, variant[T]{field.Name, one})
	}
	return append(list, variant[T]{"everything", all})
}
