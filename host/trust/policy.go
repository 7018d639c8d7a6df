package trust

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Policy names the signers that the modules of each source must have. The first rule that a source matches decides. A source that
// none matches is refused.
type Policy struct {
	Rules []Rule
	// Root is nil if no rule names identities.
	Root *Root
}

// Rule is about the sources that match a pattern.
type Rule struct {
	// Source is a pattern, such as oci://ghcr.io/acme/*. A * stands for any characters within a segment of a path, or within
	// a label of a host, and ** for any within the path or the host. ** alone stands for all sources, and path:** for all of a
	// scheme.
	Source string
	// Signers are the allowed signers. One of them must have signed.
	Signers []Allowed
	// Unsigned allows modules that nobody has signed. Signers is empty then. A rule with neither refuses all.
	Unsigned bool
}

// Allowed is a signer of a rule: a key, or the pattern of an identity with its issuer.
type Allowed struct {
	Key PublicKey
	// Identity is a pattern, such as https://github.com/acme/**@refs/heads/main, in which * and ** have the same meaning as in
	// sources, and neither goes beyond the @ before a ref. Issuer is the whole URL of who vouches for it.
	Identity, Issuer string
}

// String returns the signer for people.
func (a Allowed) String() string {
	if !a.Key.IsZero() {
		return "the key " + a.Key.String()
	}
	return a.Identity + " (issuer " + a.Issuer + ")"
}

// matches reports whether a signer is one that is allowed.
func (a Allowed) matches(s Signer) bool {
	if !a.Key.IsZero() {
		return s.Key == a.Key.String()
	}
	return s.Key == "" && s.Issuer == a.Issuer && s.Issuer != "" && matchesIdentity(a.Identity, s.Identity)
}

// matchedFormerly reports whether a signer was one that is allowed while * stood for any characters.
func (a Allowed) matchedFormerly(s Signer) bool {
	return a.Key.IsZero() && s.Key == "" && s.Issuer == a.Issuer && matchedFormerly(a.Identity, s.Identity)
}

// RefusedError says that a policy refuses a module.
type RefusedError struct {
	Source string
	// Rule is nil if no rule is about the source.
	Rule *Rule
	// Formerly is the rule that was about the source while * stood for any characters, nil if that is Rule: see [Policy.Formerly].
	Formerly *Rule
	// Reasons say why the signatures that there are do not count.
	Reasons []error
}

func (e *RefusedError) Error() string {
	text := e.reason()
	if e.Formerly != nil {
		text += "\n" + e.Formerly.Changed(e.Source)
	}
	return text
}

// Changed says that a rule was about a source while * stood for any characters, and how to write that now.
func (r *Rule) Changed(source string) string {
	return fmt.Sprintf("the rule for %s was about %s before: a * ends at / now, and at . in a host, and ** does not; "+
		"if the rule is to be about it, write what it stands for, such as oci://**.example.com/acme/**, path:**, or ** for all", r.Source, source)
}

