package canon

import (
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
	exportRealloc  = 0
	exportProvider = 1
)

func exportOf(f *Function) int { return exportProvider + 2*f.Index }

// ExportTable returns the functions that every provider module exports.
func ExportTable() []Export {
	table := []Export{{"cabi_realloc", Signature{[]ValueType{I32, I32, I32, I32}, []ValueType{I32}}}}
	for _, f := range providerFunctions {
		name := moduleName(f.Interface, Version) + "#" + f.Name
		table = append(table,
			Export{name, Signature{f.signature(), []ValueType{I32}}},
			Export{"cabi_post_" + name, Signature{Params: []ValueType{I32}}})
	}
	return table
}

func moduleName(iface, version string) string { return Package + "/" + iface + "@" + version }

// ErrNotProvider is a module that exports nothing of the contract.
const ErrNotProvider = reason("the module is no provider: it exports no interface " + Package + "/provider")

// VersionError reports a module of another version of the contract.
type VersionError struct {
	Module, Host string // versions of the WIT package, for example 0.1.0
}

func (e *VersionError) Error() string {
	return "the module speaks version " + e.Module + " of " + Package + ", this host version " + e.Host +
		": use a build of the provider for version " + e.Host
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

// ExportedVersion returns the contract's version that a module of these exports
// speaks: this host's if it is among them.
func ExportedVersion(names []string) (version string, err error) {
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, Package+"/provider@")
		if !ok {
			continue
		}
		v, _, ok := strings.Cut(rest, "#")
		if ok && (version == "" || v == Version || v > version && version != Version) {
			version = v
		}
	}
	if version == "" {
		return "", ErrNotProvider
	}
	return version, nil
}

// CheckExports checks that a module exports what a provider must, by its exported
// functions. Errors are ErrNotProvider, *VersionError, and *SignatureError.
func CheckExports(exports map[string]Signature) error {
	names := make([]string, 0, len(exports))
	for name := range exports {
		names = append(names, name)
	}
	version, err := ExportedVersion(names)
	if err != nil {
		return err
	}
	if version != Version {
		return &VersionError{Module: version, Host: Version}
	}
	for _, want := range ExportTable() {
		got, ok := exports[want.Name]
		if !ok {
			return &SignatureError{Name: want.Name, Want: &want.Signature}
		}
		if !got.equal(want.Signature) {
			return &SignatureError{Name: want.Name, Want: &want.Signature, Got: &got}
		}
	}
	return nil
}

// CheckImport checks an import whose module name begins with the contract's
// package (husk:provider/). Errors are *VersionError and *SignatureError.
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
