package webhook

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

// projectError says what is wrong with the files of a commit.
type projectError struct{ err error }

func (e *projectError) Error() string { return e.err.Error() }

// pack returns the bundle of the hook's project at a commit. The host makes the archive, so no git runs here, nor hooks nor submodules of
// the repository. The project is a stranger's: nothing of it is built or run, nor read outside of it.
func (h *Hook) pack(ctx context.Context, commit string) (content []byte, err error) {
	dir, err := os.MkdirTemp("", "husk-webhook-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archive, err := h.archive(ctx, commit)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	limited := &io.LimitedReader{R: archive, N: bundle.MaxBytes + 1}
	files, into := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := withoutTop(limited, into)
		into.CloseWithError(err)
		read <- err
	}()
	err = bundle.Extract(files, dir)
	files.Close() // ends the reading of files that cannot be written
	readErr := <-read
	switch {
	case limited.N == 0:
		return nil, &projectError{fmt.Errorf("the archive of the commit has more than %d MiB", bundle.MaxBytes>>20)}
	case errors.Is(readErr, intake.ErrTarHeader):
		return nil, &projectError{fmt.Errorf("the archive of the commit: %w", readErr)}
	case readErr != nil && !errors.Is(readErr, io.ErrClosedPipe): // the host makes the archive, and another try may bring a whole one
		return nil, fmt.Errorf("reading the archive of the commit %s from the host: %w", commit, readErr)
	case errors.Is(err, bundle.ErrInvalid):
		return nil, &projectError{fmt.Errorf("the archive of the commit: %w", err)}
	case err != nil:
		return nil, err
	}
	project, err := program.LoadProject(ctx, projectroot.New(filepath.Join(dir, filepath.FromSlash(h.Directory)), projectroot.Untrusted))
	if full, is := errors.AsType[*intake.FullError](err); is && !full.Never {
		return nil, err // it is tried again
	}
	if err == nil && project.Name != h.Project {
		err = fmt.Errorf("the project is %.80q, and the hook is for %s", project.Name, h.Project)
	}
	var packed bytes.Buffer
	if err == nil {
		_, err = bundle.Pack(&packed, project, func(dir string) ([]byte, error) {
			return nil, fmt.Errorf("%s is source code, which a server does not build: list a module in its place", filepath.Base(dir))
		})
	}
	if cut := ctx.Err(); cut != nil {
		return nil, cut
	}
	if err != nil {
		return nil, &projectError{errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))}
	}
	return packed.Bytes(), nil
}

// withoutTop writes the files and links of an archive without the directory that hosts put around them.
func withoutTop(archive io.Reader, into io.Writer) error {
	z, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	from, to := intake.NewTar(z), tar.NewWriter(into)
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err != nil {
			return err
		}
		_, name, below := strings.Cut(header.Name, "/")
		if !below || header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeSymlink {
			continue
		}
		err = to.WriteHeader(&tar.Header{Name: name, Linkname: header.Linkname, Size: header.Size, Mode: header.Mode & 0o777, Typeflag: header.Typeflag, Format: tar.FormatPAX})
		if err == nil {
			_, err = io.Copy(to, from)
		}
		if err != nil {
			return err
		}
	}
}
