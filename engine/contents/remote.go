package contents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
)

// parseURL refuses URLs that name nothing that can be read.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("its URL is malformed") // err has the URL in it, and with it a password
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return nil, fmt.Errorf("its URL %s has no host", shownURL(u))
		}
	case "file":
		if u.Host != "" && u.Host != "localhost" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("its URL %s must have nothing but a path, to a file of this machine", shownURL(u))
		}
	default:
		return nil, fmt.Errorf("its URL has the scheme %q, which must be http, https, or file", u.Scheme)
	}
	return u, nil
}

// shownURL is a URL without the parts that are used to pass secrets.
func shownURL(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	return shown.String()
}

func (s Source) fetch(ctx context.Context, r Remote) (io.ReadCloser, error) {
	u := r.URL
	if s.Fetch == nil {
		return nil, fmt.Errorf("%s cannot be fetched: there is no way to the network", shownURL(u))
	}
	body, err := s.Fetch(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", shownURL(u), err)
	}
	return &atMost{ReadCloser: body, left: MaxDownload, what: shownURL(u)}, nil
}

// atMost fails if more can be read than allowed.
type atMost struct {
	io.ReadCloser
	left int64
	what string
}

func (r *atMost) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.ReadCloser.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, fmt.Errorf("%s is larger than can be read", r.what)
	}
	return n, err
}

// spool copies the blob to a temporary file, so that its size is known.
func spool(ctx context.Context, from blob) (_ blob, err error) {
	r, err := from.open()
	if err != nil {
		return blob{}, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	file, err := os.CreateTemp("", "husk-asset-")
	if err != nil {
		return blob{}, err
	}
	path := file.Name()
	size, err := io.Copy(file, interruptible{ctx, r})
	if err = errors.Join(err, file.Close()); err != nil {
		return blob{}, errors.Join(err, os.Remove(path))
	}
	return blob{
		size: size,
		open: func() (io.ReadCloser, error) { return os.Open(path) },
		drop: func() { _ = os.Remove(path) }, // a file that stays is the system's to clean up
	}, nil
}
