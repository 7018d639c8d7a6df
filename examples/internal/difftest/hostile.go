package difftest

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/examples/contacts/provider"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

const contact = "contacts:index:Contact"

// HostileOptions are for one language.
type HostileOptions struct {
	// Open returns the provider of the module.
	Open func(t testing.TB, url string) abi.Provider
	// Long is how many bytes the longest texts have.
	Long int
	// Adapt returns a provider whose answers lack the parts that only one of the languages has; nil changes nothing.
	Adapt func(abi.Provider) abi.Provider
}

// Hostile gives the provider contacts in Go, and the same in a module, answers of a broken service and requests of a broken engine.
// Both refuse it with the same kind of error, or give the same answer. The module never traps, and stays within its limits.
func Hostile(t *testing.T, o HostileOptions) {
	body := ""
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer := body
		if answer == decent && r.Method == http.MethodGet && r.URL.Path == "/contacts" {
			answer = `[{"id":"1","name":"Ann","tags":["x"]}]`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(service.Close)
	native, err := guest.New(provider.New())
	require.NoError(t, err)
	module := o.Open(t, service.URL)
	var twin abi.Provider = native
	if o.Adapt != nil {
		twin, module = o.Adapt(twin), o.Adapt(module)
	}
	for _, p := range []abi.Provider{twin, module} {
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: pt.MapOf(pt.Object{"url": service.URL})}))
	}
	both := func(t *testing.T, what string, call func(p abi.Provider) (any, error), allowed func(ours, theirs error) bool) {
		t.Helper()
		ours, ourErr := call(twin)
		theirs, theirErr := call(module)
		e := abi.AsError(theirErr)
		switch a, b := outcome(ours, ourErr), outcome(theirs, theirErr); {
		case e != nil && e.Kind == abi.ErrorKindCrashed && e.Origin == abi.ErrorOriginHost:
			t.Errorf("%s: the module crashed: %.300s", what, e.Message)
		case e != nil && strings.Contains(e.Message, "the request cannot be passed to the provider"):
			// The host keeps it from modules.
		case a != b && !(allowed != nil && allowed(ourErr, theirErr)):
			t.Errorf("%s: Go has %.600s (%.300v), the module %.600s (%.300v)", what, a, ourErr, b, theirErr)
		}
	}
	for name, text := range hostileAnswers(o.Long) {
		t.Run("answer/"+name, func(t *testing.T) {
			body = text
			for what, call := range calls(good) {
				both(t, what, call, func(ours, theirs error) bool {
					if ours != nil && strings.HasPrefix(name, "too deep") {
						return true // JavaScript's parser of JSON is bounded by memory alone
					}
					return refusable[name] && abi.AsError(theirs) != nil && abi.AsError(theirs).Kind == abi.ErrorKindInternal
				})
			}
		})
	}
	body = decent
	for name, v := range hostileValues(o.Long) {
		t.Run("request/"+name, func(t *testing.T) {
			for _, key := range []string{"name", "priority", "address", "tags", "password", "other"} {
				m := good.With(key, v)
				all := calls(m)
				both(t, "check with "+key, all["check"], nil)
				both(t, "diff with "+key, all["diff"], nil)
				both(t, "find with "+key, all["find"], func(_, theirs error) bool { return refusesNUL(name, theirs) })
				checked, err := twin.Check(t.Context(), abi.CheckRequest{URN: it, Type: contact, News: m, RandomSeed: make([]byte, 32)})
				if err == nil && len(checked.Failures) == 0 { // as an engine does
					passed := calls(checked.Inputs)
					for _, what := range []string{"create", "update"} {
						both(t, what+" with "+key, passed[what], func(_, theirs error) bool { return refusesNUL(name, theirs) })
					}
				}
				if key == "other" || v.Plain().IsNull() || v.ContainsUnknowns() {
					continue // which no engine records
				}
				for _, what := range []string{"refresh", "delete"} {
					both(t, what+" with "+key, all[what], func(ours, theirs error) bool {
						// A language with types has to refuse what was recorded in others. Go takes null for a zero.
						const refused = "the recorded value does not fit"
						return strings.Contains(fmt.Sprint(ours, theirs), refused) || refusesNUL(name, theirs)
					})
				}
			}
		})
	}
}

