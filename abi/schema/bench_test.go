package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// bag is a resource with many kinds of inputs, and inputs of about so many bytes.
func bag(size int) (*schema.Resource, property.Map) {
	tag := &schema.Object{Token: "x:index/tag:Tag", Properties: []schema.Property{
		{Name: "key", Type: typ(schema.KindString), Required: true},
		{Name: "value", Type: typ(schema.KindString)},
	}}
	inputs := schema.Object{Properties: []schema.Property{
		{Name: "count", Type: typ(schema.KindInteger), Default: val(1)},
		{Name: "enabled", Type: typ(schema.KindBool), Default: val(true)},
		{Name: "labels", Type: mapOf(typ(schema.KindString))},
		{Name: "name", Type: typ(schema.KindString), Required: true, Replace: true},
		{Name: "password", Type: typ(schema.KindString), Secret: true},
		{Name: "region", Type: typ(schema.KindString), Replace: true},
		{Name: "tags", Type: listOf(&schema.Type{Kind: schema.KindObject, Object: tag})},
	}}
	labels := map[string]property.Value{}
	var tags []any
	for i := range size / 200 {
		labels[fmt.Sprintf("label%03d", i)] = property.String(strings.Repeat("x", 80))
		tags = append(tags, obj("key", fmt.Sprintf("tag%03d", i), "value", strings.Repeat("y", 70)))
	}
	return &schema.Resource{Token: "x:index/thing:Thing", Inputs: inputs, Outputs: inputs}, obj(
		"name", "a", "region", "b", "password", "secret", "count", 3, "labels", property.MapOf(labels), "tags", tags)
}

func BenchmarkCheck(b *testing.B) {
	for _, kilobytes := range []int{1, 100} {
		b.Run(fmt.Sprint(kilobytes, "KB"), func(b *testing.B) {
			r, inputs := bag(kilobytes << 10)
			b.ReportAllocs()
			for b.Loop() {
				if _, failures := r.Inputs.Check(inputs); failures != nil {
					b.Fatal(failures)
				}
			}
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	for _, kilobytes := range []int{1, 100} {
		b.Run(fmt.Sprint(kilobytes, "KB"), func(b *testing.B) {
			r, inputs := bag(kilobytes << 10)
			checked, _ := r.Inputs.Check(inputs)
			request := abi.DiffRequest{Olds: checked, OldInputs: checked, News: checked}
			b.ReportAllocs()
			for b.Loop() {
				if response, err := r.Diff(request); err != nil || response.Changes != abi.DiffChangesNone {
					b.Fatal(response, err)
				}
			}
		})
	}
}
