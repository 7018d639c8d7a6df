package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/youmark/pkcs8"
)

// The types of PEM blocks.
const (
	publicBlock    = "PUBLIC KEY"
	privateBlock   = "PRIVATE KEY"
	encryptedBlock = "ENCRYPTED PRIVATE KEY"
)

// edPrefix begins the text of an Ed25519 key.
const edPrefix = "ed25519:"

// PublicKey verifies signatures: a key of Ed25519, or of ECDSA on P-256, P-384, or P-521.
type PublicKey struct {
	key crypto.PublicKey
	der []byte
}

// NewPublicKey returns a key of the standard library as one.
func NewPublicKey(key crypto.PublicKey) (PublicKey, error) {
	switch k := key.(type) {
	case ed25519.PublicKey, *ecdsa.PublicKey:
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return PublicKey{}, fmt.Errorf("a key of RSA with %d bits is too short", k.N.BitLen())
		}
	default:
		return PublicKey{}, fmt.Errorf("keys of the kind %T are not supported: use Ed25519 or ECDSA", key)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	return PublicKey{key, der}, err
}

// ParsePublicKey reads a key: PEM, or ed25519: and 32 bytes in base64.
func ParsePublicKey(text string) (PublicKey, error) {
	text = strings.TrimSpace(text)
	if encoded, ok := strings.CutPrefix(text, edPrefix); ok {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return PublicKey{}, fmt.Errorf("%q is not a key: ed25519: is followed by 32 bytes in base64", text)
		}
		return NewPublicKey(ed25519.PublicKey(raw))
	}
	block, rest := pem.Decode([]byte(text))
	switch {
	case block == nil:
		return PublicKey{}, errors.New("it is not a public key, which is PEM, or ed25519: and base64")
	case strings.Contains(block.Type, "PRIVATE"):
		return PublicKey{}, errors.New("it is a private key: give the public one, and keep this one to yourself")
	case block.Type != publicBlock || len(bytes.TrimSpace(rest)) > 0:
		return PublicKey{}, fmt.Errorf("it is a PEM file with %q, not with one %q", block.Type, publicBlock)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("the public key cannot be read: %w", err)
	}
	return NewPublicKey(key)
}

// IsZero reports whether there is no key.
func (k PublicKey) IsZero() bool { return k.key == nil }

// String returns the key as ed25519: and base64, or the digest of another key.
func (k PublicKey) String() string {
	if ed, ok := k.key.(ed25519.PublicKey); ok {
		return edPrefix + base64.StdEncoding.EncodeToString(ed)
	}
	sum := sha256.Sum256(k.der)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// PEM returns the key as a PEM file.
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: k.der})
}

// hint returns the hint of the key in bundles, the same as cosign's.
func (k PublicKey) hint() string {
	sum := sha256.Sum256(k.der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// equal reports whether the key is another, encoded as PKIX.
func (k PublicKey) equal(der []byte) bool { return bytes.Equal(k.der, der) }

// curveHash returns the hash that a key of ECDSA on a curve is used with, and whether the curve is supported.
func curveHash(c elliptic.Curve) (crypto.Hash, bool) {
	switch c {
	case elliptic.P256():
		return crypto.SHA256, true
	case elliptic.P384():
		return crypto.SHA384, true
	case elliptic.P521():
		return crypto.SHA512, true
	}
	return 0, false
}

func sum(h crypto.Hash, content []byte) []byte {
	w := h.New()
	w.Write(content)
	return w.Sum(nil)
}

// verify reports whether the key has signed content.
func (k PublicKey) verify(content, signature []byte) bool {
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		if ed25519.Verify(key, content, signature) {
			return true
		}
		return ed25519.VerifyWithOptions(key, sum(crypto.SHA512, content), signature, &ed25519.Options{Hash: crypto.SHA512}) == nil
	case *ecdsa.PublicKey:
		// Some tools use SHA-256 with each curve.
		h, ok := curveHash(key.Curve)
		return ok && (ecdsa.VerifyASN1(key, sum(h, content), signature) || ecdsa.VerifyASN1(key, sum(crypto.SHA256, content), signature))
	case *rsa.PublicKey:
		digest := sum(crypto.SHA256, content)
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, digest, signature) == nil || rsa.VerifyPSS(key, crypto.SHA256, digest, signature, nil) == nil
	}
	return false
}

// PrivateKey signs.
type PrivateKey struct {
	key    crypto.Signer
	public PublicKey
}

// GenerateKey makes a key of Ed25519.
func GenerateKey() (PrivateKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return PrivateKey{}, err
	}
	p, err := NewPublicKey(public)
	return PrivateKey{private, p}, err
}

// ErrPassphrase is the error for a private key that needs a passphrase, or another one.
var ErrPassphrase = errors.New("the private key needs its passphrase")

// ParsePrivateKey reads a private key as PKCS #8 in PEM, with the passphrase that it is encrypted with, if it is.
func ParsePrivateKey(text, passphrase []byte) (PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return PrivateKey{}, errors.New("it is not a private key: a PEM file with PKCS #8, as husk provider keygen and OpenSSL write them")
	}
	var key any
	var err error
	switch block.Type {
	case privateBlock:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case encryptedBlock:
		if len(passphrase) == 0 {
			return PrivateKey{}, ErrPassphrase
		}
		if key, err = pkcs8.ParsePKCS8PrivateKey(block.Bytes, passphrase); err != nil {
			return PrivateKey{}, fmt.Errorf("%w: it is wrong, or the file is damaged (%v)", ErrPassphrase, err)
		}
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return PrivateKey{}, fmt.Errorf("it is a PEM file with %q, not with %q or %q", block.Type, privateBlock, encryptedBlock)
	}
	if err != nil {
		return PrivateKey{}, fmt.Errorf("the private key cannot be read: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return PrivateKey{}, fmt.Errorf("keys of the kind %T do not sign", key)
	}
	public, err := NewPublicKey(signer.Public())
	if err != nil {
		return PrivateKey{}, err
	}
	if _, isRSA := signer.(*rsa.PrivateKey); isRSA {
		return PrivateKey{}, errors.New("keys of RSA are not used to sign: use one of Ed25519 or ECDSA")
	}
	if ec, ok := signer.(*ecdsa.PrivateKey); ok {
		if _, known := curveHash(ec.Curve); !known {
			return PrivateKey{}, fmt.Errorf("the curve %s is not supported: use P-256, P-384, or P-521", ec.Curve.Params().Name)
		}
	}
	return PrivateKey{signer, public}, nil
}

// Public returns the public key.
func (k PrivateKey) Public() PublicKey { return k.public }

// PEM returns the key as PKCS #8 in PEM, encrypted with a passphrase unless it is empty.
func (k PrivateKey) PEM(passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		der, err := x509.MarshalPKCS8PrivateKey(k.key)
		return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), err
	}
	der, err := pkcs8.MarshalPrivateKey(k.key, passphrase, &pkcs8.Opts{
		Cipher:  pkcs8.AES256CBC,
		KDFOpts: pkcs8.ScryptOpts{SaltSize: 16, CostParameter: 1 << 15, BlockSize: 8, ParallelizationParameter: 1},
	})
	return pem.EncodeToMemory(&pem.Block{Type: encryptedBlock, Bytes: der}), err
}

func (k PrivateKey) sign(content []byte) ([]byte, error) {
	if ec, ok := k.key.(*ecdsa.PrivateKey); ok {
		h, _ := curveHash(ec.Curve)
		return ec.Sign(rand.Reader, sum(h, content), h)
	}
	return k.key.Sign(rand.Reader, content, crypto.Hash(0))
}
