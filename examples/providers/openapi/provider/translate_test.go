package provider

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
)

func text(v property.Value) string {
	s, _ := v.Plain().AsString()
	return s
}

// shown returns an object's properties with their types.
func shown(o *schema.Object) map[string]string {
	types := map[string]string{}
	for i := range o.Properties {
		p := &o.Properties[i]
		types[p.Name] = p.Type.String()
		if p.Required {
			types[p.Name] += ", required"
		}
		if p.Secret {
			types[p.Name] += ", secret"
		}
		if p.HasDefault() {
			types[p.Name] += ", by default " + property.Object(property.NewMap(property.Entry{Key: "v", Value: p.Default})).String()
		}
		if len(p.OneOf) > 0 {
			types[p.Name] += ", one of " + strconv.Itoa(len(p.OneOf))
		}
	}
	return types
}

func TestSchemasBecomeTypes(t *testing.T) {
	pkg := packageOf(t, written(t, "types.yaml", strings.ReplaceAll(things, "{type: object, properties: {size: {type: integer}}}", "{$ref: '#/components/schemas/Thing'}")+`
components:
  schemas:
    Node: {type: object, properties: {next: {$ref: "#/components/schemas/Node"}}}
    Circular: {allOf: [{$ref: "#/components/schemas/Circular"}, {$ref: "#/components/schemas/Circular"}]}
    Lists: {type: array, items: {$ref: "#/components/schemas/Lists"}}
    Maps: {type: object, additionalProperties: {$ref: "#/components/schemas/Maps"}}
    Choices: {oneOf: [{$ref: "#/components/schemas/Choices"}, {type: string}]}
    Thing:
      type: object
      required: [id, number, choice, fixed]
      properties:
        id: {type: string}
        number: {type: number}
        nullable: {type: [string, "null"]}
        several: {type: [string, integer]}
        anything: {}
        list: {type: array, items: {type: array, items: {type: boolean}}}
        unlisted: {type: array}
        strings: {type: object, additionalProperties: {type: string}}
        free: {type: object}
        open: {type: object, additionalProperties: true, properties: {a: {type: string}}}
        closed: {type: object, additionalProperties: false, properties: {a: {type: string}}}
        either: {oneOf: [{type: integer}, {type: array, items: {type: string}}, {type: "null"}]}
        alike: {anyOf: [{type: integer}, {type: number}]}
        only: {oneOf: [{type: string}, {type: "null"}]}
        choice: {type: string, enum: [a, b, null], default: a}
        wrong: {type: integer, default: many}
        fixed: {type: string, const: x}
        password: {type: string, format: password}
        read: {type: string, readOnly: true}
        written: {type: string, writeOnly: true}
        nested: {type: object, required: [r, w], properties: {r: {type: string, readOnly: true}, w: {type: string, writeOnly: true}}}
        self: {$ref: "#/components/schemas/Node"}
        composed: {allOf: [{$ref: "#/components/schemas/Node"}, {type: object, required: [next], properties: {more: {type: integer}}}]}
        circular: {$ref: "#/components/schemas/Circular"}
        lists: {$ref: "#/components/schemas/Lists"}
        maps: {$ref: "#/components/schemas/Maps"}
        choices: {$ref: "#/components/schemas/Choices"}
`))
	thing := pkg.Resource("test:index:Thing")
	common := map[string]string{
		"nullable": "string", "several": "any value", "anything": "any value", "list": "array of array of bool", "unlisted": "array",
		"strings": "map of string", "free": "map", "open": "map", "closed": "object test:index/thingClosed:ThingClosed", "either": "integer or array of string",
		"alike": "any value", "only": "string", "wrong": "integer", "password": "string, secret",
		"self": "object test:index/node:Node", "composed": "object test:index/thingComposed:ThingComposed", "circular": "any value",
		"lists": "array", "maps": "map", "choices": "any value",
	}
	inputs := map[string]string{
		"thingId": "string, required", "number": "number, required", "fixed": "string, required", "choice": `string, by default {v: "a"}, one of 2`,
		"written": "string, secret", "nested": "object test:index/thingNestedInput:ThingNestedInput",
	}
	outputs := map[string]string{
		"thingId": "string, required", "number": "number, required", "fixed": "string, required", "choice": "string, required",
		"read": "string", "nested": "object test:index/thingNested:ThingNested",
	}
	for name, typ := range common {
		inputs[name], outputs[name] = typ, typ
	}
	require.Equal(t, inputs, shown(&thing.Inputs))
	require.Equal(t, outputs, shown(&thing.Outputs))
	nested := thing.Inputs.Property("nested").Type.Object
	require.Equal(t, map[string]string{"w": "string, required, secret"}, shown(nested))
	require.Equal(t, map[string]string{"more": "integer", "next": "object test:index/node:Node, required"}, shown(thing.Inputs.Property("composed").Type.Object))
}

