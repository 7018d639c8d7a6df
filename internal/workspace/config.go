package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// Config is the configuration of one stack, with the key of its secrets.
//
// The key is the one of the stack's state. The file names it, because it must be readable without the state: as Pulumi does, a
// passphrase by its salt (encryptionsalt), and a key service by its URL (secretsprovider) and the key that it has encrypted
// (encryptedkey); another provider by its type (secretsprovider) and its state (encryptionsalt).
type Config struct {
	*program.StackConfig
	// Stack is the stack's name.
	Stack    string
	w        *Workspace
	provider secrets.Provider // nil until it is needed
	unnamed  bool             // the provider is the one of the stack's state, and the file does not have its key
}

// Config reads the configuration of a stack.
func (w *Workspace) Config(stack string) (*Config, error) {
	c, err := w.Project.StackConfig(stack)
	if err != nil {
		return nil, err
	}
	return &Config{StackConfig: c, Stack: stack, w: w}, nil
}

// Entries returns the configuration that a deployment runs with, decrypted.
func (c *Config) Entries(ctx context.Context) ([]abi.ConfigEntry, error) {
	return c.w.Project.ConfigEntries(c.StackConfig, c.Decrypt(ctx))
}

// Decrypt returns a function that opens the ciphertexts of the file.
func (c *Config) Decrypt(ctx context.Context) func(ciphertext string) (string, error) {
	return func(ciphertext string) (string, error) {
		p, err := c.secrets(ctx)
		if err != nil {
			return "", err
		}
		text, err := p.Decrypt(ctx, ciphertext)
		if err == nil {
			c.w.secrets.Learn(text)
		} else if c.unnamed {
			err = fmt.Errorf("%w: the file names no key, so it is the one of the stack's state; "+
				"if Pulumi's service has encrypted the value, run pulumi stack change-secrets-provider passphrase, or set it again with husk config set --secret", err)
		}
		return text, err
	}
}

// IsSecret reports whether the project declares a key, given by its full name, as secret.
func (c *Config) IsSecret(key string) bool {
	declared := c.declaration(key)
	return declared != nil && declared.Secret
}

// IsEncrypted reports whether the value of a key, given by its full name, is encrypted, or its part at a path, or some of it.
func (c *Config) IsEncrypted(key string, path property.Path) bool {
	value, ok := c.Get(key)
	if ok {
		value, ok = path.Get(value)
	}
	return ok && value.ContainsSecrets()
}

func (c *Config) declaration(key string) *program.ConfigDeclaration {
	for i := range c.w.Project.Config {
		if declared := &c.w.Project.Config[i]; declared.Key == key {
			return declared
		}
	}
	return nil
}

// Set sets the value of a key, given by its full name, or the part of the value at a path, and saves the file: see [Config.Put].
func (c *Config) Set(ctx context.Context, key string, path property.Path, value string, secret bool) error {
	if err := c.Put(ctx, key, path, value, secret); err != nil {
		return err
	}
	return c.Save()
}

// Put sets the value of a key, given by its full name, or the part of the value at a path. A secret is encrypted. The value of a
// declared key must have the declared type. The default stack is made if there is none. Other stacks must exist, because their
// names may be misspelled.
func (c *Config) Put(ctx context.Context, key string, path property.Path, value string, secret bool) error {
	if declared := c.declaration(key); declared != nil && len(path) == 0 {
		if _, err := declared.Type.Parse(value); err != nil {
			name := strings.TrimPrefix(key, c.w.Project.Name+":")
			return fmt.Errorf("%s does not fit its declaration in %s: %w", name, c.w.Project.File.Name, err)
		}
	}
	if err := c.w.ensure(ctx, c.Stack); err != nil {
		return err
	}
	if secret {
		var err error
		if value, err = c.encrypt(ctx, value); err != nil {
			return err
		}
	}
	return c.SetAt(key, path, value, secret)
}

func (c *Config) encrypt(ctx context.Context, text string) (string, error) {
	c.w.secrets.Learn(text)
	p, err := c.secrets(ctx)
	if err != nil {
		return "", err
	}
	if c.unnamed {
		if err := c.name(p); err != nil {
			return "", err
		}
	}
	return p.Encrypt(ctx, text)
}

