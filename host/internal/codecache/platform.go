package codecache

import (
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"
)

// Target returns the dependencies of machine code beside the module and settings, in the words of errors.
func Target() map[string]string {
	return map[string]string{
		"platform":       runtime.GOOS + "/" + runtime.GOARCH,
		"processor":      processor(),
		"wazero version": wazeroVersion(),
	}
}

// processor names those features of the processor that wazero's compiler uses if they
// are there (see its package platform).
func processor() string {
	var features []string
	for _, f := range []struct {
		has  bool
		name string
	}{
		{cpu.X86.HasSSE41, "sse4.1"},
		{cpu.X86.HasBMI1, "bmi1"},
		{cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT, "lzcnt"},
		{cpu.ARM64.HasATOMICS, "lse"},
	} {
		if f.has {
			features = append(features, f.name)
		}
	}
	return strings.Join(append([]string{runtime.GOARCH}, features...), " ")
}

// wazeroVersion returns the version of wazero in this program, because wazero names its files after it.
func wazeroVersion() string {
	const module, unknown = "github.com/tetratelabs/wazero", "dev"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	version := info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == module {
			version = dep.Version
		}
	}
	if version == "" || version == "(devel)" {
		return unknown
	}
	return version
}

// codeDir returns the name of the directory in which wazero looks for machine code.
func codeDir() string { return "wazero-" + wazeroVersion() + "-" + runtime.GOARCH + "-" + runtime.GOOS }
