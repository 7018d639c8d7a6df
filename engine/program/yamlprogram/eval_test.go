package yamlprogram

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

func entries(pairs ...any) property.Map {
	m := map[string]property.Value{}
	for i := 0; i < len(pairs); i += 2 {
		v, ok := pairs[i+1].(property.Value)
		if s, isString := pairs[i+1].(string); isString {
			v, ok = property.String(s), true
		}
		if !ok {
			panic(fmt.Sprintf("%T", pairs[i+1]))
		}
		m[pairs[i].(string)] = v
	}
	return property.MapOf(m)
}

// surroundings is a program in which expressions are tested: the resource
// server exists, the resource next is created by the deployment.
const surroundings = `
config:
  domain: {type: string}
  replicas: {type: integer, default: 3}
  hosts: {type: array, items: {type: string}}
  pin: {type: string, secret: true}
variables:
  greeting: hello
  big: 1.5e6
  yes: true
  list: [a, "${server.address}", c]
  mixed: {plain: x, server: "${server.address}", pin: "${pin}"}
  who: ${server}
resources:
  server:
    type: cloud:Server
    properties: {size: 2, tags: {a b: c, n.m: o}}
  next:
    type: cloud:Server
    properties: {size: 1}
  probe2:
    type: bare:Probe
  probe:
    type: bare:index:Probe
    properties:
      value: %s
`

func probe(t *testing.T, dir string, dryRun bool, x string) (property.Value, error) {
	t.Helper()
	p := loadIn(t, dir, fmt.Sprintf(surroundings, x))
	monitor := &fakeMonitor{state: map[string]property.Map{
		"server": entries("address", "10.0.0.1", "addresses", property.Array(property.String("1"), property.String("2")),
			"password", property.Secret(property.String("hunter2")), "size", property.Number(2)),
		"next": entries("address", property.Unknown, "addresses", property.Array(property.String("1"), property.Unknown)),
	}}
	monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{Result: entries("id", "ami-1", "key", property.Secret(property.String("k")))}, nil
	}
	run := runContext(
		abi.ConfigEntry{Key: "shop:domain", Value: "example.com"},
		abi.ConfigEntry{Key: "shop:hosts", Value: `["x","y"]`},
		abi.ConfigEntry{Key: "shop:pin", Value: "1234"},
		abi.ConfigEntry{Key: "shop:extra", Value: `{"a":1}`, Secret: true},
		abi.ConfigEntry{Key: "aws:region", Value: "eu-west-1"},
	)
	run.DryRun, monitor.dryRun = dryRun, dryRun
	if err := p.Run(t.Context(), run, monitor); err != nil {
		return property.Null, err
	}
	return monitor.request(t, "probe").Inputs.Get("value"), nil
}

