package port

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// readModFile reads the go.mod in a directory.
func readModFile(dir string) (*modfile.File, error) {
	path := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, data, nil)
}

// oldLanguage is the version of Go that a go.mod means which names none.
const oldLanguage = "1.16"

// replacement is a module whose files are in the cache.
type replacement struct {
	path, version string
	// dir is the directory of the files.
	dir string
	// required says that the provider does not require the module itself.
	required bool
}

// writeModFile writes the go.mod of a build, and the go.sum beside it. Directories are named relative to
// the module's root: the names end up in the module, which must be the same with every cache.
func writeModFile(to string, s *sourceTree, replacements []replacement, requires map[string]string) error {
	file, err := readModFile(s.root)
	if err != nil {
		return fmt.Errorf("reading go.mod of %s: %w", s.shown, err)
	}
	if file.Go == nil { // the Go command would write its own version, and the code would mean something else
		if err := file.AddGoStmt(oldLanguage); err != nil {
			return err
		}
	}
	for _, r := range append([]*modfile.Replace{}, file.Replace...) {
		if kept := s.beside[r.New.Path]; kept != "" && r.New.Version == "" {
			if err := file.AddReplace(r.Old.Path, r.Old.Version, relative(s.root, kept), ""); err != nil {
				return err
			}
		}
	}
	for path, version := range requires {
		own := slices.ContainsFunc(file.Require, func(r *modfile.Require) bool {
			return r.Mod.Path == path && semver.Compare(r.Mod.Version, version) >= 0
		})
		if own {
			continue
		}
		if err := file.AddRequire(path, version); err != nil {
			return err
		}
	}
	for _, r := range replacements {
		if r.required {
			if err := file.AddRequire(r.path, r.version); err != nil {
				return err
			}
		}
		for _, old := range append([]*modfile.Replace{}, file.Replace...) { // the patched copy is one of the replacement
			if old.Old.Path == r.path && (old.Old.Version == "" || old.Old.Version == r.version) {
				if err := file.DropReplace(old.Old.Path, old.Old.Version); err != nil {
					return err
				}
			}
		}
		if err := file.AddReplace(r.path, r.version, relative(s.root, r.dir), ""); err != nil {
			return err
		}
	}
	file.Cleanup()
	data, err := file.Format()
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(s.root, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(to, ".mod")+".sum", sums, 0o600)
}

// keepRequirements drops the requirements of the module in a directory, except the ones of named modules.
func keepRequirements(dir string, needs []string) error {
	file, err := readModFile(dir)
	if err != nil {
		return err
	}
	for _, r := range append([]*modfile.Require{}, file.Require...) {
		if slices.Contains(needs, r.Mod.Path) {
			continue
		}
		if err := file.DropRequire(r.Mod.Path); err != nil {
			return err
		}
	}
	file.Cleanup()
	data, err := file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), data, 0o644)
}

// relative returns the path from a directory to another, as a replacement in go.mod has it.
func relative(from, to string) string {
	path, err := filepath.Rel(from, to)
	if err != nil { // another drive
		return filepath.ToSlash(to)
	}
	return filepath.ToSlash(path)
}
