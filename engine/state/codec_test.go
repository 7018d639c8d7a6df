package state_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

func TestExportKeepsEveryByteOfItsJSON(t *testing.T) {
	s, codec := Decode(t, FullExport)
	out, err := codec.EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	RequireSameJSON(t, FullExport, out)

	t.Run("also through a checkpoint", func(t *testing.T) {
		checkpoint, err := codec.EncodeCheckpoint(t.Context(), s)
		require.NoError(t, err)
		again, codec := Decode(t, checkpoint)
		out, err := codec.EncodeExport(t.Context(), again, false)
		require.NoError(t, err)
		RequireSameJSON(t, FullExport, out)
	})
	t.Run("also without the key", func(t *testing.T) {
		s, codec, err := state.Decode(t.Context(), FullExport, nil)
		require.NoError(t, err)
		out, err := codec.EncodeExport(t.Context(), s, false)
		require.NoError(t, err)
		RequireSameJSON(t, FullExport, out)
	})
}

// Written from its fields, a resource keeps everything but explicit empty
// members ("inputs": {}) and the way numbers are spelt (1.0).
func TestFieldsHoldAllOfAResource(t *testing.T) {
	s, codec := Decode(t, FullExport)
	s.ForgetJSON()
	out, err := codec.EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	want := string(FullExport)
	for _, empty := range []string{`"inputs": {},`, `"dependencies": [],`, `"outputs": {},`} {
		require.Contains(t, want, empty)
		want = strings.Replace(want, empty, "", 1)
	}
	want = strings.Replace(want, ",\n                \"propertyDependencies\": {}", "", 1)
	want = strings.Replace(want, `"a": 1.0`, `"a": 1`, 1)
	RequireSameJSON(t, []byte(want), out)
}

