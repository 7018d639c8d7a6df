package port_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// exiting returns a directory with a provider whose main has these statements.
func exiting(t *testing.T, statements string) string {
	t.Helper()
	return files(t, map[string]string{"go.mod": dogMod, "main.go": `package main

import (
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

type dog struct{}

func (dog) Describe() string { return "dog" }

func serve() int {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: func() tfprotov5.ProviderServer { return dog{} }})
	return 1
}

func main() {
` + statements + `
}

var _, _ = log.Fatal, os.Exit
`})
}

// The server of a process serves until the process ends. What main does behind that is not done in a module,
// which has no such end.
func TestMainEndsAfterItServes(t *testing.T) {
	sdk := imitations(t)
	for name, statements := range map[string]string{
		"it returns":                `serve()`,
		"it exits":                  `serve(); os.Exit(0)`,
		"it exits with a result":    `os.Exit(serve())`,
		"it fails":                  `serve(); log.Fatal("the server has ended")`,
		"it panics":                 `serve(); panic("the server has ended")`,
		"it has deferred something": `defer func() { os.Exit(1) }(); serve()`,
		"it waits for the server":   `done := make(chan int); go func() { done <- serve() }(); os.Exit(<-done)`,
		"it blocks beside a server": `go serve(); select {}`,
	} {
		t.Run(name, func(t *testing.T) {
			built, err := port.Port(t.Context(), exiting(t, statements), port.Options{Dir: t.TempDir(), SDK: sdk})
			require.NoError(t, err)
			require.Equal(t, "5 provider dog old", described(t, built))
		})
	}
}

// A main that ends before it serves fails the first call, which says what happened.
func TestMainEndsBeforeItServes(t *testing.T) {
	sdk := imitations(t)
	for name, c := range map[string]struct{ statements, says string }{
		"it exits":        {`os.Exit(1); serve()`, "it exited with code 1"},
		"it fails":        {`log.SetFlags(0); log.Fatal("no home directory"); serve()`, "it exited with code 1"},
		"it panics":       {`panic("no home directory"); serve()`, "no home directory"},
		"it never serves": {`select {}`, "deadlock"},
		"it returns":      {``, "the module serves no provider"},
	} {
		t.Run(name, func(t *testing.T) {
			built, err := port.Port(t.Context(), exiting(t, c.statements), port.Options{Dir: t.TempDir(), SDK: sdk})
			require.NoError(t, err)
			m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
			require.NoError(t, err)
			p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: built.Manifest.Name})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			_, err = p.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.ErrorContains(t, err, c.says)
		})
	}
}
