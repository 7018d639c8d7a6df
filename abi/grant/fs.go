package grant

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

var fsCapability = Capability{
	Name: NameFS, Flags: []string{"fs=DIR:rw", "fs=DIR"}, Placeholder: "<directory>",
	Entry: Entry{Noun: "a granted directory", Key: "path", KeyNoun: "the path", Missing: "the granted directory has no path", Options: []string{OptionMode}},
	fulfils: func(s Set, scope string) bool {
		return slices.ContainsFunc(s.FS, func(g FS) bool { return scope == "" || g.holds(scope) })
	},
	add: func(s *Set, t Text, p Place) error {
		dir, mode := SplitMode(t.Scope)
		g, err := InProject(p.Dir, dir, mode == ModeReadWrite)
		s.FS = append(s.FS, g)
		return err
	},
}

// WorkingDirectory is where the relative paths of a provider begin.
const WorkingDirectory = "/project"

// FS gives a provider a directory and its contents, except withheld files. Of several grants the most specific decides, by
// whatever path a file is reached. Neither `..` nor symbolic links lead out of it.
type FS struct {
	// HostPath is the directory. One that is granted read-write need not exist; the
	// provider can make it then.
	HostPath string
	// GuestPath is where the provider sees it: an absolute, clean path with forward slashes.
	GuestPath string
	ReadWrite bool
	// Within is a directory above HostPath. The host follows no symbolic link on the way from Within to HostPath: whoever may
	// write in Within could put a link there that leads elsewhere. If Within is empty, the host follows all links.
	Within string
}

// InProject grants a directory as a project file names it: relative to the project's
// directory, or absolute. The provider then finds it under the same path that the
// program uses, because its working directory stands for the project's. One that is relative must not
// be, or lie behind, a symbolic link in the project.
func InProject(projectDir, dir string, readWrite bool) (FS, error) {
	projectDir, err := filepath.Abs(projectDir)
	if err != nil {
		return FS{}, err
	}
	g := FS{ReadWrite: readWrite}
	if filepath.IsAbs(dir) {
		g.HostPath = filepath.Clean(dir)
		g.GuestPath = path.Join("/", filepath.ToSlash(g.HostPath))
		return g, nil
	}
	g.HostPath = filepath.Join(projectDir, dir)
	g.GuestPath = path.Join(WorkingDirectory, filepath.ToSlash(dir))
	if filepath.IsLocal(dir) {
		g.Within = projectDir
	}
	return g, nil
}

// holds reports whether a directory is in the granted one. Its text is as in a project file, with
// :rw behind it if it is to be written to.
func (g FS) holds(scope string) bool {
	dir, mode := SplitMode(scope)
	writable := mode == ModeReadWrite
	wanted, err := InProject("/", dir, writable)
	if err != nil || writable && !g.ReadWrite {
		return false
	}
	return wanted.GuestPath == g.GuestPath || strings.HasPrefix(wanted.GuestPath, strings.TrimSuffix(g.GuestPath, "/")+"/")
}

// SplitMode splits a directory, as in dir:rw, from its mode, which is to read only by default.
func SplitMode(text string) (dir, mode string) {
	for _, mode := range []string{ModeReadWrite, ModeReadOnly} {
		if dir, ok := strings.CutSuffix(text, ":"+mode); ok {
			return dir, mode
		}
	}
	return text, ModeReadOnly
}

// The modes of a granted directory.
const (
	ModeReadOnly  = "ro"
	ModeReadWrite = "rw"
)
