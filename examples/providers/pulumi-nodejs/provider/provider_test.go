package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/pulumi-nodejs/provider"
)

const token = "pulumi-nodejs:dynamic:Resource"

var resource = urn.New("dev", "shop", "", token, "r")

// inputs returns the inputs of a resource with functions that the published SDK serialized; see
// testdata/serialize.cjs, which made the texts.
func inputs(t *testing.T, functions string, o pt.Object) property.Map {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", functions+".js.txt"))
	require.NoError(t, err)
	return pt.MapOf(pt.With(o, pt.Object{"__provider": string(text)}))
}

// A diff that lists what replaces the resource in any case replaces it only if something has changed.
func TestReplacementsNeedAChange(t *testing.T) {
	for answer, want := range map[string][2]abi.DiffResponse{
		`{changes: olds.kind !== news.kind, replaces: ["kind"], deleteBeforeReplace: true}`: {
			{Changes: abi.DiffChangesNone, StableKeys: []string{}},
			{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"kind"}, StableKeys: []string{}, DeleteBeforeReplace: true},
		},
		`{replaces: ["kind"]}`: {
			{Changes: abi.DiffChangesNone, StableKeys: []string{}},
			{ReplaceKeys: []string{"kind"}, StableKeys: []string{}},
		},
	} {
		p := provider.New()
		code := "exports.handler = () => ({ diff: async (id, olds, news) => (" + answer + ") });"
		olds := pt.MapOf(pt.Object{"kind": "a", "__provider": code})
		for i, news := range []property.Map{olds, olds.With("kind", property.Secret(property.String("b")))} {
			got, err := p.Diff(t.Context(), abi.DiffRequest{URN: resource, Type: token, ID: "id", Olds: olds, OldInputs: olds, News: news})
			require.NoError(t, err)
			require.Equal(t, want[i], got, answer)
		}
	}
}

func TestLife(t *testing.T) {
	ctx, p := t.Context(), provider.New()
	require.NoError(t, p.Configure(ctx, abi.ConfigureRequest{Inputs: pt.MapOf(pt.Object{"shop:color": "red"})}))

	given := inputs(t, "life", pt.Object{"kind": "a"})
	checked, err := p.Check(ctx, abi.CheckRequest{URN: resource, Type: token, News: given})
	require.NoError(t, err)
	require.Empty(t, checked.Failures)
	require.Equal(t, pt.Of(7.0), checked.Inputs.Get("size"))
	require.Equal(t, given.Get("__provider"), checked.Inputs.Get("__provider"))

	wrong, err := p.Check(ctx, abi.CheckRequest{URN: resource, Type: token, News: given.With("size", property.Number(-1))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "size", Reason: "it must not be negative"}}, wrong.Failures)

	created, err := p.Create(ctx, abi.CreateRequest{URN: resource, Type: token, Inputs: checked.Inputs})
	require.NoError(t, err)
	require.Equal(t, "id-a", created.ID)
	require.Equal(t, pt.Of("n:a:1"), created.State.Get("name"))
	require.Equal(t, pt.Of("red"), created.State.Get("color"))
	require.Equal(t, given.Get("__provider"), created.State.Get("__provider"))

	same, err := p.Diff(ctx, abi.DiffRequest{URN: resource, Type: token, ID: "id-a", Olds: created.State, News: checked.Inputs, OldInputs: checked.Inputs})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, same.Changes)
	other, err := p.Diff(ctx, abi.DiffRequest{URN: resource, Type: token, ID: "id-a", Olds: created.State, News: checked.Inputs.With("kind", property.String("b"))})
	require.NoError(t, err)
	require.Equal(t, abi.DiffResponse{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"kind"}, StableKeys: []string{"name"}, DeleteBeforeReplace: true}, other)

	read, err := p.Read(ctx, abi.ReadRequest{URN: resource, Type: token, ID: "id-a", State: &created.State, Inputs: &checked.Inputs})
	require.NoError(t, err)
	require.Equal(t, pt.Of(true), read.State.Get("read"))
	require.Equal(t, "id-a", read.ID)
	gone := created.State.With("size", property.Number(99))
	read, err = p.Read(ctx, abi.ReadRequest{URN: resource, Type: token, ID: "id-a", State: &gone})
	require.NoError(t, err)
	require.Empty(t, read.ID)
	_, err = p.Read(ctx, abi.ReadRequest{URN: resource, Type: token, ID: "id-a"})
	require.ErrorContains(t, err, "cannot be imported")

	updated, err := p.Update(ctx, abi.UpdateRequest{URN: resource, Type: token, ID: "id-a", Olds: created.State, News: checked.Inputs.With("size", property.Number(8))})
	require.NoError(t, err)
	require.Equal(t, pt.Of(7.0), updated.State.Get("was"))

	require.NoError(t, p.Delete(ctx, abi.DeleteRequest{URN: resource, Type: token, ID: "id-a", State: updated.State}))
	err = p.Delete(ctx, abi.DeleteRequest{URN: resource, Type: token, ID: "id-a", State: updated.State.With("kind", property.String("stuck"))})
	require.ErrorContains(t, err, "it is stuck\n    at ")
}

