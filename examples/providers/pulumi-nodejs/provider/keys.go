package provider

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"strings"
)

// kindOfKey returns Node.js's name of a key's type, and the name of its curve. It returns empty names for other types.
func kindOfKey(key any) (kind, curve string) {
	switch k := key.(type) {
	case *rsa.PrivateKey, *rsa.PublicKey:
		return "rsa", ""
	case ed25519.PrivateKey, ed25519.PublicKey:
		return "ed25519", ""
	case *ecdh.PrivateKey, *ecdh.PublicKey:
		return "x25519", ""
	case *ecdsa.PrivateKey:
		return "ec", k.Curve.Params().Name
	case *ecdsa.PublicKey:
		return "ec", k.Curve.Params().Name
	}
	return "", ""
}

// private encodes a private key as PKCS #8 for the engine, and public a public key as SPKI.
func private(key any) (map[string]any, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	kind, _ := kindOfKey(key)
	return map[string]any{"data": der, "type": "private", "kind": kind}, err
}

func public(key any) (map[string]any, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	kind, _ := kindOfKey(key)
	return map[string]any{"data": der, "type": "public", "kind": kind}, err
}

// parse reads a key in any format that Node.js accepts.
func (q *keyed) parse() (map[string]any, error) {
	key, err := q.read()
	if err != nil {
		return nil, err
	}
	switch k := key.(type) {
	case interface{ Public() crypto.PublicKey }:
		if q.Wanted == "public" {
			return public(k.Public())
		}
		return private(key)
	}
	if q.Wanted == "private" {
		return nil, errors.New("the key is a public one, and a private one is needed")
	}
	return public(key)
}

func (q *keyed) read() (any, error) {
	if q.JWK != nil {
		return fromJWK(q.JWK)
	}
	der, kind := q.Data, ""
	if block, _ := pem.Decode(q.Data); block != nil {
		der, kind = block.Bytes, block.Type
		if x509.IsEncryptedPEMBlock(block) { //nolint:staticcheck // as Node.js does
			var err error
			if der, err = x509.DecryptPEMBlock(block, q.Passphrase); err != nil { //nolint:staticcheck // as above
				return nil, errors.New("the passphrase of the key is wrong")
			}
		}
	} else if bytes.Contains(q.Data, []byte("-----BEGIN")) {
		return nil, errors.New("the key is no PEM: check that its lines are whole")
	}
	if kind == "ENCRYPTED PRIVATE KEY" || kind == "" && q.Passphrase != nil {
		plain, err := opened(der, q.Passphrase)
		if err != nil {
			return nil, err
		}
		return x509.ParsePKCS8PrivateKey(plain)
	}
	for _, read := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) },
		func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
		x509.ParsePKIXPublicKey,
		func(b []byte) (any, error) { return x509.ParsePKCS1PublicKey(b) },
		func(b []byte) (any, error) {
			c, err := x509.ParseCertificate(b)
			if err != nil {
				return nil, err
			}
			return c.PublicKey, nil
		},
	} {
		if key, err := read(der); err == nil {
			return key, nil
		}
	}
	return nil, errors.New("the key is in no form that the sandbox of a dynamic provider reads: PKCS #8, PKCS #1, SEC 1, SPKI, or a certificate, as PEM or DER, or a JWK")
}

// key reads the key as [private] and [public] encode it.
func (q *keyed) key() (any, error) {
	if key, err := x509.ParsePKCS8PrivateKey(q.Key); err == nil {
		return key, nil
	}
	return x509.ParsePKIXPublicKey(q.Key)
}