func TestDecodedFields(t *testing.T) {
	s, _ := Decode(t, FullExport)
	all := Resources(s)
	require.Len(t, all, 6)
	bucket := all[3].URN
	require.True(t, all[1].IsProvider())
	require.Equal(t, all[3].Provider, all[1].Reference())
	require.True(t, all[4].Delete)
	require.Equal(t, bucket, all[4].URN)

	r := all[5]
	require.Equal(t, "a::b", r.URN.Name())
	require.Equal(t, "obj-1", r.ID)
	require.Equal(t, "aws:s3/object:Object", r.Type)
	require.True(t, r.Custom && r.Protect && r.Taint && r.External && r.PendingReplacement && r.RetainOnDelete && r.RefreshBeforeUpdate)
	require.Equal(t, all[2].URN, r.Parent)
	require.Equal(t, []urn.URN{bucket}, r.Dependencies)
	require.Equal(t, []string{"not ready"}, r.InitErrors)
	require.Equal(t, map[string][]urn.URN{"bucket": {bucket}, "none": nil, "empty": {}}, r.PropertyDependencies)
	require.Equal(t, []string{"password"}, r.AdditionalSecretOutputs)
	require.Equal(t, &state.CustomTimeouts{Create: 300, Update: 1.5, Delete: 60, Read: 5}, r.CustomTimeouts)
	require.Equal(t, "imp-1", r.ImportID)
	require.Equal(t, bucket, r.DeletedWith)
	require.Equal(t, []urn.URN{bucket}, r.ReplaceWith)
	require.True(t, time.Date(2024, 3, 1, 10, 0, 0, 123456789, time.UTC).Equal(r.Created))
	require.True(t, time.Date(2024, 3, 2, 9, 22, 33, 0, time.UTC).Equal(r.Modified))
	require.Equal(t, []state.StackFrame{{"project:///index.ts#12,3"}, {"project:///lib.ts#1"}}, r.StackTrace)
	require.Equal(t, []string{"tags", "a[0]"}, r.IgnoreChanges)
	require.Equal(t, []property.Path{
		{property.Key("tags"), property.Key("env")}, {property.Key("list"), property.Index(0)}, {property.Wildcard()},
	}, r.HideDiff)
	require.Equal(t, map[string][]string{"before_create": {"h1", "h2"}}, r.ResourceHooks)
	require.Equal(t, property.Object(property.NewMap(property.Entry{Key: "v", Value: property.Secret(property.Number(7))})), r.ReplacementTrigger)

	in := r.Inputs
	require.True(t, in.Has("null") && in.Get("null").IsNull())
	require.Equal(t, property.Number(1e21), in.Get("big"))
	zero, _ := in.Get("negativeZero").AsNumber()
	require.True(t, math.Signbit(zero))
	require.Equal(t, property.Unknown, in.Get("unknown"))
	nan, _ := in.Get("nan").AsNumber()
	require.Equal(t, uint64(0x7ff8000000000001), math.Float64bits(nan))
	require.Equal(t, property.Number(math.Inf(1)), in.Get("inf"))
	require.Equal(t, property.Number(math.Inf(-1)), in.Get("minusInf"))
	require.Equal(t, property.String("\xff\x00\xfe"), in.Get("bytes"))
	require.Equal(t, property.Secret(property.String("hunter2")), in.Get("secret"))
	inner, _ := in.Get("secretObject").AsSecret()
	m, _ := inner.AsObject()
	require.Equal(t, property.Secret(property.String("inner")), m.Get("nested"))
	asset := func(name string) property.Asset { a, ok := in.Get(name).AsAsset(); require.True(t, ok); return a }
	require.Equal(t, "hello", asset("textAsset").Text)
	require.Equal(t, property.SourceText, asset("emptyAsset").Source)
	require.Equal(t, property.SourceNone, asset("elidedAsset").Source)
	require.Equal(t, "./a.txt", asset("pathAsset").Path)
	require.Equal(t, "https://example.com/a", asset("uriAsset").URI)
	archive, ok := in.Get("archive").AsArchive()
	require.True(t, ok)
	require.Equal(t, []string{"dir", "f"}, archive.Assets.Keys())
	require.Equal(t, property.Reference(property.ResourceReference{URN: string(bucket), HasID: true, ID: "b-1", PackageVersion: "6.0.0"}), in.Get("custom"))
	require.Equal(t, property.Reference(property.ResourceReference{URN: string(bucket), HasID: true}), in.Get("customUnknownID"))
	require.Equal(t, property.Reference(property.ResourceReference{URN: string(r.Parent)}), in.Get("component"))

	var operations []state.PendingOperation
	for _, op := range s.Operations() {
		operations = append(operations, op)
	}
	require.Len(t, operations, 2)
	require.Equal(t, state.OperationCreating, operations[0].Type)
	require.Equal(t, property.Secret(property.String("pending secret")), operations[0].Resource.Inputs.Get("p"))
	require.Equal(t, "v3.259.0", s.Manifest.Version)
}

func TestSealedSecretsAreMarkedAndNotShown(t *testing.T) {
	s, codec, err := state.Decode(t.Context(), FullExport, nil)
	require.NoError(t, err)
	r := Resources(s)[5]
	require.Equal(t, property.Secret(property.Unknown), r.Inputs.Get("secret"))
	require.Nil(t, codec.Secrets())

	changed := *r
	changed.ID = "other"
	require.NoError(t, s.Apply(state.Entry{state.PutResource{Serial: 5, Resource: &changed}}))
	_, err = codec.EncodeExport(t.Context(), s, false)
	require.ErrorIs(t, err, secrets.ErrNoKey, "what is not known cannot be encrypted")
}

func TestUnknownMembersStayWithACopiedResource(t *testing.T) {
	s, codec := Decode(t, FullExport)
	changed := *Resources(s)[5]
	changed.ID = "obj-2"
	require.NoError(t, s.Apply(state.Entry{state.PutResource{Serial: 5, Resource: &changed}}))
	out, err := codec.EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	want := strings.Replace(string(FullExport), `"obj-1"`, `"obj-2"`, 1)
	RequireSameJSON(t, []byte(want), out)
}

