package guest_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/internal/metaschema"
)

type shelfConfig struct {
	Prefix string `husk:"prefix"`
}

type bookInputs struct {
	Title string `husk:"title"`
}

type book struct {
	prefix *string
	shelf  string
}

func (b book) Create(_ context.Context, r guest.CreateRequest[bookInputs]) (guest.CreateResponse[bookInputs], error) {
	return guest.CreateResponse[bookInputs]{ID: *b.prefix + b.shelf + "/" + r.Inputs.Title, State: r.Inputs}, nil
}

// library is a provider that is extended with shelves, each with a type of book.
func library() guest.Provider {
	prefix := ""
	books := func(pkg string) []guest.Resource {
		return []guest.Resource{guest.ResourceOf(pkg+":index:Book", book{&prefix, pkg})}
	}
	return guest.Provider{
		Name: "library", Version: "1.0.0",
		Config: guest.ConfigOf(func(_ context.Context, c shelfConfig) error {
			prefix = c.Prefix
			return nil
		}),
		Resources: books("library"),
		Extend: func(_ context.Context, p guest.Parameters) (guest.Parameterized, error) {
			if len(p.Args) > 0 {
				p.Name, p.Version, p.Value = p.Args[0], "2.0.0", []byte("words")
			}
			shelf := guest.Provider{
				Name: p.Name, Version: p.Version, Resources: books(p.Name),
				Streams: []guest.Stream{guest.StreamOf(p.Name+":index:titles",
					func(context.Context, struct{}) iter.Seq2[bookInputs, error] {
						return func(yield func(bookInputs, error) bool) {
							_ = yield(bookInputs{p.Name + " one"}, nil) && yield(bookInputs{p.Name + " two"}, nil)
						}
					})},
			}
			switch p.Name {
			case "burnt":
				return guest.Parameterized{}, errors.New("there is no such shelf")
			case "configured":
				shelf.Config = guest.ConfigOf(func(context.Context, shelfConfig) error { return nil })
			case "nested":
				shelf.Extend = func(context.Context, guest.Parameters) (guest.Parameterized, error) {
					return guest.Parameterized{}, nil
				}
			case "library":
				shelf.Streams = nil
			}
			return guest.Parameterized{Provider: shelf, Value: p.Value}, nil
		},
	}
}

func extend(p abi.Provider, t *testing.T, args ...string) (abi.ParameterizeResponse, error) {
	return p.Parameterize(t.Context(), abi.ParameterizeRequest{
		Extension: true, Parameters: abi.Parameters{Case: abi.ParametersCaseArgs, Args: args},
	})
}

// An extended provider serves all packages with one configuration, whether they came
// before it or after.
func TestExtend(t *testing.T) {
	p, err := guest.New(library())
	require.NoError(t, err)
	_, err = p.Handshake(t.Context(), abi.HandshakeRequest{})
	require.NoError(t, err)
	made, err := extend(p, t, "poems")
	require.NoError(t, err)
	require.Equal(t, abi.ParameterizeResponse{Name: "poems", Version: "2.0.0", Value: []byte("words")}, made)

	create := func(typ string) (abi.CreateResponse, error) {
		return p.Create(t.Context(), abi.CreateRequest{Type: typ, Name: "b", Inputs: obj("title", "x")})
	}
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: obj("prefix", property.Unknown)}))
	_, err = create("poems:index:Book")
	require.ErrorIs(t, err, abi.ErrUnavailable, "the configuration is that of the provider")
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: obj("prefix", "my-")}))

	_, err = create("novels:index:Book")
	require.ErrorContains(t, err, "the package library 1.0.0 has no resource type novels:index:Book")
	_, err = p.Parameterize(t.Context(), abi.ParameterizeRequest{Extension: true, Parameters: abi.Parameters{
		Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "novels", Version: "3.0.0"},
	}})
	require.NoError(t, err)
	for _, pkg := range []string{"library", "poems", "novels"} {
		r, err := create(pkg + ":index:Book")
		require.NoError(t, err)
		require.Equal(t, "my-"+pkg+"/x", r.ID)
	}

	for subpackage, version := range map[string]string{"": "1.0.0", "poems": "2.0.0", "novels": "3.0.0"} {
		s, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{SubpackageName: subpackage})
		require.NoError(t, err)
		require.NoError(t, metaschema.Validate([]byte(s.Schema)))
		pkg, err := schemajson.Parse([]byte(s.Schema))
		require.NoError(t, err)
		require.Equal(t, subpackage != "", pkg.Parameterization != nil)
		require.Equal(t, version, pkg.Version)
		require.Len(t, pkg.Resources, 1)
	}
	_, err = p.GetSchema(t.Context(), abi.GetSchemaRequest{SubpackageName: "poems", SubpackageVersion: "9.0.0"})
	require.ErrorContains(t, err, "the package poems is served in version 2.0.0, not 9.0.0")
	_, err = p.GetSchema(t.Context(), abi.GetSchemaRequest{SubpackageName: "essays"})
	require.ErrorContains(t, err, "there is no package essays in library")
}

// Streams of several packages are told apart.
func TestExtendStreams(t *testing.T) {
	p, err := guest.New(library())
	require.NoError(t, err)
	handles := map[string]abi.StreamHandle{}
	for _, pkg := range []string{"poems", "novels"} {
		_, err = extend(p, t, pkg)
		require.NoError(t, err)
		handles[pkg], err = p.StreamInvoke(t.Context(), abi.InvokeRequest{Token: pkg + ":index:titles"})
		require.NoError(t, err)
	}
	for _, n := range []string{" one", " two"} {
		for pkg, handle := range handles {
			item, err := p.StreamNext(t.Context(), handle)
			require.NoError(t, err)
			require.Equal(t, obj("title", pkg+n), *item.Result)
		}
	}
	item, err := p.StreamNext(t.Context(), handles["poems"])
	require.NoError(t, err)
	require.Nil(t, item.Result)
	require.NoError(t, p.StreamClose(t.Context(), handles["novels"]))
	for _, handle := range handles {
		_, err = p.StreamNext(t.Context(), handle)
		require.Error(t, err, "it has ended")
	}
}

func TestExtendRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"burnt":      "there is no such shelf",
		"configured": "package configured: it has a configuration, but is configured with the provider that it extends",
		"nested":     "package nested: it cannot be parameterized itself",
		"library":    "package library: it has the name of the provider that it extends",
	} {
		p, err := guest.New(library())
		require.NoError(t, err)
		_, err = extend(p, t, name)
		require.ErrorContains(t, err, want)
	}
	p, err := guest.New(library())
	require.NoError(t, err)
	_, err = p.Parameterize(t.Context(), abi.ParameterizeRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}
