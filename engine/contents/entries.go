package contents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/confined"
)

type entry struct {
	// name is relative and has slashes. It is clean, except for names that a program gives to assets: the
	// archive's hash depends on them.
	name string
	blob
}

// walk visits the files of an archive in the order of its hash. An entry can be opened once, during its visit.
type walk struct {
	source  Source
	visit   func(entry) error
	entries int
	bytes   int64
}

// count holds the archive to the limits.
func (w *walk) count(name string, size int64) error {
	if w.entries++; w.entries > MaxEntries {
		return fmt.Errorf("the archive has more than %d entries", MaxEntries)
	}
	if len(name) > MaxName {
		return fmt.Errorf("the archive has an entry whose name has %d bytes, at most %d are possible: %.64q…", len(name), MaxName, name)
	}
	if size < 0 || size > MaxBytes-w.bytes {
		return fmt.Errorf("the files of the archive have more than %d bytes together", int64(MaxBytes))
	}
	w.bytes += size
	return nil
}

// archive visits the files of an archive that is named prefix in another one.
func (w *walk) archive(ctx context.Context, a property.Archive, prefix string, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("archives are nested more than %d deep", MaxDepth)
	}
	if a.Source == property.SourceAssets {
		return w.literal(ctx, a.Assets, prefix, depth)
	}
	format, err := formatOf(a)
	if err != nil {
		return err
	}
	if format == notFile {
		if a.Source != property.SourcePath {
			return fmt.Errorf("its URL must end with one of .tar, .tgz, .tar.gz, .zip, and .jar")
		}
		_, foreign := w.source.foreign(Place{Archive: true, Source: a.Source, Location: a.Path, Hash: a.Hash})
		if foreign {
			if err := w.confine(a.Path); err != nil {
				return w.source.foreignError(a.Path, err)
			}
		}
		return w.directory(ctx, w.source.resolve(a.Path), prefix, foreign)
	}
	b, err := w.source.archiveFile(ctx, a)
	if err != nil {
		return err
	}
	return w.file(ctx, b, format, prefix)
}

// literal visits the members of a literal archive, in the order of their names.
func (w *walk) literal(ctx context.Context, members property.Map, prefix string, depth int) error {
	names := members.Keys()
	slices.Sort(names)
	for _, name := range names {
		if err := checkMemberName(name); err != nil {
			return err
		}
		var err error
		switch member := members.Get(name); member.Kind() {
		case property.KindAsset:
			a, _ := member.AsAsset()
			err = w.member(ctx, a, prefix, name)
		case property.KindArchive:
			a, _ := member.AsArchive()
			err = w.archive(ctx, a, path.Join(prefix, name), depth+1)
		default:
			err = fmt.Errorf("it is neither an asset nor an archive")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

func (w *walk) member(ctx context.Context, a property.Asset, prefix, name string) error {
	b, err := w.source.asset(ctx, a)
	if err != nil {
		return err
	}
	if b.size < 0 {
		if b, err = spool(ctx, b); err != nil {
			return err
		}
		defer b.close()
	}
	if prefix != "" {
		name = path.Join(prefix, name)
	}
	return w.entry(entry{name, b})
}

func (w *walk) entry(e entry) error {
	if err := w.count(e.name, e.size); err != nil {
		return err
	}
	return w.visit(e)
}

// directory visits the files of a directory as Pulumi does: links to files are files, and links to directories and entries named
// .pulumi are left out. So is .husk, which changes with each run. If the path is foreign, so are files that are withheld, and
// links must not lead outside.
func (w *walk) directory(ctx context.Context, dir, prefix string, foreign bool) error {
	info, err := w.source.files().Stat(dir)
	if err != nil {
		return pathError(dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is neither a directory nor a file whose name ends with .tar, .tgz, .tar.gz, .zip, or .jar", dir)
	}
	root, err := w.source.files().Real(dir)
	if err != nil {
		return pathError(dir, err)
	}
	return w.source.files().WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return pathError(at, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case at == root:
			return nil
		case w.withheld(at, foreign) && d.IsDir():
			return fs.SkipDir
		case w.withheld(at, foreign):
			return nil
		case (d.Name() == ".pulumi" || confined.IsOfState(d.Name())) && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".pulumi" || confined.IsOfState(d.Name()):
			return nil
		case d.IsDir():
			return w.count(at[len(root):], 0)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := w.source.files().Stat(at)
			if err != nil {
				return pathError(at, err)
			}
			if target.IsDir() {
				return nil
			}
		}
		var b blob
		if foreign {
			b, err = w.source.foreignBlob(at, at)
		} else {
			b, err = w.source.fileBlob(at)
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return w.entry(entry{path.Join(prefix, filepath.ToSlash(relative)), b})
	})
}

// confine checks a foreign path, and finds what it must stay in, for all files of the walk.
func (w *walk) confine(path string) error {
	absolute, err := filepath.Abs(w.source.resolve(path))
	if err != nil {
		return err
	}
	within, err := w.source.dir()
	if err != nil {
		return err
	}
	w.source.bounds = &within
	_, err = within.Real(absolute)
	return err
}

// withheld reports whether a file of a foreign directory is left out.
func (w *walk) withheld(path string, foreign bool) bool {
	return foreign && w.source.bounds.Withheld.Covers(w.source.bounds.Path, path, nil)
}

// checkMemberName refuses names that lead out of the archive. Absolute ones are taken, as Pulumi does.
func checkMemberName(name string) error {
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%q is not a valid name in an archive: it leads out of the archive", name)
	}
	return nil
}

// entryName is the clean name of an entry of an archive file, which anyone may have made.
func entryName(name string) (string, error) {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || clean == "." || strings.ContainsAny(name, "\x00\\") {
		return "", fmt.Errorf("the archive has an entry named %.64q, which is not the path of a file in it", name)
	}
	return clean, nil
}

// copyEntry writes the contents of an entry, which must have the size that was told.
func copyEntry(ctx context.Context, dst io.Writer, e entry) (err error) {
	r, err := e.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n, err := io.Copy(dst, io.LimitReader(interruptible{ctx, r}, e.size))
	if err != nil {
		return err
	}
	// The end must be read to know that there is no more, and to have checksums compared.
	var one [1]byte
	more, err := io.ReadFull(r, one[:])
	switch {
	case n < e.size:
		return fmt.Errorf("%q has %d bytes, not the %d that it should have", e.name, n, e.size)
	case more > 0:
		return fmt.Errorf("%q has more than the %d bytes that it should have", e.name, e.size)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}