// name records the provider that encrypts. The file may name it already, without its key.
func (c *Config) name(p secrets.Provider) error {
	var key keyState
	if err := json.Unmarshal(p.State(), &key); err != nil {
		return fmt.Errorf("reading the state of the secrets provider: %w", jsonerror.Explain(p.State(), err))
	}
	name := p.Type()
	switch name {
	case secrets.TypePassphrase:
	case secrets.TypeCloud:
		name = key.URL
	default:
		key.Salt = string(p.State())
	}
	said := c.SecretsProvider()
	if said != "" && said != name {
		return fmt.Errorf("the configuration file of the stack says secretsprovider: %s, but %s encrypts its state: run husk stack change-secrets-provider %[1]s", said, name)
	}
	if name != secrets.TypePassphrase {
		c.SetSecretsProvider(name)
	}
	c.SetEncryptedKey(key.EncryptedKey)
	c.SetEncryptionSalt(key.Salt)
	return nil
}

// keyState is the state of a passphrase provider, which has a salt, or of one with a key service.
type keyState struct {
	Salt         string `json:"salt,omitempty"`
	URL          string `json:"url,omitempty"`
	EncryptedKey string `json:"encryptedkey,omitempty"`
}

// service returns the URL of the key service that the file names, empty if it names none.
func (c *Config) service() string {
	if url := c.SecretsProvider(); strings.Contains(url, "://") {
		return url
	}
	return ""
}

// secrets returns the provider that the file names, else the one of the stack's state.
func (c *Config) secrets(ctx context.Context) (secrets.Provider, error) {
	if c.provider != nil {
		return c.provider, nil
	}
	if err := c.checkKey(ctx); err != nil {
		return nil, err
	}
	p, err := c.openWith(ctx, c.w.keys)
	if c.unnamed = err == nil && p == nil; c.unnamed {
		var snapshot *state.Snapshot
		if snapshot, _, err = c.w.Read(ctx, c.Stack, true); err == nil {
			p, err = c.w.keys.Open(ctx, snapshot.Secrets.Type, snapshot.Secrets.State)
		}
	}
	if err != nil {
		return nil, err
	}
	c.provider = p
	return p, nil
}

// key returns the type and the state of the provider that the file names, and no type if it names none, or one that has no salt or
// encrypted key yet.
func (c *Config) key() (typ string, state json.RawMessage, err error) {
	typ, service := c.SecretsProvider(), c.service()
	key := keyState{Salt: c.EncryptionSalt()}
	switch {
	case service != "":
		typ, key = secrets.TypeCloud, keyState{URL: service, EncryptedKey: c.EncryptedKey()}
	case typ != "" && typ != secrets.TypePassphrase:
		return typ, json.RawMessage(key.Salt), nil
	default:
		typ = secrets.TypePassphrase
	}
	if key.Salt == "" && key.EncryptedKey == "" {
		return "", nil, nil
	}
	state, err = json.Marshal(key)
	return typ, state, err
}

// keysOf returns the keys for a stack's state. A new state gets the key of the configuration file, because
// one passphrase must open both.
func (w *Workspace) keysOf(stack string) (state.KeySource, error) {
	c, err := w.Config(stack)
	if err != nil {
		return nil, err
	}
	return stackKeys{w.keys, c}, nil
}

type stackKeys struct {
	secrets.Keys
	config *Config
}

// New implements [state.KeySource].
func (k stackKeys) New(ctx context.Context) (secrets.Provider, error) {
	if err := k.config.checkKey(ctx); err != nil {
		return nil, err
	}
	p, err := k.config.openWith(ctx, k.Keys)
	switch {
	case errors.Is(err, secrets.ErrUnknownProvider), err == nil && p == nil:
		return newSecrets(ctx, k.Keys, k.config.w.backend, k.config)
	case err != nil:
		return nil, err
	}
	// A wrong key fails now, and not with the first secret.
	if _, err := p.Encrypt(ctx, ""); err != nil {
		return nil, err
	}
	return p, nil
}
