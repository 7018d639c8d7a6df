package statetest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/husk-dev/husk/engine/secrets"
)

// B64 is a secrets provider that hides nothing: base64, as in Pulumi's tests. Its value is its state.
type B64 string

// Encrypt returns the text in base64.
func (B64) Encrypt(_ context.Context, plaintext string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(plaintext)), nil
}

// Decrypt returns the text of base64.
func (B64) Decrypt(_ context.Context, ciphertext string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(ciphertext)
	return string(b), err
}

// Type returns "b64".
func (B64) Type() string { return "b64" }

// State returns the JSON that the provider is.
func (p B64) State() json.RawMessage { return json.RawMessage(p) }

// OpenB64 opens a B64, see [state.OpenSecrets].
func OpenB64(_ context.Context, typ string, state json.RawMessage) (secrets.Provider, error) {
	if typ != "b64" {
		return nil, fmt.Errorf("unexpected type %q", typ)
	}
	return B64(state), nil
}

// Keys is a source of one provider.
type Keys struct{ Provider secrets.Provider }

// New returns the provider.
func (k Keys) New(context.Context) (secrets.Provider, error) { return k.Provider, nil }

// Open returns the provider, which must be of the type.
func (k Keys) Open(_ context.Context, typ string, _ json.RawMessage) (secrets.Provider, error) {
	if typ != k.Provider.Type() {
		return nil, fmt.Errorf("state of type %q", typ)
	}
	return k.Provider, nil
}

// B64Keys is the source of a B64.
var B64Keys = Keys{B64(`{}`)}

// Numbered is a secrets provider whose ciphertexts are all different.
type Numbered struct {
	B64
	N *atomic.Int64
}

// Encrypt numbers the ciphertext.
func (p Numbered) Encrypt(ctx context.Context, plaintext string) (string, error) {
	ciphertext, _ := p.B64.Encrypt(ctx, plaintext)
	return fmt.Sprintf("%d:%s", p.N.Add(1), ciphertext), nil
}

// Decrypt returns the text.
func (p Numbered) Decrypt(ctx context.Context, ciphertext string) (string, error) {
	_, ciphertext, _ = strings.Cut(ciphertext, ":")
	return p.B64.Decrypt(ctx, ciphertext)
}
