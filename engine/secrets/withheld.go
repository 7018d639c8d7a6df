package secrets

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrWithheld says that secrets are kept from this process on purpose. In a state they are read as unknown.
var ErrWithheld = errors.New("the secret is withheld: who asked for this run may only preview, and cannot have secrets decrypted\n" +
	"have it asked for with a token of the role request, or the server started with --preview-secrets")

// withheld is the provider of withheld secrets, with its type and state.
type withheld struct {
	typ   string
	state json.RawMessage
}

// Encrypt returns a text that nobody can decrypt: previews keep it in memory only.
func (withheld) Encrypt(context.Context, string) (string, error) { return "withheld", nil }

func (withheld) Decrypt(context.Context, string) (string, error) { return "", ErrWithheld }

func (w withheld) Type() string { return w.typ }

func (w withheld) State() json.RawMessage { return w.state }
