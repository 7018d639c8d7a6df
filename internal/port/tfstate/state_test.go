package tfstate_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/port/tfstate"
)

// read reads a file that Terraform 1.11.4 has written.
func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return data
}

func parse(t *testing.T, data []byte) map[string]*tfstate.Resource {
	t.Helper()
	s, err := tfstate.Parse(data)
	require.NoError(t, err)
	all := make(map[string]*tfstate.Resource)
	for _, r := range s.Resources {
		all[r.Address] = r
	}
	require.Len(t, all, len(s.Resources))
	return all
}

func TestParse(t *testing.T) {
	for _, name := range []string{"terraform.tfstate", "show.json"} {
		t.Run(name, func(t *testing.T) {
			all := parse(t, read(t, name))
			require.Len(t, all, 16)
			require.False(t, all["data.tls_public_key.p"].Managed)
			id := all[`random_id.bucket["my data"]`]
			require.True(t, id.Managed)
			require.Equal(t, "my data", id.Key)
			require.Equal(t, []string{"random_pet.name"}, id.Dependencies)
			require.Equal(t, json.Number("4"), id.Attributes["byte_length"])
			require.Equal(t, tfstate.Provider{Source: "registry.terraform.io/hashicorp/random"}, id.Provider)
			require.Equal(t, "random", id.Provider.Name())
			password := all["random_password.db[1]"]
			require.Equal(t, 1, password.Key)
			require.ElementsMatch(t, [][]any{{"result"}, {"bcrypt_hash"}}, password.Sensitive)
			require.Equal(t, []tfstate.Step{{Name: "sub"}}, all["module.sub.random_uuid.id"].Module)
			require.EqualValues(t, 1, all["closet_rack.one"].SchemaVersion)
		})
	}
	require.NotEmpty(t, parse(t, read(t, "terraform.tfstate"))["closet_rack.one"].Private)
	require.NotEmpty(t, parse(t, append([]byte("\xef\xbb\xbf"), read(t, "terraform.tfstate")...)))
}

// state returns a state with one resource.
func state(resource, instance string) string {
	return `{"version": 4, "resources": [{"mode": "managed", "type": "a_b", "name": "c", "provider": "provider[\"x/y/a\"]", ` +
		resource + `"instances": [` + instance + `]}]}`
}

func TestAddresses(t *testing.T) {
	deep := parse(t, []byte(state(`"module": "module.net[\"a.b[0]\"].module.zone[3]", "provider": "module.net.provider[\"x/y/a\"].west", `,
		`{"index_key": "q\"$", "dependencies": ["module.net.a_b.d"], "depends_on": ["module.net[\"x.y\"].a_b.e[0]"]}`)))
	r := deep[`module.net["a.b[0]"].module.zone[3].a_b.c["q\"$"]`]
	require.NotNil(t, r, deep)
	require.Equal(t, []tfstate.Step{{Name: "net", Key: "a.b[0]"}, {Name: "zone", Key: 3}}, r.Module)
	require.Equal(t, tfstate.Provider{Source: "x/y/a", Alias: "west"}, r.Provider)

	old := parse(t, []byte(state(`"provider": "provider.a.east", `, `{}`)))["a_b.c"]
	require.Equal(t, tfstate.Provider{Source: "a", Alias: "east"}, old.Provider)

	sets := parse(t, []byte(state(``, `{"sensitive_attributes": [[{"type": "get_attr", "value": "x"}, {"type": "index", "value": {"value": 1, "type": "number"}}],
		[{"type": "get_attr", "value": "set"}, {"type": "index", "value": {"value": {"y": 1}, "type": ["object", {"y": "number"}]}}, {"type": "get_attr", "value": "y"}]]}`)))
	require.Equal(t, [][]any{{"x", 1}, {"set"}}, sets["a_b.c"].Sensitive)

	for text, want := range map[string]string{
		`"module": "net", `:                         `"net" is not the address of a module`,
		`"module": "module.net.", `:                 `is not the address of a module`,
		`"module": "module.net[\"x", `:              `a key is not closed`,
		`"module": "module.net[-1]", `:              `an index is a number or in quotes`,
		`"module": "module.net[1", `:                `a bracket is not closed`,
		`"module": "module.net[1]x", `:              `is not the address of a module`,
		`"provider": "random", `:                    `"random" is not the address of a provider`,
		`"provider": "provider[\"x/y/", `:           `is not the address of a provider`,
		`"provider": "provider[\"x/y/\"]", `:        `is not the address of a provider`,
		`"provider": "provider[\"x/y/a\"]west", `:   `is not the address of a provider`,
		`"provider": "module..provider[\"x/y\"]", `: `is not the address of a provider`,
	} {
		_, err := tfstate.Parse([]byte(state(text, `{}`)))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "the state is damaged: resource 1, a_b.c: ", text)
	}
}

