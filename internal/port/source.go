package port

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/module"
	modsemver "golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/base/gitcommand"
)

// sourceTree is the source of a provider in the cache.
type sourceTree struct {
	// root is the directory of its Go module, and main the directory of the main package below it if it was named.
	root, main string
	// module and version name the fetched module; the version is empty for a directory.
	module, version string
	// sum is the checksum of the files, as go.sum has them.
	sum string
	// shown is the source in the user's words.
	shown string
	// beside are directories outside of the module that its replacements name, as they are in the cache.
	beside map[string]string
}

// fetch brings SOURCE into the cache.
func (b *porter) fetch(ctx context.Context, text string) (*sourceTree, error) {
	info, err := os.Stat(text)
	switch {
	case err == nil && info.IsDir():
		return b.copyDirectory(text, "")
	case err == nil:
		return nil, fmt.Errorf("%s is a file: name a directory of Go source, a provider such as hashicorp/time, or MODULE@VERSION", text)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	r, err := parseReference(text)
	if err != nil {
		return nil, err
	}
	if r.module == "" {
		return b.clone(ctx, text, r)
	}
	found, err := b.newestOr(ctx, r)
	_, refused := errors.AsType[*RefusedError](err)
	if err != nil && !refused && r.version != latest && r.repository.URL != "" {
		b.step("fetching", r.repository.String()) // most providers have tags that are none of a Go module
		if s, failed := b.clone(ctx, text, r); failed == nil {
			return s, nil
		}
	}
	if refused {
		return nil, fmt.Errorf("fetching %s: %w", text, err)
	}
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w\n"+
			"A module proxy does not serve every version; go list -m -versions %s shows those that are tagged.\n"+
			"Otherwise clone the repository, and name its directory", text, err, r.module)
	}
	return b.keepModule(r, found)
}

// clone brings the source at a tag of a repository into the cache.
func (b *porter) clone(ctx context.Context, text string, r reference) (*sourceTree, error) {
	dir, err := os.MkdirTemp(b.dir, "clone-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := gitcommand.CheckOut(ctx, dir, r.repository.URL, r.repository.Ref); err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	s, err := b.copyDirectory(filepath.Join(dir, filepath.FromSlash(r.repository.Dir)), dir)
	if err != nil {
		return nil, err
	}
	if s.shown = text; r.main != "" {
		s.main = r.main
	}
	if modsemver.IsValid(r.version) {
		s.version = r.version
	}
	return s, nil
}

// newestOr downloads a module as the Go command does, through the user's proxies, verified by the user's checksum database: the
// version that is asked for, or the newest of all major versions.
func (b *porter) newestOr(ctx context.Context, r reference) (*downloaded, error) {
	var first error
	for _, name := range r.paths() {
		found, err := b.downloadModule(ctx, name, r.version)
		if err == nil && r.version == latest {
			return b.climb(ctx, found)
		}
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// climb returns the newest version of the highest major version in a row. Each major version is a module of its own.
func (b *porter) climb(ctx context.Context, found *downloaded) (*downloaded, error) {
	for {
		prefix, _, ok := module.SplitPathVersion(found.Path)
		major, err := strconv.Atoi(strings.TrimPrefix(modsemver.Major(found.Version), "v"))
		if !ok || err != nil {
			return found, nil
		}
		next, err := b.downloadModule(ctx, fmt.Sprintf("%s/v%d", prefix, max(major, 1)+1), latest)
		if err != nil {
			return found, ctx.Err()
		}
		found = next
	}
}

// keepModule copies a module into the cache. The path that it declares does not matter.
func (b *porter) keepModule(r reference, found *downloaded) (*sourceTree, error) {
	root, err := b.keep("source", found.Sum, func(to string) error { return copyTree(found.Dir, to, "", nil) })
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
	if refused := refusal(found.Error); refused != nil {
		return nil, refused
	}
	if found.Error != "" {
		return nil, errors.New(found.Error)
	}
	return found, failed
}

func noModuleError(shown string) error {
	return fmt.Errorf("%s has no go.mod, so the versions of its dependencies are unknown: "+
		"get its source, run \"go mod init\" and \"go mod tidy\" there, and name that directory", shown)
}

// copyDirectory copies the module that a directory belongs to. All that is copied is in the repository, unless that is empty: the
// user has not chosen what it has.
func (b *porter) copyDirectory(dir, repository string) (*sourceTree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if !isOf(repository, abs) {
		return nil, fmt.Errorf("the repository has no directory %s", relative(repository, abs))
	}
	root := abs
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(root)
		if parent == root || root == repository {
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
		if !isOf(repository, from) {
			return nil, fmt.Errorf("go.mod replaces %s by %s, which is not a directory of the repository", r.Old.Path, r.New.Path)
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

// isOf reports whether a path is in a repository with all links followed, and not part of git's own files there. Without a
// repository, all paths are.
func isOf(repository, path string) bool {
	if repository == "" {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	below, err := filepath.Rel(repository, real)
	return err == nil && filepath.IsLocal(below) && !confined.IsOfRepository(below)
}

// keepDirectory copies a directory into the cache, under a name that its contents decide.
func (b *porter) keepDirectory(kind, dir string) (kept, sum string, err error) {
	made, err := os.MkdirTemp(b.dir, "copy-*")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(made)
	repository, err := repositoryOf(dir)
	if err != nil {
		return "", "", err
	}
	if err := copyTree(dir, made, repository, besideSource); err != nil {
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

// repositoryOf returns the repository that a directory is in, or the directory if it is in none. Somebody else may have made the links
// in it, also if the user has cloned it.
func repositoryOf(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	for at := dir; err == nil; at = filepath.Dir(at) {
		if _, missing := os.Lstat(filepath.Join(at, ".git")); missing == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return dir, err
}

// besideSource reports whether a directory in a checkout is not part of the source.
func besideSource(dir string) bool {
	if path.Base(dir) == "vendor" && !strings.Contains(dir, "/") {
		return true // the module's requirements say the same, and are checked by go.sum
	}
	return slices.Contains([]string{".git", ".hg", ".svn", ".terraform", "node_modules"}, path.Base(dir))
}

// copyTree copies regular files and directories, except the ones for which skip, unless it is nil, returns true. A link to a file
// becomes that file. Other links are left out, as the Go command does, and so are links that lead out of a repository.
func copyTree(from, to, repository string, skip func(dir string) bool) error {
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
		if err != nil || !info.Mode().IsRegular() || entry.Type() == fs.ModeSymlink && !isOf(repository, at) {
			return nil // a broken link, a socket, or a link to a directory
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
}
