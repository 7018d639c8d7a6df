package lsp

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// fileKeys are the places of a project file whose values are paths, from its directory.
var fileKeys = [][]string{
	{"plugins", "providers", projectschema.Element, "path"},
	{"plugins", "providers", projectschema.Element, "grants", "fs", projectschema.Element, "path"},
	{"plugins", "vendor"}, {"plugins", "trust", "roots", projectschema.Element},
	{"policies", projectschema.Element}, {"policies", projectschema.Element, "path"},
	{"main"}, {"stackConfigDir"},
}

// fileFunctions are the functions whose argument is a path, from the directory of the program.
var fileFunctions = []string{"fn::readFile", "fn::fileAsset", "fn::fileArchive", "fn::filebase64", "fn::filebase64sha256"}

// baseOf returns the directory that the path at a place of a project or program is relative to, empty if there is no path.
func (v *view) baseOf(path []string) string {
	switch {
	case v.project == nil || len(path) == 0:
		return ""
	case slices.ContainsFunc(fileKeys, func(keys []string) bool { return slices.Equal(keys, path) }):
		return v.dir
	case slices.Contains(fileFunctions, path[len(path)-1]):
		return v.project.ProgramDir
	}
	return ""
}

// maxFiles bounds the files that are proposed.
const maxFiles = 500

// files adds the files of the directory that is written so far, and reports whether the value at a path is a file's name.
func (c *completer) files(path []string) bool {
	base := c.baseOf(path)
	if base == "" {
		return false
	}
	written := c.cursor.document.line(c.cursor.line)[c.cursor.from:c.cursor.at]
	dir := written[:strings.LastIndexByte(written, '/')+1]
	entries, _ := c.root.ReadDir(inDir(base, dir)) // a directory that cannot be read has no files to propose
	isModule := slices.Equal(path, fileKeys[0])
	for _, e := range entries[:min(len(entries), maxFiles)] {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			c.value(kindFolder, dir+name, "", "")
		case !isModule || strings.HasSuffix(name, ".wasm"):
			c.value(kindFile, dir+name, "", "")
		}
	}
	return true
}

// inDir returns a path that is relative to a directory, or absolute.
func inDir(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// links returns the files that a document names.
func (s *server) links(ctx context.Context, p positionParams) ([]documentLink, error) {
	out := []documentLink{}
	v, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil || v.tree(t.path) == nil {
		return out, nil
	}
	t.walk(func(at *place) bool {
		base := v.baseOf(at.path)
		if at.isKey || base == "" || source.IsNull(at.node) || at.node.Value == "" {
			return false
		}
		path := inDir(base, at.node.Value)
		if file, ok := v.fileOf(path); ok {
			out = append(out, documentLink{t.nodeSpan(at.node), pathToURI(file)})
		}
		return false
	})
	return out, nil
}

// fileOf returns the file that a path names: itself, or the program in a directory.
func (v *view) fileOf(path string) (string, bool) {
	for _, name := range []string{path, filepath.Join(path, "Main.yaml")} {
		if info, err := v.root.Stat(name); err == nil && info.Mode()&fs.ModeType == 0 {
			return name, true
		}
	}
	return "", false
}
