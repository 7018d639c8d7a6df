package secrets

import (
	"context"
	"encoding/json"
)

// TypeProcessKey is the type of the provider whose key ends with the process.
const TypeProcessKey = "husk-process-key"

// ProcessKey is a random key in memory, for state that is in memory, too.
type ProcessKey struct{ key []byte }

// NewProcessKey makes a key.
func NewProcessKey() *ProcessKey { return &ProcessKey{randomBytes(userKeySize)} }

// New returns a provider for a stack that has none yet.
func (k *ProcessKey) New(context.Context) (Provider, error) {
	return newProvider(TypeProcessKey, []byte(`{}`), func() (*symmetric, error) { return newSymmetric(k.key) }), nil
}

// Open returns the provider of a state that was made with this key.
func (k *ProcessKey) Open(ctx context.Context, typ string, _ json.RawMessage) (Provider, error) {
	if typ != TypeProcessKey {
		return nil, errorf(ErrNoKey, "the state's secrets are of the secrets provider %q, and this process has only a key of its own (%s)", typ, TypeProcessKey)
	}
	return k.New(ctx)
}
