// Package namedtest has a user with credentials of all kinds, and servers that record what they receive, for tests that no
// address that a project names gets any.
package namedtest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Canary is the value of all credentials.
const Canary = "canary4711"

// Credentials are the variables that hold credentials, or name what does, with a value of a user who has some. The files
// are in the directory of the user.
var Credentials = map[string]string{
	"HUSK_KEY_PASSPHRASE": Canary, "HUSK_SERVER_KEY": Canary, "HUSK_NEW_CONFIG_PASSPHRASE": Canary, "HUSK_NEW_CONFIG_PASSPHRASE_FILE": "HOME/passphrase",
	"HUSK_ACCESS_TOKEN": Canary, "HUSK_CONFIG_PASSPHRASE": Canary, "HUSK_CONFIG_PASSPHRASE_FILE": "HOME/passphrase",
	"PULUMI_CONFIG_PASSPHRASE": Canary, "PULUMI_CONFIG_PASSPHRASE_FILE": "HOME/passphrase", "PULUMI_ACCESS_TOKEN": Canary, "HUSK_KEY_COMMAND": "echo " + Canary,
	"PGPASSWORD": Canary, "PGPASSFILE": "HOME/pgpass", "PGSSLPASSWORD": Canary, "PGOPTIONS": "-c a=" + Canary, "PGSERVICE": "", "PGSERVICEFILE": "HOME/services",
	"PGSSLCERT": "HOME/certificate", "PGSSLKEY": "HOME/key",
	"AWS_ACCESS_KEY_ID": Canary, "AWS_ACCESS_KEY": Canary, "AWS_SECRET_ACCESS_KEY": Canary, "AWS_SECRET_KEY": Canary, "AWS_SESSION_TOKEN": Canary, "AWS_PROFILE": "canary",
	"AWS_SHARED_CREDENTIALS_FILE": "HOME/aws", "AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/passphrase", "AWS_ROLE_ARN": Canary,
	"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/" + Canary,
	"MINIO_ROOT_USER": Canary, "MINIO_ROOT_PASSWORD": Canary,
	"VAULT_TOKEN": Canary, "VAULT_SERVER_TOKEN": Canary, "VAULT_ADDR": "http://127.0.0.1:1", "VAULT_NAMESPACE": Canary,
	"OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + Canary,
	"GIT_ASKPASS":                "HOME/askpass", "SSH_ASKPASS": "HOME/askpass", "GIT_SSL_CERT": "HOME/certificate", "GIT_SSL_KEY": "HOME/key",
	"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader", "GIT_CONFIG_VALUE_0": "Authorization: Basic " + Canary,
	"GIT_CONFIG_PARAMETERS": "'http.extraheader=X-Token: " + Canary + "'", "GIT_HTTP_USER_AGENT": Canary,
	"NETRC": "HOME/.netrc", "DOCKER_CONFIG": "HOME/docker", "DOCKER_AUTH_CONFIG": `{"auths":{"other.example":{"auth":"` + Canary + `"}}}`,
}

// Recorder is a server that keeps all that it receives. It speaks HTTP, and PostgreSQL's protocol, in which it asks for the
// password in clear.
type Recorder struct {
	net.Listener
	mu       sync.Mutex
	received bytes.Buffer
	requests int
}

// Start starts a recorder on this machine, which ends with the test.
func Start(t *testing.T) *Recorder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &Recorder{Listener: listener}
	t.Cleanup(func() { listener.Close() })
	web := &handedOver{conns: make(chan net.Conn), addr: listener.Addr(), done: make(chan struct{})}
	server := &httptest.Server{Listener: web, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="recorder"`)
		w.WriteHeader(http.StatusUnauthorized)
	})}}
	server.Start()
	t.Cleanup(server.Close)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(&recorded{conn, r}, web)
		}
	}()
	return r
}

func (r *Recorder) serve(conn net.Conn, web *handedOver) {
	in := bufio.NewReader(conn)
	first, err := in.Peek(1)
	if err != nil {
		conn.Close()
		return
	}
	r.mu.Lock()
	r.requests++
	r.mu.Unlock()
	if first[0] != 0 {
		web.conns <- &buffered{conn, in}
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	for {
		var size uint32
		if binary.Read(in, binary.BigEndian, &size) != nil || size < 8 || size > 1<<16 {
			return
		}
		body := make([]byte, size-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if code := binary.BigEndian.Uint32(body); code == 80877103 || code == 80877104 { // SSLRequest, GSSENCRequest
			_, _ = conn.Write([]byte("N"))
			continue
		}
		break
	}
	_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // AuthenticationCleartextPassword
	var kind byte
	var size uint32
	if binary.Read(in, binary.BigEndian, &kind) != nil || binary.Read(in, binary.BigEndian, &size) != nil || size < 4 || size > 1<<16 {
		return
	}
	_, _ = io.CopyN(io.Discard, in, int64(size-4))
	_, _ = conn.Write([]byte("E\x00\x00\x00\x1dSFATAL\x00C28P01\x00Mrefused\x00\x00"))
}

type recorded struct {
	net.Conn
	by *Recorder
}

func (c *recorded) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.by.mu.Lock()
	c.by.received.Write(p[:n])
	c.by.mu.Unlock()
	return n, err
}

type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (c *buffered) Read(p []byte) (int, error) { return c.in.Read(p) }

// handedOver is a listener of connections that another one has accepted.
type handedOver struct {
	conns chan net.Conn
	addr  net.Addr
	once  sync.Once
	done  chan struct{}
}

func (l *handedOver) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *handedOver) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *handedOver) Addr() net.Addr { return l.addr }

// Seen returns the data received since the last call, and the number of connections.
func (r *Recorder) Seen() (string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, requests := r.received.String(), r.requests
	r.received.Reset()
	r.requests = 0
	return text, requests
}

// Set sets all variables of the table, and makes the files of a user with credentials. It returns the directory of the user.
func Set(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	certificate, key := newCertificate(t)
	for name, text := range map[string]string{
		"certificate": certificate, "key": key,
		"passphrase": Canary, "pgpass": "*:*:*:*:" + Canary + "\n", ".pgpass": "*:*:*:*:" + Canary + "\n", "askpass": "#!/bin/sh\necho " + Canary + "\n",
		"aws":                "[canary]\naws_access_key_id = " + Canary + "\naws_secret_access_key = " + Canary + "\naws_session_token = " + Canary + "\n",
		".aws/credentials":   "[default]\naws_access_key_id = " + Canary + "\naws_secret_access_key = " + Canary + "\n",
		".netrc":             "machine other.example login " + Canary + " password " + Canary + "\n",
		".gitconfig":         "[http]\n\textraHeader = Authorization: Basic " + Canary + "\n",
		"docker/config.json": `{"auths":{"other.example":{"auth":"` + Canary + `"}}}`,
	} {
		path := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("HUSK_CACHE_DIR", filepath.Join(home, "cache"))
	t.Setenv("HUSK_BACKEND_URL", "")
	t.Setenv("HTTPS_PROXY", "")
	t.Setenv("HTTP_PROXY", "")
	for name, value := range Credentials {
		t.Setenv(name, strings.Replace(value, "HOME/", home+"/", 1))
	}
	return home
}

// newCertificate returns a certificate of a client with its key, in PEM.
func newCertificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: Canary}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}
