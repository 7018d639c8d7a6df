package usertest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/husk-dev/husk/internal/registry/registrytest"
)

// registries are the registries of a script, by their hosts.
type registries map[string]*registrytest.Server

// registriesKey is the key of [registries] among the values of a script.
type registriesKey struct{}

// startRegistry NAME: starts an OCI registry. $NAME is its host and port.
func startRegistry(ts *testscript.TestScript, _ bool, args []string) {
	s := registrytest.Start()
	ts.Defer(s.Close)
	ts.Value(registriesKey{}).(registries)[s.Host] = s
	ts.Setenv(args[0], s.Host)
}

// fault HOST KIND [MATCH]: has a registry fail in a way, for the requests whose method and path have a text in them. The kind
// healthy ends all faults, and closed ends the registry.
func fault(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(registriesKey{}).(registries)[args[0]]
	match := ""
	if len(args) > 2 {
		match = args[2]
	}
	switch args[1] {
	case "healthy":
		s.Heal()
	case "closed":
		s.Close()
	case "swapped":
		s.Fail(match, 0, registrytest.Swap)
	case "stalled":
		const part = 1 << 20
		s.Fail(match, 0, registrytest.Stall(part))
	case "endless":
		s.Fail(match, 0, registrytest.Endless)
	case "zipped":
		s.Fail(match, 0, registrytest.Content("application/octet-stream", []byte("PK\x03\x04")))
	case "missing":
		s.Fail(match, 0, registrytest.Status(http.StatusNotFound))
	default:
		ts.Fatalf("there is no fault %s", args[1])
	}
}

// lockModule FILE MODULE: has a lock with one provider name the module in a file, as somebody does by hand.
func lockModule(ts *testscript.TestScript, _ bool, args []string) {
	wasm := ts.ReadFile(args[1])
	lock := regexp.MustCompile(`(?m)^( +digest: ).*$`).ReplaceAllString(ts.ReadFile(args[0]), fmt.Sprintf("${1}sha256:%x", sha256.Sum256([]byte(wasm))))
	lock = regexp.MustCompile(`(?m)^( +size: ).*$`).ReplaceAllString(lock, fmt.Sprintf("${1}%d", len(wasm)))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(lock), 0o644))
}

// plant DIR MODULE: makes an OCI layout with the bytes of a module, which its index does not name.
func plant(ts *testscript.TestScript, _ bool, args []string) {
	wasm := []byte(ts.ReadFile(args[1]))
	blobs := filepath.Join(ts.MkAbs(args[0]), "blobs", "sha256")
	ts.Check(os.MkdirAll(blobs, 0o755))
	ts.Check(os.WriteFile(filepath.Join(blobs, fmt.Sprintf("%x", sha256.Sum256(wasm))), wasm, 0o644))
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), "index.json"), []byte(`{"schemaVersion":2,"manifests":[]}`), 0o644))
}
