package contents

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/intake"
)

// archiveFile finds the file that an archive is.
func (s Source) archiveFile(ctx context.Context, a property.Archive) (blob, error) {
	return s.blob(ctx, property.Asset{Hash: a.Hash, Source: a.Source, Path: a.Path, URI: a.URI}, true)
}

// file visits the files in a file.
func (w *walk) file(ctx context.Context, b blob, format Format, prefix string) error {
	if format == Zip && b.size < 0 { // its directory is at its end
		var err error
		if b, err = spool(ctx, b); err != nil {
			return err
		}
		defer b.close()
	}
	r, err := b.open()
	if err != nil {
		return err
	}
	if format == Zip {
		// Only files come here: the program's, and the ones of spool.
		err = w.zip(ctx, r.(*os.File), b.size, prefix)
	} else {
		err = w.tar(ctx, interruptible{ctx, r}, format == TarGzip, prefix)
	}
	return errors.Join(err, r.Close())
}

func (w *walk) tar(ctx context.Context, r io.Reader, gzipped bool, prefix string) error {
	if gzipped {
		z, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("it is not a gzipped tar file: %v", err)
		}
		r = z
	}
	files := intake.NewTar(r)
	for {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("it is not a whole tar file: %v", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			err = w.packed(prefix, h.Name, h.Size, func() (io.ReadCloser, error) { return io.NopCloser(files), nil })
		case tar.TypeDir, tar.TypeXGlobalHeader:
			err = w.count(h.Name, 0)
		default:
			err = fmt.Errorf("its entry %.64q is a link or device, which an archive cannot contain", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (w *walk) zip(ctx context.Context, r io.ReaderAt, size int64, prefix string) error {
	directory := &boundedAt{r: r, left: MaxZipDirectory}
	files, err := zip.NewReader(directory, size)
	if err != nil {
		return fmt.Errorf("it is not a whole zip file: %v", err)
	}
	directory.left = math.MaxInt64
	for _, f := range files.File {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch mode := f.Mode(); {
		case mode.IsDir():
			err = w.count(f.Name, 0)
		case !mode.IsRegular():
			err = fmt.Errorf("its entry %.64q is a link or device, which an archive cannot contain", f.Name)
		case f.UncompressedSize64 > math.MaxInt64:
			err = w.count(f.Name, -1)
		default:
			err = w.packed(prefix, f.Name, int64(f.UncompressedSize64), f.Open)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// packed visits an entry of a file.
func (w *walk) packed(prefix, name string, size int64, open func() (io.ReadCloser, error)) error {
	clean, err := entryName(name)
	if err != nil {
		return err
	}
	return w.entry(entry{path.Join(prefix, clean), blob{size: size, open: open}})
}

// boundedAt bounds how much is read.
type boundedAt struct {
	r    io.ReaderAt
	left int64
}

func (b *boundedAt) ReadAt(p []byte, offset int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("the list of its files has more than %d bytes", MaxZipDirectory)
	}
	return b.r.ReadAt(p, offset)
}
