package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// rootTypes are the media types of trusted roots.
var rootTypes = lazyregexp.Regexp{Syntax: `^application/vnd\.dev\.sigstore\.trustedroot(\+json;version=0\.1|\.v0\.[12]\+json)$`}

// Root has the authorities and logs that a user trusts to say who somebody is, and when something was signed: what
// sigstore calls a trusted root.
type Root struct {
	authorities []authority
	stampers    []authority
	logs        []transparencyLog
	// certificateLogs are the logs of certificates.
	certificateLogs []transparencyLog
}

// period is a time of validity. A zero time means no bound.
type period struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

func (p period) contains(t time.Time) bool {
	return !t.Before(p.Start) && (p.End.IsZero() || !t.After(p.End))
}

// authority issues certificates to identities, or signs times.
type authority struct {
	uri  string
	root *x509.Certificate
	// others are the certificates between root and leaf, and the certificate of a stamper itself.
	others []*x509.Certificate
	valid  period
}

type transparencyLog struct {
	id []byte
	// origin is the host of the log, which its newer checkpoints begin with.
	origin string
	key    PublicKey
	valid  period
}

type rootDoc struct {
	MediaType       string         `json:"mediaType"`
	Logs            []rootLog      `json:"tlogs"`
	CertificateLogs []rootLog      `json:"ctlogs"`
	Authorities     []rootIdentity `json:"certificateAuthorities"`
	Stampers        []rootIdentity `json:"timestampAuthorities"`
}

type rootLog struct {
	BaseURL   string `json:"baseUrl"`
	PublicKey struct {
		Raw   []byte `json:"rawBytes"`
		Valid period `json:"validFor"`
	} `json:"publicKey"`
	LogID struct {
		KeyID []byte `json:"keyId"`
	} `json:"logId"`
}

type rootIdentity struct {
	URI   string `json:"uri"`
	Chain struct {
		Certificates []rawBytes `json:"certificates"`
	} `json:"certChain"`
	Valid period `json:"validFor"`
}

// ParseRoot reads trusted roots: one in JSON, or several, one behind the other.
func ParseRoot(raw []byte) (*Root, error) {
	if len(raw) > rootLimit {
		return nil, fmt.Errorf("the trusted root has %d bytes, and the limit is %d", len(raw), rootLimit)
	}
	if err := intake.CheckJSON(raw, new(rootDoc), allowance); err != nil {
		return nil, fmt.Errorf("the trusted root cannot be read: %w", err)
	}
	all := &Root{}
	d := json.NewDecoder(bytes.NewReader(raw))
	for read := false; ; read = true {
		var doc rootDoc
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) && read {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the trusted root cannot be read: %w", err)
		}
		if !rootTypes.Get().MatchString(doc.MediaType) {
			return nil, fmt.Errorf("the trusted root has the type %q, which is not a sigstore trusted root of a version that is known", doc.MediaType)
		}
		if err := all.add(doc); err != nil {
			return nil, err
		}
	}
}

func (r *Root) add(doc rootDoc) error {
	for _, list := range []struct {
		from []rootLog
		to   *[]transparencyLog
	}{{doc.Logs, &r.logs}, {doc.CertificateLogs, &r.certificateLogs}} {
		for _, l := range list.from {
			parsed, err := x509.ParsePKIXPublicKey(l.PublicKey.Raw)
			if err != nil {
				return fmt.Errorf("the key of the log %s cannot be read: %w", l.BaseURL, err)
			}
			key, err := NewPublicKey(parsed)
			if err != nil {
				return fmt.Errorf("the key of the log %s: %w", l.BaseURL, err)
			}
			if len(l.LogID.KeyID) == 0 {
				return fmt.Errorf("the log %s has no ID", l.BaseURL)
			}
			log := transparencyLog{id: l.LogID.KeyID, key: key, valid: l.PublicKey.Valid}
			if u, err := url.Parse(l.BaseURL); err == nil {
				log.origin = u.Hostname()
			}
			*list.to = append(*list.to, log)
		}
	}
	for _, list := range []struct {
		from []rootIdentity
		to   *[]authority
	}{{doc.Authorities, &r.authorities}, {doc.Stampers, &r.stampers}} {
		for _, a := range list.from {
			parsed := authority{uri: a.URI, valid: a.Valid}
			for _, c := range a.Chain.Certificates {
				cert, err := x509.ParseCertificate(c.Raw)
				if err != nil {
					return fmt.Errorf("a certificate of the authority %s cannot be read: %w", a.URI, err)
				}
				parsed.others = append(parsed.others, cert)
			}
			if len(parsed.others) == 0 {
				return fmt.Errorf("the authority %s has no certificates", a.URI)
			}
			last := len(parsed.others) - 1
			parsed.root, parsed.others = parsed.others[last], parsed.others[:last]
			*list.to = append(*list.to, parsed)
		}
	}
	return nil
}

// logOf returns the log with an ID, nil if it is not known.
func logOf(logs []transparencyLog, id []byte) *transparencyLog {
	for i := range logs {
		if bytes.Equal(logs[i].id, id) {
			return &logs[i]
		}
	}
	return nil
}

// chain returns the certificates from a leaf to the root of an authority, at a time.
func (r *Root) chain(leaf *x509.Certificate, at time.Time) ([]*x509.Certificate, error) {
	var failed error
	for _, a := range r.authorities {
		if !a.valid.contains(at) {
			continue
		}
		options := x509.VerifyOptions{
			Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		}
		options.Roots.AddCert(a.root)
		for _, c := range a.others {
			options.Intermediates.AddCert(c)
		}
		copied := *leaf
		copied.UnhandledCriticalExtensions = withoutAlternativeName(leaf)
		chains, err := copied.Verify(options)
		if err == nil {
			return chains[0], nil
		}
		failed = err
	}
	if failed == nil {
		failed = errors.New("no authority of the trusted root was valid then")
	}
	return nil, fmt.Errorf("%w: the certificate of the signer is not one of the trusted root's at %s: %v", ErrSignature, at.UTC().Format(time.RFC3339), failed)
}
