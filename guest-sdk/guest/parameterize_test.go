package guest_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

// forms returns a provider that becomes a package with a resource whose properties are the
// words that it is given.
func forms() guest.Provider {
	return guest.Provider{Name: "forms", Version: "1.0.0", Parameterize: func(_ context.Context, p guest.Parameters) (guest.Parameterized, error) {
		if len(p.Args) > 0 {
			p.Name, p.Version, p.Value = p.Args[0], "2.0.0", []byte(strings.Join(p.Args[1:], ","))
		}
		if p.Name == "nothing" {
			return guest.Parameterized{}, errors.New("there is nothing to make a package of")
		}
		text := &schema.Type{Kind: schema.KindString}
		part := &schema.Object{Token: p.Name + ":index:Part", Properties: []schema.Property{{Name: "text", Type: text, Required: true}}}
		form := schema.Resource{Token: p.Name + ":index:Form"}
		for name := range strings.SplitSeq(string(p.Value), ",") {
			form.Inputs.Properties = append(form.Inputs.Properties, schema.Property{Name: name, Type: text, Replace: name == "a"})
			form.Outputs.Properties = append(form.Outputs.Properties, schema.Property{Name: name, Type: text})
		}
		form.Outputs.Properties = append(form.Outputs.Properties, schema.Property{
			Name: "z", Type: &schema.Type{Kind: schema.KindArray, Element: &schema.Type{Kind: schema.KindObject, Object: part}},
		})
		prefix := ""
		return guest.Parameterized{Value: p.Value, Provider: guest.Provider{
			Name: p.Name, Version: p.Version, Types: []*schema.Object{part},
			Config: guest.ConfigFrom(schema.Object{Properties: []schema.Property{{Name: "prefix", Type: text, Required: true}}},
				func(_ context.Context, config property.Map) error {
					prefix, _ = config.Get("prefix").Plain().AsString()
					return nil
				}),
			Resources: []guest.Resource{guest.ResourceFrom(form, filled{&prefix})},
			Functions: []guest.Function{guest.FunctionFrom(schema.Function{
				Token: p.Name + ":index:count", Args: form.Inputs,
				Result: schema.Object{Properties: []schema.Property{{Name: "n", Type: &schema.Type{Kind: schema.KindInteger}}}},
			}, func(_ context.Context, args property.Map) (property.Map, error) {
				return obj("n", args.Len()), nil
			})},
		}}, nil
	}}
}

// filled is a form that was filled in.
type filled struct{ prefix *string }

func (f filled) Create(_ context.Context, r guest.CreateRequest[property.Map]) (guest.CreateResponse[property.Map], error) {
	return guest.CreateResponse[property.Map]{ID: *f.prefix + r.Name, State: r.Inputs.With("z", val([]any{obj("text", r.Name)}))}, nil
}

func (f filled) Update(_ context.Context, r guest.UpdateRequest[property.Map, property.Map]) (guest.UpdateResponse[property.Map], error) {
	return guest.UpdateResponse[property.Map]{State: r.Inputs.With("z", r.State.Get("z"))}, nil
}

func parameterize(t *testing.T, p abi.Provider, parameters abi.Parameters) abi.ParameterizeResponse {
	t.Helper()
	r, err := p.Parameterize(t.Context(), abi.ParameterizeRequest{Parameters: parameters})
	require.NoError(t, err)
	return r
}

