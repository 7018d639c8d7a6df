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
	"pulumi-sdk":           {{"github.com/pulumi/pulumi/sdk/v3", "v3.259.0", "go/pulumi/provider"}},
	"pulumi-pkg":           {{"github.com/pulumi/pulumi/pkg/v3", "v3.259.0", "codegen/schema"}},
	"aws-sdk":              {{"github.com/aws/aws-sdk-go", "v1.25.3", "aws/client"}, {"github.com/aws/aws-sdk-go", "v1.44.122", "aws/client"}},
	"crypto-ssh":           {{"golang.org/x/crypto", "v0.16.0", "ssh"}, {"golang.org/x/crypto", "v0.55.0", "ssh"}},
	"framework-statestore": {{"github.com/hashicorp/terraform-plugin-framework", "v1.19.0", "statestore"}},
	"go-cmp":               {{"github.com/google/go-cmp", "v0.5.9", "cmp"}, {"github.com/google/go-cmp", "v0.7.0", "cmp"}},
	"ini":                  {{"gopkg.in/ini.v1", "v1.67.0", "."}},
}

// small are shims of modules that compile in a second or two.
var small = []string{"go-cmp", "ini"}

// A program that uses the module of a shim builds with the shims that it needs, and not without them. With a
// shim that edits, the start of the program reads no clock, and without it does.
func TestEachShimBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and compiles modules")
	}
	shims, err := builtInShims()
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
				var imports []string
				for _, pkg := range strings.Fields(c.packages) {
					imports = append(imports, path.Join(c.module, pkg))
				}
				w := program(t, shims, []string{c.module + " " + c.version}, imports)
				out := filepath.Join(w.place, "out")
				make := func() error {
					_, err := w.command.run(t.Context(), slices.Concat([]string{"build", "-trimpath", "-o", out}, w.flags(), []string{"."})...)
					return err
				}
				if len(s.Edit) == 0 {
					require.Error(t, make(), "the module builds without the shim")
				} else {
					require.NoError(t, make())
					require.NotZero(t, clockReads(t, out))
				}
				require.NoError(t, w.shimAll(t.Context(), nil))
				require.Contains(t, w.applied[c.module], s)
				require.NoError(t, w.compileAll(t.Context(), []string{"build", "-trimpath", "-o", out, "."}))
				if len(s.Edit) > 0 {
					require.Zero(t, clockReads(t, out))
				}
			})
		}
	}
}

// program returns the build of a program that imports packages of modules, as a port builds it.
func program(t *testing.T, shims []*shim, requirements, imports []string) *build {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "source", "program")
	require.NoError(t, os.MkdirAll(root, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"),
		[]byte("module program\n\ngo 1.24\n\nrequire (\n\t"+strings.Join(requirements, "\n\t")+"\n)\n"), 0o644))
	text := "package main\n\n"
	for _, name := range imports {
		text += "import _ \"" + name + "\"\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "main.go"), []byte(text+"\nfunc main() {}\n"), 0o644))
	command, err := findGo()
	require.NoError(t, err)
	w := &build{
		porter:  &porter{dir: dir, command: command, shims: shims, options: Options{Progress: func(Step) {}}},
		command: command.in(root), source: &sourceTree{root: root, shown: "program"}, place: dir, main: ".",
		replaced: map[string]replacement{}, requires: map[string]string{}, applied: map[string][]*shim{}, linux: map[string]bool{},
	}
	require.NoError(t, w.writeModFile())
	w.graph, err = w.command.graphOf(t.Context(), w.flags(), ".")
	require.NoError(t, err)
	require.NoError(t, w.prepareLibrary(t.Context()))
	return w
}

// forLinux are packages of modules at a version that do not build for WebAssembly without what a port does for all of them.
var forLinux = []struct {
	module, packages string
	small            bool
}{
	{"github.com/atotto/clipboard v0.1.4", ".", true},
	{"github.com/bgentry/speakeasy v0.2.0", ".", true},
	{"github.com/cheggaaa/pb v1.0.29", ".", false},
	{"github.com/cheggaaa/pb/v3 v3.1.5", ".", false},
	{"github.com/creack/pty v1.1.21", ".", true},
	{"github.com/djherbis/times v1.5.0", ".", true},
	{"github.com/docker/go-connections v0.8.0", "sockets", false},
	{"github.com/edsrzf/mmap-go v1.1.0", ".", true},
	{"github.com/go-git/go-billy/v5 v5.5.0", "osfs", false},
	{"github.com/go-git/go-git/v5 v5.12.0", ".", false},
	{"github.com/hashicorp/go-sockaddr v1.0.7", ".", false},
	{"github.com/lib/pq v1.10.9", ".", false},
	{"github.com/moby/term v0.5.2", ".", false},
	{"github.com/muesli/termenv v0.16.0", ".", false},
	{"github.com/pkg/sftp v1.13.9", ".", false},
	{"github.com/pkg/term v1.1.0", ". termios", true},
	{"github.com/sirupsen/logrus v1.9.3", ".", true},
	{"go.etcd.io/bbolt v1.5.0", ".", false},
	{"k8s.io/kubectl v0.31.0", "pkg/util pkg/util/term", false},
}

