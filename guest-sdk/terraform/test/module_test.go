package test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf6"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
	"github.com/husk-dev/husk/testdata/ported/mux/attic"
	"github.com/husk-dev/husk/testdata/ported/sdkv2/closet"
)

// A module answers generated requests as the provider does in the process of the test. Its main package is
// untouched.
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
		texts     map[string][]string
	}{
		{"framework", "shelf", func() (abi.Provider, error) {
			return tf6.Provider("shelf", "1.0.0", providerserver.NewProtocol6(shelf.In(shelf.NewWorld()))(), terraform.Mapping{})
		}, object(), map[string][]string{
			"name": {"a", "b", "elephant"}, "fail": {"create", "half", "update", "delete"}, "boxId": {"box-a"}, "room": {"attic"},
		}},
		{"sdkv2", "closet", func() (abi.Provider, error) {
			return tf5.Provider("closet", "1.0.0", closet.New().GRPCProvider(), terraform.Mapping{})
		}, object("endpoint", "here"), map[string][]string{
			"name": {"a", "b"}, "fail": {"create", "half", "move", "update"}, "color": {"plaid", "red"}, "endpoint": {"ftp://there"},
		}},
		{"mux", "attic", func() (abi.Provider, error) { return tf6.Provider("attic", "1.0.0", half(), terraform.Mapping{}) }, object(), nil},
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
			ported, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: of.name, Instances: 1, Lenient: true})
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
			pkg, err := schemajson.Parse([]byte(want.Schema))
			require.NoError(t, err)
			d := &differential{native: native, ported: ported, pkg: pkg, seed: seed(t), texts: of.texts}
			d.run(t)
			t.Run("Terraform", func(t *testing.T) {
				d.compared(t, of.name, program(t, "../../../testdata/ported/"+of.dir, of.name), of.config)
			})
		})
	}
}

// program builds a provider for this machine as Terraform finds it, from its source in a directory.
func program(t *testing.T, source, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "terraform-provider-"+name)
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", file, ".")
	build.Dir = source
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}
