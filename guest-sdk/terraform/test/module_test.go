package test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf6"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
	"github.com/husk-dev/husk/testdata/ported/mux/attic"
	"github.com/husk-dev/husk/testdata/ported/sdkv2/closet"
)

// question is a method of a provider that two providers are to answer equally.
type question struct {
	name string
	ask  func(ctx context.Context, p abi.Provider) (any, error)
}

// questions asks for all that follows from inputs of a resource, valid or not.
func questions(token string, all ...property.Map) (list []question) {
	for _, inputs := range all {
		list = append(list,
			question{"check", func(ctx context.Context, p abi.Provider) (any, error) {
				return p.Check(ctx, abi.CheckRequest{Type: token, News: inputs})
			}},
			question{"preview", func(ctx context.Context, p abi.Provider) (any, error) {
				return p.Create(ctx, abi.CreateRequest{Type: token, Name: "it", Inputs: inputs, Preview: true})
			}},
			question{"create and diff", func(ctx context.Context, p abi.Provider) (any, error) {
				made, err := p.Create(ctx, abi.CreateRequest{Type: token, Name: "it", Inputs: inputs})
				if err != nil {
					return nil, err
				}
				diff, err := p.Diff(ctx, abi.DiffRequest{Type: token, ID: made.ID, Olds: made.State, OldInputs: inputs, News: all[0]})
				return []any{made, diff}, err
			}},
			question{"delete", func(ctx context.Context, p abi.Provider) (any, error) {
				made, err := p.Create(ctx, abi.CreateRequest{Type: token, Name: "it", Inputs: inputs})
				if err != nil {
					return nil, err
				}
				return nil, p.Delete(ctx, abi.DeleteRequest{Type: token, ID: made.ID, State: made.State})
			}},
		)
	}
	return list
}

// A module answers as the provider does in the process of the test. Its main package is untouched.
func TestModules(t *testing.T) {
	if testing.Short() {
		t.Skip("builds modules")
	}
	half, err := attic.Server(t.Context())
	require.NoError(t, err)
	for _, of := range []struct {
		dir, name string
		native    func() (abi.Provider, error)
		config    property.Map
		questions []question
	}{
		{"framework", "shelf", func() (abi.Provider, error) {
			return tf6.Provider("shelf", "1.0.0", providerserver.NewProtocol6(shelf.In(shelf.NewWorld()))(), terraform.Mapping{})
		}, object(), questions(boxToken,
			object("name", "a", "items", list(obj("name", "cup")), "slots", list(obj("number", 1), obj("number", 2)), "extra", obj("k", list(text("v")))),
			object("name", "b", "drawers", object("x", object("color", "red")), "password", "secret words", "combination", "12345678"),
			object("name", property.Unknown), object("name", "a", "fail", "half"), object("name", "a", "fail", "create"), object("size", "large"), object(),
		)},
		{"sdkv2", "closet", func() (abi.Provider, error) {
			return tf5.Provider("closet", "1.0.0", closet.New().GRPCProvider(), terraform.Mapping{})
		}, object("endpoint", "here"), questions(rackToken,
			object("name", "a", "rail", object("length", 3), "hooks", list(obj("side", "left")), "shelves", list(obj("height", 1))),
			object("name", "a", "color", "plaid"), object("name", "a", "rail", object()), object("name", "a", "fail", "half"), object("name", "b", "width", property.Unknown),
		)},
		{"mux", "attic", func() (abi.Provider, error) {
			return tf6.Provider("attic", "1.0.0", half(), terraform.Mapping{})
		}, object(), append(
			questions("attic:index/trunk:Trunk", object("name", "a", "lock", object("digits", 3)), object("name", 3)),
			questions("attic:index/lamp:Lamp", object("watts", 40), object("watts", "many"))...)},
	} {
		t.Run(of.dir, func(t *testing.T) {
			built, err := port.Port(t.Context(), "../../../testdata/ported/"+of.dir, port.Options{Dir: t.TempDir(), Name: of.name, Version: "1.0.0"})
			require.NoError(t, err)
			h, err := host.New(t.Context(), host.NewConfig())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
			module, err := h.LoadBytes(t.Context(), built.Wasm)
			require.NoError(t, err)
			image, err := module.BaseImage(t.Context())
			require.NoError(t, err)
			require.Equal(t, host.BaseImage{Made: true, Prepared: true}, image, "an instance does again what the start has done")
			ported, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: of.name})
			require.NoError(t, err)
			native, err := of.native()
			require.NoError(t, err)

			want, err := native.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.NoError(t, err)
			got, err := ported.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.NoError(t, err)
			require.JSONEq(t, want.Schema, got.Schema)
			first := h.Stats().Methods[string(abi.MethodGetSchema)].Fuel
			_, err = ported.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.NoError(t, err)
			require.Less(t, first, 10*(h.Stats().Methods[string(abi.MethodGetSchema)].Fuel-first), "the first instance makes the schema, which the image has")
			for _, p := range []abi.Provider{native, ported} {
				_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Features: abi.AllFeatures})
				require.NoError(t, err)
				require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: of.config}))
			}
			for i, q := range of.questions {
				want, wantErr := q.ask(t.Context(), native)
				got, gotErr := q.ask(t.Context(), ported)
				if wantErr != nil {
					require.Error(t, gotErr, "%d: %s", i, q.name)
					require.Equal(t, abi.AsError(wantErr).Kind, abi.AsError(gotErr).Kind, "%d: %s: %v and %v", i, q.name, wantErr, gotErr)
					require.Equal(t, abi.AsError(wantErr).Message, abi.AsError(gotErr).Message, "%d: %s", i, q.name)
					continue
				}
				require.NoError(t, gotErr, "%d: %s", i, q.name)
				require.Equal(t, shown(want), shown(got), "%d: %s", i, q.name)
			}
		})
	}
}

// shown returns a response in a form that can be compared: maps hold their encoding, or not.
func shown(response any) any {
	switch r := response.(type) {
	case []any:
		all := make([]any, len(r))
		for i := range r {
			all[i] = shown(r[i])
		}
		return all
	case abi.CheckResponse:
		return []any{property.Render(property.Object(r.Inputs)), r.Failures}
	case abi.CreateResponse:
		return []any{r.ID, property.Render(property.Object(r.State.Unwrap()))}
	}
	return response
}
