package state

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
)

// An EncodeError reports a resource that has no JSON form.
type EncodeError struct {
	// URN is the resource's.
	URN string
	// Path leads to the value within the resource: its first segment is the field.
	Path   property.Path
	Reason string
	// Cause is the error beneath, if any: a secret that cannot be encrypted.
	Cause error
}

func (e *EncodeError) Error() string {
	msg := "cannot store " + e.URN
	if len(e.Path) > 0 {
		msg += " (" + e.Path.String() + ")"
	}
	msg += ": " + e.Reason
	if e.Cause != nil {
		msg += ": " + e.Cause.Error()
	}
	return msg
}

func (e *EncodeError) Unwrap() error { return e.Cause }

type encoder struct {
	builder
	ctx   context.Context
	codec *Codec
	// showSecrets writes secrets as plaintext.
	showSecrets bool
	// sealed says that a ciphertext was written.
	sealed bool
	// byteStrings says that a string that is not UTF-8 was written.
	byteStrings bool
	urn         string
	path        property.Path
	// entries has the sorted entries of the maps that are being written, outermost first.
	entries []property.Entry
	// inSecret counts the secrets around the value, which are encrypted as a whole.
	inSecret int
}

func (e *encoder) fail(reason string, cause error) {
	if e.err == nil {
		e.err = &EncodeError{URN: e.urn, Path: slices.Clone(e.path), Reason: reason, Cause: cause}
	}
}

func (e *encoder) push(s property.Segment) { e.path = append(e.path, s) }
func (e *encoder) pop()                    { e.path = e.path[:len(e.path)-1] }

func (e *encoder) value(v property.Value) {
	if e.err != nil {
		return
	}
	if len(e.path)+e.inSecret > maxDepth {
		e.fail(fmt.Sprintf("the value is nested more than %d levels deep", maxDepth), nil)
		return
	}
	switch v.Kind() {
	case property.KindNull:
		e.null()
	case property.KindBool:
		b, _ := v.AsBool()
		e.bool(b)
	case property.KindNumber:
		f, _ := v.AsNumber()
		e.anyNumber(f)
	case property.KindString:
		s, _ := v.AsString()
		e.anyString(s)
	case property.KindArray:
		elements, _ := v.AsArray()
		e.open('[')
		for i, element := range elements {
			e.push(property.Index(i))
			e.value(element)
			e.pop()
		}
		e.close(']')
	case property.KindObject:
		m, _ := v.AsObject()
		if m.Has(signatureKey) {
			e.fail("the object has the property "+signatureKey+", which marks special values", nil)
			return
		}
		e.object(m)
	case property.KindAsset:
		a, _ := v.AsAsset()
		e.asset(a)
	case property.KindArchive:
		a, _ := v.AsArchive()
		e.archive(a)
	case property.KindResourceReference:
		r, _ := v.AsReference()
		e.reference(r)
	case property.KindUnknown:
		e.string(unknownSentinel)
	case property.KindSecret:
		inner, _ := v.AsSecret()
		e.secret(inner)
	case property.KindOutput:
		// A state knows dependencies by input, not by value.
		o, _ := v.AsOutput()
		if o.Secret {
			e.value(property.Secret(o.Value))
		} else {
			e.value(o.Value)
		}
	}
}

// object appends a map, its keys in alphabetical order.
func (e *encoder) object(m property.Map) {
	start := len(e.entries)
	e.entries = append(e.entries, m.Entries()...)
	sorted := e.entries[start:]
	slices.SortStableFunc(sorted, func(a, b property.Entry) int { return cmp.Compare(a.Key, b.Key) })
	e.open('{')
	for _, entry := range sorted {
		e.push(property.Key(entry.Key))
		if !utf8.ValidString(entry.Key) {
			e.fail("a property's name is not UTF-8", nil)
		}
		e.name(entry.Key)
		e.value(entry.Value)
		e.pop()
	}
	e.close('}')
	e.entries = e.entries[:start]
}

func (e *encoder) special(signature string) {
	e.open('{')
	e.name(signatureKey)
	e.string(signature)
}

func (e *encoder) anyNumber(f float64) {
	if !math.IsNaN(f) && !math.IsInf(f, 0) {
		e.number(f)
		return
	}
	e.special(numberSignature)
	e.name("value")
	e.string(hex.EncodeToString(binary.BigEndian.AppendUint64(nil, math.Float64bits(f))))
	e.close('}')
}

func (e *encoder) anyString(s string) {
	if utf8.ValidString(s) {
		e.string(s)
		return
	}
	e.byteStrings = true
	e.special(byteStringSignature)
	e.name("value")
	e.string(base64.StdEncoding.EncodeToString([]byte(s)))
	e.close('}')
}

func (e *encoder) asset(a property.Asset) {
	e.special(assetSignature)
	e.optionalString("hash", a.Hash)
	if a.Source == property.SourceText && (a.Text != "" || a.Hash != "" && a.Hash != emptyTextHash) {
		e.name("text")
		e.string(a.Text)
	}
	e.place(a.Source, a.Path, a.URI)
	e.close('}')
}

// place appends where the contents of an asset or archive are.
func (e *encoder) place(source property.AssetSource, path, uri string) {
	switch source {
	case property.SourcePath:
		e.name("path")
		e.string(path)
	case property.SourceURI:
		e.name("uri")
		e.string(uri)
	}
}

func (e *encoder) archive(a property.Archive) {
	e.special(archiveSignature)
	if a.Source == property.SourceAssets {
		e.name("assets")
		e.object(a.Assets)
	}
	e.optionalString("hash", a.Hash)
	e.place(a.Source, a.Path, a.URI)
	e.close('}')
}

func (e *encoder) reference(r property.ResourceReference) {
	e.special(referenceSignature)
	if r.HasID {
		e.name("id")
		e.string(r.ID)
	}
	e.name("packageVersion")
	e.string(r.PackageVersion)
	e.name("urn")
	e.string(r.URN)
	e.close('}')
}

// secret appends a secret, encrypted unless secrets are shown or it is in another secret.
func (e *encoder) secret(inner property.Value) {
	plaintext := e.secretText(inner)
	e.special(secretSignature)
	if e.showSecrets || e.inSecret > 0 {
		e.name("plaintext")
		e.string(plaintext)
	} else if e.err == nil {
		ciphertext, err := e.codec.cache.Encrypt(e.ctx, e.urn+"\n"+e.path.String(), plaintext)
		if err != nil {
			e.fail("encrypting a secret", err)
		}
		e.sealed = true
		e.name("ciphertext")
		e.string(ciphertext)
	}
	e.close('}')
}

func (e *encoder) secretText(inner property.Value) string {
	outer := e.builder
	e.builder = builder{err: outer.err}
	e.inSecret++
	e.value(inner)
	e.inSecret--
	text := string(e.buf)
	outer.err = e.err
	e.builder = outer
	return text
}