// Modules that are written for Linux build, without a shim for any of them.
func TestModulesForLinux(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and compiles modules")
	}
	var requirements, imports []string
	for _, m := range forLinux {
		if !m.small && !nightly.Enabled() { // the others wait
			continue
		}
		requirements = append(requirements, m.module)
		name, _, _ := strings.Cut(m.module, " ")
		for _, pkg := range strings.Fields(m.packages) {
			imports = append(imports, path.Join(name, pkg))
		}
	}
	w := program(t, nil, requirements, imports)
	require.NoError(t, w.shimAll(t.Context(), nil))
	out := filepath.Join(w.place, "out")
	require.NoError(t, w.compileAll(t.Context(), []string{"build", "-trimpath", "-o", out, "."}))
	require.Subset(t, w.changes(), []string{"linux:github.com/atotto/clipboard", "linux:github.com/pkg/term", "linux:github.com/sirupsen/logrus"})
	clockReads(t, out) // it runs
}

// clockReads runs a program, and returns how often it asked for the time of day.
func clockReads(t *testing.T, program string) (reads int) {
	reads, _ = ran(t, program)
	return reads
}

// ran runs a program, and returns how often it asked for the time of day, and what it wrote.
func ran(t *testing.T, program string) (reads int, output string) {
	wasm, err := os.ReadFile(program)
	require.NoError(t, err)
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	var out strings.Builder
	_, err = r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithRandSource(rand.Reader).WithStdout(&out).
		WithWalltime(func() (int64, int32) { reads++; return 1, 0 }, 1))
	if exit, ok := errors.AsType[*sys.ExitError](err); ok && exit.ExitCode() == 0 {
		err = nil
	}
	require.NoError(t, err)
	return reads, out.String()
}

// A program with go-cmp, which most providers have, lacks the methods that nothing calls. The texts of go-cmp are the same.
func TestMethodsThatNothingCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches and compiles modules")
	}
	shims, err := builtInShims()
	require.NoError(t, err)
	const text = `package main

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
)

type cat struct{ Lives int }

func (cat) Meow()   {}
func (cat) Unused() {}

func main() {
	fmt.Println(cmp.Diff(map[string]interface{ Meow() }{"a": cat{9}}, map[string]interface{ Meow() }{}))
	fmt.Println(cmp.Diff(map[string]interface{}{"a": cat{8}}, map[string]interface{}{}))
}
`
	w := program(t, shims, []string{"github.com/google/go-cmp v0.7.0"}, []string{"fmt", "github.com/google/go-cmp/cmp"})
	require.NoError(t, os.WriteFile(filepath.Join(w.source.root, "main.go"), []byte(text), 0o644))
	out := filepath.Join(w.place, "out")
	built := func() (wasm, output string) {
		require.NoError(t, w.compileAll(t.Context(), []string{"build", "-trimpath", "-o", out, "."}))
		data, err := os.ReadFile(out)
		require.NoError(t, err)
		_, output = ran(t, out)
		return string(data), output
	}
	wasm, before := built()
	require.Contains(t, wasm, "main.cat.Unused")
	require.NoError(t, w.shimAll(t.Context(), nil))
	wasm, after := built()
	require.NotContains(t, wasm, "main.cat.Unused")
	require.Contains(t, after, "map[string]interface{ Meow() }{")
	require.Equal(t, fields(before), fields(after))
}

// gRPC comes without its pages for a browser, whose templates call any method.
func TestNoPagesOfGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches modules")
	}
	w := program(t, nil, []string{"google.golang.org/grpc v1.75.1"}, []string{"google.golang.org/grpc"})
	require.True(t, w.graph.has("google.golang.org/grpc"))
	require.False(t, w.graph.has("golang.org/x/net/trace"))
	require.False(t, w.graph.has("text/template"))
}

// fields returns the words of a text. go-cmp changes its spaces at random.
func fields(text string) []string { return strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")) }

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
