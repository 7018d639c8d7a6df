// Package porttest deploys with ports in tests. Its own tests port whole providers, of Pulumi and of Terraform, and with a husk that was
// installed as a release, which takes large builds.
package porttest

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// Deploy updates an empty stack with a program, and one setting of its configuration.
func Deploy(t *testing.T, providers engine.Loader, key, value string, program goprogram.Func) (property.Map, error) {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	keys := secrets.Keys{
		LookupEnv: os.LookupEnv, ReadFile: os.ReadFile, KeyMade: func(string) {},
		ConfigDir: func() (string, error) { return dir, nil },
	}
	store, name := new(memstore.Store), state.StackName{Project: "app", Name: "dev"}
	require.NoError(t, state.Create(ctx, store, name, keys))
	stack, err := state.Open(ctx, store, name, keys, state.Holder{PID: os.Getpid(), Command: "test"})
	require.NoError(t, err)
	defer stack.Close(context.Background())
	result, err := engine.Run(ctx, engine.Deployment{
		Project: name.Project, Stack: name.Name, State: stack, Providers: providers,
		Config: []abi.ConfigEntry{{Key: key, Value: value}},
	}, engine.Up{Program: program})
	if err != nil {
		return property.Map{}, err
	}
	return result.Outputs, nil
}

// Text returns a value's text, "" if it is none.
func Text(v property.Value) string {
	s, _ := v.Plain().AsString()
	return s
}
