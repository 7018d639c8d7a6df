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
)

// Withheld are files and directories that are not there for those who are confined.
type Withheld []withheld

// withheld is one of them, or all of a pattern.
type withheld struct {
	// dir and name are its path. A * in the name stands for any text.
	dir, name string
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
	return slices.ContainsFunc(l, func(w withheld) bool {
		if w.covers(within) {
			return false
		}
		return w.covers(path) || info != nil && w.info != nil && os.SameFile(info, w.info)
	})
}

// Pins reports whether something of the list is below a path. If another file took its place,
// that would be elsewhere the next time that it is looked for.
func (l Withheld) Pins(path string) bool {
	return slices.ContainsFunc(l, func(w withheld) bool { return IsBelow(path, filepath.Join(w.dir, w.name)) })
}

func (w *withheld) covers(path string) bool {
	rest, ok := below(w.dir, path)
	if !ok || rest == "" {
		return false
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rest), "/")
	before, after, pattern := strings.Cut(strings.ToLower(w.name), "*")
	if !pattern {
		return strings.EqualFold(w.name, first)
	}
	first = strings.ToLower(first)
	return len(first) >= len(before)+len(after) && strings.HasPrefix(first, before) && strings.HasSuffix(first, after)
}

// IsBelow reports whether a path is below a directory, which it is not itself. File systems differ
// in whether they tell upper from lower case, so this does not.
func IsBelow(dir, path string) bool {
	rest, ok := below(dir, path)
	return ok && rest != ""
}

// below returns what leads from a directory to a path in it, as text; empty for itself.
func below(dir, path string) (rest string, ok bool) {
	if len(path) < len(dir) || !strings.EqualFold(path[:len(dir)], dir) {
		return "", false
	}
	rest = path[len(dir):]
	if rest == "" || os.IsPathSeparator(dir[len(dir)-1]) {
		return rest, true
	}
	return strings.TrimPrefix(rest, string(filepath.Separator)), os.IsPathSeparator(rest[0])
}

// Names are the elements of a relative path.
func Names(path string) []string {
	if path == "." || path == "" {
		return nil
	}
	return strings.Split(filepath.ToSlash(path), "/")
}
