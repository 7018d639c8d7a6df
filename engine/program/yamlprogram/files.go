package yamlprogram

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/internal/base/blocking"
)

// maxFileSize, in bytes, bounds the text of a file, because a provider takes no more.
const maxFileSize = property.DefaultSize

// file reads a file, or makes an asset or archive of one. The user's own path may lead anywhere.
func (e *evaluator) file(c *expr.Call, path string, constant bool) (property.Value, *argumentError) {
	type made struct {
		value   property.Value
		problem *argumentError
	}
	// Opening or reading a pipe waits until somebody writes to it.
	m, err := blocking.Call(e.ctx, func() (made, error) {
		value, problem := e.fileNow(c, path, constant)
		return made{value, problem}, nil
	}, nil)
	if err != nil {
		return property.Null, &argumentError{0, "the file was not read in the time that there was" + pathNote(path, constant)}
	}
	return m.value, m.problem
}

// fileNow is file for as long as it takes.
func (e *evaluator) fileNow(c *expr.Call, path string, constant bool) (property.Value, *argumentError) {
	f := c.Function
	fail := func(format string, args ...any) (property.Value, *argumentError) {
		return property.Null, &argumentError{0, fmt.Sprintf(format, args...)}
	}
	if path == "" {
		return fail("the path is empty")
	}
	absolute := path
	if !filepath.IsAbs(path) {
		absolute = filepath.Join(e.c.dir, path)
	}
	file, err := e.c.program.project.Root.OpenAny(absolute)
	if err != nil {
		return fail("%s", fileProblem(path, constant, err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fail("%s", fileProblem(path, constant, err))
	}
	if readsFile(f) || f == expr.FileAsset {
		if info.IsDir() {
			return fail("the path names a directory%s", pathNote(path, constant))
		}
	}
	if !readsFile(f) { // the engine reads it where it is used
		return fileContents(f, e.c.located(path)), nil
	}
	text, problem, err := e.readFile(c, file)
	switch {
	case err != nil:
		return fail("%s", fileProblem(path, constant, err))
	case problem != "":
		return fail(problem, pathNote(path, constant))
	}
	return property.String(text), nil
}

func (e *evaluator) foreignFile(c *expr.Call, path string, secret bool) (property.Value, *argumentError) {
	if !readsFile(c.Function) {
		return e.foreignContents(c.Args[0], fileContents(c.Function, e.c.located(path)), secret)
	}
	if e.static {
		return property.Unknown, nil
	}
	m, problem := e.foreignMonitor()
	if problem != nil {
		return property.Null, problem
	}
	file, err := m.OpenForeign(e.ctx, e.c.located(path))
	if err != nil {
		return property.Null, foreignProblem(err, secret)
	}
	defer file.Close()
	text, wrong, err := e.readFile(c, file)
	switch {
	case err != nil:
		return property.Null, foreignProblem(err, secret)
	case wrong != "":
		return property.Null, &argumentError{0, fmt.Sprintf(wrong, "")}
	}
	return property.String(text), nil
}

func fileContents(f expr.Function, path string) property.Value {
	if f == expr.FileArchive {
		return property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: path})
	}
	return property.AssetOf(property.Asset{Source: property.SourcePath, Path: path})
}

// readsFile reports whether a function returns the contents of a file.
func readsFile(f expr.Function) bool {
	return f == expr.ReadFile || f == expr.FileBase64 || f == expr.FileBase64SHA256
}

// readFile returns a function's result for a file. problem is a format with a place for the file. Each part is charged before the
// next is read: the memory of the text until it is returned, when it is charged as a value.
func (e *evaluator) readFile(c *expr.Call, file io.Reader) (text, problem string, err error) {
	var b strings.Builder
	sum := sha256.New()
	var to io.Writer = &b
	finish := func() {}
	switch c.Function {
	case expr.FileBase64SHA256:
		to = sum
	case expr.FileBase64:
		encoder := base64.NewEncoder(base64.StdEncoding, &b)
		to, finish = encoder, func() { _ = encoder.Close() } // a builder has no errors
	}
	var held int64
	defer func() { e.spend(c, 0, -held) }()
	read, part := 0, make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = file.Read(part)
		if read += n; read > maxFileSize {
			return "", fmt.Sprintf("the file is larger than %d MiB%%s", maxFileSize>>20), nil
		}
		before := b.Len()
		_, _ = to.Write(part[:n]) // neither a builder nor a hash has errors
		grown := int64(b.Len() - before)
		held += grown
		if !e.spend(c, 1+n/bytesPerStep, grown) || e.ctx.Err() != nil {
			return "", "the file was not read to its end%s", nil
		}
	}
	if err != io.EOF {
		return "", "", err
	}
	finish()
	switch {
	case c.Function == expr.FileBase64SHA256:
		return base64.StdEncoding.EncodeToString(sum.Sum(nil)), "", nil
	case c.Function == expr.ReadFile && !utf8.ValidString(b.String()):
		return "", "the file is not UTF-8 text%s; pass it as fn::fileAsset, or by fn::filebase64", nil
	}
	return b.String(), "", nil
}

// fileProblem says why a file could not be read. A computed path may be a secret, and is not shown.
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
		return "the file cannot be read"
	}
}

func pathNote(path string, constant bool) string {
	if !constant {
		return ""
	}
	return fmt.Sprintf(": %s", path)
}
