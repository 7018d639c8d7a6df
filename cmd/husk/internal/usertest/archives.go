package usertest

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveFiles serves the files of a script on this machine, at the URL in $FILES.
func serveFiles(e *testscript.Env) {
	server := httptest.NewServer(http.FileServer(http.Dir(e.WorkDir)))
	e.Defer(server.Close)
	e.Vars = append(e.Vars, "FILES="+server.URL, "ADDRESS="+server.Listener.Addr().String())
}

// pack ARCHIVE FILE...: puts files into a tar, gzipped tar, or zip file.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	var add func(name, data string) error
	var end func() error
	if strings.HasSuffix(args[0], ".zip") {
		w := zip.NewWriter(file)
		end = w.Close
		add = func(name, data string) error {
			f, err := w.Create(name)
			if err == nil {
				_, err = io.WriteString(f, data)
			}
			return err
		}
	} else {
		out, closeGzip := io.Writer(file), func() error { return nil }
		if !strings.HasSuffix(args[0], ".tar") {
			z := gzip.NewWriter(file)
			out, closeGzip = z, z.Close
		}
		w := tar.NewWriter(out)
		end = func() error { return errors.Join(w.Close(), closeGzip()) }
		add = func(name, data string) error {
			err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
			if err == nil {
				_, err = io.WriteString(w, data)
			}
			return err
		}
	}
	for _, name := range args[1:] {
		ts.Check(add(name, ts.ReadFile(name)))
	}
	ts.Check(errors.Join(end(), file.Close()))
}
