package canon

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Signature is the type of a core function.
type Signature struct {
	Params, Results []ValueType
}

// String returns the signature as in (i32, i64) -> (i32).
func (s Signature) String() string { return list(s.Params) + " -> " + list(s.Results) }

func list(types []ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		switch t {
		case I32:
			names[i] = "i32"
		case I64:
			names[i] = "i64"
		case F64:
			names[i] = "f64"
		default:
			names[i] = "?"
		}
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func (s Signature) equal(t Signature) bool {
	return slices.Equal(s.Params, t.Params) && slices.Equal(s.Results, t.Results)
}

// Export is a function that a provider module exports.
type Export struct {
	// Name is the export's name, for example husk:provider/provider@0.2.0#check.
	Name string
	// Since is the first version of the contract that has it, empty for all versions.
	Since string
	Signature
}

// The indices in ExportTable: each function is followed by its release function.
const (
	exportRealloc = 0
	exportFirst   = 1
)

func exportOf(f *Function) int { return exportFirst + 2*f.Index }

// IsRelease reports whether the export with that index in an [World.ExportTable] frees a result that
// was read.
func IsRelease(export int) bool { return export > exportFirst && (export-exportFirst)%2 == 1 }

// World is the kind of a module, which its exports define.
type World uint8

const (
	// WorldProvider is the world of providers, husk:provider.
	WorldProvider World = iota
	// WorldPolicy is the world of policy packs, husk:policy.
	WorldPolicy
	// WorldProgram is the world of programs, husk:program.
	WorldProgram
)

// versions are the versions of the contract that modules may have. Each has all of the one before.
var versions = []string{"0.1.0", Version}

// worlds has the facts of each world: what a module of it is called, the interface that it
// exports, without version, and the versions, the newest last, and functions of that.
var worlds = [...]struct {
	name, iface string
	versions    []string
	functions   []*Function
}{
	WorldProvider: {"provider", Package + "/provider", versions, providerFunctions[:]},
	WorldPolicy:   {"policy pack", PolicyPackage + "/policy", []string{PolicyVersion}, policyFunctions[:]},
	WorldProgram:  {"program", ProgramPackage + "/program", []string{ProgramVersion}, programFunctions[:]},
}

// version returns the newest version of the world.
func (w World) version() string { return worlds[w].versions[len(worlds[w].versions)-1] }

// hasFunction reports whether one of the versions has a function that was added in the version since.
func hasFunction(versions []string, version, since string) bool {
	return slices.Index(versions, since) <= slices.Index(versions, version)
}

// String returns the name of a module of the world.
func (w World) String() string { return worlds[w].name }

// ExportTable returns the functions that every module of the world's newest version exports.
func (w World) ExportTable() []Export { return w.exportTable(w.version()) }

// exportTable has the names of a version, also for functions that the version lacks.
func (w World) exportTable(version string) []Export {
	table := []Export{{"cabi_realloc", "", Signature{[]ValueType{I32, I32, I32, I32}, []ValueType{I32}}}}
	for _, f := range worlds[w].functions {
		name := worlds[w].iface + "@" + version + "#" + f.Name
		table = append(table,
			Export{name, f.Since, Signature{f.signature(), []ValueType{I32}}},
			Export{"cabi_post_" + name, f.Since, Signature{Params: []ValueType{I32}}})
	}
	return table
}

// IsWorld reports whether there is a world of that number.
func IsWorld(w World) bool { return int(w) < len(worlds) }

// VersionOf returns the version of the contract of a module of the world with these exported
// functions.
func (w World) VersionOf(exports []string) string { return w.exportedVersion(slices.Values(exports)) }

// ExportNames returns the names of the [World.ExportTable] in modules of a version. A name is empty
// if the version has no such function.
func (w World) ExportNames(version string) []string {
	table := w.exportTable(version)
	names := make([]string, len(table))
	for i, e := range table {
		if hasFunction(worlds[w].versions, version, e.Since) {
			names[i] = e.Name
		}
	}
	return names
}

func moduleName(iface, version string) string { return Package + "/" + iface + "@" + version }

// splitModule returns interface and version of a module name such as husk:provider/log@0.2.0.
func splitModule(name string) (iface, version string) {
	iface, version, _ = strings.Cut(strings.TrimPrefix(name, Package+"/"), "@")
	return iface, version
}

var (
	// ErrNotProvider is a module that exports nothing of the contract.
	ErrNotProvider = errors.New("the module is not a provider: it exports no interface " + Package + "/provider (nor is it a policy pack or a program)")
	// ErrTwoWorlds is a module of two worlds.
	ErrTwoWorlds = errors.New("the module is two of provider, policy pack, and program at once: build two modules")
)

// VersionError reports a module of another version of the contract.
type VersionError struct {
	// World is the world of the module.
	World World
	// Module and Host are versions of its WIT package, such as 0.2.0. The host runs earlier ones, too.
	Module, Host string
}

func (e *VersionError) Error() string {
	pkg, _, _ := strings.Cut(worlds[e.World].iface, "/")
	return "the module speaks version " + e.Module + " of " + pkg + ", this host version " + e.Host +
		": use a build of the " + e.World.String() + " for version " + e.Host
}

// SignatureError reports an import or export that is not as the contract says.
type SignatureError struct {
	// Name is the name of the export, or module and name of the import.
	Name string
	// Want is the contract's type, nil where the contract knows no such import.
	Want *Signature
	// Got is the module's type, nil where it lacks the export.
	Got *Signature
}

func (e *SignatureError) Error() string {
	switch {
	case e.Got == nil:
		return "the module does not export " + e.Name
	case e.Want == nil:
		_, version := splitModule(e.Name)
		if version, _, _ = strings.Cut(version, " "); version == "" {
			version = Version
		}
		return "the module imports " + e.Name + ", which is not part of " + Package + " " + version
	}
	return e.Name + " has the type " + e.Got.String() + " in the module, but must have " + e.Want.String()
}

// exportedVersion returns the version of the world that the exports have, the newest that is known
// if there are several, or "" for another world.
func (w World) exportedVersion(exports iter.Seq[string]) (version string) {
	known := -1
	for name := range exports {
		rest, ok := strings.CutPrefix(name, worlds[w].iface+"@")
		if !ok {
			continue
		}
		v, _, ok := strings.Cut(rest, "#")
		if !ok {
			continue
		}
		if k := slices.Index(worlds[w].versions, v); version == "" || k > known || k == known && v > version {
			version, known = v, k
		}
	}
	return version
}

// CheckExports returns the world of a module with these exported functions. It checks that the module has all exports of that
// world, and that [ArenaExport] has the right signature if the module exports it. Errors are ErrNotProvider, ErrTwoWorlds,
// *VersionError, and joined *SignatureError.
func CheckExports(exports map[string]Signature) (World, error) {
	w, version := WorldProvider, ""
	for other := range worlds {
		v := World(other).exportedVersion(maps.Keys(exports))
		if v == "" {
			continue
		}
		if version != "" {
			return w, ErrTwoWorlds
		}
		w, version = World(other), v
	}
	switch {
	case version == "":
		return w, ErrNotProvider
	case !slices.Contains(worlds[w].versions, version):
		return w, &VersionError{World: w, Module: version, Host: w.version()}
	}
	var wrong []error
	for _, want := range w.exportTable(version) {
		got, ok := exports[want.Name]
		if !hasFunction(worlds[w].versions, version, want.Since) {
			continue
		}
		if !ok {
			wrong = append(wrong, &SignatureError{Name: want.Name, Want: &want.Signature})
		} else if !got.equal(want.Signature) {
			wrong = append(wrong, &SignatureError{Name: want.Name, Want: &want.Signature, Got: &got})
		}
	}
	if got, ok := exports[ArenaExport]; ok && !got.equal(arenaSignature) {
		wrong = append(wrong, &SignatureError{Name: ArenaExport, Want: &arenaSignature, Got: &got})
	}
	if len(wrong) == 1 {
		return w, wrong[0]
	}
	return w, errors.Join(wrong...)
}

// CheckImport checks an import of the contract's package, husk:provider/. Errors are *VersionError
// and *SignatureError.
func CheckImport(module, name string, got Signature) error {
	for _, i := range ImportsOf(module) {
		if i.Name == name {
			if !got.equal(i.Signature) {
				return &SignatureError{Name: module + " " + name, Want: &i.Signature, Got: &got}
			}
			return nil
		}
	}
	iface, version := splitModule(module)
	isInterface := slices.ContainsFunc(importServers[:], func(s importServer) bool { return s.function.Interface == iface })
	if isInterface && version != "" && !slices.Contains(versions, version) {
		return &VersionError{Module: version, Host: Version}
	}
	return &SignatureError{Name: module + " " + name, Got: &got}
}
