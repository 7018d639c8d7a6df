// Package confined opens files whose paths were chosen by somebody who is not trusted: a guest,
// or a value that a provider answered. Nothing leads out of a directory, by whatever links and
// whoever moves files meanwhile, nor to what is withheld in it: the files that say what the program
// itself does.
//
// The file system of guests (host/internal/wasi) and the engine's assets (engine/contents) use it.
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

// Withheld are files and directories that are not there for those who are confined.
type Withheld []withheld

// withheld is one of them, or all of a pattern.
type withheld struct {
	// dir and name are its path. A * in the name stands for any text.
	dir, name string
	// plain is the name as [plainName] has it, and odd is set unless dir [isPlain].
	plain string
	odd   bool
	// info is what was there at first; nil for nothing.
	info fs.FileInfo
}

// Withhold finds what paths lead to, which need not exist. A * in the last name of a path stands
// for any text.
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

// withhold finds what a path leads to. Where symbolic links are on the way, each of them could
// be replaced, so that there is one for each path that leads there.
func withhold(path string) (all []withheld, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	volume := filepath.VolumeName(path)
	at := volume + string(filepath.Separator)
	rest := Names(strings.Trim(filepath.ToSlash(path[len(volume):]), "/"))
	add := func(path string) {
		w := withheld{dir: filepath.Dir(path), name: filepath.Base(path)}
		w.plain, w.odd = plainName(w.name), !isPlain(w.dir)
		w.info, _ = os.Lstat(path) // nothing need be there
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

// Covers reports whether a file is withheld from those who are confined to a directory: it is one
// of the list, by its path or as the same file, or it lies in one. What they are confined to was
// named, so nothing that this lies in is withheld. info may be nil.
func (l Withheld) Covers(within, path string, info fs.FileInfo) bool {
	oddWithin, odd := !isPlain(within), !isPlain(path)
	return slices.ContainsFunc(l, func(w withheld) bool {
		if w.covers(within, oddWithin) {
			return false
		}
		return w.covers(path, odd) || info != nil && w.info != nil && os.SameFile(info, w.info)
	})
}

// Pins reports whether something of the list is below a path. If another file took its place,
// that would be elsewhere the next time that it is looked for.
func (l Withheld) Pins(path string) bool {
	return slices.ContainsFunc(l, func(w withheld) bool { return IsBelow(path, filepath.Join(w.dir, w.name)) })
}

// covers reports whether a path is that of the file or below it. odd is set unless it [isPlain].
func (w *withheld) covers(path string, odd bool) bool {
	rest, ok := below(w.dir, path, odd || w.odd)
	if !ok || rest == "" {
		return false
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rest), "/")
	first = plainName(first)
	before, after, pattern := strings.Cut(w.plain, "*")
	if !pattern {
		return first == before
	}
	return len(first) >= len(before)+len(after) && strings.HasPrefix(first, before) && strings.HasSuffix(first, after)
}

// IsBelow reports whether a path is below a directory, which it is not itself. File systems differ
// in which names are the same, so those that may be count as such.
func IsBelow(dir, path string) bool {
	rest, ok := below(dir, path, !isPlain(dir) || !isPlain(path))
	return ok && rest != ""
}

// below returns what leads from a directory to a path in it, as text; empty for itself. odd is set
// unless both are plain.
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

// plainName returns one text for all names that some file system takes for the same: it does not
// tell upper from lower case, drops characters that are not seen, or dots and spaces at
// the end, or takes what is behind a colon for a part of the file.
func plainName(name string) string {
	if !isPlain(name) {
		name = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			least := r // of those that differ by case
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

// isPlain reports whether a name or path differs in nothing but case from others that are the same.
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

// Names are the elements of a relative path.
func Names(path string) []string {
	if path == "." || path == "" {
		return nil
	}
	return strings.Split(filepath.ToSlash(path), "/")
}
