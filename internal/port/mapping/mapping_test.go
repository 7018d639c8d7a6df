package mapping_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/port/known"
	"github.com/husk-dev/husk/internal/port/mapping"
)

// Each built-in mapping can be read, is for the module of its path, whoever publishes that, and can be passed to the linker.
func TestPublished(t *testing.T) {
	found := 0
	require.NoError(t, fs.WalkDir(os.DirFS("published"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		module, ok := strings.CutSuffix(strings.TrimSuffix(path, ".gz"), ".yaml")
		require.True(t, ok, path)
		m, err := mapping.Published(module)
		require.NoError(t, err)
		require.NotNil(t, m, path)
		require.True(t, m.Optional, "%s is for all versions", path)
		for _, of := range []string{module + "/v7", strings.Replace(module, "/hashicorp/", "/terraform-providers/", 1)} {
			same, err := mapping.Published(of)
			require.NoError(t, err)
			require.Equal(t, m, same, of)
		}
		return nil
	}))
	require.Positive(t, found)
	for _, module := range []string{"github.com/acme/terraform-provider-tls", "", "../published", "github.com/hashicorp"} {
		m, err := mapping.Published(module)
		require.NoError(t, err, module)
		require.Nil(t, m, module)
	}
	moved, err := mapping.Published("github.com/terraform-providers/terraform-provider-datadog")
	require.NoError(t, err)
	now, err := mapping.Published(known.Module("datadog"))
	require.NoError(t, err)
	require.Equal(t, now, moved)
}

const metadata = `{
 "auto-aliasing": {
  "resources": {
   "zoo_animal_cage": {"current": "zoo:animal/cage:Cage", "past": [{"name": "zoo:index/cage:Cage"}], "fields": {
     "bar": {"maxItemsOne": false, "elem": {"fields": {"lock": {"maxItemsOne": true}}}}, "door": {"maxItemsOne": true}, "keepers_list": {"maxItemsOne": false}}},
   "zoo_animal_lion": {"current": "zoo:animal/lion:Lion"},
   "zoo_animal_tiger": {"current": "zoo:animal/tiger:Tiger"},
   "zoo_gate": {"current": "zoo:index/gate:Gate"},
   "zoo_animals": {"current": "zoo:index/animals:Animals"}
  },
  "datasources": {
   "zoo_animal_cage": {"current": "zoo:animal/getCage:getCage"},
   "zoo_gate": {"current": "zoo:entry/getGate:getGate"}
  }
 },
 "auto-settings": {"resources": {"zoo_gate": {"aliases": ["zoo:index/door:Door"]}}},
 "renames": {
  "resources": {"zoo:animal/cage:Cage": "zoo_animal_cage", "zoo:old/pen:Pen": "zoo_animal_cage_legacy", "zoo:index/pond:Pond": "zoo_pond"},
  "renamedProperties": {
   "zoo:animal/cage:Cage": {"bars": "bar", "keepersList": "keepers_list", "cageUrn": "urn", "maxWeight": "max_weight"},
   "zoo:animal/CageBar:CageBar": {"fastening": "lock", "barWidth": "bar_width"}
  },
  "renamedConfigProperties": {"zooKey": "key", "apiToken": "api_token"}
 },
 "mux": {}, "smell": {}
}`

func TestAFileOfPulumisBridgeIsAMapping(t *testing.T) {
	require.True(t, mapping.IsBridged([]byte(metadata)))
	require.False(t, mapping.IsBridged([]byte(`{"resources": {}}`)))
	b, err := mapping.ReadBridged("bridge-metadata.json", []byte(metadata))
	require.NoError(t, err)
	require.Equal(t, "zoo", b.Package)
	require.Equal(t, []string{"smell"}, b.Ignored)
	want, err := mapping.Decode("want.yaml", []byte(`
optional: true
modules: {zoo_animal_: animal}
config: {key: {name: zooKey}}
resources:
  zoo_animal_cage:
    name: Cage
    aliases: ["zoo:index/cage:Cage", "zoo:old/pen:Pen"]
    fields:
      bar: {fields: {lock: {name: fastening, maxItemsOne: true}}}
      door: {maxItemsOne: true}
      keepers_list: {name: keepersList}
      urn: {name: cageUrn}
  zoo_animal_lion: {name: Lion}
  zoo_animal_tiger: {name: Tiger}
  zoo_gate: {aliases: ["zoo:index/door:Door"]}
dataSources:
  zoo_animal_cage: {name: getCage}
  zoo_gate: {token: "zoo:entry/getGate:getGate"}
`))
	require.NoError(t, err)
	m := b.Mapping(false)
	require.Equal(t, want, m)
	require.False(t, *b.Mapping(true).Resources["zoo_animal_cage"].Fields["bar"].MaxItemsOne)

	m.Move("park")
	require.Equal(t, "park:entry/getGate:getGate", m.DataSources["zoo_gate"].Token)
	require.Equal(t, []string{"park:index/door:Door"}, m.Resources["zoo_gate"].Aliases)
	m.Choose(func(name string) bool { return name == "zoo_gate" })
	require.Len(t, m.Resources, 1)
	require.Len(t, m.DataSources, 1)
}

func TestAWrongFileOfPulumisBridge(t *testing.T) {
	for text, want := range map[string]string{
		`{"renames": {}}`: "m.json names no type of a provider",
		`{"renames": {"resources": {"zoo:index/gate": "zoo_gate"}}}`:                                  "zoo:MODULE:NAME is needed",
		`{"renames": {"resources": {"zoo:a/gate:Gate": "zoo_gate", "park:a/pond:Pond": "zoo_pond"}}}`: "zoo_pond has the token",
		`{"renames": []}`: "m.json: json: cannot unmarshal",
	} {
		_, err := mapping.ReadBridged("m.json", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// A file may leave out what is known of an attribute, and have any depth.
func TestAStrangeFileOfPulumisBridge(t *testing.T) {
	const depth = 500
	fields := `{"bars": null}`
	for range depth {
		fields = `{"batteries": {"maxItemsOne": false, "elem": {"fields": ` + fields + `}}}`
	}
	b, err := mapping.ReadBridged("m.json", []byte(`{
		"auto-aliasing": {"resources": {"zoo_cage": {"current": "zoo:index/cage:Cage", "fields": `+fields+`}}},
		"renames": {"renamedProperties": {"zoo:index/CageBattery:CageBattery": {"one": "bar", "two": "bar"}}}}`))
	require.NoError(t, err)
	for range 20 {
		require.Equal(t, map[string]mapping.Field{"batteries": {Fields: map[string]mapping.Field{"bar": {Name: "two"}}}}, b.Mapping(false).Resources["zoo_cage"].Fields)
	}
}

func FuzzReadBridged(f *testing.F) {
	f.Add([]byte(metadata))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := mapping.ReadBridged("fuzz.json", data)
		if err != nil {
			return
		}
		b.Mapping(true).Move("other")
	})
}
