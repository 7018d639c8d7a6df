package guest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// shelf is a resource without a Check or Diff, with inputs of every kind.
type shelf struct{}

type shelfInputs struct {
	A string                     `husk:"a,replace"`
	B int                        `husk:"b,default=4,min=0,max=8"`
	C *bool                      `husk:"c"`
	D map[string]string          `husk:"d,optional"`
	E []board                    `husk:"e,optional"`
	F *board                     `husk:"f,replace"`
	G property.Value             `husk:"g,optional"`
	H string                     `husk:"h,optional,secret"`
	I string                     `husk:"i,default=x,oneof=x|y"`
	J property.Asset             `husk:"j,optional"`
	K property.ResourceReference `husk:"k,optional,resource=p:index:Shelf"`
	L float64                    `husk:"l,computed"`
	M map[string]*board          `husk:"m,optional,secret"`
}

type board struct {
	A int    `husk:"a,default=1,replace"`
	B string `husk:"b,optional,secret"`
	C *board `husk:"c"`
}

type shelfState struct {
	shelfInputs
	N int `husk:"n,stable"`
}

func (shelf) Create(context.Context, guest.CreateRequest[shelfInputs]) (guest.CreateResponse[shelfState], error) {
	return guest.CreateResponse[shelfState]{ID: "s"}, nil
}

func (shelf) Update(context.Context, guest.UpdateRequest[shelfInputs, shelfState]) (guest.UpdateResponse[shelfState], error) {
	return guest.UpdateResponse[shelfState]{}, nil
}

const shelfType = "p:index:Shelf"

// newShelves returns a provider, and what a host makes of its schema.
func newShelves(t require.TestingT) (abi.Provider, *schema.Resource) {
	p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Resources: []guest.Resource{guest.ResourceOf(shelfType, shelf{})}})
	require.NoError(t, err)
	response, err := p.GetSchema(context.Background(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	pkg, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	r := pkg.Resource(shelfType)
	require.True(t, r.SchemaCheck)
	require.True(t, r.SchemaDiff)
	return p, r
}

// requireSchemaSame asks the provider, and requires that its schema has the same answers.
func requireSchemaSame(t require.TestingT, p abi.Provider, r *schema.Resource, news, olds, state property.Map, ignore []string) {
	answer, err := p.Check(context.Background(), abi.CheckRequest{Type: shelfType, News: news, Olds: &olds})
	require.NoError(t, err)
	inputs, failures := r.Inputs.Check(news)
	require.Equal(t, canontest.Dump(answer), canontest.Dump(abi.CheckResponse{Inputs: inputs, Failures: failures}))
	for _, news := range []property.Map{news, inputs} {
		request := abi.DiffRequest{Type: shelfType, ID: "s", News: news, OldInputs: olds, Olds: state, IgnoreChanges: ignore}
		diff, err := p.Diff(context.Background(), request)
		ours, ourErr := r.Diff(request)
		require.Equal(t, err, ourErr)
		require.Equal(t, canontest.Dump(diff), canontest.Dump(ours))
	}
}

// What the schema says of a resource is what the provider answers, whatever it is asked.
func TestAnswersOfTheSchema(t *testing.T) {
	p, r := newShelves(t)
	rapid.Check(t, func(t *rapid.T) {
		bag := func(label string) property.Map {
			m := propertytest.Maps(3).Draw(t, label)
			for _, like := range []property.Map{
				obj("a", "x", "b", 3, "i", "y"), obj("f", obj("a", 2, "c", obj("b", "z"))), obj("e", []any{obj("a", 2)}, "d", obj("k", "v")),
			} {
				if rapid.Bool().Draw(t, label+" has") {
					for k, v := range like.All() {
						m = m.With(k, v)
					}
				}
			}
			return m
		}
		ignore := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "f.c", "e[*].a", "d.k", "a[", ""}), 0, 2).Draw(t, "ignore")
		requireSchemaSame(t, p, r, bag("news"), bag("olds"), bag("state"), ignore)
	})
}

func FuzzAnswersOfTheSchema(f *testing.F) {
	p, r := newShelves(f)
	encode := func(m property.Map) []byte {
		data, err := guestcbor.Marshal(m)
		require.NoError(f, err)
		return data
	}
	full := obj("a", "x", "b", 9, "c", true, "d", obj("k", secret("v")), "e", []any{obj("a", 2), property.Unknown}, "f", obj("c", obj("b", "z")),
		"g", []any{nil}, "h", "secret", "i", "z", "l", 0.5, "m", obj("one", obj("a", 1)))
	f.Add(encode(full), encode(obj("a", "y")), encode(full.With("n", val(3))), "e[*].a")
	f.Add(encode(obj("a", "x", "nope", 1)), encode(full), encode(obj()), "")
	f.Fuzz(func(t *testing.T, news, olds, state []byte, ignore string) {
		var bags [3]property.Map
		for i, data := range [][]byte{news, olds, state} {
			var err error
			if bags[i], err = guestcbor.Unmarshal(data); err != nil {
				return
			}
		}
		requireSchemaSame(t, p, r, bags[0], bags[1], bags[2], []string{ignore})
	})
}

// A provider whose configuration is no code of its author, or that says so, need not be run
// before something else needs it.
func TestDeferred(t *testing.T) {
	type config struct {
		Key string `husk:"key"`
	}
	configure := guest.ConfigOf(func(context.Context, config) error { return nil })
	for name, c := range map[string]struct {
		config         guest.Config
		deferred, none bool
	}{
		"no configuration":          {config: guest.Config{}, deferred: true, none: true},
		"a configuration":           {config: configure},
		"one that may be deferred":  {config: configure.Deferred(), deferred: true},
		"and the one that it is of": {config: configure},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := guest.New(guest.Provider{Name: "p", Version: "1.0.0", Config: c.config})
			require.NoError(t, err)
			response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.NoError(t, err)
			pkg, err := schemajson.Parse([]byte(response.Schema))
			require.NoError(t, err)
			require.Equal(t, c.deferred, pkg.Deferred)
			require.Equal(t, c.none, pkg.SchemaConfigure)
			require.True(t, pkg.SchemaCheckConfig)
			require.True(t, pkg.SchemaDiffConfig)
		})
	}
}
