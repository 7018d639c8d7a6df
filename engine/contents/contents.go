// Package contents reads what assets and archives name: texts, files, directories, and URLs; tar, gzipped
// tar, and zip files; and archives of all of these. Its hashes are Pulumi's.
//
// It reads any file that it is given. It must not be given what a provider names itself; what the program
// names by a value of a provider is read within narrower bounds, see [Source.Foreign].
package contents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/confined"
)

// Limits on reading. The network may fill a disk, and a file be compressed a million times.
const (
	// MaxBytes bounds one asset, and the files of one archive, in bytes: the largest single upload of AWS
	// S3 is 5 GiB.
	MaxBytes = 5 << 30

	// MaxDownload bounds the contents of one URL, in bytes.
	MaxDownload = 1 << 30

	// MaxEntries bounds the files and directories of one archive. Dependencies of Node.js are up to 100,000.
	MaxEntries = 1 << 18

	// MaxName bounds the name of an entry, in bytes, as Linux does for paths.
	MaxName = 4096

	// MaxZipDirectory bounds the directory of a zip file, in bytes, which is kept in memory.
	MaxZipDirectory = 32 << 20

	// MaxDepth bounds archives in archives.
	MaxDepth = 32
)

// Source reads the contents that assets and archives name.
type Source struct {
	// Root opens the paths that the program chose, as far as its project is trusted; nil for the file system.
	Root *projectroot.Root
	// Dir is the base of relative paths. If it is empty, they are relative to the working directory.
	Dir string
	// Fetch gets http and https URLs; nil gets none.
	Fetch Fetch
	// Foreign reports whether the program did not choose a place itself. named is the part of a URL that the program wrote,
	// before the foreign part. If it is nil, the program chose all places.
	Foreign func(Place) (named string, foreign bool)
	// Within is the directory that foreign paths stay in, Dir if it is empty. They do not lead to files
	// and directories in Withheld, in which a * in the last name stands for any text, and ** before it for any directories.
	Within   string
	Withheld []string

	// bounds caches dir for a walk, nil otherwise.
	bounds *confined.Dir
}

// ErrElided is the error for an asset or archive whose contents are unknown: only its hash is there.
var ErrElided = errors.New("its contents are not known, only their hash")

// OpenAsset begins to read an asset.
func (s Source) OpenAsset(ctx context.Context, a property.Asset) (io.ReadCloser, error) {
	b, err := s.asset(ctx, a)
	if err != nil {
		return nil, err
	}
	return b.open()
}

// blob is something to read whose size is known.
type blob struct {
	size int64
	open func() (io.ReadCloser, error)
	// drop frees what holds the contents; nil where nothing does.
	drop func()
}

func (b blob) close() {
	if b.drop != nil {
		b.drop()
	}
}

// asset finds an asset. A remote one is downloaded by open, not here.
func (s Source) asset(ctx context.Context, a property.Asset) (blob, error) {
	return s.blob(ctx, a, false)
}

var errForeignFile = errors.New("its URL names a file, and the program did not choose it: use fn::fileAsset or fn::fileArchive with a path in the project")

var errUntrustedFile = errors.New("its URL names a file, and the project is not trusted: use fn::fileAsset or fn::fileArchive with a path in the project, " + ifTrusted)

// blob finds an asset, or an archive that is a file.
func (s Source) blob(ctx context.Context, a property.Asset, archive bool) (blob, error) {
	named, foreign := s.foreign(placeOf(a, archive))
	switch a.Source {
	case property.SourceText:
		return textBlob(a.Text), nil
	case property.SourcePath:
		if foreign {
			return s.foreignBlob(s.resolve(a.Path), a.Path)
		}
		return s.fileBlob(s.resolve(a.Path))
	case property.SourceURI:
		u, err := parseURL(a.URI)
		switch {
		case err != nil:
			return blob{}, err
		case u.Scheme == "file" && foreign && s.isUntrusted():
			return blob{}, errUntrustedFile
		case u.Scheme == "file" && foreign:
			return blob{}, errForeignFile
		case u.Scheme == "file":
			return s.fileBlob(filepath.FromSlash(u.Path))
		}
		return blob{size: -1, open: func() (io.ReadCloser, error) { return s.fetch(ctx, s.remoteOf(u, named, foreign)) }}, nil
	}
	return blob{}, ErrElided
}

// resolve makes a path absolute, or one that is relative to the process.
func (s Source) resolve(path string) string {
	path = filepath.FromSlash(path)
	if s.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.Dir, path)
}

// files opens what the program chose.
func (s Source) files() *projectroot.Root {
	if s.Root == nil {
		return projectroot.New(".", projectroot.Trusted)
	}
	return s.Root
}

// fileBlob returns a regular file. It opens no other, which could take forever for a pipe.
func (s Source) fileBlob(path string) (blob, error) {
	if path == "" {
		return blob{}, errors.New("its path is empty")
	}
	info, err := s.files().Stat(path)
	switch {
	case err != nil:
		return blob{}, pathError(path, err)
	case info.IsDir():
		return blob{}, fmt.Errorf("%s is a directory: make it an archive", path)
	case !info.Mode().IsRegular():
		return blob{}, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > MaxBytes:
		return blob{}, fmt.Errorf("%s has %d bytes, at most %d can be read", path, info.Size(), int64(MaxBytes))
	}
	return blob{size: info.Size(), open: func() (io.ReadCloser, error) {
		file, err := s.files().Open(path)
		if err != nil {
			return nil, pathError(path, err)
		}
		return file, nil
	}}, nil
}

// pathError describes an error of a path in fewer words than package os.
func pathError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s: %w", path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("reading %s is not permitted: %w", path, fs.ErrPermission)
	}
	return err
}

func textBlob(text string) blob {
	return blob{size: int64(len(text)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}