// refusable are answers that an SDK may refuse as a whole, and Go where the provider reads what is wrong: numbers beyond a double, and
// texts with a NUL, which C has none of.
var refusable = map[string]bool{
	"a long number": true, "a number with a long exponent": true, "priority 9223372036854775807": true,
	"a NUL in an escape": true, "a NUL in the ID": true, "a NUL in a key": true,
}

func init() {
	for _, number := range []string{"1e999", "-1e999", "1e400", "1.7976931348623159e308"} {
		refusable["priority "+number], refusable["other "+number] = true, true
	}
}

func refusesNUL(name string, err error) bool {
	return name == "a NUL" && err != nil && strings.Contains(err.Error(), "a text has a NUL character")
}

// decent is the answer of a decent service: a contact, and the ID of a new one.
const decent = `{"id":"1","name":"Ann","kind":"person","priority":1}`

var it = urn.New("dev", "test", "", contact, "it")

var good = pt.MapOf(pt.Object{"name": "Ann", "kind": "person", "priority": 1})

// calls returns the calls of a provider, with the properties wherever a request has any.
func calls(m property.Map) map[string]func(p abi.Provider) (any, error) {
	state := m.With("label", property.String("Ann (person)"))
	return map[string]func(p abi.Provider) (any, error){
		"check": func(p abi.Provider) (any, error) {
			r, err := p.Check(context.Background(), abi.CheckRequest{URN: it, Type: contact, News: m, RandomSeed: make([]byte, 32)})
			return r, err
		},
		"create": func(p abi.Provider) (any, error) {
			r, err := p.Create(context.Background(), abi.CreateRequest{URN: it, Type: contact, Inputs: m})
			return r, err
		},
		"import": func(p abi.Provider) (any, error) {
			r, err := p.Read(context.Background(), abi.ReadRequest{URN: it, Type: contact, ID: "1"})
			return r, err
		},
		"refresh": func(p abi.Provider) (any, error) {
			r, err := p.Read(context.Background(), abi.ReadRequest{URN: it, Type: contact, ID: "1", State: &state, Inputs: &m})
			return r, err
		},
		"diff": func(p abi.Provider) (any, error) {
			r, err := p.Diff(context.Background(), abi.DiffRequest{URN: it, Type: contact, ID: "1", Olds: state, OldInputs: m, News: good})
			return r, err
		},
		"update": func(p abi.Provider) (any, error) {
			r, err := p.Update(context.Background(), abi.UpdateRequest{URN: it, Type: contact, ID: "1", Olds: state, OldInputs: good, News: m})
			return r, err
		},
		"delete": func(p abi.Provider) (any, error) {
			return nil, p.Delete(context.Background(), abi.DeleteRequest{URN: it, Type: contact, ID: "1", State: state})
		},
		"list": func(p abi.Provider) (any, error) {
			r, err := p.List(context.Background(), abi.ListRequest{Token: contact})
			return r, err
		},
		"find": func(p abi.Provider) (any, error) {
			args := pt.MapOf(pt.Object{"tag": "friend", "limit": 10})
			for _, key := range []string{"tags", "priority"} {
				if v := m.Get(key); !v.Equal(good.Get(key)) {
					args = args.With(map[string]string{"tags": "tag", "priority": "limit"}[key], v)
				}
			}
			r, err := p.Invoke(context.Background(), abi.InvokeRequest{Token: "contacts:index:find", Args: args})
			return r, err
		},
	}
}

func outcome(answer any, err error) string {
	if err != nil {
		return "the error " + abi.AsError(err).Kind.String()
	}
	return canontest.Dump(answer)
}

