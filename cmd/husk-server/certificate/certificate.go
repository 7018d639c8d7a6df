// Package certificate loads the certificate of a server, again whenever its files change.
package certificate

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
)

// Files are the files of a certificate and its private key. They are looked at whenever a client connects: there is no interval
// after which a new certificate counts, and nothing to signal.
type Files struct {
	names [2]string

	mu      sync.Mutex
	tried   [2]fs.FileInfo
	current *tls.Certificate
	failed  bool
}

// Open loads a certificate and its key.
func Open(certificate, key string) (*Files, error) {
	f := &Files{names: [2]string{certificate, key}}
	err := f.load()
	return f, err
}

// Config returns the configuration of a server with the certificate.
func (f *Files) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.latest(), nil },
	}
}

// latest returns the certificate that the files have, or the last one if they have none that is whole: whoever writes them writes
// one after the other.
func (f *Files) latest() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.changed() {
		return f.current
	}
	if err := f.load(); err != nil {
		f.failed = true
		slog.Error("the server keeps its certificate: the files with the new one cannot be used", "certificate", f.names[0], "key", f.names[1], "ends", f.current.Leaf.NotAfter, "error", err)
	} else {
		f.failed = false
		slog.Info("the server has a new certificate", "certificate", f.names[0], "ends", f.current.Leaf.NotAfter)
	}
	return f.current
}

// changed reports whether the files differ from the ones tried last. Replacing a link on the way to them, as mounts of secrets
// do, counts as a change.
func (f *Files) changed() bool {
	for i, now := range f.look() {
		before := f.tried[i]
		if (now == nil) != (before == nil) || now != nil && (!os.SameFile(now, before) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
			return true
		}
	}
	return false
}

// look describes the files, nil for missing ones.
func (f *Files) look() (found [2]fs.FileInfo) {
	for i, name := range f.names {
		if info, err := os.Stat(name); err == nil {
			found[i] = info
		}
	}
	return found
}

func (f *Files) load() error {
	f.tried = f.look() // before they are read: what is written meanwhile is read again
	loaded, err := tls.LoadX509KeyPair(f.names[0], f.names[1])
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	f.current = &loaded
	return nil
}

// Metrics returns when the certificate ends, and whether a new one could not be loaded.
func (f *Files) Metrics() []telemetry.Metric {
	ends := f.latest().Leaf.NotAfter
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := 0
	if f.failed {
		failed = 1
	}
	return []telemetry.Metric{
		{Name: "husk.certificate.end", Unit: "s", About: "When the certificate of the server ends, in seconds since 1970.", Points: telemetry.One(ends.Unix())},
		{Name: "husk.certificate.failed", Unit: "{certificate}", About: "1 if the files of the certificate have changed and cannot be used, so that the server keeps the one before.", Points: telemetry.One(failed)},
	}
}