func create(t *testing.T, p abi.Provider, functions string, o pt.Object) (abi.CreateResponse, error) {
	t.Helper()
	return p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: inputs(t, functions, o)})
}

// The results are those of Node.js, but for what assert adds to a message.
func TestWhatFunctionsMayUse(t *testing.T) {
	p := provider.New()
	for name, want := range map[string]pt.Object{
		"language": {"seen": pt.List{0.0, 1.0, 2.0}, "same": true, "big": "1180591620717411303424", "named": "p:x:1", "shown": "b!", "at": 3.0, "group": "<a>1<b>2", "grouped": 2.0},
		"timers":   {"ticked": true, "never": false, "last": "next"},
		"bytes": {"hex": "6772c3bcc39f6520e282acf09f9880", "base64": "Z3LDvMOfZSDigqzwn5iA", "back": "grüße €😀", "n": 17.0, "text": "ä", "bad": "\ufffdA", "part": "gr",
			"is": true, "n32": 16909060.0, "atob": "hi", "latin": 1.0},
		"urls": {"href": "https://User:pw@example.org/a/b/c?x=1&y=a+b&z=%C3%A4+%26#top", "host": "example.org", "port": "", "y": "a b", "origin": "https://example.org",
			"v": "http://h:8080/p#f", "bad": "ERR_INVALID_URL", "params": "a=1+2&b=%26", "parsed": "/p?q=1"},
		"modules": {"message": "AssertionError not the same", "join": "/b/c.txt", "ext": ".gz", "format": `a=1 {"b":2}`, "inspect": "{ a: 1, b: [ 1, 'x' ] }",
			"sha": "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603", "hmac": "K5DkHnwMyOL3XAKRDDiZzEaLoxY=", "uuid": true, "random": 8.0, "date": 0.0, "map": 1.0},
	} {
		t.Run(name, func(t *testing.T) {
			created, err := create(t, p, "run", pt.Object{"case": name})
			require.NoError(t, err)
			require.Equal(t, "x", created.ID)
			for key, value := range want {
				require.Equal(t, pt.Of(value), created.State.Get(key), key)
			}
		})
	}
}

// A failure is an error of its call: the next one works.
func TestFailures(t *testing.T) {
	p := provider.New()
	for name, want := range map[string]string{
		"recursion":      "RangeError: Maximum call stack size exceeded",
		"memory":         "out of memory",
		"bigString":      "string too long",
		"never":          "waits for a promise that nothing is going to resolve",
		"thrown":         "RangeError: out of things\n    at ",
		"thrownText":     "just text",
		"unhandled":      "nothing in the dynamic provider catches: nobody cares",
		"inTimer":        "nothing in the dynamic provider catches: in a timer",
		"child":          "needs the module child_process of Node.js, which does not work in the sandbox: a sandboxed provider starts no processes",
		"native":         "needs the native module thing.node",
		"unknownPackage": "needs the package left-pad, whose files are not in the sandbox",
		"func":           "returned a function as outs.f",
		"nan":            "returned the number NaN as outs.n",
		"cycle":          "an object that contains itself as outs.o.o",
		"exits":          "called process.exit(3)",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := create(t, p, "run", pt.Object{"case": name})
			require.ErrorContains(t, err, want)
			_, err = create(t, p, "secret", nil)
			require.NoError(t, err)
		})
	}
}

