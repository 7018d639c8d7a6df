// Package secrets encrypts the sensitive values of a stack, in its state and in its configuration.
//
// A [Provider] encrypts with one key. A stack's state has its provider's type and the data to find and check the key again, never
// the key. [TypePassphrase] has Pulumi's format, so that stacks move over with their secrets; [TypeUserKey] needs no set-up.
// [Keys] finds passphrases and keys.
package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// A Crypter encrypts and decrypts text. It is safe for concurrent use.
type Crypter interface {
	// Encrypt returns a ciphertext of plaintext, another one each time.
	Encrypt(ctx context.Context, plaintext string) (ciphertext string, err error)
	// Decrypt returns the plaintext of a ciphertext that Encrypt made.
	Decrypt(ctx context.Context, ciphertext string) (plaintext string, err error)
}

// A Provider is a Crypter that a stack's state can name and open again. Its key is found, derived, and
// checked when the first value is encrypted or decrypted.
type Provider interface {
	Crypter
	// Type returns secrets_providers.type in Pulumi's deployment JSON.
	Type() string
	// State returns the JSON that opens the provider again, secrets_providers.state in Pulumi's
	// deployment JSON. It holds no secret.
	State() json.RawMessage
}

// OnlyHusk reports whether Pulumi does not know the providers of a type.
func OnlyHusk(typ string) bool { return typ == TypeUserKey || typ == TypeProcessKey }

// Errors that callers tell apart with errors.Is.
var (
	// ErrWrongKey says that the key or passphrase at hand is not the one that
	// the secrets were encrypted with.
	ErrWrongKey = errors.New("wrong key")
	// ErrNoKey says that no key or passphrase was found.
	ErrNoKey = errors.New("no key")
	// ErrCiphertext says that a ciphertext or a provider's state was damaged,
	// or belongs to another key.
	ErrCiphertext = errors.New("damaged ciphertext")
	// ErrUnknownProvider says that a state names a provider of a kind that
	// this package does not know.
	ErrUnknownProvider = errors.New("unknown secrets provider")
)

// An Error says why a secret could not be encrypted or decrypted, and what to
// do about it. It wraps one of the sentinels of this package.
type Error struct {
	// Kind is ErrWrongKey, ErrNoKey, ErrCiphertext, or ErrUnknownProvider.
	Kind error
	// Message says what happened and what to do next.
	Message string
	// Cause is the error beneath, if any.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Kind, e.Cause}
	}
	return []error{e.Kind}
}

func errorf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
