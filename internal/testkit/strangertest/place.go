package strangertest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Canary is in each file that is not the stranger's. It must turn up nowhere.
const Canary = "canary-4711"

// Way is something that a project names.
type Way struct {
	// Name says how it leads to what.
	Name string
	// Path is the path in the project, or an address as HOST:PORT.
	Path string
	// Outside says that it leads out of the project.
	Outside bool
}

// Place is a directory with files that are not the stranger's.
type Place struct {
	t   *testing.T
	dir string
	// address is the address of a service of this machine, HOST:PORT.
	address string
}

// outside are the files that can be used in place of a project's.
var outside = map[string]string{
	"Husk.yaml":         "name: payroll\noutputs: {x: " + Canary + "}\n",
	"Main.yaml":         "outputs: {x: " + Canary + "}\n",
	"program.yaml":      "outputs: {x: " + Canary + "}\n",
	"mistake.yaml":      Canary + ": [\n",
	"Husk.dev.yaml":     "config: {stranger:x: " + Canary + "}\n",
	"PulumiPlugin.yaml": "name: x\nruntime: yaml\ncomponents: {Y: {outputs: {x: " + Canary + "}}}\n",
	"husk.lock":         "version: " + Canary + "\n",
	"index.json":        `{"schemaVersion":2,"manifests":[],"` + Canary + `":1}`,
	"oci-layout":        Canary,
	"x.wasm":            Canary,
	"main.go":           "package " + Canary,
}

