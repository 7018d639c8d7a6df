package conformance_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/testdata/notes"
)

// returning declares that functions answer a type without properties.
type returning struct {
	*notes.Provider
	typ *schema.Type
}

func (p returning) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	pkg := *notes.Schema
	pkg.Functions = slices.Clone(pkg.Functions)
	for i, f := range pkg.Functions {
		if !f.Streams {
			changed := *f
			changed.Result, changed.Returns = schema.Object{}, p.typ
			pkg.Functions[i] = &changed
		}
	}
	return abi.GetSchemaResponse{Schema: string(pkg.AppendJSON(nil))}, nil
}

// A result may be of a type that has no properties of its own.
func TestResultsWithoutProperties(t *testing.T) {
	test := func(kind schema.Kind) map[string]string {
		typ := &schema.Type{Kind: schema.KindMap, Element: &schema.Type{Kind: kind}}
		return outcomes(run(t, opened(t, func(p *notes.Provider) abi.Provider { return returning{p, typ} }),
			conformance.Options{Only: []string{"invoke"}}))
	}
	require.Empty(t, test(schema.KindAny))
	require.Contains(t, test(schema.KindBool)["invoke"], "the result that invoke answers does not fit the schema: ")
}
