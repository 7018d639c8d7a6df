// Package program reads what a project says about itself: its project file (Husk.yaml, or a
// Pulumi.yaml as it is) and the configuration of its stacks. An error is [source.Diagnostics] with
// all that is wrong with a file.
package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"go.yaml.in/yaml/v3"
)

// projectFiles are the names that a project file may have, the first wins.
var projectFiles = []string{"Husk.yaml", "Husk.yml", "Pulumi.yaml", "Pulumi.yml"}

// FileNames returns the names that a project file may have, the first wins.
func FileNames() []string { return slices.Clone(projectFiles) }

// knownRuntimes are the runtimes that Husk and Pulumi have.
var knownRuntimes = []string{RuntimeYAML, RuntimeWASM, "nodejs", "python", "go", "dotnet", "java", "bun"}

const (
	// RuntimeYAML is the runtime of programs in YAML.
	RuntimeYAML = "yaml"
	// RuntimeWASM is the runtime of programs that are modules.
	RuntimeWASM = "wasm"
)

// Project is the contents of a project file. It is not changed after it was loaded.
type Project struct {
	// Root opens what the project names, as far as its opener trusts it.
	Root *projectroot.Root
	// Dir is the directory of the project file, the base of relative paths. Root has the same directory.
	Dir string
	// File is the project file's text, for diagnostics.
	File *source.File

	Name        string
	Description string
	// Runtime says what runs the program.
	Runtime string
	// RuntimeOptions are the options of a runtime other than yaml, in the order of the file.
	RuntimeOptions []RuntimeOption
	// ProgramDir is where the program lies: Dir, or the directory that main names.
	ProgramDir string
	// Main is what main names, as it is written, and MainPosition its position.
	Main         string
	MainPosition source.Position
	// BackendURL says where state is kept, empty for beside the project file.
	BackendURL string
	// Encryption says which parts of a state are encrypted: [EncryptAll], [EncryptSecrets], or, if it is empty, the same as
	// before.
	Encryption string
	// StackConfigDir holds the stacks' configuration files, Dir by default.
	StackConfigDir string
	// Refresh has every resource read before each update and destruction.
	Refresh bool
	// Config declares configuration, in the order of the file.
	Config []ConfigDeclaration
	// Providers says where each provider comes from.
	Providers []ProviderPlugin
	// Vendor is a directory with an OCI layout of modules, which is used before sources; empty for none.
	Vendor string
	// Registries are where names of sources are looked up, such as oci://registry.example.com/acme, in this order.
	Registries []string
	// Trust says whose modules the project uses, nil for anybody's.
	Trust *Trust
	// Limits are those of all providers and policy packs.
	Limits []Limit
	// Policies judge what deployments make, in this order.
	Policies []PolicyPack
	// Packages declares packages with parameters or a version; see [Project.Package].
	Packages []Package
	// Components are the components in YAML of the program and of packages in directories.
	Components []Component
	// Template is the program of a project whose runtime is yaml.
	Template Template
	// Warnings are the problems that do not keep the project from being used.
	Warnings source.Diagnostics

	// byName finds its parts; nil for a project that no file describes.
	byName *byName
	// loading is the context in which the project is loaded, nil afterwards. left is the remaining allowance of a project that is
	// not trusted; nil for no bound.
	loading context.Context
	left    *allowance
}

// RuntimeOption is an option of a program's runtime.
type RuntimeOption struct {
	Name, Value string
	// Position is the position of the name.
	Position source.Position
}

// NoProjectError says that a directory has no project file.
type NoProjectError struct{ Dir string }

func (e *NoProjectError) Error() string {
	return fmt.Sprintf("no project in %s: looked for %s; begin one with husk new, or with a file %s that says \"name: my-project\" and \"runtime: yaml\", or name another directory with -C",
		e.Dir, strings.Join(projectFiles, ", "), projectFiles[0])
}

// newFile returns the text of a file of the project for diagnostics, which quote it if it is the project's own.
func (p *Project) newFile(path string, text []byte) *source.File {
	name, err := filepath.Rel(p.Dir, p.Path(path))
	if err != nil {
		name = path
	}
	if !p.Root.Owns(path) {
		return source.NewForeignFile(name, text)
	}
	return source.NewFile(name, text)
}

// Path returns a path that the project file names, which may be relative to it. It opens nothing: [Project.Root] does.
func (p *Project) Path(name string) string { return p.Root.Path(name) }

// ConfigKey returns the full name of a key: one without a namespace is the project's own.
func (p *Project) ConfigKey(key string) (string, error) {
	namespace, name, ok := strings.Cut(key, ":")
	if !ok {
		if namespace, name = p.Name, key; namespace == "" {
			namespace = "project" // the project's name is at fault, and the error says so
		}
	}
	name = strings.TrimPrefix(name, "config:") // the old form ns:config:key
	if namespace == "" || name == "" || strings.Contains(name, ":") || strings.ContainsAny(key, " \t\r\n") {
		return "", fmt.Errorf("invalid configuration key %q: it must have the form <key> or <namespace>:<key>", key)
	}
	return namespace + ":" + name, nil
}

