package port

import (
	"crypto/rand"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// tried are versions of modules, of all kinds that a shim is for, and the packages that must build.
// Those that serve providers are tried by ports themselves.
var tried = map[string][]struct{ module, version, packages string }{
	"bbolt":                {{"go.etcd.io/bbolt", "v1.3.6", "."}, {"go.etcd.io/bbolt", "v1.3.11", "."}},
	"bbolt-1.4":            {{"go.etcd.io/bbolt", "v1.4.3", "."}},
	"speakeasy":            {{"github.com/bgentry/speakeasy", "v0.1.0", "."}, {"github.com/bgentry/speakeasy", "v0.2.0", "."}},
	"pb":                   {{"github.com/cheggaaa/pb", "v1.0.29", "."}},
	"pb-3":                 {{"github.com/cheggaaa/pb/v3", "v3.1.5", "."}},
	"termenv":              {{"github.com/muesli/termenv", "v0.15.2", "."}, {"github.com/muesli/termenv", "v0.16.0", "."}},
	"times":                {{"github.com/djherbis/times", "v1.5.0", "."}},
	"sftp":                 {{"github.com/pkg/sftp", "v1.13.6", "."}, {"github.com/pkg/sftp", "v1.13.9", "."}},
	"moby-term":            {{"github.com/moby/term", "v0.0.0-20210619224110-3f7ff695adc6", "."}, {"github.com/moby/term", "v0.5.2", "."}},
	"kubectl":              {{"k8s.io/kubectl", "v0.25.0", "pkg/util/term"}, {"k8s.io/kubectl", "v0.31.0", "pkg/util/term"}},
	"pkg-term":             {{"github.com/pkg/term", "v1.1.0", ". termios"}},
	"clipboard":            {{"github.com/atotto/clipboard", "v0.1.4", "."}},
	"logrus":               {{"github.com/sirupsen/logrus", "v1.4.2", "."}, {"github.com/sirupsen/logrus", "v1.9.3", "."}},
	"pty":                  {{"github.com/creack/pty", "v1.1.9", "."}, {"github.com/creack/pty", "v1.1.21", "."}},
	"pq":                   {{"github.com/lib/pq", "v1.10.0", "."}, {"github.com/lib/pq", "v1.10.9", "."}},
	"docker-sockets":       {{"github.com/docker/go-connections", "v0.4.0", "sockets"}, {"github.com/docker/go-connections", "v0.5.0", "sockets"}},
	"sockaddr":             {{"github.com/hashicorp/go-sockaddr", "v1.0.2", "."}, {"github.com/hashicorp/go-sockaddr", "v1.0.3", "."}},
	"sockaddr-1.0.6":       {{"github.com/hashicorp/go-sockaddr", "v1.0.6", "."}, {"github.com/hashicorp/go-sockaddr", "v1.0.7", "."}},
	"pulumi-sdk":           {{"github.com/pulumi/pulumi/sdk/v3", "v3.259.0", "go/pulumi/provider"}},
	"pulumi-pkg":           {{"github.com/pulumi/pulumi/pkg/v3", "v3.259.0", "codegen/schema"}},
	"aws-sdk":              {{"github.com/aws/aws-sdk-go", "v1.25.3", "aws/client"}, {"github.com/aws/aws-sdk-go", "v1.44.122", "aws/client"}},
	"crypto-ssh":           {{"golang.org/x/crypto", "v0.16.0", "ssh"}, {"golang.org/x/crypto", "v0.55.0", "ssh"}},
	"framework-statestore": {{"github.com/hashicorp/terraform-plugin-framework", "v1.19.0", "statestore"}},
	"go-cmp":               {{"github.com/google/go-cmp", "v0.5.9", "cmp"}, {"github.com/google/go-cmp", "v0.7.0", "cmp"}},
	"ini":                  {{"gopkg.in/ini.v1", "v1.67.0", "."}},
	"go-billy":             {{"github.com/go-git/go-billy/v5", "v5.1.0", "osfs"}, {"github.com/go-git/go-billy/v5", "v5.5.0", "osfs"}},
	"go-git":               {{"github.com/go-git/go-git/v5", "v5.3.0", "."}, {"github.com/go-git/go-git/v5", "v5.12.0", "."}},
	"mmap-go":              {{"github.com/edsrzf/mmap-go", "v1.0.0", "."}, {"github.com/edsrzf/mmap-go", "v1.1.0", "."}},
}

// small are shims of modules that compile in a second or two.
var small = []string{"speakeasy", "times", "pkg-term", "clipboard", "logrus", "pty", "go-cmp", "ini", "mmap-go"}

// A program that uses the module of a shim builds with the shims that it needs, and not without them. With a
// shim that edits, the start of the program reads no clock, and without it does.
func TestEachShimBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and compiles modules")
	}
	shims, err := builtInShims()
	require.NoError(t, err)
	command, err := findGo()
	require.NoError(t, err)
	// Those that serve need an adapter, and whole providers try them, with what their SDK needs.
	shims = slices.DeleteFunc(shims, func(s *shim) bool {
		return slices.Contains([]string{"plugin-go", "plugin-go-types", "plugin-sdk-1", "go-getter", "go-plugin", "pulumi-provider", "pulumi-provider-pkg"}, s.Name)
	})
	for _, s := range shims {
		require.NotEmpty(t, tried[s.Name], "the shim %s is tried with nothing", s.Name)
		versions := tried[s.Name]
		if !nightly.Enabled() { // the others wait
			versions = versions[len(versions)-1:]
			if !slices.Contains(small, s.Name) {
				continue
			}
		}
		for _, c := range versions {
			t.Run(s.Name+" "+c.version, func(t *testing.T) {
				dir := t.TempDir()
				root := filepath.Join(dir, "source", "program")
				require.NoError(t, os.MkdirAll(root, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"),
					[]byte("module program\n\ngo 1.24\n\nrequire "+c.module+" "+c.version+"\n"), 0o644))
				text := "package main\n\n"
				for _, pkg := range strings.Fields(c.packages) {
					text += "import _ \"" + path.Join(c.module, pkg) + "\"\n"
				}
				require.NoError(t, os.WriteFile(filepath.Join(root, "main.go"), []byte(text+"\nfunc main() {}\n"), 0o644))
				b := &porter{dir: dir, command: command, shims: shims}
				w := &build{
					porter: b, command: command.in(root), source: &sourceTree{root: root, shown: "program"}, place: dir, main: ".",
					replaced: map[string]replacement{}, requires: map[string]string{}, applied: map[string][]*shim{},
				}
				require.NoError(t, w.writeModFile())
				w.graph, err = w.command.graphOf(t.Context(), w.flags(), ".")
				require.NoError(t, err)
				make := func() error {
					_, err := w.command.run(t.Context(), slices.Concat([]string{"build", "-trimpath", "-o", filepath.Join(dir, "out")}, w.flags(), []string{"."})...)
					return err
				}
				if len(s.Edit) == 0 {
					require.Error(t, make(), "the module builds without the shim")
				} else {
					require.NoError(t, make())
					require.NotZero(t, clockReads(t, filepath.Join(dir, "out")))
				}
				require.NoError(t, w.shimAll(t.Context(), nil))
				require.Contains(t, w.applied[c.module], s)
				require.NoError(t, make())
				if len(s.Edit) > 0 {
					require.Zero(t, clockReads(t, filepath.Join(dir, "out")))
				}
			})
		}
	}
}