func TestUnchangedSecretsKeepTheirCiphertext(t *testing.T) {
	ctx := t.Context()
	provider := Numbered{B64: B64(`{}`), N: new(atomic.Int64)}
	open := func(context.Context, string, json.RawMessage) (secrets.Provider, error) { return provider, nil }
	r := &state.Resource{
		URN: "urn:pulumi:dev::p::a:b:C::n", Type: "a:b:C", Custom: true, ID: "1",
		Inputs: property.MapOf(map[string]property.Value{
			"password": property.Secret(property.String("<hunter2>")),
			"tags":     property.Array(property.Secret(property.Number(1)), property.String("x")),
		}),
		Outputs: property.MapOf(map[string]property.Value{"password": property.Secret(property.String("<hunter2>"))}),
	}
	first, err := state.NewCodec(provider).EncodeExport(ctx, state.NewSnapshot(r), false)
	require.NoError(t, err)
	require.NotContains(t, string(first), "hunter2")
	require.EqualValues(t, 3, provider.N.Load(), "input and output have ciphertexts of their own")

	s, codec, err := state.Decode(ctx, first, open)
	require.NoError(t, err)
	changed := *Resources(s)[0]
	changed.ID = "2"
	changed.Inputs = changed.Inputs.With("tags", property.Array(property.Secret(property.Number(2))))
	require.NoError(t, s.Apply(state.Entry{state.PutResource{Serial: 0, Resource: &changed}}))
	second, err := codec.EncodeExport(ctx, s, false)
	require.NoError(t, err)
	require.EqualValues(t, 4, provider.N.Load(), "only the changed secret was encrypted")

	ciphertext := func(doc []byte, path ...string) (out string) {
		var v struct {
			Deployment struct {
				Resources []map[string]map[string]map[string]string
			}
		}
		_ = json.Unmarshal(doc, &v) // the other members are of other types
		return v.Deployment.Resources[0][path[0]][path[1]]["ciphertext"]
	}
	for _, path := range [][]string{{"inputs", "password"}, {"outputs", "password"}} {
		require.NotEmpty(t, ciphertext(first, path...))
		require.Equal(t, ciphertext(first, path...), ciphertext(second, path...), path)
	}
}

func TestShownSecretsAreEncryptedWhenTheyComeBack(t *testing.T) {
	ctx := t.Context()
	s, codec := Decode(t, FullExport)
	shown, err := codec.EncodeExport(ctx, s, true)
	require.NoError(t, err)
	require.Contains(t, string(shown), `"plaintext":"\"hunter2\""`)
	require.NotContains(t, string(shown), `"ciphertext"`)

	back, codec := Decode(t, shown)
	require.Equal(t, property.Secret(property.String("hunter2")), Resources(back)[5].Inputs.Get("secret"))
	stored, err := codec.EncodeExport(ctx, back, false)
	require.NoError(t, err)
	require.NotContains(t, string(stored), "hunter2")
	RequireSameJSON(t, FullExport, stored)
}

func TestSecretsOfAnotherProviderAreEncryptedAnew(t *testing.T) {
	s, _ := Decode(t, FullExport)
	codec := state.NewCodec(Numbered{B64: B64(`{"other":true}`), N: new(atomic.Int64)})
	out, err := codec.EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	old := base64.StdEncoding.EncodeToString([]byte(`"hunter2"`))
	require.NotContains(t, string(out), `"ciphertext":"`+old, "no ciphertext of the old provider is left")
	require.Contains(t, string(out), `:`+old)
	require.Contains(t, string(out), `"state":{"other":true}`)
}

func TestEncodingIsDeterministic(t *testing.T) {
	var first []byte
	for range 5 {
		s, codec := Decode(t, FullExport)
		s.ForgetJSON()
		out, err := codec.EncodeCheckpoint(t.Context(), s)
		require.NoError(t, err)
		if first == nil {
			first = out
		}
		require.Equal(t, string(first), string(out))
	}
}

func TestOutputsAreStoredWithoutDependencies(t *testing.T) {
	output := func(v property.Value, secret bool) property.Value {
		return property.OutputOf(property.Output{Value: v, Secret: secret, Dependencies: []string{"urn:pulumi:a::b::c:d:E::f"}})
	}
	r := &state.Resource{URN: "urn:pulumi:dev::p::a:b:C::n", Type: "a:b:C", Inputs: property.MapOf(map[string]property.Value{
		"plain": output(property.String("x"), false), "secret": output(property.String("y"), true), "unknown": output(property.Unknown, false),
	})}
	doc, err := state.NewCodec(B64("{}")).EncodeExport(t.Context(), state.NewSnapshot(r), false)
	require.NoError(t, err)
	s, _ := Decode(t, doc)
	require.Equal(t, property.MapOf(map[string]property.Value{
		"plain": property.String("x"), "secret": property.Secret(property.String("y")), "unknown": property.Unknown,
	}), Resources(s)[0].Inputs)
}

