package yamlprogram

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/internal/blocking"
)

// maxFileSize bounds the files whose text becomes a property, in bytes: larger ones
// could not be passed to a provider.
const maxFileSize = property.DefaultSize

// file reads a file, or makes an asset or archive of one. Paths are relative to
// the program's directory. A path that is written out may lead anywhere; one
// that is computed must stay inside the directory, since what a provider answers
// must not choose which of the user's files is read.
func (e *evaluator) file(f expr.Function, path string, constant bool) (property.Value, *argumentError) {
	type made struct {
		value   property.Value
		problem *argumentError
	}
	// Opening or reading a pipe waits until somebody writes to it.
	m, err := blocking.Call(e.ctx, func() (made, error) {
		value, problem := e.fileNow(f, path, constant)
		return made{value, problem}, nil
	}, nil)
	if err != nil {
		return property.Null, &argumentError{0, "the file was not read in the time that there was" + pathNote(path, constant)}
	}
	return m.value, m.problem
}

// fileNow is file for as long as it takes.
func (e *evaluator) fileNow(f expr.Function, path string, constant bool) (property.Value, *argumentError) {
	fail := func(format string, args ...any) (property.Value, *argumentError) {
		return property.Null, &argumentError{0, fmt.Sprintf(format, args...)}
	}
	if path == "" {
		return fail("the path is empty")
	}
	dir := e.c.program.project.ProgramDir
	absolute := path
	if !filepath.IsAbs(path) {
		absolute = filepath.Join(dir, path)
	}
	open := func() (*os.File, error) { return os.Open(absolute) }
	if !constant {
		open = func() (*os.File, error) { return openInside(dir, absolute) }
	}
	file, err := open()
	if err != nil {
		return fail("%s", fileProblem(path, constant, err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fail("%s", fileProblem(path, constant, err))
	}
	if f == expr.FileArchive {
		return property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: path}), nil
	}
	if info.IsDir() {
		return fail("the path is that of a directory%s", pathNote(path, constant))
	}
	if f == expr.FileAsset { // the engine reads it where it is used
		return property.AssetOf(property.Asset{Source: property.SourcePath, Path: path}), nil
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err != nil {
		return fail("%s", fileProblem(path, constant, err))
	}
	if len(data) > maxFileSize {
		return fail("the file is larger than %d MiB%s", maxFileSize>>20, pathNote(path, constant))
	}
	if !utf8.Valid(data) {
		return fail("the file is not UTF-8 text%s; pass it as fn::fileAsset", pathNote(path, constant))
	}
	return property.String(string(data)), nil
}

// openInside opens a file of a directory, wherever links lead.
func openInside(dir, path string) (*os.File, error) {
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(relative)
}

// fileProblem says why a file could not be read. A computed path is not told: it
// may come from a secret.
func fileProblem(path string, constant bool, err error) string {
	note := pathNote(path, constant)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file" + note
	case errors.Is(err, fs.ErrPermission):
		return "reading the file is not permitted" + note
	case constant:
		return err.Error()
	default:
		return "a computed path must lead to a file inside the program's directory"
	}
}

func pathNote(path string, constant bool) string {
	if !constant {
		return ""
	}
	return fmt.Sprintf(": %s", path)
}
