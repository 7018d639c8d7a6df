package bundle

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// bufferSize is how much of a file is in memory at once, in bytes.
	bufferSize = 64 << 10
	// maxArchive bounds the uncompressed size of a bundle, in bytes: the contents of the files, and a page for each of them.
	maxArchive = MaxContents + MaxFiles<<12
	// maxDirectories bounds the directories of a bundle, which names of a few bytes make many of.
	maxDirectories = 1 << 14
	// maxKeptNames bounds the names of directories and links together, in bytes: they are in memory until all is written.
	maxKeptNames = 8 << 20
	// maxName bounds the name of a file, in bytes, as Linux bounds a path.
	maxName = 4096
)

// ErrInvalid is the error for data that is not a bundle, or not the requested one.
var ErrInvalid = errors.New("the bundle is not valid")

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Decompress writes the archive of a bundle with a digest, for [Extract], and returns its bytes. If it returns an error, its
// output is useless.
func Decompress(w io.Writer, r io.Reader, digest string) (int64, error) {
	sum := sha256.New()
	limited := &io.LimitedReader{R: r, N: MaxBytes + 1}
	compressed, err := gzip.NewReader(io.TeeReader(limited, sum))
	if err != nil {
		return 0, invalidf("%v", err)
	}
	// The digest also covers the bytes behind the archive.
	size, err := io.Copy(w, &io.LimitedReader{R: compressed, N: maxArchive + 1})
	if err != nil {
		return 0, fmt.Errorf("the bundle cannot be decompressed: %w", err)
	}
	if size > maxArchive {
		return 0, invalidf("it has more than %d MiB before it is compressed", maxArchive>>20)
	}
	if _, err := io.Copy(sum, limited); err != nil {
		return 0, err
	}
	if limited.N == 0 {
		return 0, invalidf("it has more than %d MiB", MaxBytes>>20)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != digest {
		return 0, invalidf("it has the digest %s, and not %s", got, digest)
	}
	return size, nil
}

// Extract writes the files of an archive into an empty directory, which no file nor link of it leaves.
func Extract(archive io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{root: root, archive: intake.NewTar(archive), directories: make(map[string]bool), links: make(map[string]bool), buffer: make([]byte, bufferSize)}
	return u.files()
}

type unpacker struct {
	root    *os.Root
	archive *intake.Tar
	// directories and links are the ones made so far, by their names with forward slashes.
	directories, links map[string]bool
	count, names       int
	contents           int64
	buffer             []byte
}

// files writes all files.
func (u *unpacker) files() error {
	for {
		header, err := u.archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return invalidf("%v", err)
		}
		if err := u.file(header); err != nil {
			return err
		}
	}
	// Each link alone stays inside, and yet two of them can lead outside, because ".." then starts from the target of the first
	// one.
	for name := range u.links {
		if _, err := u.root.Stat(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return invalidf("the link %s leads outside of it: %v", name, err)
		}
	}
	return nil
}

// file writes one file or link.
func (u *unpacker) file(header *tar.Header) error {
	name := filepath.FromSlash(header.Name)
	if !filepath.IsLocal(name) || strings.Contains(header.Name, "\\") || len(header.Name) > maxName {
		return invalidf("it has the name %.100q", header.Name)
	}
	u.count++
	if u.contents += header.Size; u.count > MaxFiles || u.contents > MaxContents {
		return invalidf("it has more than %d files, or than %d MiB in them", MaxFiles, MaxContents>>20)
	}
	if err := u.directory(path.Dir(path.Clean(header.Name))); err != nil {
		return err
	}
	switch {
	case header.Typeflag == tar.TypeSymlink && staysInside(header.Name, header.Linkname):
		if err := u.root.Symlink(filepath.FromSlash(header.Linkname), name); err != nil {
			return invalidf("%v", err)
		}
		return u.keep(u.links, path.Clean(header.Name))
	case header.Typeflag == tar.TypeReg:
		f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(header.Mode)&0o755|0o600)
		if err != nil {
			return invalidf("%v", err)
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{f}, u.archive, u.buffer) // a file would make one for itself
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	default:
		return invalidf("%s is neither a file nor a link in it", header.Name)
	}
	return nil
}

// directory makes a directory and its parents. None of them may be a link.
func (u *unpacker) directory(name string) error {
	if name == "." || u.directories[name] {
		return nil
	}
	if u.links[name] {
		return invalidf("it has files below the link %s", name)
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	if len(u.directories) >= maxDirectories {
		return invalidf("it has more than %d directories", maxDirectories)
	}
	if err := u.root.Mkdir(filepath.FromSlash(name), 0o755); err != nil {
		return invalidf("%v", err)
	}
	return u.keep(u.directories, name)
}

// keep adds the name of a directory or link.
func (u *unpacker) keep(names map[string]bool, name string) error {
	if u.names += len(name); u.names > maxKeptNames {
		return invalidf("the names of its directories and links have more than %d MiB", maxKeptNames>>20)
	}
	names[name] = true
	return nil
}