// written returns the inputs of a resource whose create has that body.
func written(body string, o pt.Object) property.Map {
	return pt.MapOf(pt.With(o, pt.Object{"__provider": "exports.handler = () => ({ create: async i => {" + body + "} })"}))
}

// Functions have the log, the configuration, and outputs of Pulumi's SDK, and are told what else works in the program alone.
func TestWhatFunctionsMayUseOfPulumi(t *testing.T) {
	p := provider.New()
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: pt.MapOf(pt.Object{
		resource.Project() + ":size": "3", resource.Project() + ":parts": `["a"]`, "aws:region": "north", resource.Project() + ":on": "true",
		"pulumi-nodejs:id": "x1",
	})}))
	for body, want := range map[string]any{
		`const c = new pulumi.Config(); out = [c.getNumber("size"), c.requireObject("parts"), c.getBoolean("on"), c.get("none") === undefined]`: pt.List{3.0, pt.List{"a"}, true, true},
		`out = new pulumi.Config("aws").require("region")`:                                                             "north",
		`try { new pulumi.Config().require("none") } catch (e) { out = e.message.split("\n")[0] }`:                     "Missing required configuration variable '" + resource.Project() + ":none'",
		`out = await pulumi.interpolate` + "`a${pulumi.output(Promise.resolve(1)).apply(n => n + 1)}b`" + `.promise()`: "a2b",
		`out = await pulumi.all({ x: new pulumi.Config().getSecret("size"), y: [pulumi.output(2)] }).promise()`:        pt.Object{"x": "3", "y": pt.List{2.0}},
		`out = JSON.parse(process.env.PULUMI_CONFIG)`:                                                                  pt.Object{"id": "x1"},
		`await pulumi.log.info("hello"); out = require("@pulumi/pulumi/log/index.js") === pulumi.log`:                  true,
		`const utils = require("@pulumi/pulumi/utils.js"); try { utils.isInstance() } catch (e) { out = e.message }`: "the closure of the dynamic provider uses isInstance of @pulumi/pulumi, " +
			"which works in the program alone; functions may use log, Config, Output, output, concat, all, secret, unsecret, interpolate, getProject",
		`try { new pulumi.CustomResource() } catch (e) { out = e.message.slice(0, 64) }`: "the closure of the dynamic provider uses CustomResource of @pulu",
	} {
		created, err := p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: written(`const pulumi = require("@pulumi/pulumi"); let out; `+body+`; return { id: "x", outs: { out } }`, nil)})
		require.NoError(t, err, body)
		require.Equal(t, pt.Of(want), created.State.Get("out"), body)
	}
}

// What a call leaves behind answers no other call.
func TestACallAnswersForItselfAlone(t *testing.T) {
	for name, first := range map[string]struct{ body, failure string }{
		"uncaught in a job":              {`process.nextTick(() => { throw new Error("boom") }); for (let n = 0; n < i.turns; n++) await null`, "catches: boom"},
		"uncaught in a timer":            {`setTimeout(() => { throw new Error("boom") }, 1); await new Promise(r => setTimeout(r, 30))`, "catches: boom"},
		"rejected and nobody handles it": {`Promise.reject(new Error("boom")); await new Promise(r => setTimeout(r, 1))`, "catches: boom"},
		"rejected after the answer":      {`(async () => { for (let n = 0; n < i.turns; n++) await null; throw new Error("boom") })()`, ""},
		"throws after the answer":        {`(async () => { for (let n = 0; n < i.turns; n++) await null; process.nextTick(() => { throw new Error("boom") }) })()`, ""},
		"goes on after the answer":       {`(async () => { for (;;) await null })()`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := provider.New()
			body := `if (i.who === "first") {` + first.body + `} return { id: i.who, outs: { who: i.who } }`
			for turns := range 20 { // how many jobs what is left behind takes
				for _, who := range []string{"first", "second", "third"} {
					created, err := p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: written(body, pt.Object{"who": who, "turns": float64(turns + 3)})})
					if who == "first" && first.failure != "" {
						require.ErrorContains(t, err, first.failure)
						continue
					}
					require.NoError(t, err, who)
					require.Equal(t, who, created.ID)
					require.Equal(t, pt.Of(who), created.State.Get("who"))
				}
			}
		})
	}
}

