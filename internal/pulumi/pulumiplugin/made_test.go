package pulumiplugin

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// What a plugin made is known by its ID and by all that can be read of its answer, or nobody knows the outcome.
func TestWhatWasMadeIsKept(t *testing.T) {
	const signature = "4dabf18193072939515e22adb298388d"
	text := func(key, value string) property.Entry { return property.Entry{Key: key, Value: property.String(value)} }
	damaged := property.NewMap(text("title", "new"), property.Entry{Key: "text", Value: property.Object(property.NewMap(text(signature, "later")))})
	for id, kind := range map[string]abi.ErrorKind{"i": abi.ErrorKindInitFailed, "": abi.ErrorKindCrashed} {
		p := serving(t, map[string]pulumigrpc.Method{
			"Create": func(_ context.Context, _, out pulumiwire.Message) error {
				pulumiwire.WriteCreated(out, abi.CreateResponse{ID: id, State: damaged})
				return nil
			},
			"Update": func(_ context.Context, _, out pulumiwire.Message) error {
				pulumiwire.WriteUpdated(out, abi.UpdateResponse{State: damaged})
				return nil
			},
		})
		_, err := p.Create(t.Context(), abi.CreateRequest{})
		e := abi.AsError(err)
		require.Equal(t, kind, e.Kind, "%v", err)
		if id != "" {
			require.Equal(t, id, e.InitFailure.ID)
			require.True(t, e.InitFailure.State.Equal(damaged.Without("text")))
			require.True(t, e.InitFailure.RefreshBeforeUpdate)
			require.Len(t, e.InitFailure.Reasons, 1)
		}
		_, err = p.Update(t.Context(), abi.UpdateRequest{ID: "j", Olds: property.NewMap(text("title", "old"), text("text", "before"))})
		e = abi.AsError(err)
		require.Equal(t, abi.ErrorKindInitFailed, e.Kind, "%v", err)
		require.Equal(t, "j", e.InitFailure.ID)
		require.True(t, e.InitFailure.State.Equal(property.NewMap(text("title", "new"), text("text", "before"))))
	}
}

// Keys that replace a resource, and a detailed diff, count only if something has changed: by the plugin's word, or else by the inputs.
func TestWhatADiffSaysNeedsAChange(t *testing.T) {
	inputs := property.NewMap(property.Entry{Key: "kind", Value: property.String("a")})
	said := abi.DiffResponse{
		ChangedKeys: []string{"kind"}, ReplaceKeys: []string{"kind"}, StableKeys: []string{"name"}, HasDetailedDiff: true, DeleteBeforeReplace: true,
		DetailedDiff: []abi.PropertyDiff{{Path: "kind", Kind: abi.DiffKindUpdateReplace}},
	}
	for changes, isChange := range map[abi.DiffChanges][2]bool{
		abi.DiffChangesNone:    {false, false},
		abi.DiffChangesSome:    {true, true},
		abi.DiffChangesUnknown: {false, true},
	} {
		said.Changes = changes
		p := serving(t, map[string]pulumigrpc.Method{"Diff": func(_ context.Context, _, out pulumiwire.Message) error {
			pulumiwire.WriteDifference(out, said)
			return nil
		}})
		for i, news := range []property.Map{inputs, inputs.With("kind", property.String("b"))} {
			got, err := p.Diff(t.Context(), abi.DiffRequest{OldInputs: inputs, News: news})
			require.NoError(t, err)
			want := abi.DiffResponse{Changes: abi.DiffChangesNone, StableKeys: said.StableKeys}
			if isChange[i] {
				want = said
			}
			require.Equal(t, want, got)
		}
	}
}

// serving returns a plugin whose process answers with these methods.
func serving(t *testing.T, methods map[string]pulumigrpc.Method) *Plugin {
	t.Helper()
	s, err := pulumigrpc.Listen(0)
	require.NoError(t, err)
	s.Serve(pulumigrpc.ResourceProvider, methods)
	p := &Plugin{client: pulumigrpc.Dial(s.Address), process: &process{ended: make(chan struct{})}}
	p.accepted.Store(&accepted{})
	t.Cleanup(func() {
		p.client.Close()
		require.NoError(t, s.Close())
	})
	return p
}

// A plugin says that an object is gone by an empty ID, and that it has deleted one by no error. No code says so.
func TestGone(t *testing.T) {
	var failure error
	answer := func(context.Context, pulumiwire.Message, pulumiwire.Message) error { return failure }
	p := serving(t, map[string]pulumigrpc.Method{"Read": answer, "Delete": answer})
	request := abi.ReadRequest{ID: "i", State: new(property.Map), Inputs: new(property.Map)}
	read, err := p.Read(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, read.ID)
	require.NoError(t, p.Delete(t.Context(), abi.DeleteRequest{ID: "i"}))
	for _, kind := range []abi.ErrorKind{
		abi.ErrorKindNotFound, abi.ErrorKindUnimplemented, abi.ErrorKindUnavailable, abi.ErrorKindDenied, abi.ErrorKindInternal,
	} {
		failure = abi.NewError(kind, "no such project")
		_, err := p.Read(t.Context(), request)
		require.Error(t, err, kind)
		require.Error(t, p.Delete(t.Context(), abi.DeleteRequest{ID: "i"}), kind)
	}
}
