// Package keyring encrypts with one key and decrypts with several, so that values stay readable while their key is replaced.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// Bytes is the length of a key.
const Bytes = 32

// NewKey returns a random key.
func NewKey() []byte {
	key := make([]byte, Bytes)
	_, _ = rand.Read(key) // never fails
	return key
}

// Ring encrypts with its first key, and decrypts with any. It has at least one.
type Ring struct{ ciphers []cipher.AEAD }

// New returns a ring of AES keys.
func New(keys ...[]byte) (*Ring, error) {
	r := &Ring{}
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		sealer, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		r.ciphers = append(r.ciphers, sealer)
	}
	return r, nil
}

// Seal encrypts a value of an owner, with the first key.
func (r *Ring) Seal(value []byte, of string) []byte {
	return r.ciphers[0].Seal(nil, nil, value, []byte(of))
}

// ErrOtherKey is the error for a value that no key of a ring decrypts.
var ErrOtherKey = errors.New("it was encrypted with another key, or for somebody else")

// Open decrypts a value of an owner. isFirst reports whether the first key has encrypted it.
func (r *Ring) Open(sealed []byte, of string) (value []byte, isFirst bool, err error) {
	for i, one := range r.ciphers {
		if value, err := one.Open(nil, nil, sealed, []byte(of)); err == nil {
			return value, i == 0, nil
		}
	}
	return nil, false, ErrOtherKey
}

// Source is where a server keeps its keys: in an environment variable if it is set, or else in a file. Each key has 64 hexadecimal
// digits. Spaces, line ends, or commas separate keys.
type Source struct{ Variable, File string }

func (s Source) read() (keys [][]byte, err error) {
	text, origin := os.Getenv(s.Variable), s.Variable
	if text == "" {
		origin = s.File
		content, err := os.ReadFile(s.File)
		if err != nil {
			return nil, fmt.Errorf("the key of the server: %w", err)
		}
		text = string(content)
	}
	for one := range strings.FieldsSeq(strings.ReplaceAll(text, ",", " ")) {
		key, err := hex.DecodeString(one)
		if err != nil || len(key) != Bytes {
			return nil, fmt.Errorf("the key of the server, in %s, must have %d hexadecimal digits", origin, 2*Bytes)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("the key of the server, in %s, is empty", origin)
	}
	return keys, nil
}

// Read reads the keys.
func (s Source) Read() (*Ring, error) {
	keys, err := s.read()
	if err != nil {
		return nil, err
	}
	return New(keys...)
}

// Make creates the file with a random key, unless it exists or the variable is set.
func (s Source) Make() error {
	if os.Getenv(s.Variable) != "" {
		return nil
	}
	if _, err := os.Lstat(s.File); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Another server with the same directory may make it at the same time.
	_, err := atomicfile.Create(s.File, text(NewKey()))
	return err
}

func text(keys ...[]byte) []byte {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(hex.EncodeToString(key) + "\n")
	}
	return []byte(b.String())
}

// Begin begins a rotation: it adds a new first key and returns the keys. If there are several already, it only returns them, because
// a rotation has begun.
func (s Source) Begin() (*Ring, error) {
	keys, err := s.read()
	if err != nil {
		return nil, err
	}
	if len(keys) == 1 {
		if os.Getenv(s.Variable) != "" {
			return nil, fmt.Errorf("%s has one key: add a new one to it at all servers, behind the key and then before it, and call this again", s.Variable)
		}
		keys = append([][]byte{NewKey()}, keys...)
		if err := atomicfile.Write(s.File, text(keys...), 0o600); err != nil {
			return nil, err
		}
	}
	return New(keys...)
}

// Finish ends a rotation: it removes all keys except the first from the file. byOperator reports whether the variable is set: the operator
// removes them from it.
func (s Source) Finish() (byOperator bool, err error) {
	if os.Getenv(s.Variable) != "" {
		return true, nil
	}
	keys, err := s.read()
	if err != nil {
		return false, err
	}
	return false, atomicfile.Write(s.File, text(keys[0]), 0o600)
}
