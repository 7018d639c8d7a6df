package shape

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
)

type referring struct {
	To property.ResourceReference `husk:"to,optional"`
}

// A caller that knows no references gives text, and gets it back as it was.
func TestReferencesFromText(t *testing.T) {
	s := outputs(t, referring{})
	component := property.ResourceReference{URN: "urn:pulumi:dev::proj::a:b:C::c"}
	custom := property.ResourceReference{URN: "urn:pulumi:dev::proj::a:b:R::r", HasID: true, ID: "r-1", PackageVersion: "1.0.0"}
	for name, test := range map[string]struct {
		given property.Value
		want  property.ResourceReference
		back  property.Value
	}{
		"a reference":             {property.Reference(custom), custom, property.Reference(custom)},
		"an ID":                   {property.String("r-1"), property.ResourceReference{HasID: true, ID: "r-1"}, property.String("r-1")},
		"the URN of a component":  {property.String(component.URN), component, property.Reference(component)},
		"nothing":                 {property.Null, property.ResourceReference{}, property.Null},
		"an ID that is not known": {property.Unknown, property.ResourceReference{}, property.Null},
	} {
		t.Run(name, func(t *testing.T) {
			var out referring
			require.NoError(t, s.Load(property.NewMap(property.Entry{Key: "to", Value: test.given}), unsafe.Pointer(&out)))
			require.Equal(t, test.want, out.To)
			back, err := s.Store(unsafe.Pointer(&out))
			require.NoError(t, err)
			require.Equal(t, test.back, back.Get("to"))
		})
	}
}
