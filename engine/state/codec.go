package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/secrets"
)

// Codec writes snapshots and journal entries as JSON, and reads them. It encrypts with one secrets
// provider, and reuses the ciphertexts of secrets that do not change. It is safe for concurrent
// use.
//
// Members that this package does not know are kept. Equal resources have equal JSON, but for new
// ciphertexts. Version 4 is written if the state uses a feature of it, or named one when it was
// read.
type Codec struct {
	secrets  SecretsProvider
	provider secrets.Provider // nil if there is none
	// sealed leaves secrets encrypted: they are read as unknown.
	sealed   bool
	cache    *secrets.Cache
	identity string
}

// OpenSecrets opens the secrets provider that a state names. [secrets.Keys.Open] is one.
type OpenSecrets func(ctx context.Context, typ string, state json.RawMessage) (secrets.Provider, error)

// NewCodec returns a codec that encrypts with the provider. If that is nil, it writes no secrets.
func NewCodec(p secrets.Provider) *Codec {
	if p == nil {
		return &Codec{cache: secrets.NewCache(noCrypter{})}
	}
	named := SecretsProvider{Type: p.Type(), State: p.State()}
	return &Codec{secrets: named, provider: p, cache: secrets.NewCache(p), identity: named.identity()}
}

func newSealedCodec(named SecretsProvider) *Codec {
	return &Codec{secrets: named, sealed: true, cache: secrets.NewCache(noCrypter{}), identity: named.identity()}
}

// Secrets returns the provider that the codec encrypts with, nil if it has none.
func (c *Codec) Secrets() secrets.Provider { return c.provider }

// noCrypter is the crypter of a state that names no secrets provider.
type noCrypter struct{}

func (noCrypter) Encrypt(context.Context, string) (string, error) {
	return "", fmt.Errorf("the stack's secrets provider is not open: %w", secrets.ErrNoKey)
}

func (noCrypter) Decrypt(context.Context, string) (string, error) {
	return "", fmt.Errorf("the state has encrypted secrets and names no secrets provider: %w", secrets.ErrNoKey)
}

// encoder returns an encoder, which writes secrets as plaintext with showSecrets.
func (c *Codec) encoder(ctx context.Context, showSecrets bool) *encoder {
	const likelySize = 1024 // bytes
	return &encoder{builder: builder{buf: make([]byte, 0, likelySize)}, ctx: ctx, codec: c, showSecrets: showSecrets}
}

// compact returns JSON without the line breaks that a person or tool put in.
func compact(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	v := jsontext.Value(text)
	if v.Compact() != nil {
		return text
	}
	return string(v)
}

// An object with the member signatureKey is the value that the signature names (resource/sig in
// Pulumi).
const (
	signatureKey = "4dabf18193072939515e22adb298388d"

	secretSignature     = "1b47061264138c4ac30d75fd1eb44270"
	assetSignature      = "c44067f5952c0a294b673a41bacd8c17"
	archiveSignature    = "0def7320c3a5731c473e5ecbe6d01bc7"
	referenceSignature  = "5cf8f73096256a8f31e491e813e4eb8e"
	byteStringSignature = "803fd3297a5875dc03ca845dda5d2a98"
	// numberSignature is the signature of the numbers that JSON lacks: NaN and ±Inf.
	numberSignature = "8ad145fe-0d11-4827-bfd7-1abcbf086f5c"
)

// unknownSentinel stands for an unknown value of any type.
const unknownSentinel = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// emptyTextHash is the hash of an empty text, which Pulumi does not write: any other asset with a hash and no contents was
// elided.
const emptyTextHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// emptyArchiveHash is the hash of an archive without assets. Any other one without assets was elided.
const emptyArchiveHash = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"

// maxDepth bounds the nesting of values. It is well over property.DefaultDepth, and keeps the stack
// of the recursion under a megabyte.
const maxDepth = 1000

// The features that make a deployment version 4: older readers refuse it.
const (
	featureRefreshBeforeUpdate = "refreshBeforeUpdate"
	featureViews               = "views"
	featureHooks               = "hooks"
	featureTaint               = "taint"
	featureReplaceWith         = "replaceWith"
	featureSnippets            = "snippets-prototype"
	featureExtensions          = "extensionParameterization"
	featureByteString          = "byteString"
)

func knownFeature(name string) bool {
	switch name {
	case featureRefreshBeforeUpdate, featureViews, featureHooks, featureTaint, featureReplaceWith,
		featureSnippets, featureExtensions, featureByteString:
		return true
	}
	return false
}
