package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

// The names of secrets providers that users choose; any other text is the URL of a key service.
const (
	PassphraseProvider = "passphrase"
	KeyProvider        = "key"
)

// NewSecretsProvider names the provider that encrypts the secrets of a stack from now on.
type NewSecretsProvider struct {
	// Name is the name of a provider, or the URL of a key service.
	Name string
	// Passphrase returns the new one, for PassphraseProvider.
	Passphrase func() (string, error)
	// NewKey has the user's key be replaced by a new one, for KeyProvider.
	NewKey bool
}

// ChangeSecrets encrypts the secrets of a stack, in its state and in its configuration, with another provider, or with a
// new key of the same one. If it is interrupted between the two, it can be called again. retired is where the user's
// former key is now, if it was replaced. Earlier checkpoints, which are kept as backups, stay as they are.
func (w *Workspace) ChangeSecrets(ctx context.Context, stack, command string, to NewSecretsProvider) (retired string, err error) {
	config, err := w.Config(stack)
	if err != nil {
		return "", err
	}
	keys, next, retired, err := w.nextProvider(ctx, to)
	if err != nil {
		return retired, err
	}
	w.sealing.Use(keys, next)
	old, err := config.openWith(ctx, keys)
	if err != nil {
		return retired, err
	}
	if err := w.mayOpen(ctx, stack); err != nil {
		return retired, err
	}
	st, err := state.Open(ctx, w.store, w.name(stack), keys, w.holder(command))
	if err != nil {
		return retired, w.explain(stack, err)
	}
	w.leased(st)
	defer func() { err = errors.Join(err, st.Close(context.WithoutCancel(ctx))) }()
	if old == nil {
		old = st.Codec().Secrets()
	}
	err = config.StackConfig.Encrypt(func(ciphertext string) (string, error) {
		text, err := old.Decrypt(ctx, ciphertext)
		if err != nil {
			return "", err
		}
		w.secrets.Learn(text)
		return next.Encrypt(ctx, text)
	})
	if err != nil {
		return retired, err
	}
	update := w.Begun(command)
	if err := st.ChangeSecrets(ctx, next); err != nil {
		return retired, err
	}
	if err := config.rename(next); err != nil {
		return retired, err
	}
	return retired, w.Record(ctx, stack, update, nil)
}

// rename records the provider in the file, if that names one.
func (c *Config) rename(p secrets.Provider) error {
	if c.SecretsProvider() == "" && c.EncryptionSalt() == "" {
		return c.Save()
	}
	c.SetSecretsProvider("")
	if err := c.name(p); err != nil {
		return err
	}
	return c.Save()
}

// openWith returns the provider that the file names, nil if it names none.
func (c *Config) openWith(ctx context.Context, keys state.KeySource) (secrets.Provider, error) {
	typ, state, err := c.key()
	if typ == "" || err != nil {
		return nil, err
	}
	return keys.Open(ctx, typ, state)
}

// nextProvider returns the provider that encrypts from now on, and keys that open the present ciphertexts, or ciphertexts with
// the new passphrase from an interrupted change.
func (w *Workspace) nextProvider(ctx context.Context, to NewSecretsProvider) (keys state.KeySource, next secrets.Provider, retired string, err error) {
	keys = w.keys
	switch to.Name {
	case PassphraseProvider:
		text, err := to.Passphrase()
		if err != nil {
			return nil, nil, "", err
		}
		w.secrets.Learn(text)
		passphrase := secrets.Passphrase{Text: text, Source: "the new passphrase"}
		next, err = secrets.NewPassphrase(passphrase)
		return eitherKeys{w.keys, passphrase}, next, "", err
	case KeyProvider:
		if to.NewKey {
			if retired, err = w.keys.RetireUserKey(); err != nil {
				return nil, nil, "", err
			}
		}
		next, err = w.keys.NewUserKey(ctx)
	default:
		next, err = w.keys.NewCloud(ctx, to.Name)
	}
	if err != nil {
		return nil, nil, retired, err
	}
	return keys, next, retired, w.tryProvider(ctx, next)
}

// tryProvider returns an error if what a provider encrypts could not be decrypted later.
func (w *Workspace) tryProvider(ctx context.Context, p secrets.Provider) error {
	const text = "husk"
	ciphertext, err := p.Encrypt(ctx, text)
	if err != nil {
		return err
	}
	again, err := w.keys.Open(ctx, p.Type(), p.State())
	if err != nil {
		return err
	}
	is, err := again.Decrypt(ctx, ciphertext)
	if err == nil && is != text {
		err = fmt.Errorf("what the secrets provider decrypts is not what it has encrypted")
	}
	return err
}

// eitherKeys opens with the keys, or else with a passphrase.
type eitherKeys struct {
	secrets.Keys
	passphrase secrets.Passphrase
}

// Open implements [state.KeySource].
func (k eitherKeys) Open(ctx context.Context, typ string, state json.RawMessage) (secrets.Provider, error) {
	p, err := k.Keys.Open(ctx, typ, state)
	if err != nil || typ != secrets.TypePassphrase {
		return p, err
	}
	if _, err := p.Encrypt(ctx, ""); !errors.Is(err, secrets.ErrWrongKey) && !errors.Is(err, secrets.ErrNoKey) {
		return p, nil
	}
	again, err := secrets.OpenPassphrase(state, func() (secrets.Passphrase, error) { return k.passphrase, nil })
	if err != nil {
		return nil, err
	}
	if _, err := again.Encrypt(ctx, ""); err != nil {
		return p, nil // the error is about the present passphrase
	}
	return again, nil
}

// CheckKey returns an error if the key of a stack's secrets is a file of this user, which no run on a server has.
func (w *Workspace) CheckKey(ctx context.Context, stack string) error {
	config, err := w.Config(stack)
	if err != nil {
		return err
	}
	types := []string{config.SecretsProvider()}
	snapshot, _, err := w.Read(ctx, stack, true)
	var missing *NoStackError
	switch {
	case err == nil:
		types = append(types, snapshot.Secrets.Type)
	case !errors.As(err, &missing):
		return err
	}
	if !slices.Contains(types, secrets.TypeUserKey) {
		return nil
	}
	return fmt.Errorf("the secrets of the stack %s are encrypted with your key file, which a run on the server does not have: "+
		"run husk stack change-secrets-provider %s", stack, ServerKey)
}
