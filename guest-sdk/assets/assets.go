package assets

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// ErrElided is an asset or archive whose contents are not to be had: an old one.
var ErrElided = errors.New("the contents of an asset that is not an input of the call are not known, only their hash")

// Open opens an asset. The error at the end of reading reports whether the content has the hash.
func Open(ctx context.Context, a property.Asset) (io.ReadCloser, error) {
	switch a.Source {
	case property.SourceText:
		return io.NopCloser(strings.NewReader(a.Text)), nil
	case property.SourceNone:
		return nil, ErrElided
	}
	return open(ctx, a.Hash, abi.AssetsFormBlob)
}

// Format is one of the ways to put the files of an archive into one file.
type Format uint8

// The formats. An asset that is such a file already is read as it is.
const (
	Tar Format = iota
	TarGzip
	Zip
)

// OpenArchive begins to read an archive as one file, to pass it on. The caller must close it.
func OpenArchive(ctx context.Context, a property.Archive, format Format) (io.ReadCloser, error) {
	if a.Source == property.SourceNone {
		return nil, ErrElided
	}
	form := abi.AssetsFormTar
	switch format {
	case TarGzip:
		form = abi.AssetsFormTarGzip
	case Zip:
		form = abi.AssetsFormZip
	}
	return open(ctx, a.Hash, form)
}

// Entry is a file of an archive. It can be read until the next one is asked for.
type Entry struct {
	// Name is a clean relative path with slashes (see [io/fs.ValidPath]). Each occurs once.
	Name string
	// Size is in bytes.
	Size int64
	io.Reader
}

// Entries iterates over the files of an archive of any format and nesting. An error ends it.
func Entries(ctx context.Context, a property.Archive) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if a.Source == property.SourceNone {
			yield(Entry{}, ErrElided)
			return
		}
		r, err := open(ctx, a.Hash, abi.AssetsFormEntries)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer r.Close()
		files := tar.NewReader(r)
		for {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				// The rest must be read, too, to compare the content with the hash.
				if _, err = io.Copy(io.Discard, r); err == nil {
					return
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(Entry{h.Name, h.Size, files}, nil) {
				return
			}
		}
	}
}