// hostileAnswers returns answers that the service gives to each request.
func hostileAnswers(long int) map[string]string {
	answers := map[string]string{
		"decent": decent, "nothing": "", "white space": " \t\r\n", "null": "null", "true": "true", "number": "1", "text": `"Ann"`, "list": "[]", "object": "{}",
		"list of contacts": "[" + decent + "]", "list of null": "[null]", "list of numbers": "[1]", "list of lists": "[[]]", "list of objects": "[{}]",
		"tags of a text":    `[{"id":"1","name":"Ann","tags":"friend"}]`,
		"tags of an object": `[{"id":"1","name":"Ann","tags":{"friend":1}}]`, "names of numbers": `[{"id":"1","name":1,"tags":["friend"]}]`, "ids of numbers": `[{"id":1,"name":"Ann","tags":["friend"]}]`,
		"a decent list":       `[{"id":"1","name":"Ann","tags":["friend"]},{"id":"2","name":"Bob"}]`,
		"no name in the list": `[{"id":"1","tags":["friend"]}]`,
		"cut off":             decent[:len(decent)-1], "cut off in a text": decent[:20], "cut off in an escape": `{"id":"1","name":"A\`, "cut off in a unit": `{"name":"A\u00`,
		"cut off in a list": `[{"id":"1"},`, "cut off behind a key": `{"name"`, "cut off in a word": "nul", "twice": decent + decent, "something behind": decent + "x", "a NUL behind": decent + "\x00",
		"a comment": "/* */" + decent, "other quotes": strings.ReplaceAll(decent, `"`, "'"), "a comma behind": strings.Replace(decent, "}", ",}", 1),
		"a comma before": strings.Replace(decent, "{", "{,", 1), "a key without quotes": `{name:"Ann"}`, "a number as a key": `{1:"Ann"}`, "no colon": `{"name" "Ann"}`, "wrong ends": `[{]}`, "an end too many": "]",
		"white space of Unicode": "\u00a0" + decent, "a vertical tab": "\v" + decent,
		"an unknown field": with("other", `{"a":[1,null,{"b":""}]}`), "an empty key": with("", "1"), "a key of objects": with("__proto__", `{"name":"Bob"}`), "a method as a key": with("constructor", "1"),
		"a name twice": with("name", `"Bob"`), "a name twice, with another type": with("name", "1"), "the ID twice": with("id", `"2"`),
		"deep":     with("other", strings.Repeat("[", 100)+strings.Repeat("]", 100)),
		"too deep": with("other", strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), "too deep in objects": with("other", strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000)),
		"deep without an end":           strings.Repeat("[", long/8),
		"a long name":                   field("name", `"`+strings.Repeat("x", long)+`"`),
		"a long name in escapes":        field("name", `"`+strings.Repeat(`\u0041`, long/8)+`"`),
		"a long key":                    with(strings.Repeat("x", long/8), "1"),
		"many tags":                     with("tags", "["+strings.Repeat(`"x",`, 100_000)+`"x"]`),
		"many fields":                   with("other", "{"+manyFields(50_000)+"}"),
		"a large list":                  "[" + strings.Repeat(`{"id":"1","name":"Ann"},`, 20_000) + `{"id":"1","name":"Ann"}]`,
		"a long number":                 field("priority", strings.Repeat("1", 100_000)),
		"a number with a long fraction": with("other", "1."+strings.Repeat("0", 100_000)+"1"),
		"a number with a long exponent": field("priority", "1e"+strings.Repeat("9", 100_000)),
		"a bad escape":                  field("name", `"\x41"`), "an escape of a quote": field("name", `"\'"`), "a unit with a sign": field("name", `"\u+041"`), "a unit of three": field("name", `"\u041"`),
		"a line in a text": field("name", "\"A\nB\""), "a control character": field("name", "\"A\x01B\""), "DEL": field("name", "\"A\x7fB\""),
		"a high surrogate": field("name", `"A\ud800"`), "a low surrogate": field("name", `"A\udc00"`), "surrogates reversed": field("name", `"\udc00\ud800"`),
		"a high surrogate and a letter": field("name", `"\ud800\u0041"`), "two high surrogates": field("name", `"\ud800\ud800\udc00"`), "a pair": field("name", `"\ud83d\ude00"`),
		"Latin-1": field("name", "\"Zo\xeb\""), "a byte that never is UTF-8": field("name", "\"A\xffB\""), "two of them": field("name", "\"\xff\xff\""), "a broken key": with("a\xff", "1"),
		"a NUL in an escape": field("name", `"A\u0000B"`), "a NUL as it is": field("name", "\"A\x00B\""), "a NUL in the ID": field("id", `"1\u0000/../2"`), "a NUL in a key": with(`name\u0000`, `"Bob"`),
	}
	for _, number := range []string{"1e999", "-1e999", "1e400", "1e308", "1.7976931348623159e308", "9223372036854775807", "9223372036854775808", "1e19", "1.5", "0.1", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x10", "NaN", "Infinity", "-Infinity", "1_000", "١", "null", `"1"`, "true", "[1]", "{}"} {
		answers["priority "+number] = field("priority", number)
		answers["other "+number] = with("other", number)
	}
	for _, key := range []string{"name", "kind", "address", "tags", "password"} {
		for _, v := range []string{"null", "true", "1", `""`, `"x"`, "[]", "{}", "[1]", `["x"]`, `[["x"]]`, `{"city":"Bern"}`, `{"city":1}`, `{"city":null}`, `{"city":"Bern","street":2}`, `{"city":"Bern","street":null}`, `{"city":"Bern","other":[1]}`} {
			answers[key+" "+v] = field(key, v)
		}
	}
	for _, key := range []string{"id", "name", "kind", "priority"} {
		answers["without "+key] = strings.Replace(decent, `"`+key+`"`, `"x`+key+`"`, 1)
	}
	return answers
}

