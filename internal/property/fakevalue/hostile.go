package fakevalue

import (
	"math"
	"strings"

	"github.com/husk-dev/husk/abi/property"
)

// Hostile returns values that no honest program sends, and that an attacker may send.
func Hostile() []property.Value {
	nested := property.String("x")
	for range 60 {
		nested = property.Array(property.Object(property.NewMap(property.Entry{Key: "", Value: nested})))
	}
	return []property.Value{
		property.Null,
		property.Unknown,
		property.Secret(property.Null),
		property.Secret(property.Unknown),
		property.Bool(true),
		property.Number(math.NaN()),
		property.Number(math.Inf(-1)),
		property.Number(-1),
		property.Number(1 << 62),
		property.Number(0.5),
		property.String(""),
		property.String("../../../etc/passwd\x00"),
		property.String("%s%n\u202e{{.}}\n"),
		property.String(strings.Repeat("a", 1<<14)),
		property.Array(),
		property.Array(property.Null, property.Unknown),
		property.Object(property.Map{}),
		property.Object(property.NewMap(property.Entry{Key: "", Value: property.Null}, property.Entry{Key: "__proto__", Value: property.Unknown})),
		property.AssetOf(property.Asset{}),
		property.ArchiveOf(property.Archive{}),
		property.OutputOf(property.Output{Value: property.Unknown, Dependencies: []string{"no URN"}}),
		nested,
	}
}