func TestVersionFollowsFeatures(t *testing.T) {
	r := &state.Resource{URN: "urn:pulumi:dev::p::a:b:C::n", Type: "a:b:C"}
	export := func(r *state.Resource) string {
		out, err := state.NewCodec(nil).EncodeExport(t.Context(), state.NewSnapshot(r), false)
		require.NoError(t, err)
		return string(out)
	}
	require.Contains(t, export(r), `{"version":3,"deployment"`)
	for feature, change := range map[string]func(*state.Resource){
		"taint":               func(r *state.Resource) { r.Taint = true },
		"views":               func(r *state.Resource) { r.ViewOf = r.URN },
		"hooks":               func(r *state.Resource) { r.ResourceHooks = map[string][]string{"h": {"x"}} },
		"replaceWith":         func(r *state.Resource) { r.ReplaceWith = []urn.URN{r.URN} },
		"refreshBeforeUpdate": func(r *state.Resource) { r.RefreshBeforeUpdate = true },
		"byteString": func(r *state.Resource) {
			r.Inputs = property.MapOf(map[string]property.Value{"b": property.String("\xff")})
		},
	} {
		changed := *r
		change(&changed)
		require.Contains(t, export(&changed), `{"version":4,"features":["`+feature+`"],`)
	}
}

func TestResourcesThatHaveNoJSON(t *testing.T) {
	deep := property.Null
	for range 2000 {
		deep = property.Array(deep)
	}
	for name, test := range map[string]struct {
		value property.Value
		path  string
	}{
		"signature":      {property.Object(property.MapOf(map[string]property.Value{"4dabf18193072939515e22adb298388d": property.Null})), "inputs.v"},
		"invalid key":    {property.Object(property.MapOf(map[string]property.Value{"\xff": property.Null})), "inputs.v"},
		"too deep":       {deep, "inputs.v[0]"},
		"secret, no key": {property.Array(property.Secret(property.String("s"))), "inputs.v[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &state.Resource{URN: "urn:pulumi:dev::p::a:b:C::n", Type: "a:b:C",
				Inputs: property.MapOf(map[string]property.Value{"v": test.value})}
			_, err := state.NewCodec(nil).EncodeExport(t.Context(), state.NewSnapshot(r), false)
			var e *state.EncodeError
			require.True(t, errors.As(err, &e), "%v", err)
			require.Equal(t, string(r.URN), e.URN)
			require.True(t, strings.HasPrefix(e.Path.String(), test.path), "%s", e.Path)
		})
	}
}

// thousand is the state of an ordinary program of 1,000 resources.
func thousand() *state.Snapshot {
	resources := []*state.Resource{Provider()}
	for i := range 1000 {
		r := Custom(fmt.Sprintf("resource-%d", i), resources[i].URN)
		r.Inputs = property.MapOf(map[string]property.Value{"length": property.Number(float64(i)), "prefix": property.String("web"), "separator": property.String("-")})
		r.Outputs = r.Inputs.With("id", property.String(r.ID))
		r.PropertyDependencies = map[string][]urn.URN{"length": r.Dependencies}
		r.Created, r.Modified = time.Unix(1e9, 0).UTC(), time.Unix(1e9, 0).UTC()
		r.SourcePosition = "Husk.yaml:12:3"
		resources = append(resources, r)
	}
	return state.NewSnapshot(resources...)
}

func BenchmarkEncode(b *testing.B) {
	s, codec := thousand(), state.NewCodec(B64(`{}`))
	b.ReportAllocs()
	for b.Loop() {
		_, err := codec.EncodeCheckpoint(b.Context(), s)
		require.NoError(b, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	text, err := state.NewCodec(B64(`{}`)).EncodeCheckpoint(b.Context(), thousand())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := state.Decode(b.Context(), text, OpenB64)
		require.NoError(b, err)
	}
}
