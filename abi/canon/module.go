package canon

import (
	"errors"
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
	// Name is the export's name, for example husk:provider/provider@0.1.0#check.
	Name string
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
)

// worlds has the facts of each world: what a module of it is called, the interface that it
// exports, without version, and the version and functions of that.
var worlds = [...]struct {
	name, iface, version string
	functions            []*Function
}{
	WorldProvider: {"provider", Package + "/provider", Version, providerFunctions[:]},
	WorldPolicy:   {"policy pack", PolicyPackage + "/policy", PolicyVersion, policyFunctions[:]},
}

// String returns what a module of the world is called.
func (w World) String() string { return worlds[w].name }

// ExportTable returns the functions that every module of the world exports.
func (w World) ExportTable() []Export {
	table := []Export{{"cabi_realloc", Signature{[]ValueType{I32, I32, I32, I32}, []ValueType{I32}}}}
	for _, f := range worlds[w].functions {
		name := worlds[w].iface + "@" + worlds[w].version + "#" + f.Name
		table = append(table,
			Export{name, Signature{f.signature(), []ValueType{I32}}},
			Export{"cabi_post_" + name, Signature{Params: []ValueType{I32}}})
	}
	return table
}

func moduleName(iface, version string) string { return Package + "/" + iface + "@" + version }

const (
	// ErrNotProvider is a module that exports nothing of the contract.
	ErrNotProvider = reason("the module is no provider: it exports no interface " + Package + "/provider (nor is it a policy pack)")
	// ErrTwoWorlds is a module that is a provider and a policy pack.
	ErrTwoWorlds = reason("the module is a provider and a policy pack at once: build two modules")
)

// VersionError reports a module of another version of the contract.
type VersionError struct {
	// World is what the module would be.
	World World
	// Module and Host are the versions of its WIT package, for example 0.1.0.
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
		return "the module imports " + e.Name + ", which is not part of " + Package + " " + Version
	}
	return e.Name + " has the type " + e.Got.String() + " in the module, but must have " + e.Want.String()
}

// exportedVersion returns the version of the world that the exports have, this host's if it is among
// them, or "" for another world.
func (w World) exportedVersion(exports map[string]Signature) (version string) {
	for name := range exports {
		rest, ok := strings.CutPrefix(name, worlds[w].iface+"@")
		if !ok {
			continue
		}
		v, _, ok := strings.Cut(rest, "#")
		if ok && (version == "" || v == worlds[w].version || v > version && version != worlds[w].version) {
			version = v
		}
	}
	return version
}

// CheckExports returns the world of a module with these exported functions, and checks that it has
// all exports of that world, and an [ArenaExport] only in that form. Errors are ErrNotProvider,
// ErrTwoWorlds, *VersionError, and *SignatureError, several of which are joined.
func CheckExports(exports map[string]Signature) (World, error) {
	w, version := WorldProvider, WorldProvider.exportedVersion(exports)
	if v := WorldPolicy.exportedVersion(exports); v != "" {
		if version != "" {
			return w, ErrTwoWorlds
		}
		w, version = WorldPolicy, v
	}
	switch version {
	case "":
		return w, ErrNotProvider
	case worlds[w].version:
	default:
		return w, &VersionError{World: w, Module: version, Host: worlds[w].version}
	}
	var wrong []error
	for _, want := range w.ExportTable() {
		got, ok := exports[want.Name]
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
	iface, version, _ := strings.Cut(strings.TrimPrefix(module, Package+"/"), "@")
	known := false
	for _, i := range ImportTable() {
		if i.function.Interface == iface {
			known = true
		}
		if i.Module == module && i.Name == name {
			if !got.equal(i.Signature) {
				return &SignatureError{Name: module + " " + name, Want: &i.Signature, Got: &got}
			}
			return nil
		}
	}
	if known && version != Version {
		return &VersionError{Module: version, Host: Version}
	}
	return &SignatureError{Name: module + " " + name, Got: &got}
}