// export encodes a key as DER, PEM, or a JWK.
func (q *keyed) export() (map[string]any, error) {
	key, err := q.key()
	if err != nil {
		return nil, err
	}
	if q.Format == "jwk" {
		jwk, err := toJWK(key)
		return map[string]any{"jwk": jwk}, err
	}
	der, label := q.Key, map[string]string{"pkcs8": "PRIVATE KEY", "spki": "PUBLIC KEY"}[q.Type]
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if q.Type == "pkcs1" {
			der, label = x509.MarshalPKCS1PrivateKey(k), "RSA PRIVATE KEY"
		}
	case *rsa.PublicKey:
		if q.Type == "pkcs1" {
			der, label = x509.MarshalPKCS1PublicKey(k), "RSA PUBLIC KEY"
		}
	case *ecdsa.PrivateKey:
		if q.Type == "sec1" {
			if der, err = x509.MarshalECPrivateKey(k); err != nil {
				return nil, err
			}
			label = "EC PRIVATE KEY"
		}
	}
	if label == "" {
		return nil, fmt.Errorf("a key of this kind has no form %q", q.Type)
	}
	if q.Cipher != "" {
		if label != "PRIVATE KEY" {
			return nil, errors.New("only keys of the form pkcs8 are encrypted in the sandbox of a dynamic provider")
		}
		if der, err = sealed(der, q.Cipher, q.Passphrase); err != nil {
			return nil, err
		}
		label = "ENCRYPTED PRIVATE KEY"
	}
	if q.Format == "der" {
		return map[string]any{"data": der}, nil
	}
	return map[string]any{"text": string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))}, nil
}

func (q *keyed) details() (map[string]any, error) {
	key, err := q.key()
	if err != nil {
		return nil, err
	}
	details := map[string]any{}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		details["modulusLength"] = k.N.BitLen()
	case *rsa.PublicKey:
		details["modulusLength"] = k.N.BitLen()
	}
	if _, curve := kindOfKey(key); curve != "" {
		details["namedCurve"] = map[string]string{"P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1"}[curve]
	}
	return map[string]any{"details": details}, nil
}

// protected is EncryptedPrivateKeyInfo of RFC 5958, with PBES2 of RFC 8018, PBKDF2, and AES in CBC.
type protected struct {
	Algorithm struct {
		ID     asn1.ObjectIdentifier
		Params struct {
			KDF struct {
				ID     asn1.ObjectIdentifier
				Params struct {
					Salt       []byte
					Iterations int
					Size       int                      `asn1:"optional"`
					PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
				}
			}
			Cipher struct {
				ID asn1.ObjectIdentifier
				IV []byte
			}
		}
	}
	Data []byte
}

var (
	pbes2          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	pbkdf          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	hmacWithSHA256 = asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9}
	// prfs are the hash functions of PBKDF2's HMACs, by the last arc of their object identifiers.
	prfs = map[int]func() hash.Hash{7: sha1.New, 9: sha256.New, 10: sha512.New384, 11: sha512.New}
	// aesCBC are sizes of AES keys in bytes, by the last arc of AES-CBC's object identifier, which aesOID begins.
	aesCBC = map[int]int{2: 16, 22: 24, 42: 32}
	aesOID = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1}
)

// iterations is the number that OpenSSL uses by default, and so does Node.js.
const iterations = 2048

func sealed(der []byte, name string, passphrase []byte) ([]byte, error) {
	last := map[string]int{"aes-128-cbc": 2, "aes-192-cbc": 22, "aes-256-cbc": 42}[strings.ToLower(name)]
	if last == 0 {
		return nil, fmt.Errorf("a key is encrypted with aes-128-cbc, aes-192-cbc, or aes-256-cbc in the sandbox of a dynamic provider, and not with %q", name)
	}
	var p protected
	salt, iv := make([]byte, 16), make([]byte, aes.BlockSize)
	rand.Read(salt)
	rand.Read(iv)
	p.Algorithm.ID, p.Algorithm.Params.KDF.ID = pbes2, pbkdf
	kdf := &p.Algorithm.Params.KDF.Params
	kdf.Salt, kdf.Iterations, kdf.PRF = salt, iterations, pkix.AlgorithmIdentifier{Algorithm: hmacWithSHA256, Parameters: asn1.NullRawValue}
	p.Algorithm.Params.Cipher.ID, p.Algorithm.Params.Cipher.IV = append(aesOID[:len(aesOID):len(aesOID)], last), iv
	key, err := pbkdf2.Key(sha256.New, string(passphrase), salt, iterations, aesCBC[last])
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	p.Data = padded(der)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(p.Data, p.Data)
	return asn1.Marshal(p)
}

// mostIterations limits PBKDF2's iterations, because a key from a stranger may ask for any number.
const mostIterations = 10_000_000

