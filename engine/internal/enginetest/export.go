package enginetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// signature is the key that marks special values in Pulumi's JSON.
const signature = "4dabf18193072939515e22adb298388d"

// Export returns a stack of so many resources in the JSON of Pulumi's stack export, with
// secrets in base64. Between them the resources have every field and every special
// value that the format knows, and some that only a later version may. They hold
// together and are in topological order.
func Export(resources int) []byte {
	g := exporter{root: "urn:pulumi:dev::proj::pulumi:pulumi:Stack::proj-dev"}
	g.add(object{"urn": g.root, "custom": false, "type": "pulumi:pulumi:Stack", "outputs": object{"url": "http://x", "token": secret("hunter2")}})
	for _, name := range []string{"default", "mine"} {
		u := "urn:pulumi:dev::proj::pulumi:providers:test::" + name
		g.providers = append(g.providers, u+"::id-of-"+name)
		g.add(object{"urn": u, "custom": true, "id": "id-of-" + name, "type": "pulumi:providers:test",
			"inputs": object{"region": "eu", "key": secret("k")}, "outputs": object{"region": "eu", "key": secret("k")}})
	}
	for i := 0; len(g.resources) < resources; i++ {
		g.resource(i)
	}
	doc, err := json.Marshal(object{
		"version":  4,
		"features": []string{"byteString", "extensionParameterization", "hooks", "refreshBeforeUpdate", "replaceWith", "snippets-prototype", "taint", "views"},
		"deployment": object{
			"manifest": object{"time": "2024-03-01T10:00:00.5Z", "magic": "ab35920a3077459b09dd1a3f7ddc28df4e3efc81b3240013bb6906688abc684d",
				"version": "v3.259.0", "plugins": []any{object{"name": "test", "path": "/p/test", "type": "resource", "version": "6.0.0"}}, "later": 1},
			"secrets_providers":  object{"type": "b64", "state": object{}},
			"resources":          g.resources,
			"pending_operations": g.pending(),
			"metadata":           object{"integrity_error": object{"version": "v3", "command": "up", "error": "e", "env_vars": object{"A": "b"}}},
			"snippets":           []any{object{"uuid": "6f6e", "name": "n", "type": "t", "code": "c", "descriptor": object{}, "references": object{}}},
			"extensions":         object{"ext-1": object{"name": "gateway", "version": "1.0.0", "value": "AAE=", "later": true}},
			"later":              []int{1},
		},
		"later": object{"x": nil},
	})
	if err != nil {
		panic(err) // the values above are all of JSON
	}
	return doc
}

type exporter struct {
	root      string
	providers []string
	resources []object
	// last are the URNs that later resources refer to.
	last []string
}

func (g *exporter) add(r object) { g.resources = append(g.resources, r) }

// resource adds a component, or a resource of a provider with the i-th of each field.
func (g *exporter) resource(i int) {
	earlier := func(n int) string { // an earlier resource
		if len(g.last) == 0 {
			return g.root
		}
		return g.last[(i*7+n)%len(g.last)]
	}
	if i%10 == 0 {
		u := fmt.Sprintf("urn:pulumi:dev::proj::my:index:Group::group-%d", i)
		g.add(object{"urn": u, "custom": false, "type": "my:index:Group", "parent": g.root, "outputs": object{"n": i}})
		g.last = append(g.last, u)
		return
	}
	id := fmt.Sprint("thing-", i)
	u := "urn:pulumi:dev::proj::test:index:Thing::" + id + "::part"
	values := specials(i, earlier(0), id)
	inputs := maps.Clone(values)
	if i%17 == 3 {
		inputs["unknown"] = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
	}
	r := object{
		"urn": u, "custom": true, "id": id, "type": "test:index:Thing", "parent": g.root,
		"provider": g.providers[i%len(g.providers)], "inputs": inputs, "outputs": values,
		"dependencies": []string{earlier(1)}, "created": "2024-03-01T10:00:00.123456789Z", "modified": "2024-03-02T11:22:33+02:00",
	}
	fields := []object{
		{"protect": true}, {"taint": true}, {"external": true}, {"initErrors": []string{"not ready", "really"}},
		{"propertyDependencies": object{"a": []string{earlier(2)}, "none": nil, "empty": []string{}}},
		{"additionalSecretOutputs": []string{"password"}}, {"aliases": []string{"urn:pulumi:dev::proj::old:T::" + id}},
		{"customTimeouts": object{"create": 300, "update": 1.5, "delete": 60, "read": 5}},
		{"importID": "imp"}, {"retainOnDelete": true}, {"deletedWith": earlier(3)}, {"replaceWith": []string{earlier(4), earlier(5)}},
		{"sourcePosition": "project:///index.ts#12,3"},
		{"stackTrace": []any{object{"sourcePosition": "project:///a.ts#1"}, object{"sourcePosition": "project:///b.ts#2"}}},
		{"ignoreChanges": []string{"tags", "a[0]"}}, {"hideDiff": []string{"tags.env", "list[0]", `["*"]`, `["a.b"]["\"c\""]`}}, {"replaceOnChanges": []string{"name"}},
		{"replacementTrigger": object{"v": secret("7")}}, {"refreshBeforeUpdate": true}, {"resourceHooks": object{"before_create": []string{"h1", "h2"}}},
		{"extensionRef": "ext-1"}, {"snippetID": "6f6e"}, {"later": object{"z": []any{1, 2.5, "3"}, "a": nil}}, {"inputs": object{}},
		{"outputs": object{}, "dependencies": []string{}, "propertyDependencies": object{}},
	}
	for _, n := range []int{i % len(fields), (i / 3) % len(fields), (i / 7) % len(fields)} {
		for name, v := range fields[n] {
			r[name] = v
		}
	}
	g.add(r)
	if i%25 == 1 {
		g.add(object{"urn": u, "custom": true, "delete": true, "id": "old-" + id, "type": "test:index:Thing", "parent": g.root,
			"provider": g.providers[0], "inputs": object{"a": 1}})
	}
	if i%25 == 2 {
		view := "urn:pulumi:dev::proj::test:index:View::" + id
		g.add(object{"urn": view, "custom": false, "type": "test:index:View", "parent": u, "viewOf": u})
	}
	g.last = append(g.last, u)
}

