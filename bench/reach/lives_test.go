package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/port/mapping/facts"
	"github.com/husk-dev/husk/internal/testkit/fakeservice"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// Providers in the table live as its column says.
func TestLives(t *testing.T) {
	nightly.Skip(t)
	sources := map[string]string{}
	for _, source := range strings.Fields(providers) {
		name, _ := named(source)
		sources[name] = source
	}
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, sources, name)
			t.Setenv("HUSK_CACHE_DIR", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // which gets a key
			l, dir := lives[name], t.TempDir()
			source, only := part(sources[name])
			built, err := port.Port(t.Context(), source, port.Options{Dir: t.TempDir(), Only: only})
			require.NoError(t, err)
			requirePublished(t, path.Base(name), built.Wasm)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "provider.wasm"), built.Wasm, 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "files"), 0o700))
			l.live(t, dir, path.Base(name))
		})
	}
}

// requirePublished compares the resources of a port with those of the package that Pulumi publishes, if there is one. Tokens must be
// equal. Required inputs must be for nine of ten, since the versions of the provider may differ, and are printed where they differ. Only
// one of them may have a type.
func requirePublished(t *testing.T, name string, wasm []byte) {
	t.Helper()
	published, err := facts.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	h, err := host.New(t.Context(), host.NewConfig())
	require.NoError(t, err)
	defer h.Close(context.Background())
	m, err := h.LoadBytes(t.Context(), wasm)
	require.NoError(t, err)
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: name})
	require.NoError(t, err)
	defer p.Close()
	described, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	pkg, err := schemajson.Parse([]byte(described.Schema))
	require.NoError(t, err)
	answer, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	var own struct {
		Resources map[string]struct {
			Token string `json:"tok"`
		} `json:"resources"`
	}
	require.NoError(t, json.Unmarshal(answer.Data, &own))
	tokens, types, equal, known := 0, 0, 0, 0
	for of, r := range own.Resources {
		fact, ok := published.Resources[of]
		if !ok {
			continue
		}
		if types++; fact.Token == r.Token {
			tokens++
		}
		if fact.Required == nil {
			continue
		}
		var required []string
		for _, p := range pkg.Resource(r.Token).Inputs.Properties {
			if p.Required {
				required = append(required, p.Name)
			}
		}
		slices.Sort(required)
		if known++; slices.Equal(required, fact.Required) {
			equal++
		} else {
			t.Logf("%s requires %v, and the published package %v", r.Token, required, fact.Required)
		}
	}
	t.Logf("%s: %d of %d tokens, required inputs of %d of %d resources", name, tokens, types, equal, known)
	require.GreaterOrEqual(t, 100*tokens, 99*types)
	require.GreaterOrEqual(t, 10*equal, 9*known)
}

// live runs the program in a directory.
func (l life) live(t *testing.T, dir, name string) {
	text := l.start(t).Replace(l.program(name))
	up := func(of string) engine.Changes {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
		result, err := stackOf(t, dir, "dev").Run(t.Context(), engine.Up{}, automation.RunOptions{})
		require.NoError(t, err, of)
		return result.Changes
	}
	made := up("create").Create
	require.Zero(t, up("the same").Total())
	refreshed, err := stackOf(t, dir, "dev").Run(t.Context(), engine.Refresh{}, automation.RunOptions{})
	require.NoError(t, err)
	require.Zero(t, refreshed.Changes.Total(), "what was made is what is read")
	if l.update[0] != "" {
		text = l.changed(t, text, l.update)
		require.Equal(t, engine.Changes{Update: 1, Same: made - 1}, up("update"))
	}
	text = l.changed(t, text, l.replace)
	replaced := up("replace")
	require.Positive(t, replaced.Replace)
	require.Equal(t, made, replaced.Replace+replaced.Same)
	require.Zero(t, up("the same again").Total())

	target := it(t, stackOf(t, dir, "dev"))
	if l.id != "" {
		target.ID = strings.ReplaceAll(l.id, "ID", target.ID)
	}
	imports := func(name string) error {
		project, err := automation.Open(t.Context(), dir, automation.Options{})
		require.NoError(t, err)
		stack, err := project.NewStack(t.Context(), name)
		require.NoError(t, err)
		result, err := stack.Run(t.Context(), engine.Import{Targets: []engine.ImportTarget{target}}, automation.RunOptions{})
		if err == nil {
			require.NotZero(t, result.Imported[0].Inputs.Len())
		}
		return err
	}
	if !l.noImport {
		require.NoError(t, imports("other"))
	}
	destroyed, err := stackOf(t, dir, "dev").Run(t.Context(), engine.Destroy{}, automation.RunOptions{})
	require.NoError(t, err)
	require.Equal(t, made, destroyed.Changes.Delete)
	if !l.noImport && !l.anyID {
		require.Error(t, imports("gone"), "the service has nothing left")
	}
}

// start starts the service, and returns a replacer that fills in its address and its password.
func (l life) start(t *testing.T) *strings.Replacer {
	switch l.service {
	case "":
		return strings.NewReplacer()
	case "postgresql":
		server := postgrestest.Start(t)
		return strings.NewReplacer("HOST", "localhost", "PORT", strconv.Itoa(server.Port), "PASSWORD", server.Password)
	case "dns":
		return strings.NewReplacer("HOST", "localhost", "PORT", strconv.Itoa(serveDNS(t)))
	}
	server := httptest.NewServer(fakeservice.Services[l.service]())
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	return strings.NewReplacer("HOST", "localhost", "PORT", port, "PASSWORD", fakeservice.Password)
}

// changed returns a program after a change.
func (l life) changed(t *testing.T, text string, change [2]string) string {
	require.Equal(t, 1, strings.Count(text, change[0]), change[0])
	return strings.Replace(text, change[0], change[1], 1)
}

// stackOf returns a stack of the project as its file is now.
func stackOf(t *testing.T, dir, name string) *automation.Stack {
	project, err := automation.Open(t.Context(), dir, automation.Options{})
	require.NoError(t, err)
	stack, err := project.Stack(name)
	require.NoError(t, err)
	return stack
}

// it returns the resource of that name in a stack.
func it(t *testing.T, stack *automation.Stack) engine.ImportTarget {
	exported, err := stack.Export(t.Context())
	require.NoError(t, err)
	var state struct {
		Deployment struct {
			Resources []struct{ URN, Type, ID string }
		}
	}
	require.NoError(t, json.Unmarshal(exported, &state))
	for _, r := range state.Deployment.Resources {
		if strings.HasSuffix(r.URN, "::it") {
			return engine.ImportTarget{Type: r.Type, Name: "it", ID: r.ID}
		}
	}
	require.Fail(t, "the stack has no resource of that name")
	return engine.ImportTarget{}
}
