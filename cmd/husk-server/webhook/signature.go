package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// isSignature reports whether a proof is the HMAC of a body, in hexadecimal digits.
func isSignature(proof string, secret, body []byte) bool {
	signature, err := hex.DecodeString(proof)
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return err == nil && hmac.Equal(signature, mac.Sum(nil))
}

// isPrefixedSignature is [isSignature] for a proof that names the hash function, as GitHub's does.
func isPrefixedSignature(proof string, secret, body []byte) bool {
	signature, ok := strings.CutPrefix(proof, "sha256=")
	return ok && isSignature(signature, secret, body)
}

// isSecret reports whether a proof is the secret itself, which GitLab sends.
func isSecret(proof string, secret, _ []byte) bool {
	return subtle.ConstantTimeCompare([]byte(proof), secret) == 1
}