// with returns a decent answer with another field behind it.
func with(key, v string) string { return fmt.Sprintf(`%s,"%s":%s}`, decent[:len(decent)-1], key, v) }

// field returns a decent answer in which a field has another value.
func field(key, v string) string {
	text := with(key, v)
	if strings.Contains(decent, `"`+key+`"`) {
		text = strings.Replace(text, `"`+key+`"`, `"x`+key+`"`, 1)
	}
	return text
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"f%d":%d,`, i, i)
	}
	return b.String() + `"f":0`
}

// hostileValues returns values of properties in requests.
func hostileValues(long int) map[string]property.Value {
	text := property.String
	values := map[string]property.Value{
		"null": property.Null, "true": property.Bool(true), "unknown": property.Unknown, "a secret unknown": property.Secret(property.Unknown),
		"an empty text": text(""), "text": text("x"), "invalid UTF-8": text("A\xff"), "a NUL": text("A\x00B"), "a long text": text(strings.Repeat("x", long)),
		"a secret": property.Secret(text("correct horse")), "a secret null": property.Secret(property.Null), "an empty list": property.Array(), "an empty object": property.Object(property.Map{}),
		"a list": property.Array(text("x"), property.Secret(text("correct horse"))), "a list of null": property.Array(property.Null), "a list of unknowns": property.Array(property.Unknown),
		"a list of numbers": property.Array(property.Number(1)), "an address": property.Object(pt.MapOf(pt.Object{"city": "Bern", "street": "correct horse"})),
		"a secret address": property.Secret(property.Object(pt.MapOf(pt.Object{"city": "Bern"}))), "an address of numbers": property.Object(pt.MapOf(pt.Object{"city": 1})),
		"an output":       property.OutputOf(property.Output{Value: text("x"), Dependencies: []string{string(urn.New("dev", "test", "", contact, "b"))}}),
		"a secret output": property.OutputOf(property.Output{Value: text("correct horse"), Secret: true}),
		"an asset":        property.AssetOf(property.Asset{Source: property.SourceText, Text: "x"}),
		"an archive":      property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "x"}),
		"a reference":     property.Reference(property.ResourceReference{URN: "urn:pulumi:dev::test::a:b:c::d"}),
	}
	for _, n := range []float64{0, math.Copysign(0, -1), 1, 5, 6, 1.5, -1, 1e-5, 123456.5, 1234567.5, 1 << 53, 1e19, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		values[fmt.Sprint(n)] = property.Number(n)
	}
	deep, objects := property.Secret(text("correct horse")), property.Unknown
	for range property.DefaultDepth - 3 {
		deep, objects = property.Array(deep), property.Object(property.NewMap(property.Entry{Key: "a", Value: objects}))
	}
	values["deep lists"], values["deep objects"] = deep, objects
	values["too deep"] = property.Array(property.Array(property.Array(property.Array(deep))))
	return values
}
