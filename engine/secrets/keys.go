package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/internal/locked"
)

// passphraseVariables may hold a passphrase, in order; variables that end in _FILE hold the path of its file.
var passphraseVariables = [...]string{
	"HUSK_CONFIG_PASSPHRASE",
	"PULUMI_CONFIG_PASSPHRASE",
	"HUSK_CONFIG_PASSPHRASE_FILE",
	"PULUMI_CONFIG_PASSPHRASE_FILE",
}

// Keys finds passphrases and keys, and opens the providers that use them. All its fields but Service and Withheld are set;
// [SystemKeys] returns the keys of this process.
type Keys struct {
	// LookupEnv is like os.LookupEnv.
	LookupEnv func(name string) (value string, ok bool)
	// ReadFile is like os.ReadFile. It reads passphrase files.
	ReadFile func(path string) ([]byte, error)
	// ConfigDir is like os.UserConfigDir. The user's key is in husk/secrets.key under it (mode 0600, its
	// directory 0700).
	ConfigDir func() (string, error)
	// KeyMade gets the path of a key that was made, for a message: who loses it loses the secrets.
	KeyMade func(path string)
	// Service opens the key service of a URL. Without it, providers of type [TypeCloud] are unknown.
	Service func(url string) (KeyService, error)
	// Withheld opens no key at all: decrypting fails with [ErrWithheld], and encrypting discards the value. It is for previews of
	// those who may not have secrets decrypted.
	Withheld bool

	// derived has the keys of passphrases and salts that this process has derived, for all copies of its Keys: the state and the
	// configuration of a stack have one salt. It is nil for Keys that derive each anew.
	derived *locked.Once[[2]string, *symmetric]
}

// SystemKeys returns the Keys of this process's environment and user.
func SystemKeys(keyMade func(path string)) Keys {
	return Keys{
		LookupEnv: os.LookupEnv, ReadFile: os.ReadFile, ConfigDir: os.UserConfigDir, KeyMade: keyMade,
		derived: new(locked.Once[[2]string, *symmetric]),
	}
}

// derive derives the key of a passphrase, which takes long, once if these are the Keys of a process.
func (k Keys) derive(passphrase string, salt []byte) (*symmetric, error) {
	if k.derived == nil {
		return derivePassphraseKey(passphrase, salt)
	}
	return k.derived.Get(context.Background(), [2]string{passphrase, string(salt)}, func() (*symmetric, error) { return derivePassphraseKey(passphrase, salt) })
}

// New returns a provider for a new stack: of type [TypePassphrase] if a passphrase is set, else
// [TypeUserKey], with a new key if the user has none.
func (k Keys) New(ctx context.Context) (Provider, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k.Withheld {
		return withheld{typ: TypePassphrase}, nil
	}
	switch p, err := k.Passphrase(); {
	case err == nil:
		return NewPassphrase(p)
	case !errors.Is(err, ErrNoKey):
		return nil, err
	}
	return k.NewUserKey(ctx)
}

// NewUserKey returns a provider of type [TypeUserKey], with a new key if the user has none.
func (k Keys) NewUserKey(ctx context.Context) (Provider, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := k.ConfigDir()
	if err != nil {
		return nil, &Error{Kind: ErrNoKey, Message: "there is no directory to keep a key for secrets in: set HUSK_CONFIG_PASSPHRASE", Cause: err}
	}
	key, err := readUserKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		var made bool
		if key, made, err = makeUserKey(dir); made {
			k.KeyMade(key.path)
		}
	}
	if err != nil {
		return nil, err
	}
	return newUserKeyProvider(key)
}

// Open returns the provider of a state. It looks for the key when a secret is first encrypted or decrypted.
func (k Keys) Open(ctx context.Context, typ string, state json.RawMessage) (Provider, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k.Withheld {
		return withheld{typ, state}, nil
	}
	switch typ {
	case TypePassphrase:
		return openPassphrase(state, k.Passphrase, k.derive)
	case TypeUserKey:
		return openUserKeyProvider(state, func(fingerprint string) (userKey, error) {
			dir, err := k.ConfigDir()
			if err != nil {
				return userKey{}, &Error{Kind: ErrNoKey, Message: "the directory of the key for secrets is not known", Cause: err}
			}
			return findUserKey(dir, fingerprint)
		})
	case TypeCloud:
		if k.Service != nil {
			return k.openCloud(state)
		}
	}
	known := []string{TypePassphrase, TypeUserKey}
	if k.Service != nil {
		known = append(known, TypeCloud)
	}
	return nil, errorf(ErrUnknownProvider, "the stack's secrets are encrypted by a provider of type %q, and husk knows %q: "+
		"with the tool that made the stack, change its secrets provider to %q or export it with its secrets shown, "+
		"with Pulumi by: pulumi stack change-secrets-provider passphrase",
		typ, known, TypePassphrase)
}

// RetireUserKey gives the user's key another name, so that the next new stack gets a new one. Stacks of the old key find
// it by its fingerprint. It returns the new path of the old key, and "" if the user has none.
func (k Keys) RetireUserKey() (retired string, err error) {
	dir, err := k.ConfigDir()
	if err != nil {
		return "", err
	}
	key, err := readUserKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	fingerprint, err := key.fingerprint()
	if err != nil {
		return "", err
	}
	retired = retiredKeyPath(dir, fingerprint)
	// A second name first: the key is never without one.
	if err := os.Link(key.path, retired); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keeping the old key for secrets: %w", err)
	}
	return retired, os.Remove(key.path)
}

// Files returns the paths of the files that hold a passphrase or the key, which need not exist.
func (k Keys) Files() (all []string) {
	for _, name := range passphraseVariables {
		if value, _ := k.LookupEnv(name); value != "" && strings.HasSuffix(name, "_FILE") {
			all = append(all, value)
		}
	}
	if dir, err := k.ConfigDir(); err == nil {
		all = append(all, userKeyPath(dir))
		retired, _ := filepath.Glob(retiredKeyPath(dir, "*")) // the pattern is valid
		all = append(all, retired...)
	}
	return all
}

// Passphrase returns the passphrase of the first variable that is set. One that is set to nothing is an
// empty passphrase, as in Pulumi. The error is of kind [ErrNoKey] if none is set.
func (k Keys) Passphrase() (Passphrase, error) {
	for _, name := range passphraseVariables {
		value, ok := k.LookupEnv(name)
		if !ok {
			continue
		}
		if !strings.HasSuffix(name, "_FILE") {
			return Passphrase{Text: value, Source: name}, nil
		}
		if value == "" {
			continue
		}
		data, err := k.ReadFile(value)
		if err != nil {
			return Passphrase{}, fmt.Errorf("reading the passphrase file that %s names: %w", name, err)
		}
		return Passphrase{Text: strings.TrimSpace(string(data)), Source: name + " (" + value + ")"}, nil
	}
	return Passphrase{}, errorf(ErrNoKey, "this stack's secrets are encrypted with a passphrase, and none is set: set %s, or one of %s",
		passphraseVariables[0], strings.Join(passphraseVariables[1:], ", "))
}