// The values of [Project.Encryption].
const (
	EncryptAll     = "full"
	EncryptSecrets = "secrets"
)

// These are the keys of a project file. pulumiKeys have no effect.
var (
	projectKeys = []string{
		"name", "description", "runtime", "main", "backend", "encryption", "config", "configuration", "plugins",
		"packages", "policies", "pulumi", "variables", "actions", "components", "resources", "outputs", "options", "stackConfigDir",
		"requiredPulumiVersion",
	}
	pulumiKeys = []string{"author", "website", "license", "template", "namespace", "version"}
	// programKeys are those of a program, in a project file or in a file of its own.
	programKeys = []string{"pulumi", "variables", "actions", "components", "resources", "outputs"}
)

// path reads a name of a file or directory. What the project may not name is refused here, where it is written, and
// again when it is opened.
func (d *decoder) path(n *yaml.Node, what string) (string, bool) {
	name, ok := d.Text(n, what)
	return name, ok && d.mayName(n, name, what)
}

func (d *decoder) mayName(n *yaml.Node, name, what string) bool {
	if d.project.ended() != nil {
		return false
	}
	_, err := d.project.Root.Locate(name)
	if !errors.Is(err, projectroot.ErrOutside) && !errors.Is(err, projectroot.ErrNotRegular) {
		return true // its user reports other mistakes
	}
	d.Errorf(n, "%s cannot be used: %v", what, err)
	return false
}

// nameSyntax is Pulumi's for project names, which are a part of every URN.
var nameSyntax = lazyregexp.Regexp{Syntax: `^[A-Za-z0-9_.-]+$`}

// maxName is how many characters the names of projects and stacks may have.
const maxName = 100

type decoder struct {
	*source.Report
	project *Project
	main    *yaml.Node
	// program are the keys of a program that the project file has itself.
	program []*yaml.Node
	// runtimeOptions is nil if there are none.
	runtimeOptions        *yaml.Node
	config, configuration []source.Field
	// listed are the names in plugins.providers, also of entries with mistakes.
	listed           map[string]bool
	declaredPackages []source.Field
	// hasStackConfigDir is set if the file names the directory of the stacks' configuration.
	hasStackConfigDir bool
}

func (d *decoder) root(root *yaml.Node) {
	p := d.project
	fields := d.KnownFields(root, "a project file", projectKeys)
	for _, f := range fields {
		switch f.Name {
		case "name":
			d.name(f.Value)
		case "description":
			if !source.IsNull(source.Resolve(f.Value)) {
				p.Description, _ = d.Text(f.Value, "the description")
			}
		case "runtime":
			d.runtime(f.Value)
		case "main":
			if main, ok := d.path(f.Value, "main"); ok {
				p.ProgramDir, p.Main, p.MainPosition, d.main = p.Path(main), main, source.Of(f.Value), f.Value
			}
		case "backend":
			d.Read(f.Value, "backend", d.TextKey("url", &p.BackendURL, "the backend's url"))
		case "encryption":
			d.encryption(f.Value)
		case "stackConfigDir":
			d.stackConfigDir(f)
		case "config":
			if n := source.Resolve(f.Value); n.Kind == yaml.ScalarNode && !source.IsNull(n) { // the name that stackConfigDir had
				d.stackConfigDir(f)
				continue
			}
			d.config = d.Fields(f.Value, f.Name)
		case "configuration":
			d.configuration = d.Fields(f.Value, f.Name)
		case "plugins":
			d.plugins(f.Value)
		case "packages":
			d.declaredPackages = d.Fields(f.Value, "packages")
		case "policies":
			d.policies(f.Value)
		case "options":
			d.options(f.Value)
		case "requiredPulumiVersion":
			d.requiredPulumiVersion(f.Value)
		default:
			if slices.Contains(programKeys, f.Name) {
				p.Template.set(f)
				d.program = append(d.program, f.Key)
			} else {
				d.other(f)
			}
		}
	}
	if p.Name == "" && !slices.ContainsFunc(fields, func(f source.Field) bool { return f.Name == "name" }) {
		d.Add(d.File.Errorf(source.Of(root), "the project has no name").
			With(`add a line such as "name: my-project"`))
	}
	d.declarations() // after the name, which is their namespace
	d.packages()     // after the providers, which are their sources
	if p.Runtime == RuntimeYAML {
		if c := p.Template.Components; c != nil {
			d.components(c, p.Name, "", p.ProgramDir)
		}
		d.mainFile()
		d.packageLocks()
	} else {
		d.foreignProgram()
	}
	if p.Runtime == RuntimeWASM {
		d.moduleProgram(root)
	}
	d.readRuntimeOptions()
}

func (d *decoder) readRuntimeOptions() {
	if d.runtimeOptions != nil {
		for _, f := range d.Fields(d.runtimeOptions, "the runtime's options") {
			d.runtimeOption(f)
		}
	}
}

