package certificate_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/certificate"
)

// pair returns a certificate with a number, which ends as many hours after 1970 + 2^32 s, and its key.
func pair(t *testing.T, number int64) (cert, key []byte) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(number), NotAfter: time.Unix(1<<32+number*3600, 0), DNSNames: []string{"localhost"}}
	made, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// Whoever connects gets the certificate that the files have, whether they are written again or what a link leads to is another. While
// they have none that is whole, it is the one before.
func TestCertificatesAreLoadedAgain(t *testing.T) {
	logged := &bytes.Buffer{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	dir := t.TempDir()
	write := func(name string, content []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	// A mount of secrets in Kubernetes has a link to a directory, which is replaced.
	mount := func(number int64) {
		folder := filepath.Join(dir, time.Duration(number).String())
		require.NoError(t, os.Mkdir(folder, 0o700))
		cert, key := pair(t, number)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "tls.crt"), cert, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600))
		require.NoError(t, os.Symlink(folder, filepath.Join(dir, "next")))
		require.NoError(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")))
	}
	mount(1)
	for _, name := range []string{"tls.crt", "tls.key"} {
		require.NoError(t, os.Symlink(filepath.Join("data", name), filepath.Join(dir, name)))
	}
	files, err := certificate.Open(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	require.NoError(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", files.Config())
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = conn.(*tls.Conn).Handshake() }()
		}
	}()
	served := func() int64 {
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer func(c net.Conn) { _ = c.Close() }(conn)
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	metrics := func() (ends, failed int64) {
		all := files.Metrics()
		return int64(all[0].Points[0].Number), int64(all[1].Points[0].Number)
	}
	require.Equal(t, int64(1), served())
	mount(2)
	require.Equal(t, int64(2), served())
	ends, failed := metrics()
	require.Equal(t, int64(1<<32+2*3600), ends)
	require.Zero(t, failed)

	require.NoError(t, os.Remove(filepath.Join(dir, "tls.crt")))
	cert, key := pair(t, 3)
	write("tls.crt", cert) // the key is still that of the one before
	logged.Reset()
	require.Equal(t, int64(2), served())
	require.Equal(t, int64(2), served())
	require.Equal(t, 1, bytes.Count(logged.Bytes(), []byte("\n")), "it is told once: %s", logged)
	require.Contains(t, logged.String(), "the server keeps its certificate")
	ends, failed = metrics()
	require.Equal(t, int64(1<<32+2*3600), ends)
	require.Equal(t, int64(1), failed)
	require.NoError(t, os.Remove(filepath.Join(dir, "tls.key")))
	require.Equal(t, int64(2), served())
	write("tls.key", key)
	_, failed = metrics() // which looks, too, if nobody connects
	require.Zero(t, failed)
	require.Equal(t, int64(3), served())

	described, err := os.ReadFile(filepath.FromSlash("../../../docs/runners.md"))
	require.NoError(t, err)
	for _, m := range files.Metrics() {
		var text bytes.Buffer
		m.WritePrometheus(&text)
		name := regexp.MustCompile(`(?m)^[a-z_]+ `).FindString(text.String())
		require.Contains(t, string(described), "| `"+m.Name+"` | `"+m.Unit+"` | `"+name[:len(name)-1]+"` |")
	}
	_, err = certificate.Open(filepath.Join(dir, "none.crt"), filepath.Join(dir, "tls.key"))
	require.ErrorContains(t, err, "--tls-cert and --tls-key: open ")
}
