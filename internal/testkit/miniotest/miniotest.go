// Package miniotest runs a MinIO server for tests, where that is installed.
package miniotest

import (
	"crypto/rand"
	"go/build"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// Region is the region of all buckets.
const Region = "us-east-1"

// Settings are the settings of a server beside its directory.
type Settings struct {
	// Certificate and Key, in PEM, have the server speak TLS.
	Certificate, Key []byte
	// DiskSize is the size of a disk which the server has to itself, in bytes, until it is killed. Zero stands for a directory of
	// temporary files. The test is skipped where no disk can be made.
	DiskSize int
}

// Server is a MinIO server of the installed program, with one disk. It runs until the end of the test that started it.
type Server struct {
	// Address is the server's host and port.
	Address string
	// User and Password are its administrator's.
	User, Password string

	program, dir string
	settings     Settings
	running      *process
}

// portAttempts is how many ports are tried, because another process may take a free one.
const portAttempts = 5

// inUse is the server's message for a port that another process has.
const inUse = "port is already in use"

// Installed reports whether [Start] can start a server.
func Installed() bool { return !testing.Short() && find() != "" }

// find returns the path of the program, "" if there is none. go install puts it where PATH need not look.
func find() string {
	places := []string{"minio"}
	for _, dir := range filepath.SplitList(build.Default.GOPATH) {
		places = append(places, filepath.Join(dir, "bin", "minio"))
	}
	for _, place := range places {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	return ""
}

// Start starts a server without buckets. The test is skipped where MinIO is not installed.
func Start(t *testing.T, settings Settings) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a MinIO server")
	}
	program := find()
	if program == "" {
		t.Skip("MinIO is not installed: neither PATH nor the directory bin of GOPATH has it (.ci/install minio installs it)")
	}
	dir, err := os.MkdirTemp("", "minio")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	s := &Server{User: "admin", Password: rand.Text(), program: program, dir: dir, settings: settings}
	for _, d := range []string{s.data(), s.certificates()} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	if settings.Certificate != nil {
		require.NoError(t, os.WriteFile(filepath.Join(s.certificates(), "public.crt"), settings.Certificate, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(s.certificates(), "private.key"), settings.Key, 0o600))
	}
	for range portAttempts {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		s.Address = listener.Addr().String()
		require.NoError(t, listener.Close())
		said := s.run(t)
		if said == "" {
			t.Cleanup(s.Kill)
			return s
		}
		if settings.DiskSize != 0 && !strings.Contains(said, inUse) {
			t.Skipf("this system gives the server no disk of its own: %s", said)
		}
		require.Contains(t, said, inUse, "the server does not start")
	}
	require.Fail(t, "no port is free for the server")
	return nil
}

func (s *Server) data() string         { return filepath.Join(s.dir, "data") }
func (s *Server) certificates() string { return filepath.Join(s.dir, "certificates") }

// Kill ends the server as if its machine had failed.
func (s *Server) Kill() {
	if s.running != nil {
		s.running.kill()
	}
	s.running = nil
}

// Restart starts the server again after Kill, at the same port.
func (s *Server) Restart(t *testing.T) {
	t.Helper()
	s.Kill()
	said := s.run(t)
	for strings.Contains(said, inUse) { // a connection from the same machine may have the port
		said = s.run(t)
	}
	require.Empty(t, said, "the server does not start")
}

// Pause has the server do nothing until Continue.
func (s *Server) Pause() { s.running.signal("STOP") }

// Continue has the server go on after Pause.
func (s *Server) Continue() { s.running.signal("CONT") }

// Client returns a client of the administrator, which knows the server's certificate if SSL_CERT_FILE has it.
func (s *Server) Client(t *testing.T) *minio.Client {
	t.Helper()
	client, err := minio.New(s.Address, &minio.Options{Creds: credentials.NewStaticV4(s.User, s.Password, ""), Region: Region, Secure: s.settings.Certificate != nil})
	require.NoError(t, err)
	return client
}

// MakeBucket makes a bucket, and returns its client.
func (s *Server) MakeBucket(t *testing.T, name string, o minio.MakeBucketOptions) *minio.Client {
	t.Helper()
	client := s.Client(t)
	require.NoError(t, client.MakeBucket(t.Context(), name, o))
	return client
}

// URL returns the URL of a bucket, with an address in place of the server's unless it is empty. The URL has no
// credentials.
func (s *Server) URL(bucket, address string) string {
	if address == "" {
		address = s.Address
	}
	query := url.Values{"region": {Region}, "s3ForcePathStyle": {"true"}, "endpoint": {address}}
	if s.settings.Certificate == nil {
		query.Set("disableSSL", "true")
	}
	return "s3://" + bucket + "?" + query.Encode()
}
