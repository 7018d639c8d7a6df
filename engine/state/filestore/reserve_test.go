package filestore_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
)

// If the space for results cannot be set aside, no operation begins. Those under way can still end.
func TestNoOperationBeginsWithoutReserve(t *testing.T) {
	ctx := t.Context()
	for name, fault := range map[string]func(fsys *faultfs.FS){
		"a full disk": func(fsys *faultfs.FS) { fsys.SetCapacity(fsys.Used() + 100<<10) },
		"an error": func(fsys *faultfs.FS) {
			fsys.Inject(func(op faultfs.Op) faultfs.Fault {
				if strings.HasSuffix(op.Name, ".reserve") && op.Kind == "create" {
					return faultfs.Fault{Err: syscall.EACCES}
				}
				return faultfs.Fault{}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := faultfs.New()
			store := filestore.NewFS(fsys)
			require.NoError(t, state.Create(ctx, store, stackName, plainKeys{}))
			stack, err := state.Open(ctx, store, stackName, plainKeys{}, state.Holder{})
			require.NoError(t, err)
			fault(fsys)
			operation := state.Entry{state.BeginOperation{Op: 0, Type: state.OperationCreating, Resource: component("a")}}
			for range 2 {
				err = stack.Append(ctx, operation)
				require.ErrorContains(t, err, "dev.reserve")
				require.Equal(t, name == "a full disk", errors.Is(err, state.ErrNoSpace))
			}
			put(t, stack, "b") // begins nothing, and there is room for it
			fsys.SetCapacity(0)
			fsys.Inject(nil)
			require.NoError(t, stack.Append(ctx, operation), "once there is room it can be tried again")
			require.NoError(t, stack.Append(ctx, state.Entry{state.EndOperation{Op: 0}}))
			require.NoError(t, stack.Close(ctx))
			snapshot, _, err := state.Load(ctx, store, stackName, nil)
			require.NoError(t, err)
			require.Equal(t, []string{"b"}, namesOf(snapshot))
			_, err = fsys.OpenFile("locks/proj/dev.reserve", os.O_RDONLY, 0)
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
}
