package provider

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// keyed is a request of the module crypto, except for hashes. Bytes are base64 in JSON.
type keyed struct {
	Op, Name, Type, Format, Digest, Curve, Wanted, Cipher string
	Key, Data, Salt, Info, IV, AAD, Tag, Signature, Label []byte
	Passphrase                                            []byte
	JWK                                                   map[string]string
	Iterations, Size, Padding                             int
	SaltLength                                            *int
	Open, Check, Pad, IEEE                                bool
}

// ciphers serves the module crypto.
func ciphers(argument string) (map[string]any, error) {
	var q keyed
	if err := json.Unmarshal([]byte(argument), &q); err != nil {
		return nil, err
	}
	data := func(b []byte, err error) (map[string]any, error) { return map[string]any{"data": b}, err }
	switch q.Op {
	case "pbkdf2", "hkdf":
		h := hashes[strings.ReplaceAll(strings.ToLower(q.Digest), "-", "")]
		if h == nil {
			return nil, fmt.Errorf("Invalid digest: %s", q.Digest)
		}
		if q.Op == "hkdf" {
			return data(hkdf.Key(h, q.Data, q.Salt, string(q.Info), q.Size))
		}
		return data(pbkdf2.Key(h, string(q.Data), q.Salt, q.Iterations, q.Size))
	case "cipher":
		return q.cipher()
	case "generate":
		key, err := q.generate()
		if err != nil {
			return nil, err
		}
		return private(key)
	case "parse":
		return q.parse()
	case "export":
		return q.export()
	case "details":
		return q.details()
	case "sign":
		return data(q.sign())
	case "verify":
		ok, err := q.verify()
		return map[string]any{"ok": ok}, err
	case "publicEncrypt", "privateDecrypt":
		return data(q.transport())
	}
	return nil, fmt.Errorf("crypto.%s does not work in the sandbox of a dynamic provider", q.Op)
}

