package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// A component in a module can do all that a program can: register, read, call functions
// and methods, and add packages, one after the other and at once.
func TestComponentsUseTheMonitor(t *testing.T) {
	loader := loadModules(t)
	stack := enginetest.NewStack(t, nil)
	stack.Edit = func(d *enginetest.Deployment) { d.Providers = loader }
	program := enginetest.Program(func(p *enginetest.Run) error {
		kit, err := asEcho(p)
		if err != nil {
			return err
		}
		var options abi.ResourceOptions
		kit(&options)
		made, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
			Type: mirrorType, Name: "all", Remote: true, Inputs: enginetest.Props("use", true), Options: options,
		})
		if err != nil {
			return err
		}
		told, ok := made.State.Get("told").AsObject()
		require.True(t, ok)
		failed, _ := told.Get("failed").AsString()
		require.Contains(t, failed, "nonsense")
		want := enginetest.Props(
			"read", "from all", "urn", "urn:pulumi:dev::proj::echo:index:Mirror$echo:index:Echo::all-read",
			"said", "from all", "answered", "from all", "from", string(made.URN), "package", "other 2.0.0",
			"registered", "made-of-all-other", "resource-read", "all-here", "invoked", "from all", "called", "from all",
		)
		require.True(t, want.Equal(told.Without("failed")), "%s", told)
		return nil
	})
	stack.Up(program)
	require.Equal(t, "other", stack.Resource("all-other").URN.Type()[:5])
	require.True(t, stack.Resource("all-read").External)
	require.Zero(t, stack.Up(program).Total(), "nothing changed")
}
