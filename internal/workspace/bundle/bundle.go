// Package bundle packs a project, so that it can be deployed elsewhere: a tar file, compressed by gzip, of the same bytes
// for the same files.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/confined"
)

const (
	// MaxBytes bounds a bundle, and MaxFiles and MaxContents its contents.
	MaxBytes    = 64 << 20
	MaxFiles    = 1 << 16
	MaxContents = 1 << 30
)

// Info says what a bundle is.
type Info struct {
	// Digest is the digest of the bundle, sha256:…
	Digest string
	Size   int64
	// Project is the directory of the project in the bundle, with forward slashes.
	Project string
}

// Pack writes the bundle of a project: its directory, and the modules outside of it that it lists by paths. build returns the
// module of a directory of source, which then replaces that directory: whoever runs the project needs no compiler, and runs
// the module built here.
func Pack(w io.Writer, p *program.Project, build func(dir string) ([]byte, error)) (*Info, error) {
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return nil, err
	}
	if programDir, err := filepath.Abs(p.ProgramDir); err != nil || !isBelow(dir, programDir) {
		return nil, fmt.Errorf("the program is in %s, outside of the project, and a run elsewhere gets only files of the project", p.ProgramDir)
	}
	root, pack := dir, &packer{files: p.Root, built: make(map[string][]byte)}
	var outside []string
	for _, file := range listed(p) {
		if filepath.IsAbs(file) {
			return nil, fmt.Errorf("%s lists the module %s by its path on this machine, and a run elsewhere has the project at another place: write the path relative to the project", p.File.Name, file)
		}
		if file, err = filepath.Abs(p.Path(file)); err != nil {
			return nil, err
		}
		info, err := p.Root.Stat(file)
		if errors.Is(err, projectroot.ErrOutside) {
			return nil, fmt.Errorf("%s lists the module %w", p.File.Name, err)
		}
		if err == nil && info.IsDir() {
			if pack.built[file], err = build(file); err != nil {
				return nil, err
			}
		}
		if isBelow(dir, file) {
			continue
		}
		outside = append(outside, file)
		for !isBelow(root, file) {
			up := filepath.Dir(root)
			if up == root {
				return nil, fmt.Errorf("the module %s is on another volume than the project", file)
			}
			root = up
		}
	}
	slices.Sort(outside)
	below, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	count := &counter{w: io.MultiWriter(w, sum)}
	pack.root = root
	compressed := gzip.NewWriter(count)
	pack.tar = tar.NewWriter(compressed)
	if err := pack.directory(dir); err != nil {
		return nil, err
	}
	for _, file := range slices.Compact(outside) {
		if err := pack.add(file); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(pack.tar.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	if count.n > MaxBytes {
		return nil, fmt.Errorf("the project has %d MiB when it is compressed, and a run elsewhere takes at most %d: leave out what it does not need", count.n>>20, MaxBytes>>20)
	}
	return &Info{Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), Size: count.n, Project: filepath.ToSlash(below)}, nil
}

// listed returns the paths of modules that a project lists.
func listed(p *program.Project) (paths []string) {
	for _, provider := range p.Providers {
		if provider.Path != "" && !provider.Native {
			paths = append(paths, provider.Path)
		}
	}
	for _, policy := range p.Policies {
		if !program.IsPolicyProgram(p.Root, p.Path(policy.Path)) {
			paths = append(paths, policy.Path)
		}
	}
	if p.Runtime == program.RuntimeWASM {
		paths = append(paths, p.Main)
	}
	return paths
}

func isBelow(dir, file string) bool {
	below, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(below)
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

type packer struct {
	root string
	// files opens the project's files, as far as it is trusted.
	files *projectroot.Root
	// built are the modules of directories, by their paths.
	built    map[string][]byte
	tar      *tar.Writer
	count    int
	contents int64
}

// directory adds all files below a directory, in the order of their names.
func (p *packer) directory(dir string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case confined.IsOfState(entry.Name()) || confined.IsOfRepository(entry.Name()): // which no run needs
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() && p.built[file] != nil:
			if err := p.add(file); err != nil {
				return err
			}
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		return p.add(file)
	})
}

// add adds a file or a symbolic link. Pipes, sockets, and devices are left out.
func (p *packer) add(file string) error {
	info, err := p.files.Lstat(file)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(p.root, file)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: filepath.ToSlash(below), Mode: 0o644, Format: tar.FormatPAX}
	if info.Mode()&0o111 != 0 {
		header.Mode = 0o755
	}
	if p.count++; p.count > MaxFiles {
		return fmt.Errorf("the project has more than %d files, which a run elsewhere does not take: leave out what it does not need", MaxFiles)
	}
	module := p.built[file]
	switch {
	case module != nil || info.Mode().IsRegular():
		header.Typeflag, header.Size = tar.TypeReg, info.Size()
		if module != nil {
			header.Size = int64(len(module))
		}
		if p.contents += header.Size; p.contents > MaxContents {
			return fmt.Errorf("the project has more than %d MiB, which a run elsewhere does not take: leave out what it does not need", MaxContents>>20)
		}
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, filepath.ToSlash(target)
		if !staysInside(header.Name, header.Linkname) {
			return fmt.Errorf("%s is a symbolic link to %s, outside of the project, and a run elsewhere gets only files of the project", file, target)
		}
	default:
		return nil
	}
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	if module != nil {
		_, err := p.tar.Write(module)
		return err
	}
	if header.Typeflag != tar.TypeReg {
		return nil
	}
	f, err := p.files.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(p.tar, f); err != nil {
		return fmt.Errorf("%s was changed while it was read: %w", file, err)
	}
	return nil
}

// staysInside reports whether a link at a name leads to something in the bundle.
func staysInside(name, target string) bool {
	return !path.IsAbs(target) && filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target)))
}
