package contents

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/property"
)

// OpenArchive begins to read an archive as one file of a format. Another format is packed while it is
// read: files keep their names and contents, not their permissions and times, so that the same files make the same archive. Of
// files with the same name the first is taken. It reports whether the bytes read have the archive's hash.
func (s Source) OpenArchive(ctx context.Context, a property.Archive, format Format) (r io.ReadCloser, hashed bool, err error) {
	has, err := formatOf(a)
	if err != nil {
		return nil, false, err
	}
	if has != format {
		return s.piped(ctx, a, format, false), has == notFile && format == Tar, nil
	}
	b, err := s.archiveFile(ctx, a)
	if err != nil {
		return nil, false, err
	}
	r, err = b.open()
	return r, true, err
}

// OpenEntries begins to read the files of an archive as [Tar]. Names are clean, relative, and distinct.
func (s Source) OpenEntries(ctx context.Context, a property.Archive) io.ReadCloser {
	return s.piped(ctx, a, Tar, true)
}

// piped makes an archive while it is read.
func (s Source) piped(ctx context.Context, a property.Archive, format Format, clean bool) io.ReadCloser {
	r, w := io.Pipe()
	p := &pipe{PipeReader: r, ended: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer close(p.ended)
		defer stop()
		err := s.write(ctx, w, a, format, clean)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // which a reader would take for the end
			err = fmt.Errorf("it is not whole: %v", err)
		}
		w.CloseWithError(err) // nil is the end
	}()
	return p
}

// pipe waits on Close until nothing is read any more.
type pipe struct {
	*io.PipeReader
	ended chan struct{}
}

func (p *pipe) Close() error {
	err := p.PipeReader.Close()
	<-p.ended
	return err
}

// write makes an archive as Pulumi does: hashes depend on each byte.
func (s Source) write(ctx context.Context, dst io.Writer, a property.Archive, format Format, clean bool) error {
	out, err := newPacker(dst, format)
	if err != nil {
		return err
	}
	seen := make(map[string]struct{})
	w := &walk{source: s, visit: func(e entry) error {
		if clean {
			e.name = strings.TrimPrefix(path.Clean("/"+e.name), "/")
			if e.name == "" {
				return fmt.Errorf("the archive has an entry without a name")
			}
		}
		if _, ok := seen[e.name]; ok {
			return nil
		}
		seen[e.name] = struct{}{}
		file, err := out.create(e.name, e.size)
		if err != nil {
			return fmt.Errorf("%.64q: %w", e.name, err)
		}
		return copyEntry(ctx, file, e)
	}}
	if err := w.archive(ctx, a, "", 1); err != nil {
		return err
	}
	return out.close()
}

// packer writes files into one.
type packer struct {
	create func(name string, size int64) (io.Writer, error)
	close  func() error
}

func newPacker(dst io.Writer, format Format) (packer, error) {
	switch format {
	case Tar:
		return newTarPacker(dst), nil
	case TarGzip:
		z := gzip.NewWriter(dst)
		p := newTarPacker(z)
		return packer{p.create, func() error { return errors.Join(p.close(), z.Close()) }}, nil
	case Zip:
		z := zip.NewWriter(dst)
		// Always the same time, and after 1980, as the format knows no earlier one.
		packedAt := time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC)
		return packer{func(name string, _ int64) (io.Writer, error) {
			return z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: packedAt})
		}, z.Close}, nil
	}
	return packer{}, fmt.Errorf("%d is not a format of archives", format)
}

func newTarPacker(dst io.Writer) packer {
	t := tar.NewWriter(dst)
	return packer{func(name string, size int64) (io.Writer, error) {
		return t, t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size})
	}, t.Close}
}
