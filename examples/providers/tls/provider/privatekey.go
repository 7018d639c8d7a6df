package provider

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"

	"golang.org/x/crypto/ssh"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// PrivateKeyInputs are the inputs of tls:PrivateKey. The standard library refuses smaller RSA keys;
// larger ones take a module more than a minute.
type PrivateKeyInputs struct {
	Algorithm  string `husk:"algorithm,oneof=RSA|ECDSA|ED25519,replace" doc:"The algorithm: RSA, ECDSA, or ED25519."`
	EcdsaCurve string `husk:"ecdsaCurve,default=P224,oneof=P224|P256|P384|P521,replace" doc:"The curve of an ECDSA key. Browsers and OpenSSH know no P224; choose P256 unless you must not."`
	RsaBits    int    `husk:"rsaBits,default=2048,min=1024,max=8192,replace" doc:"The size of an RSA key, in bits."`
}

// PrivateKeyState is the state of tls:PrivateKey.
type PrivateKeyState struct {
	PrivateKeyInputs
	PrivateKeyPem      string `husk:"privateKeyPem,secret" doc:"The key in PEM form: PKCS #1 for RSA, SEC 1 for ECDSA, PKCS #8 for ED25519."`
	PrivateKeyPemPkcs8 string `husk:"privateKeyPemPkcs8,secret" doc:"The key in PEM form, PKCS #8."`
	PrivateKeyOpenssh  string `husk:"privateKeyOpenssh,secret" doc:"The key in OpenSSH's format; empty for a key on P224, which OpenSSH does not know."`
	publicKey
}

// PrivateKey implements tls:PrivateKey.
type PrivateKey struct{}

// Create generates the key. Its ID is the SHA-1 of the public key.
func (PrivateKey) Create(_ context.Context, r guest.CreateRequest[PrivateKeyInputs]) (guest.CreateResponse[PrivateKeyState], error) {
	var response guest.CreateResponse[PrivateKeyState]
	key, err := generateKey(keyOptions{algorithm: r.Inputs.Algorithm, bits: r.Inputs.RsaBits, curve: r.Inputs.EcdsaCurve})
	if err != nil {
		return response, err
	}
	public, id, err := describePublicKey(key.Public())
	if err != nil {
		return response, err
	}
	state := PrivateKeyState{PrivateKeyInputs: r.Inputs, publicKey: public}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return response, err
	}
	state.PrivateKeyPemPkcs8 = encodePEM(blockPKCS8, pkcs8)
	if state.PrivateKeyPem, err = traditionalPEM(key, state.PrivateKeyPemPkcs8); err != nil {
		return response, err
	}
	if public.PublicKeyOpenssh != "" {
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			return response, err
		}
		state.PrivateKeyOpenssh = string(pem.EncodeToMemory(block))
	}
	response.ID, response.State = id, state
	return response, nil
}

// traditionalPEM returns the form that a key had before PKCS #8, where it had one.
func traditionalPEM(key crypto.Signer, pkcs8 string) (string, error) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return encodePEM(blockPKCS1, x509.MarshalPKCS1PrivateKey(key)), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		return encodePEM(blockEC, der), err
	}
	return pkcs8, nil
}