func TestParameterize(t *testing.T) {
	p, err := guest.New(forms())
	require.NoError(t, err)
	h, err := p.Handshake(t.Context(), abi.HandshakeRequest{})
	require.NoError(t, err)
	require.Equal(t, "forms", h.Name)

	made := parameterize(t, p, abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"tax", "a", "b"}})
	require.Equal(t, abi.ParameterizeResponse{Name: "tax", Version: "2.0.0", Value: []byte("a,b")}, made)
	again, err := guest.New(forms())
	require.NoError(t, err)
	value := abi.ParameterValue(made)
	require.Equal(t, made, parameterize(t, again, abi.Parameters{Case: abi.ParametersCaseValue, Value: value}))

	for _, p := range []abi.Provider{p, again} {
		s, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
		require.NoError(t, err)
		require.NoError(t, metaschema.Validate([]byte(s.Schema)))
		pkg, err := schemajson.Parse([]byte(s.Schema))
		require.NoError(t, err)
		require.Equal(t, &schema.Parameterization{Name: "forms", Version: "1.0.0", Parameter: []byte("a,b")}, pkg.Parameterization)
		require.Equal(t, "tax", pkg.Name)
		require.Equal(t, "2.0.0", pkg.Version)
		require.Len(t, pkg.Types, 1)
		form := pkg.Resource("tax:index:Form")
		require.True(t, form.SchemaCheck)
		require.True(t, form.SchemaDiff)
		require.Equal(t, []string{"a", "b", "z"}, form.Outputs.Names())

		err = p.Configure(t.Context(), abi.ConfigureRequest{})
		require.Equal(t, []abi.MissingKey{{Name: "prefix"}}, abi.AsError(err).MissingKeys)
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: obj("prefix", secret("p-"))}))

		inputs := obj("a", secret("x"), "b", "y")
		checked, err := p.Check(t.Context(), abi.CheckRequest{Type: "tax:index:Form", News: inputs})
		require.NoError(t, err)
		require.Empty(t, checked.Failures)
		require.Equal(t, inputs, checked.Inputs)
		failed, err := p.Check(t.Context(), abi.CheckRequest{Type: "tax:index:Form", News: obj("c", 1)})
		require.NoError(t, err)
		require.Equal(t, []guest.CheckFailure{{Path: "c", Reason: "no such property; there are a, b"}}, failed.Failures)

		preview, err := p.Create(t.Context(), abi.CreateRequest{Type: "tax:index:Form", Name: "n", Inputs: inputs, Preview: true})
		require.NoError(t, err)
		require.Equal(t, inputs.With("z", property.Unknown), preview.State)
		created, err := p.Create(t.Context(), abi.CreateRequest{Type: "tax:index:Form", Name: "n", Inputs: inputs})
		require.NoError(t, err)
		require.Equal(t, "p-n", created.ID)
		require.Equal(t, inputs.With("z", val([]any{obj("text", "n")})), created.State, "what is secret in the inputs is so in the state")

		news := obj("a", "x2", "b", property.Unknown)
		d, err := p.Diff(t.Context(), abi.DiffRequest{Type: "tax:index:Form", ID: "p-n", Olds: created.State, OldInputs: inputs, News: news})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, d.ChangedKeys)
		require.Equal(t, []string{"a"}, d.ReplaceKeys)
		updated, err := p.Update(t.Context(), abi.UpdateRequest{Type: "tax:index:Form", ID: "p-n", Olds: created.State, OldInputs: inputs, News: obj("b", "y2")})
		require.NoError(t, err)
		require.Equal(t, obj("b", "y2", "z", []any{obj("text", "n")}), updated.State)

		counted, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "tax:index:count", Args: obj("a", "x")})
		require.NoError(t, err)
		require.Equal(t, obj("n", 1), counted.Result)
		_, err = p.Check(t.Context(), abi.CheckRequest{Type: "forms:index:Form"})
		require.ErrorContains(t, err, "the package tax 2.0.0 has no resource type forms:index:Form")
	}

	// The module's own package can become another one again.
	require.Equal(t, "vat", parameterize(t, p, abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"vat", "a"}}).Name)
}

func TestParameterizeRefuses(t *testing.T) {
	args := func(args ...string) abi.ParameterizeRequest {
		return abi.ParameterizeRequest{Parameters: abi.Parameters{Case: abi.ParametersCaseArgs, Args: args}}
	}
	extension := args("tax", "a")
	extension.Extension = true
	for want, request := range map[string]abi.ParameterizeRequest{
		"there is nothing to make a package of":                                   args("nothing"),
		"package x: resource x:index:Form: its properties are not sorted by name": args("x", "b", "a"),
		"package x: resource x:index:Form: its state must not have a property":    args("x", "id"),
		"the parameters of forms are too large to be kept in a state":             args("x", strings.Repeat("a", guest.MaxParameter+1)),
		"forms serves no packages beside its own":                                 extension,
	} {
		p, err := guest.New(forms())
		require.NoError(t, err)
		_, err = p.Parameterize(t.Context(), request)
		require.ErrorContains(t, err, want)
		h, err := p.Handshake(t.Context(), abi.HandshakeRequest{})
		require.NoError(t, err)
		require.Equal(t, "forms", h.Name, "it is what it was")
	}

	p, err := guest.New(guest.Provider{Name: "plain", Version: "1.0.0"})
	require.NoError(t, err)
	_, err = p.Parameterize(t.Context(), args("x"))
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}

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

// library returns a provider that is extended with shelves, each with a type of book.
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