func (e *RefusedError) reason() string {
	_, plain := splitSource(e.Source)
	switch {
	case e.Rule == nil && !plain:
		return fmt.Sprintf("%s is not trusted: no rule of the trust policy is about it, because its host or path has a form that servers take for others: "+
			"write the host in ASCII, and the path without . and .. and empty names", e.Source)
	case e.Rule == nil:
		return fmt.Sprintf("%s is not trusted: no rule of the trust policy is about it", e.Source)
	case len(e.Rule.Signers) == 0:
		return fmt.Sprintf("%s is not trusted: the trust policy refuses %s", e.Source, e.Rule.Source)
	}
	var allowed, reasons []string
	for _, a := range e.Rule.Signers {
		allowed = append(allowed, a.String())
	}
	for _, r := range e.Reasons {
		if text := r.Error(); !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	if reasons == nil {
		reasons = []string{"it is not signed"}
	}
	return fmt.Sprintf("%s is not trusted: %s\nthe trust policy wants a signature of: %s", e.Source, strings.Join(reasons, "; "), strings.Join(allowed, ", "))
}

// Unwrap returns [ErrSignature] with the reasons.
func (e *RefusedError) Unwrap() []error { return append([]error{ErrSignature}, e.Reasons...) }

// Rule returns the rule about a source, nil if there is none.
func (p *Policy) Rule(source string) *Rule {
	for i := range p.Rules {
		if matchesSource(p.Rules[i].Source, source) {
			return &p.Rules[i]
		}
	}
	return nil
}

// Formerly returns the rule that was about a source while * stood for any characters, nil if that is the one that
// [Policy.Rule] returns.
func (p *Policy) Formerly(source string) *Rule {
	is := p.Rule(source)
	for i := range p.Rules {
		if r := &p.Rules[i]; r == is {
			return nil
		} else if matchedFormerly(r.Source, source) {
			return r
		}
	}
	return nil
}

// Wants reports whether the policy wants signatures of a source.
func (p *Policy) Wants(source string) bool {
	r := p.Rule(source)
	return r != nil && len(r.Signers) > 0
}

// Check returns who has signed a module, as the policy wants it: the zero value if the policy allows that nobody has. The
// artifacts are equivalent to the caller, as for [Verifier.Verify]. The error is a [*RefusedError].
func (p *Policy) Check(source string, bundles []*Bundle, artifacts ...Artifact) (Signer, error) {
	r := p.Rule(source)
	if r == nil || len(r.Signers) == 0 && !r.Unsigned {
		return Signer{}, &RefusedError{Source: source, Rule: r, Formerly: p.Formerly(source)}
	}
	if r.Unsigned {
		return Signer{}, nil
	}
	v := &Verifier{Root: p.Root}
	for _, a := range r.Signers {
		if !a.Key.IsZero() {
			v.Keys = append(v.Keys, a.Key)
		}
	}
	refused := &RefusedError{Source: source, Rule: r, Formerly: p.Formerly(source)}
	for _, b := range bundles {
		signer, err := v.Verify(b, artifacts...)
		if err == nil {
			err = b.standsFor()
		}
		if err == nil && !slices.ContainsFunc(r.Signers, func(a Allowed) bool { return a.matches(signer) }) {
			err = fmt.Errorf("%w: it is by %s", ErrSignature, signer)
			if i := slices.IndexFunc(r.Signers, func(a Allowed) bool { return a.matchedFormerly(signer) }); i >= 0 {
				err = fmt.Errorf("%w, for whom %s stood before: a * ends at / and @ now, and ** at the @ before a ref: write for example https://github.com/acme/**@refs/heads/main",
					err, r.Signers[i].Identity)
			}
		}
		if err == nil {
			return signer, nil
		}
		refused.Reasons = append(refused.Reasons, err)
	}
	return Signer{}, refused
}

// standing are the predicates by which a signer stands for an artifact: it has signed or built it. Others make other claims about
// it, such as the findings of a scan.
var standing = []string{PredicateSign, PredicateProvenance, "https://slsa.dev/provenance/v0.2"}

func (b *Bundle) standsFor() error {
	if b.statement == nil || slices.Contains(standing, b.statement.PredicateType) {
		return nil
	}
	return fmt.Errorf("%w: it says something about the module (%s), and does not stand for it", ErrSignature, b.statement.PredicateType)
}

// Valid returns an error unless the policy has a meaning.
func (p *Policy) Valid() error {
	for _, r := range p.Rules {
		switch {
		case r.Source == "":
			return errors.New("a rule has no source")
		case r.Unsigned && len(r.Signers) > 0:
			return fmt.Errorf("the rule for %s has signers, and allows modules that nobody signed", r.Source)
		}
		for _, a := range r.Signers {
			identity := a.Identity != "" || a.Issuer != ""
			switch {
			case a.Key.IsZero() != identity:
				return fmt.Errorf("a signer of %s has a key or an identity, and one of them only", r.Source)
			case identity && (a.Identity == "" || a.Issuer == ""):
				return fmt.Errorf("a signer of %s has an identity and its issuer", r.Source)
			case identity && p.Root == nil:
				return fmt.Errorf("the identity %s cannot be verified without a trusted root", a.Identity)
			}
		}
	}
	return nil
}