// foreignProgram refuses parts of a YAML program beside a program in another language.
func (d *decoder) foreignProgram() {
	for _, key := range d.program {
		d.Add(d.File.Errorf(source.Of(key), "a program in %s cannot declare %s in %s", d.project.Runtime, key.Value, d.File.Name).
			With("only programs of the runtime yaml can"))
	}
}

// moduleProgram requires main for a program that is a module, apart from the project file: a bundle has the module in its place.
func (d *decoder) moduleProgram(root *yaml.Node) {
	const advice = "main names a .wasm file, or a directory of source in Go, TypeScript, or Rust beside the project file, such as \"main: program\""
	if d.main == nil {
		d.Add(d.File.Errorf(source.Of(root), "the runtime wasm needs main").With(advice))
	} else if filepath.Clean(d.project.ProgramDir) == filepath.Clean(d.project.Dir) {
		d.Add(d.File.Errorf(source.Of(d.main), "main names the directory of the project itself").With(advice))
	}
}

// runtimeOption reads an option of the runtime. One of Husk's own runtimes is refused: it would change the program.
func (d *decoder) runtimeOption(f source.Field) {
	if d.project.Runtime != RuntimeYAML && d.project.Runtime != RuntimeWASM {
		if text, ok := d.Text(f.Value, "the option "+f.Name); ok {
			d.project.RuntimeOptions = append(d.project.RuntimeOptions, RuntimeOption{f.Name, text, source.Of(f.Key)})
		}
		return
	}
	if f.Name != "compiler" || d.project.Runtime != RuntimeYAML {
		d.Errorf(f.Key, "the runtime %s has no option %q", d.project.Runtime, f.Name)
		return
	}
	d.Add(d.File.Errorf(source.Of(f.Key), "a program that a compiler writes is not supported").
		With("run the compiler first, and have it write the program to Main.yaml beside this file"))
}

func (d *decoder) options(n *yaml.Node) {
	d.Read(n, "options", source.KeyOf("refresh", &d.project.Refresh, func(n *yaml.Node) (always, ok bool) {
		text, ok := d.Text(n, "refresh")
		if ok && text != "always" {
			d.Errorf(n, "refresh is %q, and can only be always: leave it out to refresh where --refresh says so", text)
			return false, false
		}
		return ok, ok
	}))
}

func (d *decoder) name(n *yaml.Node) {
	name, ok := d.Text(n, "the project's name")
	if ok && (len(name) > maxName || !nameSyntax.Get().MatchString(name)) {
		d.Errorf(n, "the project's name %q may have letters, digits, and the characters _ . - only, at most 100 of them", name)
		return
	}
	d.project.Name = name
}

func (d *decoder) stackConfigDir(f source.Field) {
	dir, ok := d.path(f.Value, f.Name)
	if ok && d.hasStackConfigDir {
		d.Errorf(f.Key, "config and stackConfigDir both name the directory of the stacks' configuration: leave out config")
	} else if ok {
		d.project.StackConfigDir, d.hasStackConfigDir = d.project.Path(dir), true
	}
}

func (d *decoder) encryption(n *yaml.Node) {
	what, ok := d.Text(n, "the encryption")
	if ok && what != EncryptAll && what != EncryptSecrets {
		d.Errorf(n, "the encryption is %q, and must be %s, for the whole states of the stacks, or %s, for only their secrets", what, EncryptAll, EncryptSecrets)
		return
	}
	d.project.Encryption = what
}

func (d *decoder) runtime(n *yaml.Node) {
	n = source.Resolve(n)
	if n.Kind != yaml.MappingNode {
		d.project.Runtime, _ = d.Text(n, "the runtime")
		d.checkRuntime(n)
		return
	}
	d.Read(n, "runtime", source.On("name", func(f source.Field) (ok bool) {
		d.project.Runtime, ok = d.Text(f.Value, "the runtime's name")
		d.checkRuntime(f.Value)
		return ok
	}), source.NodeKey("options", &d.runtimeOptions))
}

// checkRuntime refuses a misspelt runtime. Any other name may belong to a language host that the user has.
func (d *decoder) checkRuntime(n *yaml.Node) {
	name := d.project.Runtime
	if near := schema.Nearest(name, knownRuntimes); near != "" && !slices.Contains(knownRuntimes, name) {
		d.Errorf(n, "there is no runtime %q%s", name, source.DidYouMean(name, knownRuntimes))
		d.project.Runtime = near
	}
}

// other reads nothing. Keys that begin with x- are free to hang YAML anchors on.
func (d *decoder) other(f source.Field) {
	switch {
	case slices.Contains(pulumiKeys, f.Name), strings.HasPrefix(f.Name, "x-"):
	case strings.HasPrefix(d.File.Name, "Pulumi.") && d.Nearest(f.Name, func() []string { return projectKeys }) == "":
		d.Warnf(f.Key, "the key %q has no effect", f.Name) // of another tool, as Pulumi allows it
	default:
		d.Unknown(f, "the project file", projectKeys)
	}
}
