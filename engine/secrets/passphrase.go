package secrets

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// TypePassphrase is the type of the provider that derives its key from a
// passphrase. Its formats are Pulumi's own, so each reads the other's states.
const TypePassphrase = "passphrase"

const (
	// passphraseIterations make guessing slow, about 150 ms for each try, as in Pulumi's format.
	passphraseIterations = 1_000_000
	// passphraseSaltSize is in bytes, and part of Pulumi's format.
	passphraseSaltSize = 8
	// verifierText is the plaintext of the verifier in a state. It is part of Pulumi's format.
	verifierText = "pulumi"
)

// A Passphrase is a passphrase and where it came from.
type Passphrase struct {
	// Text is the passphrase. It may be empty, as in Pulumi.
	Text string
	// Source names where it was found, for messages: a variable or a file.
	Source string
}

// passphraseState is the provider's state:
//
//	{"salt": "v1:<base64 salt>:v1:<base64 nonce>:<base64 of the sealed verifier>"}
type passphraseState struct {
	Salt string `json:"salt"`
}

// NewPassphrase returns a provider that encrypts with a key derived from the
// passphrase and a new random salt. It takes about 150 ms.
func NewPassphrase(p Passphrase) (Provider, error) {
	salt := randomBytes(passphraseSaltSize)
	s, err := derivePassphraseKey(p.Text, salt)
	if err != nil {
		return nil, err
	}
	return openedProvider(TypePassphrase, passphraseState{
		Salt: "v1:" + base64.StdEncoding.EncodeToString(salt) + ":" + s.encrypt(verifierText),
	}, s)
}

// OpenPassphrase returns the provider of a state. It calls find when a secret is first touched.
func OpenPassphrase(state json.RawMessage, find func() (Passphrase, error)) (Provider, error) {
	return openPassphrase(state, find, derivePassphraseKey)
}

func openPassphrase(
	state json.RawMessage, find func() (Passphrase, error), derive func(passphrase string, salt []byte) (*symmetric, error),
) (Provider, error) {
	var st passphraseState
	if err := json.Unmarshal(state, &st); err != nil {
		return nil, &Error{Kind: ErrCiphertext, Message: "reading the state of the passphrase secrets provider", Cause: jsonerror.Explain(state, err)}
	}
	salt, verifier, err := splitSalt(st.Salt)
	if err != nil {
		return nil, err
	}
	return newProvider(TypePassphrase, state, func() (*symmetric, error) {
		p, err := find()
		if err != nil {
			return nil, err
		}
		s, err := derive(p.Text, salt)
		if err != nil {
			return nil, err
		}
		switch text, err := s.decrypt(verifier); {
		case errors.Is(err, ErrCiphertext):
			return nil, errorf(ErrWrongKey, "wrong passphrase: the one in %s is not the one that this stack's secrets were encrypted with; "+
				"set HUSK_CONFIG_PASSPHRASE to the right one", p.Source)
		case err != nil:
			return nil, err
		case text != verifierText:
			return nil, errorf(ErrCiphertext, "the salt of the passphrase secrets provider holds an unknown verifier")
		}
		return s, nil
	}), nil
}

// splitSalt takes the salt and the verifier's ciphertext out of a state's salt.
func splitSalt(s string) (salt []byte, verifier string, err error) {
	rest, ok := strings.CutPrefix(s, "v1:")
	salt64, verifier, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 {
		return nil, "", errorf(ErrCiphertext, "the salt of the secrets provider is not of the form v1:<salt>:<verifier>")
	}
	salt, err = base64.StdEncoding.DecodeString(salt64)
	if err != nil || len(salt) == 0 {
		return nil, "", errorf(ErrCiphertext, "the salt of the secrets provider is not base64")
	}
	return salt, verifier, nil
}

func derivePassphraseKey(passphrase string, salt []byte) (*symmetric, error) {
	key, err := pbkdf2.Key(sha256.New, passphrase, salt, passphraseIterations, keySize)
	if err != nil {
		return nil, err
	}
	return newSymmetric(key)
}

// Type implements [Provider].
func (p *provider) Type() string { return p.typ }

// State implements [Provider].
func (p *provider) State() json.RawMessage { return p.state }
