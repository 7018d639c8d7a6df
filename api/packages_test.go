package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// listedPackage is a package as the go command lists it.
type listedPackage struct {
	ImportPath, Dir  string
	Standard         bool
	GoFiles, Imports []string
	Module           *struct {
		Path string
		Main bool
	}
}

// listAll lists the packages of Husk and what they import, by their paths. It does so once for all tests.
var listAll = sync.OnceValues(func() (map[string]*listedPackage, error) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Module", "../...").Output()
	if err != nil {
		return nil, err
	}
	all := make(map[string]*listedPackage)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listedPackage)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// packagesOf returns the packages of Husk that a pattern matches, such as host or engine/..., sorted by their paths.
func packagesOf(t *testing.T, pattern string) (found []*listedPackage) {
	t.Helper()
	all, err := listAll()
	require.NoError(t, err)
	folder, below := strings.CutSuffix(pattern, "/...")
	for _, path := range slices.Sorted(maps.Keys(all)) {
		name, ours := strings.CutPrefix(path, module)
		if ours && (pattern == "..." || name == folder || below && strings.HasPrefix(name, folder+"/")) {
			found = append(found, all[path])
		}
	}
	require.NotEmpty(t, found, pattern)
	return found
}

// linked returns what is compiled into a program that imports these packages, outside of Go's library.
func linked(t *testing.T, packages ...*listedPackage) map[string]*listedPackage {
	t.Helper()
	all, err := listAll()
	require.NoError(t, err)
	found := make(map[string]*listedPackage)
	for len(packages) > 0 {
		p := packages[len(packages)-1]
		packages = packages[:len(packages)-1]
		if p == nil || p.Standard || found[p.ImportPath] != nil { // C has no package
			continue
		}
		found[p.ImportPath] = p
		for _, path := range p.Imports {
			packages = append(packages, all[path])
		}
	}
	return found
}

// modulesOf returns the modules of other authors that packages are in.
func modulesOf(packages map[string]*listedPackage) (paths []string) {
	for _, p := range packages {
		if !p.Module.Main {
			paths = append(paths, p.Module.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