// cipher encrypts or decrypts a whole text with AES.
func (q *keyed) cipher() (map[string]any, error) {
	parts := strings.Split(q.Name, "-")
	if len(parts) != 3 || parts[0] != "aes" || !slices.Contains([]string{"cbc", "ctr", "gcm", "ecb"}, parts[2]) {
		return nil, &errno{"ERR_CRYPTO_UNKNOWN_CIPHER", fmt.Sprintf("Unknown cipher: the sandbox of a dynamic provider has aes-128, aes-192, and aes-256 with cbc, ctr, gcm, and ecb, and not %q", q.Name)}
	}
	if bits, _ := strconv.Atoi(parts[1]); bits != 8*len(q.Key) {
		return nil, &errno{"ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length"}
	}
	block, err := aes.NewCipher(q.Key)
	if err != nil {
		return nil, &errno{"ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length"}
	}
	if mode := parts[2]; mode == "cbc" && len(q.IV) != aes.BlockSize || mode == "ctr" && len(q.IV) != aes.BlockSize || mode == "gcm" && len(q.IV) == 0 {
		return nil, &errno{"ERR_CRYPTO_INVALID_IV", "Invalid initialization vector"}
	}
	if q.Check {
		return map[string]any{}, nil
	}
	answer := map[string]any{}
	switch parts[2] {
	case "ctr":
		out := make([]byte, len(q.Data))
		cipher.NewCTR(block, q.IV).XORKeyStream(out, q.Data)
		answer["data"] = out
		return answer, nil
	case "gcm":
		aead, err := cipher.NewGCMWithNonceSize(block, len(q.IV))
		if err != nil {
			return nil, err
		}
		if !q.Open {
			sealed := aead.Seal(nil, q.IV, q.Data, q.AAD)
			answer["data"], answer["tag"] = sealed[:len(q.Data)], sealed[len(q.Data):]
			return answer, nil
		}
		out, err := aead.Open(nil, q.IV, slices.Concat(q.Data, q.Tag), q.AAD)
		if err != nil {
			return nil, errors.New("Unsupported state or unable to authenticate data")
		}
		answer["data"] = out
		return answer, nil
	}
	in := q.Data
	if q.Pad && !q.Open {
		in = padded(in)
	}
	if len(in)%aes.BlockSize != 0 {
		return nil, &errno{"ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "wrong final block length"}
	}
	out := make([]byte, len(in))
	switch {
	case parts[2] == "ecb":
		for i := 0; i < len(in); i += aes.BlockSize {
			if q.Open {
				block.Decrypt(out[i:], in[i:])
			} else {
				block.Encrypt(out[i:], in[i:])
			}
		}
	case q.Open:
		cipher.NewCBCDecrypter(block, q.IV).CryptBlocks(out, in)
	default:
		cipher.NewCBCEncrypter(block, q.IV).CryptBlocks(out, in)
	}
	if q.Pad && q.Open {
		if out, err = unpadded(out); err != nil {
			return nil, err
		}
	}
	answer["data"] = out
	return answer, nil
}

// padded returns b with the padding of PKCS #7, and unpadded removes it.
func padded(b []byte) []byte {
	n := aes.BlockSize - len(b)%aes.BlockSize
	return slices.Concat(b, bytes.Repeat([]byte{byte(n)}, n))
}

func unpadded(b []byte) ([]byte, error) {
	n := 0
	if len(b) > 0 {
		n = int(b[len(b)-1])
	}
	if n == 0 || n > aes.BlockSize || n > len(b) || !bytes.Equal(b[len(b)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, &errno{"ERR_OSSL_BAD_DECRYPT", "bad decrypt"}
	}
	return b[:len(b)-n], nil
}

var curves = map[string]elliptic.Curve{
	"P-256": elliptic.P256(), "prime256v1": elliptic.P256(), "secp256r1": elliptic.P256(), "P-384": elliptic.P384(), "secp384r1": elliptic.P384(), "P-521": elliptic.P521(), "secp521r1": elliptic.P521(),
}

func (q *keyed) generate() (any, error) {
	switch q.Name {
	case "rsa":
		return rsa.GenerateKey(rand.Reader, q.Size)
	case "ec":
		if curve := curves[q.Curve]; curve != nil {
			return ecdsa.GenerateKey(curve, rand.Reader)
		}
		return nil, fmt.Errorf("Invalid EC curve name: the sandbox of a dynamic provider has P-256, P-384, and P-521, and not %q", q.Curve)
	case "ed25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	case "x25519":
		return ecdh.X25519().GenerateKey(rand.Reader)
	}
	return nil, fmt.Errorf("the sandbox of a dynamic provider makes keys of rsa, ec, ed25519, and x25519, and not of %q", q.Name)
}

// coordinateSize returns the size in bytes of a coordinate of a curve's points. JWKs and signatures have numbers of that size.
func coordinateSize(c elliptic.Curve) int { return (c.Params().BitSize + 7) / 8 }

// digest hashes the data, and returns the hash function and the sum.
func (q *keyed) digest() (crypto.Hash, []byte, error) {
	known := map[string]crypto.Hash{"md5": crypto.MD5, "sha1": crypto.SHA1, "sha224": crypto.SHA224, "sha256": crypto.SHA256, "sha384": crypto.SHA384, "sha512": crypto.SHA512}
	h, ok := known[q.Digest]
	if !ok {
		return 0, nil, fmt.Errorf("Invalid digest: %s", q.Digest)
	}
	digest := h.New()
	digest.Write(q.Data)
	return h, digest.Sum(nil), nil
}

// The paddings of RSA in Node.js.
const (
	paddingPKCS1 = 1
	paddingOAEP  = 4
	paddingPSS   = 6
)

// checkPadding returns an error if RSA's padding is not known, or if PSS has no salt, which package rsa lacks.
func (q *keyed) checkPadding(known ...int) error {
	if q.Padding != 0 && !slices.Contains(known, q.Padding) {
		return fmt.Errorf("the sandbox of a dynamic provider does not do this with the padding %d of RSA, but with %v", q.Padding, known)
	}
	if q.Padding == paddingPSS && q.SaltLength != nil && *q.SaltLength == 0 {
		return errors.New("the sandbox of a dynamic provider has no PSS with a saltLength of 0")
	}
	return nil
}

func (q *keyed) sign() ([]byte, error) {
	key, err := x509.ParsePKCS8PrivateKey(q.Key)
	if err != nil {
		return nil, err
	}
	if k, ok := key.(ed25519.PrivateKey); ok {
		return ed25519.Sign(k, q.Data), nil
	}
	h, sum, err := q.digest()
	if err != nil {
		return nil, err
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if err := q.checkPadding(paddingPKCS1, paddingPSS); err != nil {
			return nil, err
		}
		if q.Padding == paddingPSS {
			return rsa.SignPSS(rand.Reader, k, h, sum, q.pss(h))
		}
		return rsa.SignPKCS1v15(rand.Reader, k, h, sum)
	case *ecdsa.PrivateKey:
		if !q.IEEE {
			return ecdsa.SignASN1(rand.Reader, k, sum)
		}
		r, s, err := ecdsa.Sign(rand.Reader, k, sum)
		if err != nil {
			return nil, err
		}
		size := coordinateSize(k.Curve)
		return slices.Concat(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))), nil
	}
	return nil, errors.New("keys of this kind do not sign")
}

