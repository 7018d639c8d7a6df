// Package confined opens files by paths of guests and of values from providers, who are not trusted. No path
// leads out of a directory, or to withheld files in it, whatever links there are and whoever moves files
// meanwhile. The file system of guests (host/internal/wasi) and assets (engine/contents) use it.
package confined

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Withheld are files and directories that confined code does not see.
type Withheld []withheld

// withheld is a file or directory, or a pattern of them.
type withheld struct {
	// dir and name are its path. A * in the name stands for any text.
	dir, name string
	// deep also withholds files of that name in all directories below dir.
	deep bool
	// plain is the [plainName], and odd is set unless dir [isPlain].
	plain string
	odd   bool
	// info is the original file; nil for none.
	info fs.FileInfo
}

// Repositories are the directories of version control systems: credentials, and commands that the next use of the system runs.
var Repositories = []string{".git", ".hg", ".svn", ".jj"}

// StateDir is the directory beside a project in which Husk keeps states, their earlier versions, modules, and settings.
const StateDir = ".husk"

// IsOfRepository reports whether a path has one of the [Repositories], or leads below one.
func IsOfRepository(path string) bool {
	return slices.ContainsFunc(Names(filepath.Clean(path)), func(name string) bool { return slices.Contains(Repositories, plainName(name)) })
}

// IsOfState reports whether a path has the name of [StateDir], or leads below one.
func IsOfState(path string) bool {
	return slices.ContainsFunc(Names(filepath.Clean(path)), func(name string) bool { return plainName(name) == StateDir })
}

// Withhold withholds files, which need not exist. A * in a path's last name stands for any text, and ** before it for any
// directories.
func Withhold(paths ...string) (list Withheld, err error) {
	for _, path := range paths {
		found, err := withhold(path)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// withhold follows a path. Each symbolic link could be replaced, so each adds where it leads.
func withhold(path string) (all []withheld, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	volume := filepath.VolumeName(path)
	at := volume + string(filepath.Separator)
	rest := Names(strings.Trim(filepath.ToSlash(path[len(volume):]), "/"))
	add := func(path string) {
		w := withheld{dir: filepath.Dir(path), name: filepath.Base(path)}
		if filepath.Base(w.dir) == "**" {
			w.dir, w.deep = filepath.Dir(w.dir), true
		}
		w.plain, w.odd = plainName(w.name), !isPlain(w.dir)
		w.info, _ = os.Lstat(path) // nil if there is no file
		all = append(all, w)
	}
	add(path)
	for len(rest) > 0 {
		at = filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
			add(filepath.Join(at, filepath.Join(rest...)))
		}
	}
	return all, nil
}

// Covers reports whether the list withholds a file from a grant of the directory within: an entry names the
// file, by its path or as the same file, or names a directory above it. An entry that contains within does not
// count, because a user has granted within. info may be nil.
func (l Withheld) Covers(within, path string, info fs.FileInfo) bool {
	oddWithin, odd := !isPlain(within), !isPlain(path)
	return slices.ContainsFunc(l, func(w withheld) bool {
		if w.covers(within, oddWithin) {
			return false
		}
		return w.covers(path, odd) || info != nil && w.info != nil && os.SameFile(info, w.info)
	})
}

// Pins reports whether an entry is below a path, which must not be moved then: the entry would be elsewhere. A file that is
// withheld in all directories is withheld wherever it is moved below the same one.
func (l Withheld) Pins(path string) bool {
	return slices.ContainsFunc(l, func(w withheld) bool { return !w.deep && IsBelow(path, filepath.Join(w.dir, w.name)) })
}

// covers reports whether a path is the file or below it. odd is set unless the path [isPlain].
func (w *withheld) covers(path string, odd bool) bool {
	rest, ok := below(w.dir, path, odd || w.odd)
	if !ok || rest == "" {
		return false
	}
	names := Names(rest)
	if !w.deep {
		names = names[:1]
	}
	return slices.ContainsFunc(names, w.is)
}

// is reports whether the entry has a name.
func (w *withheld) is(name string) bool {
	name = plainName(name)
	before, after, pattern := strings.Cut(w.plain, "*")
	if !pattern {
		return name == before
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// IsBelow reports whether a path is below a directory, and not the directory. Names that are the same on some
// file systems count as the same.
func IsBelow(dir, path string) bool {
	rest, ok := below(dir, path, !isPlain(dir) || !isPlain(path))
	return ok && rest != ""
}

// below returns the path relative to a directory, empty for the directory. odd is set unless both are plain.
func below(dir, path string, odd bool) (rest string, ok bool) {
	if len(path) >= len(dir) && strings.EqualFold(path[:len(dir)], dir) {
		rest = path[len(dir):]
		if rest == "" || os.IsPathSeparator(dir[len(dir)-1]) {
			return rest, true
		}
		if os.IsPathSeparator(rest[0]) {
			return rest[1:], true
		}
	}
	if !odd {
		return "", false
	}
	outer, inner := Names(dir), Names(path)
	if len(inner) < len(outer) {
		return "", false
	}
	for i, name := range outer {
		if plainName(name) != plainName(inner[i]) {
			return "", false
		}
	}
	return filepath.Join(inner[len(outer):]...), true
}

// plainName returns one text for all names that are the same on some file system: it may ignore case,
// invisible characters, and dots and spaces at the end, or take the text after a colon for a part of the
// file.
func plainName(name string) string {
	if !isPlain(name) {
		name = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			least := r // of the names that differ by case
			for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
				least = min(least, next)
			}
			return least
		}, name)
		name, _, _ = strings.Cut(name, ":")
		name = strings.TrimRight(name, ". ")
	}
	return strings.ToLower(name)
}

// isPlain reports whether only case distinguishes a name or path from others that are the same.
func isPlain(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= utf8.RuneSelf, c == ':':
			return false
		case (c == '.' || c == ' ') && (i+1 == len(path) || os.IsPathSeparator(path[i+1])):
			return false
		}
	}
	return true
}

// Names returns the elements of a relative path.
func Names(path string) []string {
	if path == "." || path == "" {
		return nil
	}
	return strings.Split(filepath.ToSlash(path), "/")
}
