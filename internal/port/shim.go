package port

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/build/constraint"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/husk-dev/husk/internal/port/mapping"
)

// shimFile describes a shim. All other files beside it replace files of the module, or are added to it.
const shimFile = "shim.yaml"

// shim changes a module in the copy that a build uses, so that its packages build for WebAssembly.
type shim struct {
	// Name is the name of its directory.
	Name string `yaml:"-"`
	// Module is the path of the module.
	Module string `yaml:"module"`
	// Versions are the versions of the module that the shim fits, such as ">=1.3.0 <2.0.0"; all if it is empty.
	Versions string `yaml:"versions"`
	// Packages are the packages that need the shim; the module's root if there are none. The shim is used if the provider needs
	// one of them.
	Packages []string `yaml:"packages"`
	// Importers are the only packages whose imports the shim is enough for, unless there are none.
	Importers []string `yaml:"importers"`
	// Reason says why the packages do not build.
	Reason string `yaml:"reason"`
	// Drop are patterns of files to leave out.
	Drop []string `yaml:"drop"`
	// Only has the shim's own files replace all files of the module but go.mod and licences.
	Only bool `yaml:"only"`
	// Lift are patterns of files whose build constraints name js, which then means wasip1 as well.
	Lift []string `yaml:"lift"`
	// Edit are changes of single lines.
	Edit []edit `yaml:"edit"`
	// Require are versions that modules have at least.
	Require map[string]string `yaml:"require"`
	// Needs are the only modules that the module still requires, unless there are none.
	Needs []string `yaml:"needs"`

	files fs.FS
	// fits reports whether the shim is for a version.
	fits semver.Range
	// user says that --shim names it.
	user bool
}