func (q *keyed) pss(h crypto.Hash) *rsa.PSSOptions {
	o := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto}
	switch {
	case q.SaltLength == nil:
	case *q.SaltLength == -1:
		o.SaltLength = h.Size()
	case *q.SaltLength >= 0:
		o.SaltLength = *q.SaltLength
	}
	return o
}

func (q *keyed) verify() (bool, error) {
	key, err := x509.ParsePKIXPublicKey(q.Key)
	if err != nil {
		return false, err
	}
	if k, ok := key.(ed25519.PublicKey); ok {
		return ed25519.Verify(k, q.Data, q.Signature), nil
	}
	h, sum, err := q.digest()
	if err != nil {
		return false, err
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		if err := q.checkPadding(paddingPKCS1, paddingPSS); err != nil {
			return false, err
		}
		if q.Padding == paddingPSS {
			return rsa.VerifyPSS(k, h, sum, q.Signature, q.pss(h)) == nil, nil
		}
		return rsa.VerifyPKCS1v15(k, h, sum, q.Signature) == nil, nil
	case *ecdsa.PublicKey:
		if !q.IEEE {
			return ecdsa.VerifyASN1(k, sum, q.Signature), nil
		}
		half := coordinateSize(k.Curve)
		if len(q.Signature) != 2*half {
			return false, nil
		}
		return ecdsa.Verify(k, sum, new(big.Int).SetBytes(q.Signature[:half]), new(big.Int).SetBytes(q.Signature[half:])), nil
	}
	return false, errors.New("keys of this kind do not sign")
}

// transport encrypts a short text with RSA, or decrypts it.
func (q *keyed) transport() ([]byte, error) {
	h := hashes[strings.ToLower(q.Digest)]
	if h == nil {
		return nil, fmt.Errorf("Invalid digest: %s", q.Digest)
	}
	if err := q.checkPadding(paddingPKCS1, paddingOAEP); err != nil {
		return nil, err
	}
	if q.Op == "publicEncrypt" {
		key, err := x509.ParsePKIXPublicKey(q.Key)
		k, ok := key.(*rsa.PublicKey)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, errors.New("only keys of RSA encrypt")
		case q.Padding == paddingPKCS1:
			return rsa.EncryptPKCS1v15(rand.Reader, k, q.Data)
		}
		return rsa.EncryptOAEP(h(), rand.Reader, k, q.Data, q.Label)
	}
	key, err := x509.ParsePKCS8PrivateKey(q.Key)
	k, ok := key.(*rsa.PrivateKey)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errors.New("only keys of RSA decrypt")
	case q.Padding == paddingPKCS1:
		return rsa.DecryptPKCS1v15(rand.Reader, k, q.Data)
	}
	return rsa.DecryptOAEP(h(), rand.Reader, k, q.Data, q.Label)
}

func number(b *big.Int) string { return base64.RawURLEncoding.EncodeToString(b.Bytes()) }
