package tfstate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/port/tfstate"
)

var (
	text    = &schema.Type{Kind: schema.KindString}
	texts   = &schema.Type{Kind: schema.KindArray, Element: text}
	keyed   = &schema.Type{Kind: schema.KindMap, Element: text}
	subject = &schema.Type{Kind: schema.KindObject, Object: &schema.Object{Properties: []schema.Property{
		{Name: "commonName", Type: text}, {Name: "serial", Type: text},
	}}}
)

// acme is a provider whose names follow from those of Terraform, or from a mapping.
func acme(mapping string) *tfstate.Known {
	inputs := []schema.Property{
		{Name: "anything", Type: &schema.Type{}}, {Name: "dnsNames", Type: texts}, {Name: "key", Type: text, Secret: true},
		{Name: "labels", Type: keyed}, {Name: "old", Type: text, Deprecation: "Better not."}, {Name: "size", Type: text, Required: true},
		{Name: "subject", Type: subject}, {Name: "subjects", Type: &schema.Type{Kind: schema.KindArray, Element: subject}},
	}
	thing := &schema.Resource{Token: "acme:index/thing:Thing", Inputs: schema.Object{Properties: inputs}}
	thing.Outputs.Properties = append([]schema.Property{{Name: "b64Url", Type: text}}, inputs...)
	k := &tfstate.Known{Name: "acme", Schema: &schema.Package{Name: "acme", Resources: []*schema.Resource{
		{Token: "acme:index/acmeOther:AcmeOther"}, thing, {Token: "acme:index:Home", Component: true}, {Token: "acme:one:Twin"}, {Token: "acme:two:Twin"},
	}}}
	if mapping != "" {
		var err error
		if k.Mapping, err = tfstate.ParseMapping([]byte(mapping)); err != nil {
			panic(err)
		}
	}
	return k
}

// things returns a state of instances of the type acme_thing.
func things(instances string) string {
	return fmt.Sprintf(`{"version": 4, "resources": [{"mode": "managed", "type": "acme_thing", "name": "it",
		"provider": "provider[\"registry.terraform.io/corp/acme\"]", "instances": [%s]}]}`, instances)
}

func take(t *testing.T, text string, known ...*tfstate.Known) *tfstate.Takeover {
	t.Helper()
	s, err := tfstate.Parse([]byte(text))
	require.NoError(t, err)
	out, err := tfstate.Take(s, known)
	require.NoError(t, err)
	return out
}

// same requires that two objects are equal, secrets included.
func same(t *testing.T, want, got property.Map) {
	t.Helper()
	require.True(t, want.Equal(got), "%s\n%s", property.Render(property.Object(want)), property.Render(property.Object(got)))
}

var str = property.String

func object(pairs ...any) property.Map {
	var entries []property.Entry
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, property.Entry{Key: pairs[i].(string), Value: pairs[i+1].(property.Value)})
	}
	return property.NewMap(entries...)
}

const attributes = `"id": "i-1", "b64_url": "x_-", "dns_name": ["a"], "key": "hush", "labels": {"made_by": "me"}, "old": "o", "size": "",
	"subject": [{"common_name": "cn", "serial": null}], "anything": {"value": {"a_b": true}, "type": ["object", {"a_b": "bool"}]}, "timeouts": {"create": "1m"}`