// edit changes the only place in a file that has a text.
type edit struct {
	File string `yaml:"file"`
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

//go:embed all:_shims
var builtIn embed.FS

// builtInShims returns the shims that are part of this program.
func builtInShims() ([]*shim, error) {
	dir, err := fs.Sub(builtIn, "_shims")
	if err != nil {
		return nil, err
	}
	return readShims(dir)
}

// userShims returns the shims in a directory: the directory itself, or its subdirectories.
func userShims(dir string) ([]*shim, error) {
	var shims []*shim
	_, err := os.Stat(filepath.Join(dir, shimFile))
	switch {
	case err == nil:
		var one *shim
		one, err = readShim(os.DirFS(dir), filepath.Base(dir))
		shims = []*shim{one}
	case missing(err):
		shims, err = readShims(os.DirFS(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("--shim %s: %w", dir, err)
	}
	if len(shims) == 0 {
		return nil, fmt.Errorf("--shim %s: neither it nor one of its directories has a %s", dir, shimFile)
	}
	for _, s := range shims {
		s.user = true
	}
	return shims, nil
}

func readShims(dir fs.FS) ([]*shim, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var shims []*shim
	for _, e := range entries {
		if _, err := fs.Stat(dir, path.Join(e.Name(), shimFile)); err != nil {
			continue
		}
		sub, err := fs.Sub(dir, e.Name())
		if err != nil {
			return nil, err
		}
		s, err := readShim(sub, e.Name())
		if err != nil {
			return nil, err
		}
		shims = append(shims, s)
	}
	return shims, nil
}

func readShim(dir fs.FS, name string) (*shim, error) {
	text, err := fs.ReadFile(dir, shimFile)
	if err != nil {
		return nil, err
	}
	s := &shim{Name: name, files: dir}
	file := path.Join(name, shimFile)
	if err := mapping.DecodeYAML(file, text, s); err != nil {
		return nil, err
	}
	if s.Module == "" {
		return nil, fmt.Errorf("%s: it names no module", file)
	}
	if s.Reason == "" {
		return nil, fmt.Errorf("%s: it gives no reason", file)
	}
	if len(s.Packages) == 0 {
		s.Packages = []string{s.Module}
	}
	s.fits = func(semver.Version) bool { return true }
	if s.Versions != "" {
		if s.fits, err = semver.ParseRange(s.Versions); err != nil {
			return nil, fmt.Errorf("%s: versions %q: %w", file, s.Versions, err)
		}
	}
	return s, nil
}

// wanted reports whether a provider needs the shim.
func (s *shim) wanted(g *graph) bool {
	for _, name := range s.Packages {
		p := g.packages[name]
		if p == nil || p.Module == nil || p.Module.Path != s.Module || !s.fitsVersion(p.Module.Version) {
			continue
		}
		if len(s.Importers) == 0 {
			return true
		}
		known := func(importer string) bool { return slices.Contains(s.Importers, importer) }
		if !slices.ContainsFunc(g.importers(name), func(i string) bool { return !known(i) }) {
			return true
		}
	}
	return false
}

// fitsVersion reports whether the shim is for a version of its module.
func (s *shim) fitsVersion(version string) bool {
	parsed, err := semver.Parse(strings.TrimPrefix(strings.TrimSuffix(version, "+incompatible"), "v"))
	if err != nil {
		return s.Versions == "" // the module's own directory has no version
	}
	return s.fits(parsed)
}

// apply changes the copy of the module in a directory.
func (s *shim) apply(dir string) error {
	if s.Only {
		if err := clearModule(dir); err != nil {
			return err
		}
	}
	for _, pattern := range s.Drop {
		matches, err := s.match(dir, pattern)
		if err != nil {
			return err
		}
		for _, m := range matches {
			if err := os.Remove(m); err != nil {
				return err
			}
		}
	}
	for _, pattern := range s.Lift {
		matches, err := s.match(dir, pattern)
		if err != nil {
			return err
		}
		for _, m := range matches {
			if err := lift(m); err != nil {
				return err
			}
		}
	}
	for _, e := range s.Edit {
		if err := e.apply(dir); err != nil {
			return err
		}
	}
	if len(s.Needs) > 0 {
		if err := keepRequirements(dir, s.Needs); err != nil {
			return err
		}
	}
	return fs.WalkDir(s.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == shimFile {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(s.files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}

// match returns the files that a pattern names. A name that is not a pattern must exist.
func (s *shim) match(dir, pattern string) ([]string, error) {
	matches, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", shimFile, pattern, err)
	}
	if len(matches) == 0 && !strings.ContainsAny(pattern, "*?[") {
		return nil, fmt.Errorf("it changes the file %s, which this version of the module does not have", pattern)
	}
	return matches, nil
}

func (e edit) apply(dir string) error {
	file := filepath.Join(dir, filepath.FromSlash(e.File))
	data, err := os.ReadFile(file)
	if missing(err) {
		return fmt.Errorf("it edits the file %s, which this version of the module does not have", e.File)
	}
	if err != nil {
		return err
	}
	if n := bytes.Count(data, []byte(e.Old)); e.Old == "" || n != 1 {
		return fmt.Errorf("it edits the only %q in the file %s, which has it %d times in this version of the module", e.Old, e.File, n)
	}
	return os.WriteFile(file, bytes.Replace(data, []byte(e.Old), []byte(e.New), 1), 0o644)
}

// clearModule removes the files of a module but go.mod and licences.
func clearModule(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "go.mod" || isLicence(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// lift has the build constraint of a file, in it or in its name, mean wasip1 where it says js.
func lift(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	js := &constraint.OrExpr{X: &constraint.TagExpr{Tag: "js"}, Y: &constraint.TagExpr{Tag: "wasip1"}}
	expr, rest, err := constraintOf(data)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	if expr != nil {
		expr = lifted(expr, js)
	}
	to := file
	if base, named := strings.CutSuffix(file, "_js.go"); named {
		to = base + "_js_lifted.go"
		if expr == nil {
			expr = js
		} else {
			expr = &constraint.AndExpr{X: js, Y: expr}
		}
	}
	if expr == nil {
		return fmt.Errorf("the file %s has no build constraint with js to lift", filepath.Base(file))
	}
	stamped := append([]byte("//go:build "+expr.String()+"\n\n"), rest...)
	return errors.Join(os.Remove(file), os.WriteFile(to, stamped, 0o644))
}

// constraintOf returns the build constraint of a file, in its new or its old form, and the rest of the file.
func constraintOf(data []byte) (expr constraint.Expr, rest []byte, err error) {
	line, at := buildLine(data)
	if line != "" {
		after := data[at:]
		rest = slices.Concat(data[:at], after[bytes.IndexByte(after, '\n')+1:])
		expr, err = constraint.Parse(line)
		return expr, rest, err
	}
	for text := range bytes.Lines(data) {
		trimmed := strings.TrimSpace(string(text))
		if trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			break
		}
		if !constraint.IsPlusBuild(trimmed) {
			continue
		}
		one, err := constraint.Parse(trimmed)
		if err != nil {
			return nil, nil, err
		}
		if expr == nil {
			expr = one
		} else {
			expr = &constraint.AndExpr{X: expr, Y: one}
		}
	}
	return expr, data, nil // lines of the old form mean nothing beside one of the new
}

// lifted returns an expression with another in place of the tag js.
func lifted(e, js constraint.Expr) constraint.Expr {
	switch e := e.(type) {
	case *constraint.TagExpr:
		if e.Tag == "js" {
			return js
		}
	case *constraint.NotExpr:
		return &constraint.NotExpr{X: lifted(e.X, js)}
	case *constraint.AndExpr:
		return &constraint.AndExpr{X: lifted(e.X, js), Y: lifted(e.Y, js)}
	case *constraint.OrExpr:
		return &constraint.OrExpr{X: lifted(e.X, js), Y: lifted(e.Y, js)}
	}
	return e
}

// sum returns a checksum of all files of the shim.
func (s *shim) sum() (string, error) {
	var names []string
	err := fs.WalkDir(s.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return s.files.Open(name) })
}