// pending returns operations of each kind that were cut off.
func (g *exporter) pending() []any {
	var out []any
	for i, kind := range []string{"creating", "updating", "deleting", "reading", "importing"} {
		out = append(out, object{"type": kind, "resource": object{
			"urn": fmt.Sprint("urn:pulumi:dev::proj::test:index:Thing::pending-", i), "custom": true, "type": "test:index:Thing",
			"provider": g.providers[0], "inputs": object{"p": secret("pending")},
		}})
	}
	return out
}

// special is a value of the kind.
func special(kind string, fields object) object {
	fields[signature] = kind
	return fields
}

func secret(text string) object {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // text is always JSON
	}
	return special("1b47061264138c4ac30d75fd1eb44270", object{"ciphertext": base64.StdEncoding.EncodeToString(quoted)})
}

// specials returns properties with a few values of every kind.
func specials(i int, referred, id string) object {
	number := func(bits string) object {
		return special("8ad145fe-0d11-4827-bfd7-1abcbf086f5c", object{"value": bits})
	}
	asset := func(fields object) object { return special("c44067f5952c0a294b673a41bacd8c17", fields) }
	archive := func(fields object) object { return special("0def7320c3a5731c473e5ecbe6d01bc7", fields) }
	hash := strings.Repeat("2c", 32)
	all := []any{
		nil, true, false, i, 1.5, 1e21, 1e-7, json.Number("-0"), 1 << 53, "héllo <&> \u2028 \"q\" \\ \n", "", []any{1, []any{2, []any{}}, object{}},
		object{"b": 1, "a": object{"": nil}}, number("7ff8000000000001"), number("7ff0000000000000"), number("fff0000000000000"),
		special("803fd3297a5875dc03ca845dda5d2a98", object{"value": "/wD+"}),
		secret("hunter2 of " + id), []any{secret("inner")},
		asset(object{"hash": hash, "text": "hello"}), asset(object{"hash": hash}), asset(object{"hash": hash, "path": "./a.txt"}), asset(object{"hash": hash, "uri": "https://example.com/a"}),
		archive(object{"hash": hash, "assets": object{"dir": archive(object{"hash": hash, "path": "./dir"}), "f": asset(object{"hash": hash, "text": "x"})}}),
		archive(object{"hash": hash}), archive(object{"hash": hash, "uri": "file:///a.zip"}), archive(object{"hash": hash, "path": "./a.zip"}),
		special("5cf8f73096256a8f31e491e813e4eb8e", object{"urn": referred, "id": "x", "packageVersion": "6.0.0"}),
		special("5cf8f73096256a8f31e491e813e4eb8e", object{"urn": referred, "packageVersion": ""}),
	}
	out := object{"name": id}
	for n := range 4 {
		out[fmt.Sprint("v", n)] = all[(i+n*len(all)/4)%len(all)]
	}
	return out
}