// A provider without a mapping has the names that its schema has.
func TestTakeBySchema(t *testing.T) {
	taken := take(t, things(`{"status": "tainted", "schema_version": 3, "private": "eA==", "attributes": {`+attributes+`, "unheard_of": "u", "nothing": []},
		"sensitive_attributes": [[{"type": "get_attr", "value": "labels"}, {"type": "index", "value": {"value": "made_by", "type": "string"}}],
			[{"type": "get_attr", "value": "subject"}, {"type": "index", "value": {"value": 0, "type": "number"}}, {"type": "get_attr", "value": "common_name"}]]}`), acme(""))
	require.Len(t, taken.Objects, 1)
	it := taken.Objects[0]
	require.Equal(t, []string{"it", "acme:index/thing:Thing", "i-1", "acme"}, []string{it.Name, it.Token, it.ID, it.By})
	inputs := object(
		"anything", property.Object(object("a_b", property.Bool(true))), "dnsNames", property.Array(str("a")), "key", property.Secret(str("hush")),
		"labels", property.Object(object("made_by", property.Secret(str("me")))), "size", str(""),
		"subject", property.Object(object("commonName", property.Secret(str("cn")))),
	)
	same(t, inputs, it.Inputs)
	same(t, inputs.With("b64Url", str("x_-")).With("old", str("o")).With("key", str("hush")), it.State)
	require.Equal(t, []string{
		"Terraform would replace what it has marked as tainted; husk state taint has that done here: acme_thing.it",
		"Left out, because the provider has no such property: acme_thing.it.unheard_of",
	}, taken.Left)
}

// A mapping names types, attributes, and what makes the ID. Then the provider gets all that Terraform has.
func TestTakeByMapping(t *testing.T) {
	taken := take(t, strings.ReplaceAll(things(`{"status": "tainted", "schema_version": 3, "private": "eA==",
		"identity": {"name": "n"}, "identity_schema_version": 2,
		"attributes": {`+attributes+`, "earlier_name": {"k_k": 1}}, "sensitive_attributes": [[{"type": "get_attr", "value": "key"}]]}`), "acme_thing", "acme_widget"),
		acme(`{"resources": {"acme_widget": {"tok": "acme:index/thing:Thing", "id": ["key", "b64_url"], "fields": {
			"id": {"name": "id"}, "b64_url": {"name": "b64Url"}, "dns_name": {"name": "dnsNames"}, "subject": {"name": "subjects",
			"maxItemsOne": false, "element": {"fields": {"common_name": {"name": "commonName"}}}}}}},
			"provider": {"resources": {"acme_widget": {"subject": {"optional": true, "element": {"resource": {"common_name": {"computed": true}, "serial": {"computed": true, "optional": true}}}}}}}}`))
	require.Len(t, taken.Objects, 1)
	it := taken.Objects[0]
	require.Equal(t, "hush/x_-", it.ID)
	require.JSONEq(t, `{"schema_version": "3", "private_state": "eA==", "identity": {"name": "n"}, "identity_version": 2, "tainted": true,
		"names": {"anything.*": "*", "dnsNames": "dns_name", "earlierName.*": "*", "labels.*": "*", "subjects": "subject"}}`, textOf(it.State.Get("__meta")))
	require.True(t, it.State.Get("__meta").IsSecret())
	require.True(t, it.State.Get("key").IsSecret())
	same(t, object("commonName", str("cn")), objectOf(first(it.State.Get("subjects"))))
	same(t, object(), objectOf(first(it.Inputs.Get("subjects"))))
	same(t, object("k_k", property.Number(1)), objectOf(it.State.Get("earlierName")))
	require.Empty(t, taken.Left)
}

func textOf(v property.Value) string {
	s, _ := v.Plain().AsString()
	return s
}

func first(v property.Value) property.Value {
	list, _ := v.AsArray()
	return list[0]
}

func objectOf(v property.Value) property.Map {
	m, _ := v.AsObject()
	return m
}

