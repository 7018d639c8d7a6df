package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
)

// The algorithms of keys, as properties name them.
const (
	algorithmRSA     = "RSA"
	algorithmECDSA   = "ECDSA"
	algorithmEd25519 = "ED25519"
)

type keyOptions struct {
	algorithm string
	// bits is the size of an RSA key.
	bits int
	// curve is the curve of an ECDSA key.
	curve string
}

func generateKey(o keyOptions) (crypto.Signer, error) {
	switch o.algorithm {
	case algorithmRSA:
		return rsa.GenerateKey(rand.Reader, o.bits)
	case algorithmECDSA:
		curve, err := curveOf(o.curve)
		if err != nil {
			return nil, err
		}
		return ecdsa.GenerateKey(curve, rand.Reader)
	case algorithmEd25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("unknown algorithm %q", o.algorithm)
}

func curveOf(name string) (elliptic.Curve, error) {
	switch name {
	case "P224":
		return elliptic.P224(), nil
	case "P256":
		return elliptic.P256(), nil
	case "P384":
		return elliptic.P384(), nil
	case "P521":
		return elliptic.P521(), nil
	}
	return nil, fmt.Errorf("unknown curve %q", name)
}

func algorithmOf(key crypto.PublicKey) (string, error) {
	switch key.(type) {
	case *rsa.PublicKey:
		return algorithmRSA, nil
	case *ecdsa.PublicKey:
		return algorithmECDSA, nil
	case ed25519.PublicKey:
		return algorithmEd25519, nil
	}
	return "", errors.New("is a key of an unknown kind; expected RSA, ECDSA, or ED25519")
}

func samePublicKey(a, b crypto.PublicKey) bool {
	comparable, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && comparable.Equal(b)
}
