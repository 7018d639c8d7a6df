package api

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const freshProvider = `package main

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type Inputs struct {
	Name string ` + "`husk:\"name\"`" + `
}

type Greeting struct{}

func (Greeting) Create(_ context.Context, r guest.CreateRequest[Inputs]) (guest.CreateResponse[Inputs], error) {
	return guest.CreateResponse[Inputs]{ID: r.Name, State: r.Inputs}, nil
}

func main() {
	guest.Serve(guest.Provider{Name: "greet", Version: "1.0.0", Resources: []guest.Resource{guest.ResourceOf("greet:index:Greeting", Greeting{})}})
}
`

// A fresh provider is built without a download, a checksum, or a line of any module but Husk.
func TestAProviderNeedsNoOtherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	data, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, "go.mod")).Output()
	require.NoError(t, err)
	var husk struct{ Go string }
	require.NoError(t, json.Unmarshal(data, &husk))

	dir, modules := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"main.go": freshProvider,
		"go.mod": "module example.com/greet\n\ngo " + husk.Go + "\n\nrequire github.com/husk-dev/husk v0.0.0\n\n" +
			"replace github.com/husk-dev/husk => " + root + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-o", "greet.wasm", ".") // with the flags of other guests, whose library is compiled
	build.Dir = dir
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOMODCACHE="+modules, "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.FileExists(t, filepath.Join(dir, "greet.wasm"))
	require.NoFileExists(t, filepath.Join(dir, "go.sum"))
	downloaded, err := os.ReadDir(modules)
	require.NoError(t, err)
	for _, entry := range downloaded {
		require.Equal(t, "cache", entry.Name(), "only a lock of the go command is there, and no module")
	}
}
