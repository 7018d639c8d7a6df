package codecache

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

const (
	sealKeySize = 32
	// sealSize is the size of a nonce and a tag of AES-GCM, in bytes.
	sealSize    = 12 + 16
	sealKeyFile = "cache.key"
)

// sealer makes and checks the seals of files that only this user may have written: GMAC,
// which is as fast as reading them. The key is in the directory of the user's configuration. A cache
// directory that somebody put in the place of another one therefore has no seal either. Without a configuration directory, the
// key is beside the files.
type sealer struct{ key []byte }

func newSealer(dir string) (*sealer, error) {
	key, err := sealKey(sealKeyDir(dir))
	if err != nil {
		return nil, fmt.Errorf("reading the key of the cache: %w", err)
	}
	return &sealer{key}, nil
}

func sealKeyDir(cache string) string {
	config, err := os.UserConfigDir()
	if err != nil {
		return cache
	}
	if info, err := os.Stat(config); err != nil || !info.IsDir() {
		return cache // a home is not made for a key
	}
	dir := filepath.Join(config, "husk")
	if err := privateDir(dir); err != nil {
		return cache
	}
	return dir
}

// sealKey reads the key, and makes it if there is none. One that others could read or
// have written is replaced.
func sealKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, sealKeyFile)
	key, err := readSealKey(path)
	if key != nil || err != nil {
		return key, err
	}
	key = make([]byte, sealKeySize)
	_, _ = rand.Read(key) // it never fails
	// Of two hosts that make one, the first wins.
	made, err := atomicfile.Create(path, key)
	if made || err != nil {
		return key, err
	}
	if key, err = readSealKey(path); key == nil && err == nil {
		err = fmt.Errorf("%s is not a key: remove it", path)
	}
	return key, err
}

// readSealKey returns nil if there is no key that can be trusted.
func readSealKey(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != sealKeySize || !closedToOthers(info) || !ownedByUser(info) {
		return nil, os.RemoveAll(path)
	}
	key, err := os.ReadFile(path)
	if err != nil || len(key) != sealKeySize {
		return nil, err
	}
	return key, nil
}

// cipher returns the cipher for one name. Content that was sealed under another name does not pass.
func (s *sealer) cipher(name string) cipher.AEAD {
	own := hmac.New(sha256.New, s.key)
	own.Write([]byte(name))
	block, err := aes.NewCipher(own.Sum(nil))
	if err != nil {
		panic(err) // the key has the right size
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // so has the block
	}
	return gcm
}

func (s *sealer) seal(name string, content []byte) []byte {
	gcm := s.cipher(name)
	nonce := make([]byte, gcm.NonceSize(), sealSize)
	_, _ = rand.Read(nonce)
	return gcm.Seal(nonce, nonce, nil, content)
}

func (s *sealer) check(name string, content, seal []byte) bool {
	gcm := s.cipher(name)
	nonce := seal[:gcm.NonceSize()]
	_, err := gcm.Open(nil, nonce, seal[gcm.NonceSize():], content)
	return err == nil
}
