package secrets

import (
	"context"
	"encoding/json"
	"time"

	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// TypeCloud is the type of the provider whose key is encrypted by a [KeyService]. Its formats are Pulumi's own.
const TypeCloud = "cloud"

// serviceTime bounds a request to a key service.
const serviceTime = 30 * time.Second

// A KeyService encrypts keys with one that never leaves it.
type KeyService interface {
	Encrypt(ctx context.Context, key []byte) (ciphertext []byte, err error)
	Decrypt(ctx context.Context, ciphertext []byte) (key []byte, err error)
}

// cloudState is the provider's state.
type cloudState struct {
	URL          string `json:"url"`
	EncryptedKey []byte `json:"encryptedkey"`
}

// NewCloud returns a provider with a new key, which the service at a URL encrypts.
func (k Keys) NewCloud(ctx context.Context, url string) (Provider, error) {
	service, err := k.service(url)
	if err != nil {
		return nil, err
	}
	key := randomBytes(keySize)
	ctx, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	encrypted, err := service.Encrypt(ctx, key)
	if err != nil {
		return nil, &Error{Kind: ErrNoKey, Message: "the key service " + url + " cannot encrypt the key of the stack", Cause: err}
	}
	s, err := newSymmetric(key)
	if err != nil {
		return nil, err
	}
	return openedProvider(TypeCloud, cloudState{URL: url, EncryptedKey: encrypted}, s)
}

func (k Keys) service(url string) (KeyService, error) {
	if k.Service == nil {
		return nil, errorf(ErrUnknownProvider, "the stack's secrets are encrypted with a key of the service %s, and no key services are known here", url)
	}
	service, err := k.Service(url)
	if err != nil {
		return nil, &Error{Kind: ErrUnknownProvider, Message: "the key service " + url + " of the stack's secrets", Cause: err}
	}
	return service, nil
}

func (k Keys) openCloud(state json.RawMessage) (Provider, error) {
	var st cloudState
	if err := json.Unmarshal(state, &st); err != nil {
		return nil, &Error{Kind: ErrCiphertext, Message: "reading the state of the secrets provider with a key service", Cause: jsonerror.Explain(state, err)}
	}
	return newProvider(TypeCloud, state, func() (*symmetric, error) {
		service, err := k.service(st.URL)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), serviceTime)
		defer cancel()
		key, err := service.Decrypt(ctx, st.EncryptedKey)
		if err != nil {
			return nil, &Error{Kind: ErrNoKey, Message: "the key service " + st.URL + " does not decrypt the key of the stack", Cause: err}
		}
		if len(key) != keySize {
			return nil, errorf(ErrCiphertext, "the key service %s returned a key of %d bytes, and the stack's has %d", st.URL, len(key), keySize)
		}
		return newSymmetric(key)
	}), nil
}
