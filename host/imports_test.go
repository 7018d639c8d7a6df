package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/limit"
)

type someMonitor struct{ abi.Monitor }

func TestTheMonitorIsForComponentsOnly(t *testing.T) {
	ctx := abi.WithMonitor(t.Context(), someMonitor{})
	for method, granted := range map[string]bool{
		"construct": true, "call": true, "create": false, "invoke": false, "configure": false, "start": false,
	} {
		i := &instance{sandbox: &sandbox{}, call: begin(ctx, abi.Method(method), limit.Call{Time: uint64(time.Hour)}, time.Second)}
		m, ok := i.grantedImports().Monitor.(*capability.Monitor)
		require.Equal(t, granted, ok, method)
		if granted {
			require.Equal(t, someMonitor{}, m.Monitor)
		}
		i.call.finish()
	}
	i := &instance{sandbox: &sandbox{}, call: begin(t.Context(), "construct", limit.Call{Time: uint64(time.Hour)}, time.Second)}
	defer i.call.finish()
	_, err := i.grantedImports().Monitor.Wait(t.Context())
	require.ErrorIs(t, err, abi.ErrDenied)
}