// As in Node.js, a timer that is unref'd keeps nothing alive, and goes off if something else does.
func TestTimersThatKeepNothingAlive(t *testing.T) {
	p := provider.New()
	for _, waits := range []string{
		`setInterval(() => {}, 1).unref(); await new Promise(() => {})`,
		`await new Promise(r => setTimeout(r, 5).unref())`,
		`await new Promise(r => setTimeout(r, 5).ref().unref())`,
	} {
		_, err := p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: written(waits, nil)})
		require.ErrorContains(t, err, "waits for a promise that nothing is going to resolve", waits)
	}
	created, err := p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: written(`
		let weak = 0, timer = setInterval(() => weak++, 1).unref();
		await new Promise(r => setTimeout(r, 20));
		await new Promise(r => setTimeout(r, 1).unref().ref());
		return { id: "x", outs: { ticked: weak > 0, counts: timer.hasRef() } }`, nil)})
	require.NoError(t, err)
	require.Equal(t, pt.Of(true), created.State.Get("ticked"))
	require.Equal(t, pt.Of(false), created.State.Get("counts"))
}

func TestACallEndsWithItsContext(t *testing.T) {
	p := provider.New()
	for _, body := range []string{`for (;;) await null`, `for (;;) await new Promise(r => setTimeout(r, 1))`} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Create(ctx, abi.CreateRequest{URN: resource, Type: token, Inputs: written(body, nil)})
		require.ErrorIs(t, err, abi.ErrCancelled)
		_, err = create(t, p, "secret", nil)
		require.NoError(t, err)
	}
}

func TestAResourceThatIsNotHealthy(t *testing.T) {
	_, err := create(t, provider.New(), "run", pt.Object{"case": "partial"})
	var e *abi.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, abi.ErrorKindInitFailed, e.Kind)
	require.Equal(t, "p1", e.InitFailure.ID)
	require.Equal(t, []string{"it is not ready"}, e.InitFailure.Reasons)
	require.Equal(t, pt.Of(true), e.InitFailure.State.Get("made"))
	require.True(t, e.InitFailure.State.Has("__provider"))
}

func TestFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			http.Error(w, "it is not here", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"thing":"` + r.Header.Get("X-Thing") + `"}`))
	}))
	defer server.Close()
	created, err := create(t, provider.New(), "run", pt.Object{"case": "fetches", "url": server.URL + "/a"})
	require.NoError(t, err)
	for key, value := range map[string]any{"ok": true, "type": "application/json", "body": pt.Object{"thing": "a"}, "status": 404.0, "text": "it is not here\n", "refused": "TypeError"} {
		require.Equal(t, pt.Of(value), created.State.Get(key), key)
	}
}

// What is no text of the SDK is refused, and never a panic.
func TestNonsense(t *testing.T) {
	p := provider.New()
	for _, code := range []any{nil, 1.0, "", "syntax error here", "exports.handler = 1", "exports.handler = () => null", "exports.handler = () => ({})", "throw null"} {
		_, err := p.Create(t.Context(), abi.CreateRequest{URN: resource, Type: token, Inputs: pt.MapOf(pt.Object{"__provider": code})})
		require.Error(t, err, "%v", code)
	}
}