// What an object is called is unique, and the same whatever providers there are.
func TestNames(t *testing.T) {
	var resources []string
	for _, r := range []string{
		`"type": "acme_thing", "name": "main", "instances": [{}]`,
		`"type": "acme_other", "name": "main", "instances": [{"index_key": 0}, {"index_key": 1}]`,
		`"type": "corp_bucket", "name": "main", "instances": [{}]`,
		`"type": "acme_thing", "name": "keyed", "instances": [{"index_key": "eu-west/1"}, {"index_key": "eu west 1"}, {"index_key": "é"}]`,
		`"type": "acme_thing", "name": "this", "module": "module.net[\"a\"].module.zone[0]", "instances": [{}, {"index_key": 4}]`,
		`"type": "acme_thing", "name": "this", "instances": [{}]`,
		`"type": "acme_thing", "name": "main_0", "instances": [{}]`,
		`"type": "lone", "name": "main", "instances": [{}]`,
	} {
		resources = append(resources, `{"mode": "managed", "provider": "provider[\"x/corp/acme\"]", `+r+`}`)
	}
	taken := take(t, `{"version": 4, "resources": [`+strings.Join(resources, ",")+`]}`, acme(""))
	called := make(map[string]string)
	for _, o := range taken.Objects {
		called[o.Address] = o.Name
	}
	require.Equal(t, map[string]string{
		"acme_thing.main": "thing_main", "acme_other.main[0]": "other_main_0", "acme_other.main[1]": "main_1",
		`acme_thing.keyed["eu-west/1"]`: "keyed_eu_west_1", `acme_thing.keyed["eu west 1"]`: "keyed_eu_west_1_2", `acme_thing.keyed["é"]`: "keyed",
		`module.net["a"].module.zone[0].acme_thing.this`: "net_a_zone_0", `module.net["a"].module.zone[0].acme_thing.this[4]`: "net_a_zone_0_4",
		"acme_thing.this": "this", "acme_thing.main_0": "thing_main_0",
	}, called)
	require.Equal(t, []string{"Not taken over, because the provider acme has no type for corp_bucket: corp_bucket.main",
		"Not taken over, because the provider acme has no type for lone: lone.main"}, taken.Left)
}

// Dependencies are the objects of a block that are taken over as well, in any module, with any key.
func TestDependencies(t *testing.T) {
	taken := take(t, `{"version": 4, "resources": [
		{"mode": "managed", "type": "acme_thing", "name": "a", "provider": "provider[\"x/y/acme\"]", "instances": [
			{"index_key": 0, "dependencies": ["acme_thing.a", "module.net.acme_thing.b", "corp_bucket.c", "data.acme_thing.d"]}, {"index_key": 1}]},
		{"mode": "managed", "type": "acme_thing", "name": "b", "module": "module.net[\"x.y\"]", "provider": "provider[\"x/y/acme\"]", "instances": [
			{"index_key": "k]"}, {"index_key": "l"}]},
		{"mode": "managed", "type": "acme_thing", "name": "e", "provider": "provider[\"x/y/acme\"]", "instances": [
			{"depends_on": ["module.net[\"x.y\"].acme_thing.b[\"k]\"]", "module.net[\"x.y\"].acme_thing.b[\"l\"]", "acme_thing.a[0]"]}]},
		{"mode": "managed", "type": "corp_bucket", "name": "c", "provider": "provider[\"x/y/corp\"]", "instances": [{}]},
		{"mode": "data", "type": "acme_thing", "name": "d", "provider": "provider[\"x/y/acme\"]", "instances": [{}]}]}`, acme(""))
	require.Len(t, taken.Objects, 5)
	a0, a1, k, l, e := taken.Objects[0], taken.Objects[1], taken.Objects[2], taken.Objects[3], taken.Objects[4]
	require.Equal(t, []*tfstate.Object{k, l}, a0.After)
	require.Empty(t, a1.After)
	require.Empty(t, k.After)
	require.Equal(t, []*tfstate.Object{k, l, a0, a1}, e.After)
}

