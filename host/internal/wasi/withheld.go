package wasi

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// withheld is a file or directory of the host that is in no mount, unless the mount is that
// directory or lies in it.
type withheld struct {
	// dir and name are its path. A * in the name stands for any text.
	dir, name string
	// info is what was there at first; nil for nothing.
	info fs.FileInfo
}

// withhold finds what a path leads to. Where symbolic links are on the way, each of them could
// be replaced, so that there is one for each path that leads there.
func withhold(hostPath string) (all []withheld, err error) {
	if hostPath, err = filepath.Abs(hostPath); err != nil {
		return nil, err
	}
	volume := filepath.VolumeName(hostPath)
	at := volume + string(filepath.Separator)
	rest := names(strings.Trim(filepath.ToSlash(hostPath[len(volume):]), "/"))
	add := func(path string) {
		w := withheld{dir: filepath.Dir(path), name: filepath.Base(path)}
		w.info, _ = os.Lstat(path) // nothing need be there
		all = append(all, w)
	}
	add(hostPath)
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

// covers reports whether the path is it, or lies in it.
func (w *withheld) covers(hostPath string) bool {
	rest, ok := below(w.dir, hostPath)
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

// below returns what leads from a directory to a path in it, as text; empty for itself. File
// systems differ in whether they tell upper from lower case, so this does not.
func below(dir, hostPath string) (rest string, ok bool) {
	if len(hostPath) < len(dir) || !strings.EqualFold(hostPath[:len(dir)], dir) {
		return "", false
	}
	rest = hostPath[len(dir):]
	if rest == "" || os.IsPathSeparator(dir[len(dir)-1]) {
		return rest, true
	}
	return strings.TrimPrefix(rest, string(filepath.Separator)), os.IsPathSeparator(rest[0])
}

// withholds reports whether a place of a mount is withheld from it.
func (f *FileSystem) withholds(m *mount, hostPath string, info fs.FileInfo) bool {
	return slices.ContainsFunc(f.withheld, func(w withheld) bool {
		if w.covers(m.real) {
			return false // it was named
		}
		return w.covers(hostPath) || info != nil && w.info != nil && os.SameFile(info, w.info)
	})
}

// pins reports whether a mount or what is withheld is below a path. If another file took its
// place, they would be elsewhere the next time that they are looked for.
func (f *FileSystem) pins(hostPath string) bool {
	strictly := func(inner string) bool {
		rest, ok := below(hostPath, inner)
		return ok && rest != ""
	}
	return slices.ContainsFunc(f.mounts, func(m *mount) bool { return strictly(m.real) }) ||
		slices.ContainsFunc(f.withheld, func(w withheld) bool { return strictly(filepath.Join(w.dir, w.name)) })
}
