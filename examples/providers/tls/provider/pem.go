package provider

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// The types of PEM blocks (RFC 7468, and OpenSSL's own).
const (
	blockCertificate   = "CERTIFICATE"
	blockRequest       = "CERTIFICATE REQUEST"
	blockOldRequest    = "NEW CERTIFICATE REQUEST"
	blockPublicKey     = "PUBLIC KEY"
	blockPKCS1         = "RSA PRIVATE KEY"
	blockEC            = "EC PRIVATE KEY"
	blockPKCS8         = "PRIVATE KEY"
	blockEncrypted     = "ENCRYPTED PRIVATE KEY"
	blockOpenSSH       = "OPENSSH PRIVATE KEY"
	expectedPrivateKey = "expected a private key in PEM form (" + blockPKCS8 + ", " + blockPKCS1 + ", or " + blockEC +
		"), such as the privateKeyPem of a tls:PrivateKey"
)

// The errors of the parsers are ends of sentences about a property. They never quote its text, which
// may be secret.

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// findBlock returns the first block of one of the types. expected describes it in errors.
func findBlock(text, expected string, types ...string) (*pem.Block, error) {
	var found []string
	rest := []byte(text)
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		for _, t := range types {
			if block.Type == t {
				return block, nil
			}
		}
		if len(found) < 3 {
			found = append(found, strconv.Quote(block.Type[:min(len(block.Type), 40)]))
		}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("is empty; " + expected)
	case len(found) == 0:
		return nil, errors.New("holds no PEM block (-----BEGIN ...); " + expected)
	}
	return nil, errors.New("holds " + strings.Join(found, ", ") + "; " + expected)
}

// parsePrivateKey reads a private key in any of the formats that OpenSSL writes.
func parsePrivateKey(text string) (crypto.Signer, error) {
	block, err := findBlock(text, expectedPrivateKey, blockPKCS8, blockPKCS1, blockEC, blockEncrypted, blockOpenSSH)
	if err != nil {
		return nil, err
	}
	var key any
	switch {
	case block.Type == blockEncrypted || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return nil, errors.New("is encrypted; decrypt it first, as with: openssl pkey -in key.pem")
	case block.Type == blockOpenSSH:
		return nil, errors.New("is a key in OpenSSH's format; convert it, as with: ssh-keygen -p -N '' -m PKCS8 -f key")
	case block.Type == blockPKCS1:
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case block.Type == blockEC:
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("holds a damaged %s: %w", block.Type, err)
	}
	return signer(key)
}

// parseOpenSSHKey reads a private key in OpenSSH's format.
func parseOpenSSHKey(text string) (crypto.Signer, error) {
	if _, err := findBlock(text, "expected an unencrypted "+blockOpenSSH, blockOpenSSH); err != nil {
		return nil, err
	}
	key, err := ssh.ParseRawPrivateKey([]byte(text))
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		return nil, errors.New("is encrypted; decrypt it first, as with: ssh-keygen -p -N '' -f key")
	}
	if err != nil {
		return nil, fmt.Errorf("holds a damaged %s: %w", blockOpenSSH, err)
	}
	return signer(key)
}

func signer(key any) (crypto.Signer, error) {
	s, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("is a key that cannot sign; expected RSA, ECDSA, or ED25519")
	}
	if _, err := algorithmOf(s.Public()); err != nil {
		return nil, err
	}
	return s, nil
}

// parseCertificate reads the first certificate.
func parseCertificate(text string) (*x509.Certificate, error) {
	block, err := findBlock(text, "expected a certificate in PEM form, such as the certPem of a tls:SelfSignedCert", blockCertificate)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("holds a damaged %s: %w", block.Type, err)
	}
	return certificate, nil
}

// parseRequest reads a signing request, and verifies that its key has signed it.
func parseRequest(text string) (*x509.CertificateRequest, error) {
	block, err := findBlock(text, "expected a certificate request in PEM form, such as the certRequestPem of a tls:CertRequest",
		blockRequest, blockOldRequest)
	if err != nil {
		return nil, err
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("holds a damaged %s: %w", block.Type, err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("is not signed with its own key: %w", err)
	}
	return request, nil
}
