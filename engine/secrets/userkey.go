package secrets

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/jsonerror"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// TypeUserKey is the type of the provider with a random key in the user's configuration directory.
const TypeUserKey = "husk-key"

const (
	// userKeySize is in bytes. The key is random, so a fast derivation does.
	userKeySize = 32
	// userKeySaltSize is in bytes; each stack has its own salt, so its own key.
	userKeySaltSize = 16
	// userKeyPrefix starts a key file, so that a foreign file is noticed.
	userKeyPrefix = "husk-key-v1:"
	// userKeyFile is the path of the key under the configuration directory.
	userKeyFile = "husk/secrets.key"
)

// userKey is a user's key and the file that holds it.
type userKey struct {
	bytes []byte
	path  string
}

// userKeyState is the provider's state. The fingerprint names the key for another machine's message.
type userKeyState struct {
	Fingerprint string `json:"fingerprint"`
	Salt        string `json:"salt"`
}

func newUserKeyProvider(key userKey) (Provider, error) {
	salt := randomBytes(userKeySaltSize)
	s, err := key.derive(salt)
	if err != nil {
		return nil, err
	}
	fingerprint, err := key.fingerprint()
	if err != nil {
		return nil, err
	}
	return openedProvider(TypeUserKey, userKeyState{Fingerprint: fingerprint, Salt: base64.StdEncoding.EncodeToString(salt)}, s)
}

func openUserKeyProvider(state json.RawMessage, find func(fingerprint string) (userKey, error)) (Provider, error) {
	var st userKeyState
	if err := json.Unmarshal(state, &st); err != nil {
		return nil, &Error{Kind: ErrCiphertext, Message: "reading the state of the husk-key secrets provider", Cause: jsonerror.Explain(state, err)}
	}
	salt, err := base64.StdEncoding.DecodeString(st.Salt)
	if err != nil || len(salt) != userKeySaltSize {
		return nil, errorf(ErrCiphertext, "the salt of the husk-key secrets provider is not %d bytes in base64", userKeySaltSize)
	}
	return newProvider(TypeUserKey, state, func() (*symmetric, error) {
		key, err := find(st.Fingerprint)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errorf(ErrNoKey, "this stack's secrets were encrypted with a key (%s) that is not on this machine: "+
				"copy husk/secrets.key from the configuration directory of the machine that made the stack to %s", st.Fingerprint, key.path)
		}
		if err != nil {
			return nil, err
		}
		fingerprint, err := key.fingerprint()
		if err != nil {
			return nil, err
		}
		if fingerprint != st.Fingerprint {
			return nil, errorf(ErrWrongKey, "wrong key: this stack's secrets were encrypted with the key %s, and %s holds the key %s; "+
				"put the right one there", st.Fingerprint, key.path, fingerprint)
		}
		return key.derive(salt)
	}), nil
}

func (k userKey) derive(salt []byte) (*symmetric, error) {
	key, err := hkdf.Key(sha256.New, k.bytes, salt, "husk secrets v1", keySize)
	if err != nil {
		return nil, err
	}
	return newSymmetric(key)
}

// fingerprint identifies the key and reveals nothing of it.
func (k userKey) fingerprint() (string, error) {
	id, err := hkdf.Key(sha256.New, k.bytes, nil, "husk key fingerprint v1", 8)
	return hex.EncodeToString(id), err
}

func userKeyPath(dir string) string { return filepath.Join(dir, filepath.FromSlash(userKeyFile)) }

// retiredKeyPath is where a former key of the user is.
func retiredKeyPath(dir, fingerprint string) string {
	return strings.TrimSuffix(userKeyPath(dir), ".key") + "-" + fingerprint + ".key"
}

var fingerprintPattern = lazyregexp.Regexp{Syntax: "^[0-9a-f]{16}$"}

// findUserKey reads the key with a fingerprint under the configuration directory dir, or else the current one.
func findUserKey(dir, fingerprint string) (userKey, error) {
	key, err := readUserKey(dir)
	if err == nil {
		if is, err := key.fingerprint(); err != nil || is == fingerprint {
			return key, err
		}
	}
	if fingerprintPattern.Get().MatchString(fingerprint) {
		if retired, err := readKey(retiredKeyPath(dir, fingerprint)); err == nil {
			return retired, nil
		}
	}
	return key, err
}

// readUserKey reads the key under the configuration directory dir. The error is fs.ErrNotExist if there
// is none; the path is set in any case.
func readUserKey(dir string) (userKey, error) { return readKey(userKeyPath(dir)) }

func readKey(path string) (userKey, error) {
	key := userKey{path: path}
	data, err := os.ReadFile(key.path)
	if err != nil {
		return key, fmt.Errorf("reading the key for secrets: %w", err)
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(data)), userKeyPrefix)
	if ok {
		key.bytes, err = base64.StdEncoding.DecodeString(text)
		ok = err == nil && len(key.bytes) == userKeySize
	}
	if !ok {
		return key, errorf(ErrNoKey, "%s is not a key that husk made: restore it from a backup, "+
			"or move it away to have a new one made (secrets encrypted with the old one can then not be read)", key.path)
	}
	return key, nil
}

// errNoPlace is the error if no file with a key can be made.
func errNoPlace(err error) error {
	return fmt.Errorf("making the key for secrets: %w; set HOME to a directory that can be written, or HUSK_CONFIG_PASSPHRASE to use a passphrase instead", err)
}

// makeUserKey makes a key under the configuration directory dir. If processes make one at the same time,
// all return the same key, and made is true for one.
func makeUserKey(dir string) (key userKey, made bool, err error) {
	path := userKeyPath(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return userKey{}, false, errNoPlace(err)
	}
	made, err = atomicfile.Create(path, []byte(userKeyPrefix+base64.StdEncoding.EncodeToString(randomBytes(userKeySize))+"\n"))
	if err != nil {
		return userKey{}, false, errNoPlace(err)
	}
	key, err = readUserKey(dir)
	return key, made, err
}
