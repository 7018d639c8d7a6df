package trust

import (
	"bytes"
	"crypto"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// Signer is who has signed.
type Signer struct {
	// Key is the text of a key, empty for an identity.
	Key string
	// Identity is the name in a certificate, such as an address of electronic mail or the URI of a workflow, and Issuer is
	// who vouches for it.
	Identity, Issuer string
	// Logged is set if a transparency log has the signature.
	Logged bool
	// Time is when it was signed, zero if nobody who is trusted says so.
	Time time.Time
}

// String returns the signer for people.
func (s Signer) String() string {
	switch {
	case s.Key != "":
		return "the key " + s.Key
	case s.Issuer == "":
		return s.Identity
	}
	return s.Identity + " (issuer " + s.Issuer + ")"
}

// IsZero reports whether nobody has signed.
func (s Signer) IsZero() bool { return s.Key == "" && s.Identity == "" }

// Same reports whether another signer is the same one.
func (s Signer) Same(o Signer) bool {
	return s.Key == o.Key && s.Identity == o.Identity && s.Issuer == o.Issuer
}

// Verifier knows keys, and who says who somebody is.
type Verifier struct {
	Keys []PublicKey
	// Root is nil if no identities are trusted.
	Root *Root
}

// Verify returns who signed a bundle about one of several artifacts, which are the same for the caller, such as a module
// and the manifest that names it. The error wraps [ErrSignature], or is an [*OtherArtifactError].
func (v *Verifier) Verify(b *Bundle, artifacts ...Artifact) (Signer, error) {
	signed, err := b.signed(artifacts)
	if err != nil {
		return Signer{}, err
	}
	if b.leaf == nil {
		return v.byKey(b, signed)
	}
	return v.byIdentity(b, signed)
}

// byKey verifies a signature by a key.
func (v *Verifier) byKey(b *Bundle, signed []byte) (Signer, error) {
	for _, key := range v.Keys {
		if !key.verify(signed, b.signature()) {
			continue
		}
		s := Signer{Key: key.String()}
		if v.Root == nil {
			return s, nil
		}
		times, logged, err := v.Root.times(b, key)
		if err != nil {
			return Signer{}, err
		}
		s.Logged = logged
		if len(times) > 0 {
			s.Time = times[0]
		}
		return s, nil
	}
	if len(v.Keys) == 0 {
		return Signer{}, fmt.Errorf("%w: it is by a key, and no key is trusted", ErrSignature)
	}
	return Signer{}, fmt.Errorf("%w: it is by none of the keys that are trusted", ErrSignature)
}

// byIdentity verifies a signature by the owner of a certificate.
func (v *Verifier) byIdentity(b *Bundle, signed []byte) (Signer, error) {
	identity, issuer := identityOf(b.leaf)
	if v.Root == nil {
		return Signer{}, fmt.Errorf("%w: it is by the identity %q, and there is no trusted root to verify it with", ErrSignature, identity)
	}
	key, err := NewPublicKey(b.leaf.PublicKey)
	if err != nil {
		return Signer{}, fmt.Errorf("%w: %v", ErrSignature, err)
	}
	if !key.verify(signed, b.signature()) {
		return Signer{}, fmt.Errorf("%w: it does not fit the module and the signer's certificate", ErrSignature)
	}
	times, logged, err := v.Root.times(b, key)
	if err != nil {
		return Signer{}, err
	}
	if len(times) == 0 {
		return Signer{}, fmt.Errorf("%w: no log or timestamp authority of the trusted root says when it was made, and the signer's certificate is valid for a short time only", ErrSignature)
	}
	for _, at := range times {
		chain, err := v.Root.chain(b.leaf, at)
		if err != nil {
			return Signer{}, err
		}
		if len(chain) < 2 {
			return Signer{}, fmt.Errorf("%w: the signer's certificate belongs to an authority", ErrSignature)
		}
		if err := v.Root.checkLogged(b.leaf, chain[1]); err != nil {
			return Signer{}, err
		}
	}
	if identity == "" {
		return Signer{}, fmt.Errorf("%w: the signer's certificate has no name", ErrSignature)
	}
	return Signer{Identity: identity, Issuer: issuer, Logged: logged, Time: times[0]}, nil
}

// times returns when a bundle was signed, as those say that the root trusts, and whether a log has the signature. Entries of
// logs that the root does not have are not used.
func (r *Root) times(b *Bundle, signer PublicKey) (times []time.Time, logged bool, err error) {
	for i := range b.doc.Material.Entries {
		e := &b.doc.Material.Entries[i]
		log := logOf(r.logs, e.LogID.KeyID)
		if log == nil {
			continue
		}
		at, err := e.verify(b, signer, log)
		if err != nil {
			return nil, false, err
		}
		logged = true
		if !at.IsZero() {
			times = append(times, at)
		}
	}
	if b.doc.Material.Timestamps == nil {
		return times, logged, nil
	}
	for _, t := range b.doc.Material.Timestamps.RFC3161 {
		at, err := r.stamped(t.Signed, b.signature())
		if err != nil {
			if len(r.stampers) == 0 {
				continue
			}
			return nil, false, err
		}
		times = append(times, at)
	}
	return times, logged, nil
}

// signsDigest reports whether content has a digest of a named algorithm.
func signsDigest(content []byte, algorithm string, digest []byte) bool {
	hashes := map[string]crypto.Hash{"SHA2_256": crypto.SHA256, "SHA2_384": crypto.SHA384, "SHA2_512": crypto.SHA512}
	h, ok := hashes[algorithm]
	return ok && bytes.Equal(sum(h, content), digest)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

var digestSyntax = lazyregexp.Regexp{Syntax: `^[0-9a-f]{64}$`}

func cutDigest(text string) (string, bool) {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	return digits, ok && digestSyntax.Get().MatchString(digits)
}
