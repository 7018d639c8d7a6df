package contents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/confined"
)

// The user chose the values in the program and its configuration. Values from a provider, another stack, or a file are foreign:
// with the user's rights they would read any file, and reach any server of the user's network. So a foreign path stays in the
// project's directory, and a foreign URL leads to the Internet, or to the host that the program wrote.

// Place is the source of an asset or archive, with the hash of its contents.
type Place struct {
	Archive bool
	Source  property.AssetSource
	// Location is a path or a URL.
	Location, Hash string
}

func placeOf(a property.Asset, archive bool) Place {
	p := Place{Archive: archive, Source: a.Source, Hash: a.Hash, Location: a.Path}
	if a.Source == property.SourceURI {
		p.Location = a.URI
	}
	return p
}

// foreign reports whether a place is foreign. named is the part of it that the program wrote.
func (s Source) foreign(p Place) (named string, foreign bool) {
	if s.Foreign == nil {
		return "", false
	}
	return s.Foreign(p)
}

// dir returns the directory that foreign paths stay in.
func (s Source) dir() (confined.Dir, error) {
	if s.bounds != nil {
		return *s.bounds, nil
	}
	dir, err := filepath.Abs(cmp.Or(s.Within, s.Dir, "."))
	if err != nil {
		return confined.Dir{}, err
	}
	withheld, err := confined.Withhold(s.Withheld...)
	return confined.Dir{Path: dir, Withheld: withheld}, err
}

// OpenForeign begins to read a file whose path is foreign.
func (s Source) OpenForeign(path string) (io.ReadCloser, error) {
	b, err := s.foreignBlob(s.resolve(path), path)
	if err != nil {
		return nil, err
	}
	return b.open()
}

// foreignBlob is a file whose path is foreign. Errors name it as shown.
func (s Source) foreignBlob(path, shown string) (blob, error) {
	open := func() (*os.File, error) {
		file, err := s.openForeign(path)
		if err != nil {
			return nil, s.foreignError(shown, err)
		}
		return file, nil
	}
	file, err := open()
	if err != nil {
		return blob{}, err
	}
	info, err := file.Stat()
	file.Close()
	switch {
	case err != nil:
		return blob{}, err
	case info.Size() > MaxBytes:
		return blob{}, fmt.Errorf("%s has %d bytes, at most %d can be read", shown, info.Size(), int64(MaxBytes))
	}
	return blob{size: info.Size(), open: func() (io.ReadCloser, error) { return open() }}, nil
}

func (s Source) openForeign(path string) (*os.File, error) {
	if path == "" {
		return nil, errors.New("its path is empty")
	}
	dir, err := s.dir()
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	return dir.Open(path)
}

// ifTrusted is the advice for users who trust the project.
const ifTrusted = "or, if you trust the project, run it without --untrusted-project, or at a worker with --trusted"

// isUntrusted reports whether all that the program writes is foreign, because the project is somebody else's.
func (s Source) isUntrusted() bool { return s.Root != nil && !s.Root.Trusted() }

// foreignError describes an error of a foreign path.
func (s Source) foreignError(path string, err error) error {
	if errors.Is(err, confined.ErrOutside) && s.isUntrusted() {
		return fmt.Errorf("%s is not read: the project is not trusted, and %w: name a file of the project, %s", path, err, ifTrusted)
	}
	if errors.Is(err, confined.ErrOutside) {
		return fmt.Errorf("%s was not chosen by the program, and %w: write the path in the program, or take it from the configuration", path, err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return pathError(path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// remoteOf returns the request for a URL.
func (s Source) remoteOf(u *url.URL, named string, foreign bool) Remote {
	r := Remote{URL: u, Foreign: foreign, Untrusted: s.isUntrusted()}
	if !foreign {
		r.Named = hostOf(u)
		return r
	}
	// Only a whole host counts: what follows could make another one of the beginning of its name.
	if _, rest, ok := strings.Cut(named, "://"); ok && strings.ContainsAny(rest, "/?#") {
		if written, err := url.Parse(named); err == nil && hostOf(written) == hostOf(u) && written.User == nil {
			r.Named = hostOf(u)
		}
	}
	return r
}

// hostOf is the host and port of a URL.
func hostOf(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}
