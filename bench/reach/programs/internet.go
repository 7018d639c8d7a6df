package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// installer stands in for the script that installs Pulumi's command. It installs husk under that name.
const installer = `#!/bin/sh
while [ $# -gt 0 ]; do
	if [ "$1" = --install-root ]; then root=$2; fi
	shift
done
mkdir -p "$root/bin" && ln -s %q "$root/bin/pulumi"
`

// internet is a proxy. It connects clients with a server of this machine in place of two sites of the internet: GitHub's, with the
// repository pulumi/examples, and Pulumi's, with the installer. Clients that trust certificates, a file in PEM, take it for these sites.
type internet struct {
	*httptest.Server
	sites        *httptest.Server
	certificates []byte
}

// serveInternet starts it. The directory examples has a checkout of pulumi/examples.
func serveInternet(examples, husk string) (*internet, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	const github, pulumi, repository = "github.com", "get.pulumi.com", "/pulumi/examples.git"
	routes := http.NewServeMux()
	routes.Handle(github+repository+"/", &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Root: repository,
		Env: []string{"GIT_HTTP_EXPORT_ALL=1", "GIT_PROJECT_ROOT=" + filepath.Join(examples, ".git")},
	})
	routes.HandleFunc(pulumi+"/install.sh", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, installer, husk) })
	certificate, err := selfSigned(github, pulumi)
	if err != nil {
		return nil, err
	}
	in := &internet{sites: httptest.NewUnstartedServer(routes)}
	in.certificates = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	in.sites.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	in.sites.StartTLS()
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := r.Host
		if slices.Contains([]string{github + ":443", pulumi + ":443"}, address) {
			address = in.sites.Listener.Addr().String()
		}
		connect(w, address)
	}))
	return in, nil
}

func (in *internet) Close() {
	in.sites.CloseClientConnections()
	in.sites.Close()
	in.Server.Close()
}

// connect connects the client of a request with an address, until either has ended.
func connect(w http.ResponseWriter, address string) {
	server, err := net.DialTimeout("tcp", address, time.Minute)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client is gone
	}
	defer client.Close()
	go func() {
		_, _ = io.Copy(server, buffered) // what a client that is gone has not sent, no one misses
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server) // likewise
}

// selfSigned returns a certificate for names that is its own authority.
func selfSigned(names ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
