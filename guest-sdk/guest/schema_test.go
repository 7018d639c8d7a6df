package guest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/metaschema"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSchema(t *testing.T) {
	response, err := configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, []byte(response.Schema), "", "  "))
	indented.WriteByte('\n')
	const golden = "testdata/zoo.schema.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, indented.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), indented.String())

	require.NoError(t, metaschema.Validate([]byte(response.Schema)))
	parsed, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	require.Equal(t, response.Schema, string(parsed.AppendJSON(nil)), "the host reads all of what the guest writes")
}

func TestSchemaRefuses(t *testing.T) {
	_, err := configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{Version: 1})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	_, err = configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{SubpackageName: "x"})
	require.ErrorIs(t, err, abi.ErrNotFound)
}

type thingInputs struct {
	Size int `husk:"size"`
}

type thingState struct{ thingInputs }

type thing struct{}

func (thing) Create(context.Context, guest.CreateRequest[thingInputs]) (guest.CreateResponse[thingState], error) {
	return guest.CreateResponse[thingState]{ID: "x"}, nil
}

// misfit has an Update whose types are not those of its Create.
type misfit struct{ thing }

func (misfit) Update(context.Context, guest.UpdateRequest[thingInputs, thingInputs]) (guest.UpdateResponse[thingInputs], error) {
	return guest.UpdateResponse[thingInputs]{}, nil
}

type namedState struct {
	ID string `husk:"id"`
}

type named struct{}

func (named) Create(context.Context, guest.CreateRequest[thingInputs]) (guest.CreateResponse[namedState], error) {
	return guest.CreateResponse[namedState]{}, nil
}

type unknownReference struct {
	To property.ResourceReference `husk:"to,resource=p:index:Nothing"`
}

type foreignReference struct {
	To []property.ResourceReference `husk:"to,resource=q:index:Thing"`
}

type noReference struct {
	To string `husk:"to,resource=p:index:Thing"`
}

type pointing[T any] struct{}

func (pointing[T]) Create(context.Context, guest.CreateRequest[T]) (guest.CreateResponse[T], error) {
	return guest.CreateResponse[T]{}, nil
}

func TestNewRefuses(t *testing.T) {
	provider := func(resources ...guest.Resource) guest.Provider {
		return guest.Provider{Name: "p", Version: "1.0.0", Resources: resources}
	}
	for name, test := range map[string]struct {
		provider guest.Provider
		want     string
	}{
		"no name":         {guest.Provider{Version: "1.0.0"}, "its name and version must not be empty"},
		"no version":      {guest.Provider{Name: "p"}, "its name and version must not be empty"},
		"foreign token":   {provider(guest.ResourceOf("q:index:Thing", thing{})), "resource q:index:Thing: its token must begin with p:"},
		"no token":        {provider(guest.ResourceOf("Thing", thing{})), "a token has the form <package>:<module>:<name>"},
		"twice":           {provider(guest.ResourceOf("p:index:Thing", thing{}), guest.ResourceOf("p:index:Thing", thing{})), "resource p:index:Thing: it is declared twice"},
		"an empty one":    {provider(guest.Resource{}), "it was not made by guest.ResourceOf"},
		"reserved output": {provider(guest.ResourceOf("p:index:Named", named{})), `its state must not have a property "id"`},
		"method that does not fit": {provider(guest.ResourceOf("p:index:Misfit", misfit{})),
			"resource p:index:Misfit: the method Update of guest_test.misfit does not have the types that guest.Updater asks for"},
		"reference to nothing": {provider(guest.ResourceOf("p:index:Thing", pointing[unknownReference]{})),
			"the field To refers to the resource p:index:Nothing, which the package does not have"},
		"reference to another package": {provider(guest.ResourceOf("p:index:Thing", pointing[foreignReference]{})),
			"resource=q:index:Thing: write a token of the package p, or /<package>/v<version>/schema.json#/resources/<token> for one of another package"},
		"reference that is none": {provider(guest.ResourceOf("p:index:Thing", pointing[noReference]{})),
			"resource=: only a property.ResourceReference, or a slice or map of them, can have it"},
		"configuration": {guest.Provider{Name: "p", Version: "1.0.0", Config: guest.ConfigOf(func(context.Context, int) error { return nil })},
			"provider p: configuration: int is not a struct"},
		"function": {guest.Provider{Name: "p", Version: "1.0.0", Functions: []guest.Function{
			guest.FunctionOf("p:index:f", func(context.Context, thingInputs) (struct{ A string }, error) { return struct{ A string }{}, nil })}},
			"function p:index:f: .A: it has no husk tag"},
		"function of another package": {guest.Provider{Name: "p", Version: "1.0.0", Functions: []guest.Function{
			guest.FunctionOf("q:index:f", func(context.Context, thingInputs) (thingInputs, error) { return thingInputs{}, nil })}},
			"function q:index:f: its token must begin with p:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guest.New(test.provider)
			require.ErrorContains(t, err, test.want)
		})
	}
}