func opened(der, passphrase []byte) ([]byte, error) {
	var p protected
	if rest, err := asn1.Unmarshal(der, &p); err != nil || len(rest) > 0 {
		return nil, errors.New("the encrypted key has a form that the sandbox of a dynamic provider does not read: it reads PBES2 with AES in CBC")
	}
	kdf, c := p.Algorithm.Params.KDF.Params, p.Algorithm.Params.Cipher
	prf := prfs[7]
	if id := kdf.PRF.Algorithm; len(id) > 0 {
		prf = prfs[id[len(id)-1]]
	}
	size := 0
	if len(c.ID) == len(aesOID)+1 && c.ID[:len(aesOID)].Equal(aesOID) {
		size = aesCBC[c.ID[len(aesOID)]]
	}
	if !p.Algorithm.ID.Equal(pbes2) || !p.Algorithm.Params.KDF.ID.Equal(pbkdf) || prf == nil || size == 0 || len(c.IV) != aes.BlockSize || len(p.Data)%aes.BlockSize != 0 || kdf.Iterations > mostIterations {
		return nil, errors.New("the encrypted key has a form that the sandbox of a dynamic provider does not read: it reads PBES2 with AES in CBC")
	}
	key, err := pbkdf2.Key(prf, string(passphrase), kdf.Salt, kdf.Iterations, size)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(p.Data))
	cipher.NewCBCDecrypter(block, c.IV).CryptBlocks(out, p.Data)
	if out, err = unpadded(out); err != nil {
		return nil, errors.New("the passphrase of the key is wrong")
	}
	return out, nil
}

func toJWK(key any) (map[string]string, error) {
	text := base64.RawURLEncoding.EncodeToString
	point := func(k *ecdsa.PublicKey) map[string]string {
		size := coordinateSize(k.Curve)
		return map[string]string{"kty": "EC", "crv": k.Curve.Params().Name, "x": text(k.X.FillBytes(make([]byte, size))), "y": text(k.Y.FillBytes(make([]byte, size)))}
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "n": number(k.N), "e": number(big.NewInt(int64(k.E)))}, nil
	case *rsa.PrivateKey:
		jwk, err := toJWK(&k.PublicKey)
		for name, v := range map[string]*big.Int{"d": k.D, "p": k.Primes[0], "q": k.Primes[1], "dp": k.Precomputed.Dp, "dq": k.Precomputed.Dq, "qi": k.Precomputed.Qinv} {
			jwk[name] = number(v)
		}
		return jwk, err
	case *ecdsa.PublicKey:
		return point(k), nil
	case *ecdsa.PrivateKey:
		jwk := point(&k.PublicKey)
		jwk["d"] = text(k.D.FillBytes(make([]byte, coordinateSize(k.Curve))))
		return jwk, nil
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": text(k)}, nil
	case ed25519.PrivateKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": text(k[32:]), "d": text(k.Seed())}, nil
	}
	return nil, errors.New("a key of this kind has no JWK in the sandbox of a dynamic provider")
}

func fromJWK(jwk map[string]string) (any, error) {
	raw := func(name string) []byte { b, _ := base64.RawURLEncoding.DecodeString(jwk[name]); return b }
	n := func(name string) *big.Int { return new(big.Int).SetBytes(raw(name)) }
	_, secret := jwk["d"]
	switch {
	case jwk["kty"] == "RSA":
		k := rsa.PublicKey{N: n("n"), E: int(n("e").Int64())}
		if !secret {
			return &k, nil
		}
		p := &rsa.PrivateKey{PublicKey: k, D: n("d"), Primes: []*big.Int{n("p"), n("q")}}
		if err := p.Validate(); err != nil {
			return nil, err
		}
		p.Precompute()
		return p, nil
	case jwk["kty"] == "EC" && curves[jwk["crv"]] != nil:
		k := ecdsa.PublicKey{Curve: curves[jwk["crv"]], X: n("x"), Y: n("y")}
		if _, err := k.ECDH(); err != nil {
			return nil, err
		}
		if !secret {
			return &k, nil
		}
		return &ecdsa.PrivateKey{PublicKey: k, D: n("d")}, nil
	case jwk["crv"] == "Ed25519" && secret && len(raw("d")) == ed25519.SeedSize:
		return ed25519.NewKeyFromSeed(raw("d")), nil
	case jwk["crv"] == "Ed25519" && len(raw("x")) == ed25519.PublicKeySize:
		return ed25519.PublicKey(raw("x")), nil
	}
	return nil, errors.New("the JWK is of no kind that the sandbox of a dynamic provider reads: RSA, EC with P-256, P-384, or P-521, and Ed25519")
}
