package provider

import (
	"context"
	"crypto"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"

	"golang.org/x/crypto/ssh"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type publicKey struct {
	PublicKeyPem               string `husk:"publicKeyPem" doc:"The public key in PEM form (PKIX)."`
	PublicKeyOpenssh           string `husk:"publicKeyOpenssh" doc:"The public key as a line of OpenSSH's authorized_keys; empty for a key on P224, which OpenSSH does not know."`
	PublicKeyFingerprintMd5    string `husk:"publicKeyFingerprintMd5" doc:"The MD5 fingerprint that old OpenSSH shows; empty where publicKeyOpenssh is."`
	PublicKeyFingerprintSha256 string `husk:"publicKeyFingerprintSha256" doc:"The SHA-256 fingerprint that OpenSSH shows; empty where publicKeyOpenssh is."`
}

// describePublicKey returns the formats of a key, and the SHA-1 of its DER form as an ID.
func describePublicKey(key crypto.PublicKey) (public publicKey, id string, err error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return publicKey{}, "", err
	}
	public.PublicKeyPem = encodePEM(blockPublicKey, der)
	if key, err := ssh.NewPublicKey(key); err == nil { // otherwise OpenSSH does not know the curve
		public.PublicKeyOpenssh = string(ssh.MarshalAuthorizedKey(key))
		public.PublicKeyFingerprintMd5 = ssh.FingerprintLegacyMD5(key)
		public.PublicKeyFingerprintSha256 = ssh.FingerprintSHA256(key)
	}
	return public, identify(der), nil
}

// identify returns the ID of an object without a name of its own.
func identify(der []byte) string {
	sum := sha1.Sum(der)
	return hex.EncodeToString(sum[:])
}

type getPublicKeyArgs struct {
	PrivateKeyPem     *string `husk:"privateKeyPem,secret" doc:"The private key in PEM form."`
	PrivateKeyOpenssh *string `husk:"privateKeyOpenssh,secret" doc:"The private key in OpenSSH's format. Exactly one of the two must be given."`
}

type getPublicKeyResult struct {
	getPublicKeyArgs
	ID        string `husk:"id" doc:"The SHA-1 of the public key."`
	Algorithm string `husk:"algorithm" doc:"The algorithm: RSA, ECDSA, or ED25519."`
	publicKey
}

func getPublicKey(_ context.Context, args getPublicKeyArgs) (getPublicKeyResult, error) {
	path, parse, text := "privateKeyPem", parsePrivateKey, args.PrivateKeyPem
	if text == nil {
		path, parse, text = "privateKeyOpenssh", parseOpenSSHKey, args.PrivateKeyOpenssh
	}
	if text == nil || args.PrivateKeyPem != nil && args.PrivateKeyOpenssh != nil {
		return getPublicKeyResult{}, guest.InvalidArgument("privateKeyPem", "exactly one of privateKeyPem and privateKeyOpenssh must be given")
	}
	key, err := parse(*text)
	if err != nil {
		return getPublicKeyResult{}, guest.InvalidArgument(path, err.Error())
	}
	result := getPublicKeyResult{getPublicKeyArgs: args}
	if result.Algorithm, err = algorithmOf(key.Public()); err != nil {
		return getPublicKeyResult{}, err
	}
	result.publicKey, result.ID, err = describePublicKey(key.Public())
	return result, err
}
