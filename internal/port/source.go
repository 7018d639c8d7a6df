package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
)

// sourceTree is the source of a provider in the cache.
type sourceTree struct {
	// root is the directory of its Go module, and main that of the main package below it if it was named.
	root, main string
	// module and version name what was fetched; the version is empty for a directory.
	module, version string
	// sum is the checksum of the files, as go.sum has them.
	sum string
	// shown is the source in the user's words.
	shown string
	// beside are directories outside of the module that its replacements name, as they are in the cache.
	beside map[string]string
}

// reference is SOURCE as a module of a proxy.
type reference struct {
	module, version, main string
}

// parseReference reads MODULE@VERSION or MODULE@VERSION/PACKAGE.
func parseReference(text string) (reference, error) {
	name, rest, found := strings.Cut(text, "@")
	if !found {
		return reference{}, fmt.Errorf("there is no directory %s\nA module of a proxy needs a version: %s@latest", text, text)
	}
	version, main, _ := strings.Cut(rest, "/")
	r := reference{module: name, version: version, main: main}
	if err := module.CheckPath(name); err != nil {
		return r, fmt.Errorf("%s is neither a directory nor MODULE@VERSION: %w", text, err)
	}
	if version == "" {
		return r, fmt.Errorf("%s names no version: %s@latest takes the newest", text, name)
	}
	if main != "" && !filepath.IsLocal(filepath.FromSlash(main)) {
		return r, fmt.Errorf("%s: the package %q is not in the module", text, main)
	}
	return r, nil
}

// fetch brings SOURCE into the cache.
func (b *porter) fetch(ctx context.Context, text string) (*sourceTree, error) {
	info, err := os.Stat(text)
	switch {
	case err == nil && info.IsDir():
		return b.copyDirectory(text)
	case err == nil:
		return nil, fmt.Errorf("%s is a file: name a directory of Go source, or MODULE@VERSION", text)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	r, err := parseReference(text)
	if err != nil {
		return nil, err
	}
	return b.download(ctx, text, r)
}

// download fetches a module as the Go command does: through the user's proxies, verified by the user's
// checksum database. What it declares as its own path does not matter.
func (b *porter) download(ctx context.Context, text string, r reference) (*sourceTree, error) {
	found, err := b.downloadModule(ctx, r.module, r.version)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w\n"+
			"A module proxy does not serve every version; go list -m -versions %s shows those that are tagged.\n"+
			"Otherwise clone the repository, and name its directory", text, err, r.module)
	}
	root, err := b.keep("source", found.Sum, func(to string) error { return copyTree(found.Dir, to, nil) })
	if err != nil {
		return nil, err
	}
	s := &sourceTree{root: root, main: r.main, module: found.Path, version: found.Version, sum: found.Sum, shown: found.Path + "@" + found.Version}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, noModuleError(s.shown)
	}
	file, err := readModFile(root)
	if err != nil {
		return nil, err
	}
	for _, r := range file.Replace {
		if r.New.Version == "" && outside(r.New.Path) {
			return nil, fmt.Errorf("go.mod of %s replaces %s by the directory %s, which is not in the module: "+
				"clone the repository, and name the directory of the provider in it", s.shown, r.Old.Path, r.New.Path)
		}
	}
	return s, nil
}

// downloaded is the output of go mod download.
type downloaded struct {
	Path, Version, Dir, Sum, Error string
}

func (b *porter) downloadModule(ctx context.Context, name, version string) (*downloaded, error) {
	dir, err := os.MkdirTemp(b.dir, "download-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module download\n"), 0o600); err != nil {
		return nil, err
	}
	out, failed := b.command.in(dir).run(ctx, "mod", "download", "-json", name+"@"+version)
	found := &downloaded{}
	if err := json.Unmarshal(out, found); err != nil {
		return nil, errors.Join(failed, err)
	}
	if found.Error != "" {
		return nil, errors.New(found.Error)
	}
	return found, failed
}

func noModuleError(shown string) error {
	return fmt.Errorf("%s has no go.mod, so the versions of what it needs are not known: "+
		"get its source, run \"go mod init\" and \"go mod tidy\" there, and name that directory", shown)
}

// copyDirectory copies the module that a directory belongs to.
func (b *porter) copyDirectory(dir string) (*sourceTree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root := abs
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(root)
		if parent == root {
			return nil, noModuleError(dir)
		}
		root = parent
	}
	main, err := filepath.Rel(root, abs)
	if err != nil {
		return nil, err
	}
	s := &sourceTree{shown: dir}
	if main != "." {
		s.main = filepath.ToSlash(main)
	}
	if s.root, s.sum, err = b.keepDirectory("source", root); err != nil {
		return nil, err
	}
	file, err := readModFile(s.root)
	if err != nil {
		return nil, err
	}
	if file.Module != nil {
		s.module = file.Module.Mod.Path
	}
	for _, r := range file.Replace {
		if r.New.Version != "" || !outside(r.New.Path) {
			continue
		}
		from := r.New.Path
		if !filepath.IsAbs(from) {
			from = filepath.Join(root, filepath.FromSlash(from))
		}
		kept, _, err := b.keepDirectory("source", from)
		if err != nil {
			return nil, fmt.Errorf("%s: go.mod replaces %s by %s: %w", dir, r.Old.Path, r.New.Path, err)
		}
		if s.beside == nil {
			s.beside = map[string]string{}
		}
		s.beside[r.New.Path] = kept
	}
	return s, nil
}

// outside reports whether the directory of a replacement is not in the module.
func outside(dir string) bool { return !filepath.IsLocal(filepath.FromSlash(dir)) }

// keepDirectory copies a directory into the cache, under a name that its contents decide.
func (b *porter) keepDirectory(kind, dir string) (kept, sum string, err error) {
	made, err := os.MkdirTemp(b.dir, "copy-*")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(made)
	if err := copyTree(dir, made, besideSource); err != nil {
		return "", "", err
	}
	if sum, err = dirhash.HashDir(made, "", dirhash.Hash1); err != nil {
		return "", "", err
	}
	kept, err = b.keep(kind, sum, func(to string) error {
		if err := os.Remove(to); err != nil {
			return err
		}
		return os.Rename(made, to)
	})
	return kept, sum, err
}

// besideSource reports whether a directory in a checkout is no part of the source.
func besideSource(dir string) bool {
	if path.Base(dir) == "vendor" && !strings.Contains(dir, "/") {
		return true // the module's requirements say the same, and are checked by go.sum
	}
	return slices.Contains([]string{".git", ".hg", ".svn", ".terraform", "node_modules"}, path.Base(dir))
}

// copyTree copies regular files and directories, without those for which skip, unless it is nil, returns
// true. A link to a file becomes that file; other links are left out, as the Go command does.
func copyTree(from, to string, skip func(dir string) bool) error {
	return filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && skip != nil && skip(filepath.ToSlash(name)) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		info, err := os.Stat(at)
		if err != nil || !info.Mode().IsRegular() {
			return nil // a broken link, a socket, or a link to a directory
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
}
