package resources_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// TestPulumiStackOfManyResources: a stack of a thousand resources comes from Pulumi,
// goes back with nothing lost or spelt otherwise, and is refreshed.
func TestPulumiStackOfManyResources(t *testing.T) {
	ctx := t.Context()
	export := enginetest.Export(1000)
	snapshot, codec, err := state.Decode(ctx, export, base64Keys{}.Open)
	require.NoError(t, err)
	require.GreaterOrEqual(t, snapshot.Len(), 1000)
	require.NoError(t, snapshot.Verify())
	again, err := codec.EncodeExport(ctx, snapshot, false)
	require.NoError(t, err)
	require.Equal(t, canonical(t, export), canonical(t, again))

	store, name := new(memstore.Store), state.StackName{Project: "proj", Name: "dev"}
	require.NoError(t, state.Create(ctx, store, name, base64Keys{}))
	st, err := state.Open(ctx, store, name, base64Keys{}, state.Holder{})
	require.NoError(t, err)
	require.NoError(t, st.Replace(ctx, snapshot))
	again, err = st.Codec().EncodeExport(ctx, st.Snapshot(), false)
	require.NoError(t, err)
	require.Equal(t, canonical(t, export), canonical(t, again), "also through a store")

	providers := new(mirror)
	result, err := engine.Run(ctx, engine.Deployment{
		Project: "proj", Stack: "dev", Providers: providers, State: st,
	}, engine.Refresh{ClearPendingCreates: true})
	require.NoError(t, err)
	require.Greater(t, int(providers.reads.Load()), 800, "each resource of a provider is read")
	require.Zero(t, result.Changes.Total(), "%+v", result.Changes)
	require.NoError(t, st.Snapshot().Verify())
	require.NoError(t, st.Close(ctx))
}

func canonical(t *testing.T, doc []byte) string {
	v := jsontext.Value(append([]byte(nil), doc...))
	require.NoError(t, v.Canonicalize(jsontext.CanonicalizeRawFloats(false)))
	return string(v)
}

// mirror is a provider whose resources are always as the state says.
type mirror struct {
	abi.Unimplemented
	reads atomic.Int64
}

func (m *mirror) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return m, nil }

func (*mirror) Parameterize(_ context.Context, r abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	return abi.ParameterizeResponse{Name: r.Parameters.Value.Name, Version: r.Parameters.Value.Version}, nil
}

func (m *mirror) Read(_ context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	m.reads.Add(1)
	return abi.ReadResponse{ID: r.ID, State: *r.State, Inputs: r.Inputs}, nil
}

// base64Keys are the keys of a secrets provider that hides nothing.
type base64Keys struct{}

func (base64Keys) New(context.Context) (secrets.Provider, error) { return base64Keys{}, nil }
func (base64Keys) Open(context.Context, string, json.RawMessage) (secrets.Provider, error) {
	return base64Keys{}, nil
}
func (base64Keys) Type() string           { return "b64" }
func (base64Keys) State() json.RawMessage { return json.RawMessage(`{}`) }
func (base64Keys) Encrypt(_ context.Context, text string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}
func (base64Keys) Decrypt(_ context.Context, text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	return string(data), err
}
