// Package packed reads archives of small texts that a program embeds: a zip file without compression of its own, compressed as a whole, which
// is a third of one whose files are compressed one by one. Package packedtest makes them.
package packed

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
)

// Open returns the files of an archive. It panics for one that is none: the program is broken.
func Open(archive []byte) fs.FS {
	whole, err := gzip.NewReader(bytes.NewReader(archive))
	var content []byte
	if err == nil {
		content, err = io.ReadAll(whole)
	}
	files, zipErr := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err := errors.Join(err, zipErr); err != nil {
		panic(err)
	}
	return files
}

// Text returns a file of an archive. It panics if there is none.
func Text(archive []byte, name string) string {
	text, err := fs.ReadFile(Open(archive), name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
