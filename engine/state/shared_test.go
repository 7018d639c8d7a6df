package state_test

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

// URN returns the URN of a resource of the stack.
func URN(typ, name string) urn.URN { return urn.New("dev", "p", "", typ, name) }

// Provider returns a provider, which the resources of Custom have.
func Provider() *state.Resource {
	return &state.Resource{URN: URN("pulumi:providers:a", "default"), Type: "pulumi:providers:a", Custom: true, ID: "1"}
}

// Custom returns a resource that holds together with Provider.
func Custom(name string, dependencies ...urn.URN) *state.Resource {
	return &state.Resource{URN: URN("a:b:C", name), Type: "a:b:C", Custom: true, ID: name,
		Provider: Provider().Reference(), Dependencies: dependencies}
}

// Changed returns a resource with a change.
func Changed(r *state.Resource, change func(*state.Resource)) *state.Resource {
	c := *r
	change(&c)
	return &c
}

// Names returns the names of resources.
func Names(all []*state.Resource) []string {
	var out []string
	for _, r := range all {
		out = append(out, r.URN.Name())
	}
	return out
}

// Resources returns the resources of a snapshot, in their order.
func Resources(s *state.Snapshot) []*state.Resource {
	var out []*state.Resource
	for _, r := range s.Resources() {
		out = append(out, r)
	}
	return out
}

// EveryChange is an entry with each kind of change, for a snapshot of two.
func EveryChange() state.Entry {
	secret := Changed(Custom("new"), func(r *state.Resource) {
		r.Inputs = property.MapOf(map[string]property.Value{"s": property.Secret(property.String("hunter2"))})
	})
	return state.Entry{
		state.BeginOperation{Op: 7, Type: state.OperationCreating, Resource: secret},
		state.BeginOperation{Op: 8, Type: state.OperationDeleting, Resource: Custom("x")},
		state.EndOperation{Op: 8},
		state.PutResource{Serial: 12, Resource: secret},
		state.PutResource{Serial: 0, Resource: Changed(Provider(), func(r *state.Resource) { r.Protect = true })},
		state.RemoveResource{Serial: 1},
		state.SetManifest{Manifest: state.Manifest{Time: time.Unix(1e9, 0).UTC(), Version: "v1", Plugins: []state.Plugin{{Name: "a", Type: "resource"}}}},
		state.SetExtensions{},
		state.SetExtensions{Value: json.RawMessage(`{"a": 1}`)},
	}
}

// B64 is a secrets provider that hides nothing: base64, as in Pulumi's tests. Its value is its state.
type B64 string

// Encrypt returns the text in base64.
func (B64) Encrypt(_ context.Context, plaintext string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(plaintext)), nil
}

// Decrypt returns the text of base64.
func (B64) Decrypt(_ context.Context, ciphertext string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(ciphertext)
	return string(b), err
}

// Type returns "b64".
func (B64) Type() string { return "b64" }

// State returns the JSON that the provider is.
func (p B64) State() json.RawMessage { return json.RawMessage(p) }

// OpenB64 opens a B64, see [state.OpenSecrets].
func OpenB64(_ context.Context, typ string, state json.RawMessage) (secrets.Provider, error) {
	if typ != "b64" {
		return nil, fmt.Errorf("unexpected type %q", typ)
	}
	return B64(state), nil
}

// Keys is a source of one provider.
type Keys struct{ Provider secrets.Provider }

// New returns the provider.
func (k Keys) New(context.Context) (secrets.Provider, error) { return k.Provider, nil }

// Open returns the provider, which must be of the type.
func (k Keys) Open(_ context.Context, typ string, _ json.RawMessage) (secrets.Provider, error) {
	if typ != k.Provider.Type() {
		return nil, fmt.Errorf("state of type %q", typ)
	}
	return k.Provider, nil
}

// B64Keys is the source of a B64.
var B64Keys = Keys{B64(`{}`)}

// Numbered is a secrets provider whose ciphertexts are all different.
type Numbered struct {
	B64
	N *atomic.Int64
}

// Encrypt numbers the ciphertext.
func (p Numbered) Encrypt(ctx context.Context, plaintext string) (string, error) {
	ciphertext, _ := p.B64.Encrypt(ctx, plaintext)
	return fmt.Sprintf("%d:%s", p.N.Add(1), ciphertext), nil
}

// Decrypt returns the text.
func (p Numbered) Decrypt(ctx context.Context, ciphertext string) (string, error) {
	_, ciphertext, _ = strings.Cut(ciphertext, ":")
	return p.B64.Decrypt(ctx, ciphertext)
}

// Signature is the JSON of the key that marks special values.
const Signature = `"4dabf18193072939515e22adb298388d"`

// ExportOf returns an export with one resource that has the input v.
func ExportOf(v string) string {
	return `{"version":3,"deployment":{"secrets_providers":{"type":"b64"},"resources":[` +
		`{"urn":"urn:pulumi:dev::p::a:b:C::n","custom":false,"type":"a:b:C","inputs":{"v":` + v + `}}]}}`
}

// Decode reads an export whose secrets are those of B64.
func Decode(t testing.TB, data []byte) (*state.Snapshot, *state.Codec) {
	s, codec, err := state.Decode(t.Context(), data, OpenB64)
	require.NoError(t, err)
	return s, codec
}

// RequireSameJSON compares documents but for white space and the order of members.
func RequireSameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	a, b := canonicalLines(t, want), canonicalLines(t, got)
	for i := range min(len(a), len(b)) {
		require.Equal(t, a[i], b[i], "line %d", i)
	}
	require.Len(t, b, len(a))
}

func canonicalLines(t *testing.T, doc []byte) []string {
	v := jsontext.Value(append([]byte(nil), doc...))
	require.NoError(t, v.Canonicalize(jsontext.CanonicalizeRawFloats(false)))
	require.NoError(t, v.Indent())
	return strings.Split(string(v), "\n")
}

// Export returns the JSON of a snapshot, its secrets encrypted with B64.
func Export(t testing.TB, s *state.Snapshot) string {
	out, err := state.NewCodec(B64("{}")).EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	return string(out)
}

// FullExport is an export with every field and every special value that the format knows.
//
//go:embed testdata/full.export.json
var FullExport []byte