// Whatever is left is told, once for each reason.
func TestWhatIsLeft(t *testing.T) {
	taken := take(t, string(read(t, "terraform.tfstate")))
	require.Empty(t, taken.Objects)
	require.Equal(t, []string{
		"Not taken over, because the project lists no provider for registry.terraform.io/hashicorp/random: " +
			`random_id.bucket["logs"], random_id.bucket["my data"], random_integer.port, random_password.db[0], random_password.db[1], and 4 more`,
		"Add it with husk provider port github.com/hashicorp/terraform-provider-random@latest and {name: random, path: random.wasm} under plugins.providers, then import again.",
	}, taken.Left[:2])
	require.Contains(t, taken.Left, "Not taken over, because they are values of Terraform itself: terraform_data.x")
	require.Contains(t, taken.Left, "Not taken over, because data sources are read by the program: data.tls_public_key.p")

	taken = take(t, things(`{"deposed": "aabb"}, {"attributes": {"id": 7}}`), acme(""))
	require.Equal(t, []string{"Not taken over, because Terraform has replaced and not yet deleted them, which terraform apply does: acme_thing.it"}, taken.Left)
	require.Equal(t, "7", taken.Objects[0].ID)
	require.Equal(t, "it", take(t, things(`{}`), acme("")).Objects[0].ID, "what has no ID has its name")

	twins := take(t, strings.ReplaceAll(things(`{}`), "acme_thing", "acme_twin"), acme(""))
	require.Equal(t, []string{"Not taken over, because the provider acme has no type for acme_twin: acme_twin.it"}, twins.Left, "of two nobody knows which")
}

func TestValuesThatDoNotFit(t *testing.T) {
	for text, want := range map[string]string{
		`"subject": [{}, {}]`: "acme_thing.it: subject has 2 elements where the provider has one object",
		`"size": 1e999`:       "acme_thing.it: size is a number that is too large",
	} {
		s, err := tfstate.Parse([]byte(things(`{"attributes": {` + text + `}}`)))
		require.NoError(t, err)
		_, err = tfstate.Take(s, []*tfstate.Known{acme("")})
		require.EqualError(t, err, want)
	}
	_, err := tfstate.ParseMapping([]byte("{"))
	require.ErrorContains(t, err, "its mapping of Terraform's names cannot be read: it ends too early")
}

func FuzzParse(f *testing.F) {
	f.Add(read(f, "terraform.tfstate"))
	f.Add(read(f, "show.json"))
	f.Add([]byte(things(`{"attributes": {` + attributes + `}, "sensitive_attributes": [[{"type": "get_attr", "value": "key"}], []]}`)))
	f.Add([]byte(`{"version": 3, "backend": {}}`))
	f.Add([]byte(state(`"module": "module.a[\"b\"].module.c[0]", `, `{"index_key": 1, "dependencies": ["a[\"]", "b]["]}`)))
	known := []*tfstate.Known{acme(""), {Name: "other"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := tfstate.Parse(data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		taken, err := tfstate.Take(s, known)
		if err != nil {
			return
		}
		used := make(map[string]bool)
		for _, o := range taken.Objects {
			require.False(t, used[o.Name], "%s is called %s, as another is", o.Address, o.Name)
			used[o.Name] = true
			require.NotEmpty(t, o.ID)
			for _, in := range o.Inputs.Keys() {
				require.True(t, o.State.Has(in))
			}
		}
	})
}

// FuzzParseMapping reads what a provider answers, which may be anything.
func FuzzParseMapping(f *testing.F) {
	f.Add([]byte(`{"resources": {"acme_thing": {"tok": "acme:index/thing:Thing", "fields": {"subject": {"maxItemsOne": true, "element": {"fields": {"x": null}}}}}}}`))
	f.Add([]byte(`{"provider": {"resources": {"acme_thing": {"subject": {"element": {"schema": {"element": {"resource": {"a": null}}}}}, "key": null}}}}`))
	s, err := tfstate.Parse([]byte(things(`{"attributes": {` + attributes + `}}`)))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		k := acme("")
		if k.Mapping, err = tfstate.ParseMapping(data); err != nil {
			return
		}
		_, _ = tfstate.Take(s, []*tfstate.Known{k})
	})
}