// clockReads runs a program, and returns how often it asked for the time of day.
func clockReads(t *testing.T, program string) (reads int) {
	wasm, err := os.ReadFile(program)
	require.NoError(t, err)
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	_, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithRandSource(rand.Reader).
		WithWalltime(func() (int64, int32) { reads++; return 1, 0 }, 1))
	if exit, ok := errors.AsType[*sys.ExitError](err); ok && exit.ExitCode() == 0 {
		err = nil
	}
	require.NoError(t, err)
	return reads
}

// An edit says which text it does not find, or finds more than once.
func TestAnEditThatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two two"), 0o644))
	require.NoError(t, edit{File: "a.go", Old: "one", New: "1"}.apply(dir))
	text, err := os.ReadFile(filepath.Join(dir, "a.go"))
	require.NoError(t, err)
	require.Equal(t, "1 two two", string(text))
	for e, message := range map[edit]string{
		{File: "a.go", Old: "two"}:   `it edits the only "two" in the file a.go, which has it 2 times in this version of the module`,
		{File: "a.go", Old: "three"}: `it edits the only "three" in the file a.go, which has it 0 times in this version of the module`,
		{File: "b.go", Old: "two"}:   "it edits the file b.go, which this version of the module does not have",
	} {
		require.EqualError(t, e.apply(dir), message)
	}
}

func TestEachShimIsDocumented(t *testing.T) {
	shims, err := builtInShims()
	require.NoError(t, err)
	text, err := os.ReadFile("../../docs/porting.md")
	require.NoError(t, err)
	for _, s := range shims {
		require.Contains(t, string(text), "`"+s.Name+"`")
	}
}