func TestWrongFiles(t *testing.T) {
	nested := strings.Repeat(`{"x":`, 200) + "1" + strings.Repeat("}", 200)
	for text, want := range map[string]string{
		"":                    "it is empty",
		`resource "a" "b" {}`: "it is not JSON, as a Terraform state is: write one with terraform state pull > FILE",
		`{"version": 4`:       "it is not a Terraform state: it ends too early",
		`{"version": 4} {}`:   "more after the end of the JSON",
		`{"version": "4"}`:    `"version" is a string, and is to be a number`,
		`{"name": "x"}`:       "it is not a Terraform state, which has a version",
		`{"version": 3}`:      "it is a state of version 3, which Terraform before 0.12 wrote: run terraform apply -refresh-only with a newer one, then terraform state pull > FILE",
		`{"version": 1}`:      "it is a state of version 1",
		`{"version": 5}`:      "it is a state of version 5, and husk reads version 4",
		`{"version": 3, "backend": {"type": "s3"}}`:                       "it only says where Terraform keeps the state",
		`{"encrypted_data": "x", "encryption_version": "v0"}`:             "it is encrypted: tofu state pull > FILE writes it decrypted",
		`{"version": 3, "deployment": {}}`:                                "husk stack import --file FILE reads that",
		`{"format_version": "1.2", "planned_values": {}}`:                 "it is a plan of Terraform",
		`{"format_version": "2.0", "values": {}}`:                         "in the format 2.0, and husk reads format 1",
		`{"version": 4, "resources": {}}`:                                 `the state is damaged: line 1, column 29: "resources" is an object, and is to be an array`,
		state(``, `{"index_key": 1.5}`):                                   "a_b.c has the index 1.5, and an index is a number or a string",
		state(``, `{"index_key": -1}`):                                    "a_b.c has the index -1",
		state(``, `{}, {}`):                                               "it has a_b.c twice",
		state(`"mode": "list", `, `{}`):                                   `has the mode "list", and modes are managed and data`,
		state(`"type": "", `, `{}`):                                       "resource 1 has no type or no name",
		state(``, `{"attributes_flat": {"id": "x"}}`):                     "a_b.c is still as Terraform before 0.12 wrote it",
		state(``, `{"attributes": `+nested+`}`):                           "a_b.c has attributes that are nested more than 100 levels deep",
		state(`"module": "`+strings.Repeat("module.x.", 200)+`", `, `{}`): "nested more than 100 levels deep",
		`{"format_version": "1.0", "values": {"root_module": {"resources": [{"mode": "managed", "type": "a", "name": "b"}]}}}`:                      "a.b has no provider_name",
		`{"format_version": "1.0", "values": {"root_module": {"child_modules": [{"address": "x"}]}}}`:                                               `"x" is not the address of a module`,
		`{"format_version": "1.0", "values": ` + `{"root_module": ` + strings.Repeat(`{"child_modules": [`, 200) + strings.Repeat(`]}`, 200) + `}}`: "nested more than 100 levels deep",
	} {
		_, err := tfstate.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := tfstate.Parse(make([]byte, tfstate.MaxSize+1))
	require.ErrorContains(t, err, "it has more than 256 MB")
}

// The least state of each format has nothing.
func TestEmptyStates(t *testing.T) {
	for _, text := range []string{`{"version": 4}`, `{"version": 4, "resources": []}`, `{"format_version": "1.0"}`} {
		require.Empty(t, parse(t, []byte(text)), text)
	}
}
