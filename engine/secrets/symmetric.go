package secrets

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
)

// keySize is the size of an AES-256 key, in bytes.
const keySize = 32

// symmetric encrypts with AES-256-GCM. A ciphertext is
// "v1:<base64 of the 12-byte nonce>:<base64 of the sealed text>", as Pulumi's
// (sdk/go/common/resource/config/crypt.go).
type symmetric struct {
	aead cipher.AEAD
}

func newSymmetric(key []byte) (*symmetric, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &symmetric{aead}, nil
}

func (s *symmetric) encrypt(plaintext string) string {
	nonce := randomBytes(s.aead.NonceSize())
	sealed := s.aead.Seal(nil, nonce, []byte(plaintext), nil)
	return "v1:" + base64.StdEncoding.EncodeToString(nonce) + ":" + base64.StdEncoding.EncodeToString(sealed)
}

// decrypt never puts the ciphertext into its errors: it is long, and no use.
func (s *symmetric) decrypt(ciphertext string) (string, error) {
	version, rest, ok := strings.Cut(ciphertext, ":")
	if ok && version != "v1" {
		return "", errorf(ErrCiphertext, "the secret has the unknown format %q, this version of husk reads v1", version)
	}
	nonce64, sealed64, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 {
		return "", errorf(ErrCiphertext, "the secret is not of the form v1:<nonce>:<ciphertext>")
	}
	nonce, err := base64.StdEncoding.DecodeString(nonce64)
	if err != nil || len(nonce) != s.aead.NonceSize() {
		return "", errorf(ErrCiphertext, "the secret's nonce is not %d bytes in base64", s.aead.NonceSize())
	}
	sealed, err := base64.StdEncoding.DecodeString(sealed64)
	if err != nil {
		return "", errorf(ErrCiphertext, "the secret's ciphertext is not base64")
	}
	plain, err := s.aead.Open(nil, nonce, sealed, nil)
	if err != nil {
		return "", errorf(ErrCiphertext, "the secret was altered, or encrypted with another key")
	}
	return string(plain), nil
}

// randomBytes returns n bytes of the operating system's randomness, which
// never fails (crypto/rand ends the process rather than return weak bytes).
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// provider is a Provider whose key is derived at the first use.
type provider struct {
	typ     string
	state   []byte
	crypter func() (*symmetric, error)
}

// newProvider returns a provider that calls derive once, at the first use. If it fails, every use fails alike.
func newProvider(typ string, state []byte, derive func() (*symmetric, error)) *provider {
	return &provider{typ: typ, state: state, crypter: sync.OnceValues(derive)}
}

// openedProvider returns a provider whose key is known, for a stack that has none yet.
func openedProvider(typ string, state any, key *symmetric) (Provider, error) {
	text, err := json.Marshal(state)
	return newProvider(typ, text, func() (*symmetric, error) { return key, nil }), err
}

func (p *provider) Encrypt(ctx context.Context, plaintext string) (string, error) {
	s, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	return s.encrypt(plaintext), nil
}

func (p *provider) Decrypt(ctx context.Context, ciphertext string) (string, error) {
	s, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	return s.decrypt(ciphertext)
}

func (p *provider) open(ctx context.Context) (*symmetric, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.crypter()
}