// New makes a place. address is the address of a service of this machine which no stranger may reach, HOST:PORT.
func New(t *testing.T, address string) *Place {
	p := &Place{t, t.TempDir(), address}
	dir := filepath.Join(p.dir, "outside")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, text := range outside {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return p
}

// Ways returns the names that a project can use in place of its own file, directory, or address.
func (p *Place) Ways(kind Kind) []Way {
	if kind == Address {
		return []Way{{"an address of this machine", p.address, true}, {"the metadata of a cloud", "169.254.169.254", true}}
	}
	var all []Way
	for _, target := range [][2]string{{"a program", "/program.yaml"}, {"a mistake", "/mistake.yaml"}, {"a module", "/x.wasm"}, {"a directory", ""}} {
		what, name := target[0], target[1]
		path := filepath.ToSlash(filepath.Join(p.dir, "outside")) + name
		all = append(all,
			Way{"the absolute path of " + what, path, true},
			Way{"a path above to " + what, "../outside" + name, true},
			Way{"a link to " + what, "./link" + strings.ReplaceAll(name, "/", "-"), true},
			Way{"a path below a link to " + what, "./away/outside" + name, true},
		)
	}
	return append(all,
		Way{"the environment of the process", "/proc/self/environ", true},
		Way{"a link to the environment of the process", "./environ", true},
		Way{"a device", "/dev/zero", true},
		Way{"a link to a device", "./zero", true},
		Way{"a link to nothing", "./nothing", true},
		Way{"a pipe", "./pipe", false},
		Way{"a file of a terabyte", "./sparse", false},
		Way{"a directory of its own", "./own", false},
		Way{"a file that is not there", "./missing", false},
	)
}

// Project makes a project of a stranger that names something, and returns its directory.
func (p *Place) Project(r Row, w Way) string {
	p.t.Helper()
	dir, err := os.MkdirTemp(p.dir, "project-")
	require.NoError(p.t, err)
	p.write(dir, "Husk.yaml", "name: stranger\nruntime: yaml\n"+format(r.Project, w.Path))
	if r.Lock != "" {
		p.write(dir, "husk.lock", format(r.Lock, w.Path))
	}
	for name, target := range p.links() {
		require.NoError(p.t, os.Symlink(target, filepath.Join(dir, name)))
	}
	require.NoError(p.t, os.Mkdir(filepath.Join(dir, "own"), 0o755))
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	require.NoError(p.t, err)
	require.NoError(p.t, sparse.Truncate(1<<40))
	require.NoError(p.t, sparse.Close())
	makePipe(p.t, filepath.Join(dir, "pipe"))
	return dir
}

// links are the links of each project, with their targets.
func (p *Place) links() map[string]string {
	return map[string]string{
		"link": "../outside", "away": "..", "environ": "/proc/self/environ", "zero": "/dev/zero", "nothing": "../nothing",
		"link-program.yaml": "../outside/program.yaml", "link-mistake.yaml": filepath.Join(p.dir, "outside", "mistake.yaml"),
		"link-x.wasm": "away/outside/x.wasm",
	}
}

// Files returns the project of [Place.Project] by the names of its files, for one that is unpacked anywhere on this machine. The
// text of a link is -> and its target. Only the link by which the way leads is there: nobody unpacks the others.
func (p *Place) Files(r Row, w Way) [][2]string {
	// A way above leads from wherever it is.
	w.Path = p.fromAnywhere(w.Path)
	files := [][2]string{{"Husk.yaml", "name: stranger\nruntime: yaml\n" + format(r.Project, w.Path)}, {"own/file", ""}}
	if r.Lock != "" {
		files = append(files, [2]string{"husk.lock", format(r.Lock, w.Path)})
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(w.Path, "./"), "/")
	if target, isLink := p.links()[first]; isLink {
		files = append(files, [2]string{first, "-> " + p.fromAnywhere(strings.Replace(target, "away/", "../", 1))})
	}
	return files
}

// LinkedFiles returns the project of [Place.Linked] as [Place.Files] does.
func (p *Place) LinkedFiles(name, target string) (files [][2]string) {
	if name != "Husk.yaml" && name != "Pulumi.yaml" {
		files = append(files, [2]string{"Husk.yaml", linking})
	}
	return append(files, [2]string{name, "-> " + p.fromAnywhere("../outside/"+target)})
}

func (p *Place) fromAnywhere(path string) string {
	const deep = 20
	if path == ".." || strings.HasPrefix(path, "../") {
		return strings.Repeat("../", deep) + strings.TrimPrefix(filepath.ToSlash(filepath.Join(p.dir, "project", path)), "/")
	}
	return path
}

const linking = "name: stranger\nruntime: yaml\nplugins: {providers: [{name: x, source: 'oci://registry.invalid/x'}]}" + uses

// Linked makes a project of a stranger in which a file that no key names is a link to one that is not the stranger's.
func (p *Place) Linked(name, target string) string {
	p.t.Helper()
	dir, err := os.MkdirTemp(p.dir, "linked-")
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	if name != "Husk.yaml" && name != "Pulumi.yaml" {
		p.write(dir, "Husk.yaml", linking)
	}
	require.NoError(p.t, os.Symlink(filepath.Join(p.dir, "outside", target), filepath.Join(dir, name)))
	return dir
}

// Links are the files of a project that no key names, each with the target of a link in its place.
var Links = map[string]string{
	"Husk.yaml": "Husk.yaml", "Pulumi.yaml": "mistake.yaml", "Main.yaml": "Main.yaml", "Main.json": "mistake.yaml",
	"husk.lock": "husk.lock", "Husk.dev.yaml": "Husk.dev.yaml", "Pulumi.dev.yaml": "mistake.yaml", "sdks/x.yaml": "mistake.yaml", "sdks": "",
}

func (p *Place) write(dir, name, text string) {
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// RequireUntouched fails unless the files that are not the stranger's are as they were.
func (p *Place) RequireUntouched() {
	p.t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, "outside"))
	require.NoError(p.t, err)
	require.Len(p.t, entries, len(outside))
	for name, text := range outside {
		is, err := os.ReadFile(filepath.Join(p.dir, "outside", name))
		require.NoError(p.t, err)
		require.Equal(p.t, text, string(is), name)
	}
}

// format writes a path into the text of a row: in quotes for PATH, and as it is for PLAIN and HOST.
func format(text, path string) string {
	return strings.NewReplacer("PATH", strconv.Quote(path), "PLAIN", path, "HOST", path).Replace(text)
}
