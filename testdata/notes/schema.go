package notes

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

func typ(kind schema.Kind) *schema.Type { return &schema.Type{Kind: kind} }

func ref[T any](v T) *T { return &v }

// style is how a note looks.
var style = &schema.Object{Token: "notes:index:Style", Properties: []schema.Property{
	{Name: "bold", Type: typ(schema.KindBool)},
	{Name: "size", Type: typ(schema.KindInteger), Minimum: ref(1.0), Maximum: ref(9.0), Default: property.Number(3)},
}}

// note returns what a note's inputs and its state have in common.
func note() []schema.Property {
	return []schema.Property{
		{Name: "colour", Type: typ(schema.KindString), OneOf: []property.Value{property.String("red"), property.String("green")}},
		{Name: "copies", Type: typ(schema.KindInteger), Minimum: ref(1.0), Maximum: ref(9.0), Default: property.Number(1)},
		{Name: "lines", Type: &schema.Type{Kind: schema.KindArray, Element: typ(schema.KindString)}},
		{Name: "pin", Type: typ(schema.KindString), Secret: true},
		{Name: "style", Type: &schema.Type{Kind: schema.KindObject, Object: style}},
		{Name: "tags", Type: &schema.Type{Kind: schema.KindMap, Element: typ(schema.KindString)}},
		{Name: "text", Type: typ(schema.KindString), Required: true},
		{Name: "title", Type: typ(schema.KindString), Required: true, Replace: true},
	}
}

func outputs() []schema.Property {
	properties := append(note(),
		schema.Property{Name: "label", Type: typ(schema.KindString)},
		schema.Property{Name: "words", Type: typ(schema.KindInteger), Required: true},
	)
	slices.SortFunc(properties, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	return properties
}

// Schema describes the package. Nobody changes it.
var Schema = &schema.Package{
	Name: "notes", Version: "1.0.0",
	Config: schema.Object{Properties: []schema.Property{
		{Name: "folder", Type: typ(schema.KindString), Replace: true},
		{Name: "reader", Type: typ(schema.KindString), Default: property.String("everybody")},
	}},
	Types: []*schema.Object{style},
	Resources: []*schema.Resource{{
		Token:   Note,
		Inputs:  schema.Object{Properties: note()},
		Outputs: schema.Object{Properties: outputs()},
	}, {
		Token:     Pad,
		Component: true,
		Inputs: schema.Object{Properties: []schema.Property{
			{Name: "pages", Type: typ(schema.KindInteger), Minimum: ref(0.0), Maximum: ref(9.0), Default: property.Number(2)},
			{Name: "title", Type: typ(schema.KindString), Required: true},
		}},
		Outputs: schema.Object{Properties: []schema.Property{
			{Name: "pages", Type: typ(schema.KindInteger), Required: true},
			{Name: "titles", Type: &schema.Type{Kind: schema.KindArray, Element: typ(schema.KindString)}, Required: true},
		}},
		Methods: []schema.Method{{Name: "page", Function: Page}},
	}},
	Functions: []*schema.Function{{
		Token: Page,
		Args: schema.Object{Properties: []schema.Property{
			{Name: "__self__", Type: &schema.Type{Kind: schema.KindResource, Token: Pad}, Required: true},
			{Name: "number", Type: typ(schema.KindInteger), Required: true, Minimum: ref(1.0)},
		}},
		Result: schema.Object{Properties: []schema.Property{
			{Name: "name", Type: typ(schema.KindString), Required: true},
		}},
	}, {
		Token: Count,
		Args: schema.Object{Properties: []schema.Property{
			{Name: "text", Type: typ(schema.KindString), Required: true},
		}},
		Result: schema.Object{Properties: []schema.Property{
			{Name: "text", Type: typ(schema.KindString), Required: true},
			{Name: "words", Type: typ(schema.KindInteger), Required: true},
		}},
	}, {
		Token:     Loan,
		Ephemeral: true,
		Args:      schema.Object{Properties: []schema.Property{{Name: "borrower", Type: typ(schema.KindString), Required: true}}},
		Result:    schema.Object{Properties: []schema.Property{{Name: "key", Type: typ(schema.KindString), Required: true, Secret: true}}},
	}, {
		Token:  Tidy,
		Action: true,
		Args:   schema.Object{Properties: []schema.Property{{Name: "drawer", Type: typ(schema.KindInteger)}}},
	}, {
		Token:   Words,
		Streams: true,
		Args: schema.Object{Properties: []schema.Property{
			{Name: "text", Type: typ(schema.KindString), Required: true},
		}},
		Result: schema.Object{Properties: []schema.Property{
			{Name: "word", Type: typ(schema.KindString), Required: true},
		}},
	}},
}