func TestJSONKeepsAllDigits(t *testing.T) {
	for given, want := range map[string]property.Value{
		"9007199254740992":        property.Number(1 << 53),
		"9007199254740993":        property.String("9007199254740993"),
		"-9007199254740993":       property.String("-9007199254740993"),
		"123456789012345678901":   property.String("123456789012345678901"),
		"0.1":                     property.Number(0.1),
		"1e400":                   property.String("1e400"),
		"null":                    property.Null,
		`{"a": [1, {"b": true}]}`: property.Object(property.NewMap(property.Entry{Key: "a", Value: property.Array(property.Number(1), property.Object(property.NewMap(property.Entry{Key: "b", Value: property.Bool(true)})))})),
	} {
		v, err := decodeJSON([]byte(given))
		require.NoError(t, err)
		require.Equal(t, want, v, given)
	}
	for _, bad := range []string{"", "{", "1 2", "nul"} {
		_, err := decodeJSON([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestMessages(t *testing.T) {
	long := strings.Repeat("ä", maxMessage)
	for body, want := range map[string]string{
		`{"type": "about:blank", "title": "Bad", "status": 400, "detail": "too small"}`:          "Bad: too small",
		`{"error": "invalid_grant", "error_description": "expired"}`:                             "invalid_grant: expired",
		`{"error": {"code": 3, "message": "no", "details": [{"reason": "a"}, {"reason": "b"}]}}`: "no: a; b",
		`{"errors": [{"field": "name", "message": "is taken"}, "and more"]}`:                     "name: is taken; and more",
		`{"message": "same", "detail": "same"}`:                                                  "same",
		`"text"`:                                                                                 "text", "plain text\n": "plain text", "<html>": "", "{}": "", "null": "", "[]": "", "": "",
		`{"code": 7}`: `{"code": 7}`,
		long:          long[:maxMessage] + "...",
	} {
		require.Equal(t, want, messageOf([]byte(body)), body)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, "Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		delay, ok := retryAfter(text, now)
		require.True(t, ok, text)
		require.Equal(t, want, delay, text)
	}
	for _, text := range []string{"", "soon", "-1", "99999999999999"} {
		_, ok := retryAfter(text, now)
		require.False(t, ok, text)
	}
}

func TestNextPage(t *testing.T) {
	for value, want := range map[string]string{
		`<https://a/b?page=2>; rel="next"`:                                                "https://a/b?page=2",
		`<https://a/b?page=1>; rel="first", </b?page=2,3>; title="x, y"; rel="last next"`: "/b?page=2,3",
		`<https://a/b?page=1>; rel=first, <https://a/b?page=2>; rel=next`:                 "https://a/b?page=2",
		`<https://a/b?page=1>; rel="prev"`:                                                "", "": "", "nonsense": "", ">a<": "",
	} {
		require.Equal(t, want, nextLink(http.Header{"Link": {value}}), value)
	}
	for body, want := range map[string]struct {
		cursor string
		told   bool
	}{
		`{"items": [], "nextPageToken": "t"}`:                  {"t", true},
		`{"items": [], "next_page_token": null}`:               {"", true},
		`{"data": [], "meta": {"pagination": {"next": "/b"}}}`: {"/b", true},
		`{"data": [], "links": {"self": "/a"}}`:                {"", false},
		`{"next": 2}`:                                          {"", false},
		`[]`:                                                   {"", false},
	} {
		v, err := decodeJSON([]byte(body))
		require.NoError(t, err)
		cursor, told := nextCursor(v)
		require.Equal(t, want.cursor, cursor, body)
		require.Equal(t, want.told, told, body)
	}
}

func TestCredentialsInRequests(t *testing.T) {
	const head = "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths: {/a: {get: {responses: {'200': {description: A., content: {application/json: {schema: {type: string}}}}}}}}\n"
	for name, test := range map[string]struct {
		schemes, security string
		values            map[string]string
		want              func(*http.Request) string
		is                string
	}{
		"basic":  {"{s: {type: http, scheme: Basic}}", "[{s: []}]", map[string]string{"username": "u", "password": "p"}, authorization, "Basic dTpw"},
		"bearer": {"{s: {type: http, scheme: bearer}}", "[{s: []}]", map[string]string{"token": "t"}, authorization, "Bearer t"},
		"oauth2": {"{s: {type: oauth2, flows: {}}}", "[{s: [read]}]", map[string]string{"token": "t"}, authorization, "Bearer t"},
		"query":  {"{s: {type: apiKey, in: query, name: k}}", "[{s: []}]", map[string]string{"apiKey": "&"}, func(r *http.Request) string { return r.URL.RawQuery }, "a=b&k=%26"},
		"cookie": {"{s: {type: apiKey, in: cookie, name: k}}", "[{s: []}]", map[string]string{"apiKey": "v"}, func(r *http.Request) string { return r.Header.Get("Cookie") }, "k=v"},
		"several keys": {"{app_id: {type: apiKey, in: header, name: X-App}, app_secret: {type: apiKey, in: header, name: X-Secret}}", "[{app_id: [], app_secret: []}]",
			map[string]string{"appIdKey": "i", "appSecretKey": "s"}, func(r *http.Request) string { return r.Header.Get("X-App") + r.Header.Get("X-Secret") }, "is"},
		"the second choice": {"{m: {type: mutualTLS}, s: {type: http, scheme: bearer}}", "[{m: []}, {s: []}]", map[string]string{"token": "t"}, authorization, "Bearer t"},
		"none needed":       {"{s: {type: http, scheme: bearer}}", "[{s: []}, {}]", nil, authorization, ""},
	} {
		doc, err := document.Load(t.Context(), written(t, "a.yaml", head+"security: "+test.security+"\ncomponents: {securitySchemes: "+test.schemes+"}"), document.Overrides{})
		require.NoError(t, err, name)
		a, err := derive(doc, "a")
		require.NoError(t, err)
		a.auth.values = test.values
		request, err := http.NewRequest(http.MethodGet, "http://example.org/?a=b", nil)
		require.NoError(t, err)
		require.NoError(t, a.client.authorize(request, a.functions[0].operation), name)
		require.Equal(t, test.is, test.want(request), name)
	}
}

func authorization(r *http.Request) string { return r.Header.Get("Authorization") }
