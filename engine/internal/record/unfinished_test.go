package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// A creation of an earlier run stays until its own end is recorded, and goes by its new name.
func TestUnfinishedCreations(t *testing.T) {
	ctx := t.Context()
	const old, now = urn.URN("urn:pulumi:dev::proj::a:b:C::old"), urn.URN("urn:pulumi:dev::proj::a:b:C::new")
	recorded := &state.Resource{URN: old, Type: old.Type()}
	s := state.NewSnapshot(recorded)
	s.AddOperation(state.PendingOperation{Type: state.OperationCreating, Resource: &state.Resource{URN: old, Type: old.Type()}})
	r := New(nil, s, &redact.Secrets{})

	require.NoError(t, r.Record(ctx, End(Operation{})))
	other, err := r.Begin(ctx, state.OperationUpdating, recorded, Change{})
	require.NoError(t, err)
	require.NoError(t, r.Record(ctx, End(other)))
	_, created := r.Creating(old)
	require.NotNil(t, created, "neither no operation nor one of this run ends it")

	renamed, err := r.Rename(ctx, old, now, nil)
	require.NoError(t, err)
	require.Equal(t, now, renamed.URN)
	op, created := r.Creating(now)
	require.NotNil(t, created)
	require.NoError(t, r.Record(ctx, End(op)))
	_, created = r.Creating(now)
	require.Nil(t, created)
}