func TestExpressions(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("a note\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "image.bin"), []byte{0xff}, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "site"), 0o700))
	for _, c := range []struct{ x, want string }{
		// What names stand for.
		{`${greeting}`, `"hello"`},
		{`${domain}`, `"example.com"`},
		{`${shop:domain}`, `"example.com"`},
		{`${replicas}`, `3`},
		{`${hosts[1]}`, `"y"`},
		{`${pin}`, `secret("1234")`},
		{`${aws:region}`, `"eu-west-1"`},
		{`${extra.a}`, `secret(1)`},
		{`${pulumi.project}/${pulumi.stack}/${pulumi.organization}`, `"shop/dev/org"`},
		{`${pulumi.rootDirectory}`, `"` + dir + `"`},
		{`${server.id}`, `<server>"server-id"`},
		{`${server.urn}`, `<server>"urn:pulumi:dev::shop::cloud:index/server:Server::server"`},
		{`${server}`, `<server>reference(server server-id)`},
		{`${who.address}`, `<server>"10.0.0.1"`},

		// Text and types.
		{`${server.size}`, `<server>2`},
		{`size ${server.size}`, `<server>"size 2"`},
		{`${replicas}`, `3`},
		{`"${replicas}0"`, `"30"`},
		{`"${greeting} $${greeting} $$"`, `"hello ${greeting} $"`},
		{`"n = ${big}"`, `"n = 1500000"`},
		{`"is ${yes}"`, `"is true"`},

		// Paths.
		{`${server.addresses[1]}`, `<server>"2"`},
		{`${server.tags["a b"]}`, `<server>"c"`},
		{`${server.tags["n.m"]}`, `<server>"o"`},
		{`${server.tags.none}`, `<server>null`},
		{`${server.image}`, `<server>null`},
		{`${mixed.plain}`, `"x"`},
		{`${mixed.server}`, `<server>"10.0.0.1"`},
		{`${list[0]}`, `"a"`},
		{`${list}`, `["a", <server>"10.0.0.1", "c"]`},

		// Secrets and resources stay with what is computed from them.
		{`${server.password}`, `<server>secret("hunter2")`},
		{`"${server.password}/${next.id}"`, `<next server>secret("hunter2/next-id")`},
		{`{a: "${server.password}", b: 1}`, `{a: <server>secret("hunter2"), b: 1}`},
		{`{"${greeting}": 1, "${server.address}": 2}`, `<server>{10.0.0.1: 2, hello: 1}`},

		// Functions.
		{`{fn::join: ["-", [a, 1, true]]}`, `"a-1-true"`},
		{`{fn::join: [~, [a, b]]}`, `"ab"`},
		{`{fn::join: ["-", "${list}"]}`, `<server>"a-10.0.0.1-c"`},
		{`{fn::join: ["-", ["${pin}", "${server.id}"]]}`, `<server>secret("1234-server-id")`},
		{`{fn::split: [",", "a,b,"]}`, `["a", "b", ""]`},
		{`{fn::select: [2, "${list}"]}`, `"c"`},
		{`{fn::select: [1, "${list}"]}`, `<server>"10.0.0.1"`},
		{`{fn::select: ["${server.size}", [x, y, "${pin}"]]}`, `<server>secret("1234")`},
		{`{fn::toJSON: {b: [1, "x", ~], a: "<&>"}}`, `"{\"a\":\"\\u003c\\u0026\\u003e\",\"b\":[1,\"x\",null]}"`},
		{`{fn::toJSON: "${mixed}"}`, `<server>secret("{\"pin\":\"1234\",\"plain\":\"x\",\"server\":\"10.0.0.1\"}")`},
		{`{fn::toBase64: "é"}`, `"w6k="`},
		{`{fn::fromBase64: "w6k="}`, `"é"`},
		{`{fn::secret: x}`, `secret("x")`},
		{`{fn::secret: "${server.id}"}`, `<server>secret("server-id")`},
		{`{fn::secret: {a: "${pin}"}}`, `secret({a: secret("1234")})`},
		{`{fn::unsecret: "${pin}"}`, `"1234"`},
		{`{fn::unsecret: "${server.password}"}`, `<server>"hunter2"`},
		{`{fn::unsecret: [a, {b: "${pin}", c: "${server.id}"}]}`, `<server>["a", {b: "1234", c: "server-id"}]`},
		{`{fn::unsecret: "${server}"}`, `<server>reference(server server-id)`},
		{`{fn::length: "${list}"}`, `3`},
		{`{fn::length: "${server.tags}"}`, `<server>2`},
		{`{fn::length: []}`, `0`},
		{`{fn::length: "${greeting}"}`, `5`},
		{`{fn::length: "café"}`, `4`},
		{`{fn::length: "👨‍👩‍👧‍👦-🕹️"}`, `3`},
		{`{fn::length: "${server.password}"}`, `<server>secret(7)`},
		{`{fn::length: {fn::secret: [a]}}`, `secret(1)`},
		{`{fn::singleOrNone: []}`, `null`},
		{`{fn::singleOrNone: ["${server.password}"]}`, `<server>secret("hunter2")`},
		{`{fn::sha1: "${greeting}"}`, `"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"`},
		{`{fn::sha1: "${pin}"}`, `secret("7110eda4d09e062aa5e4a390b0a572ac0d2c0220")`},
		{`{fn::filebase64: note.txt}`, `"YSBub3RlCg=="`},
		{`{fn::filebase64: image.bin}`, `"/w=="`},
		{`{fn::filebase64sha256: image.bin}`, `"qBAK5qoZQNC2Y7sxzUZhQuu9vVGHExuS2TgYmHgy64k="`},
		{`{fn::pulumiResourceName: "${server}"}`, `"server"`},
		{`{fn::pulumiResourceType: "${who}"}`, `"cloud:index/server:Server"`},
		{`{Fn::PulumiResourceType: "${probe2}"}`, `"bare:index:Probe"`},
		{`{fn::readFile: note.txt}`, `"a note\n"`},
		{`{fn::readFile: "${pulumi.cwd}/note.txt"}`, `"a note\n"`},
		{`{Fn::StringAsset: text}`, `asset(text)`},
		{`{fn::fileAsset: ./note.txt}`, `asset(./note.txt)`},
		{`{fn::remoteAsset: "https://example.com/a"}`, `asset(https://example.com/a)`},
		{`{fn::fileArchive: site}`, `archive(site)`},
		{`{fn::remoteArchive: "https://example.com/a.zip"}`, `archive(https://example.com/a.zip)`},
		{`{fn::assetArchive: {"a/b": {fn::stringAsset: "${server.address}"}, c: {fn::fileArchive: site}}}`,
			`archive{a/b: asset(10.0.0.1), c: archive(site)}`},
		{`{fn::invoke: {function: cloud:findImage, arguments: {name: x}, return: id}}`, `"ami-1"`},
		{`{fn::cloud:findImage: {name: "${server.id}"}}`, `<server>{id: "ami-1", key: secret("k")}`},
		{`{fn::bare:index:find: {pin: "${pin}"}}`, `secret({id: "ami-1", key: secret("k")})`},
		{`{fn::invoke: {function: bare:index:find, return: key}}`, `secret("k")`},
	} {
		v, err := probe(t, dir, false, c.x)
		require.NoError(t, err, c.x)
		require.Equal(t, c.want, show(v), c.x)
	}
}

// In a preview, what a resource will have is unknown, and so is what is computed
// from it.
func TestUnknowns(t *testing.T) {
	for _, c := range []struct{ x, want string }{
		{`${next.id}`, `<next>?`},
		{`${next.urn}`, `<next>"urn:pulumi:dev::shop::cloud:index/server:Server::next"`},
		{`${next.address}`, `<next>?`},
		{`${next.addresses[0]}`, `<next>"1"`},
		{`${next.addresses[1]}`, `<next>?`},
		{`${next.size}`, `<next>1`},
		{`${next.image}`, `<next>?`},
		{`${next.main.port}`, `<next>?`},
		{`"at ${next.address} ${pin}"`, `<next>secret(?)`},
		{`["${next.address}", a]`, `[<next>?, "a"]`},
		{`{"${next.address}": "${server.address}"}`, `<next server>?`},
		{`{fn::join: [",", ["${next.id}", "${server.address}"]]}`, `<next server>?`},
		{`{fn::select: [1, ["${next.id}", b]]}`, `"b"`},
		{`{fn::select: [0, ["${next.id}", b]]}`, `<next>?`},
		{`{fn::toJSON: {a: ["${next.id}"]}}`, `<next>?`},
		{`{fn::unsecret: "${next.id}"}`, `<next>?`},
		{`{fn::length: "${next.addresses}"}`, `<next>2`},
		{`{fn::length: "${next.address}"}`, `<next>?`},
		{`{fn::singleOrNone: ["${next.id}"]}`, `<next>?`},
		{`{fn::sha1: "${next.id}"}`, `<next>?`},
		{`{fn::filebase64: "${next.address}"}`, `<next>?`},
		{`{fn::pulumiResourceName: "${next}"}`, `"next"`},
		{`{fn::secret: "${next.id}"}`, `<next>secret(?)`},
		{`{fn::readFile: "${next.address}"}`, `<next>?`},
		{`{fn::assetArchive: {a: {fn::stringAsset: "${next.id}"}}}`, `<next>?`},
		{`{fn::cloud:findImage: {name: "${next.address}"}}`, `<next>?`},
	} {
		v, err := probe(t, "/work", true, c.x)
		require.NoError(t, err, c.x)
		require.Equal(t, c.want, show(v), c.x)
	}
}
