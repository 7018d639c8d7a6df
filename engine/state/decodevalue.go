package state

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/secrets"
)

type decoder struct {
	*reader
	ctx   context.Context
	codec *Codec
	path  property.Path
	// entries has those read so far of the maps around the value, outermost first.
	entries []property.Entry
	// inSecret counts the secrets around the value.
	inSecret int
	// sealed and plain say that a secret was read as ciphertext, as plaintext.
	sealed, plain bool
	// byteStrings says that a string that may not be UTF-8 was read.
	byteStrings bool
	// ciphertexts are those read, for the cache.
	ciphertexts []readSecret
	// respelt is the member that is not kept as it was read, nil for none.
	respelt *respelt
}

type readSecret struct {
	path, plaintext, ciphertext string
}

func (d *decoder) push(s property.Segment) { d.path = append(d.path, s) }
func (d *decoder) pop()                    { d.path = d.path[:len(d.path)-1] }

func (d *decoder) value() (property.Value, error) {
	if len(d.path)+d.inSecret > maxDepth {
		return property.Null, d.failf("the value is nested more than %d levels deep", maxDepth)
	}
	switch d.kind() {
	case jsontext.KindNull:
		return property.Null, d.skip()
	case jsontext.KindTrue, jsontext.KindFalse:
		b, err := d.optionalBool()
		return property.Bool(b), err
	case jsontext.KindNumber:
		f, err := d.number()
		return property.Number(f), err
	case jsontext.KindString:
		s, err := d.string()
		if s == unknownSentinel {
			return property.Unknown, err
		}
		return property.String(s), err
	case jsontext.KindBeginArray:
		elements := []property.Value{}
		err := d.array(func(i int) error {
			d.push(property.Index(i))
			defer d.pop()
			v, err := d.value()
			elements = append(elements, v)
			return err
		})
		return property.Array(elements...), err
	}
	m, signature, err := d.members()
	if err != nil || signature == "" {
		return property.Object(m), err
	}
	return d.special(signature, m)
}

// members reads an object's members, but for its signature, empty if it has none.
func (d *decoder) members() (m property.Map, signature string, err error) {
	start := len(d.entries)
	err = d.object(func(name string) (err error) {
		if name == signatureKey {
			if signature, err = d.string(); signature == "" && err == nil {
				err = d.fail("the signature of a special value is empty")
			}
			return err
		}
		d.push(property.Key(name))
		defer d.pop()
		v, err := d.value()
		d.entries = append(d.entries, property.Entry{Key: name, Value: v})
		return err
	})
	m = property.NewMap(append([]property.Entry(nil), d.entries[start:]...)...)
	d.entries = d.entries[:start]
	return m, signature, err
}

func (d *decoder) special(signature string, m property.Map) (property.Value, error) {
	switch signature {
	case secretSignature:
		return d.secret(m)
	case assetSignature:
		return d.contents(m, "asset")
	case archiveSignature:
		return d.contents(m, "archive")
	case referenceSignature:
		return d.reference(m)
	case byteStringSignature:
		d.byteStrings = true
		text, _, err := d.text(m, "value")
		if err != nil {
			return property.Null, err
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return property.Null, d.fail("malformed byte string: its value is not base64")
		}
		return property.String(string(b)), nil
	case numberSignature:
		text, _, err := d.text(m, "value")
		if err != nil {
			return property.Null, err
		}
		b, err := hex.DecodeString(text)
		if err != nil || len(b) != 8 {
			return property.Null, d.fail("malformed number: its value is not 16 hex digits")
		}
		return property.Number(math.Float64frombits(binary.BigEndian.Uint64(b))), nil
	}
	return property.Null, d.failf("unrecognized signature %q of a special value: the state may be of a newer version", signature)
}

// text returns the string member of a special value, and whether there is one.
func (d *decoder) text(m property.Map, name string) (string, bool, error) {
	v, ok := m.Lookup(name)
	if !ok {
		return "", false, nil
	}
	if v.IsUnknown() {
		return unknownSentinel, true, nil // a text that looks like the sentinel
	}
	s, isString := v.AsString()
	if !isString {
		return "", false, d.failf("malformed special value: its %s is not a string", name)
	}
	return s, true, nil
}

// contents reads an asset or an archive, which has a hash and at most one of the others.
func (d *decoder) contents(m property.Map, what string) (property.Value, error) {
	text := make(map[string]string)
	for _, name := range []string{"hash", "text", "path", "uri"} {
		s, ok, err := d.text(m, name)
		if err != nil {
			return property.Null, err
		}
		if ok {
			text[name] = s
		}
	}
	kind := property.SourceNone
	for name, source := range map[string]property.AssetSource{
		"text": property.SourceText, "path": property.SourcePath, "uri": property.SourceURI, "assets": property.SourceAssets,
	} {
		if _, ok := text[name]; !ok && (name != "assets" || !m.Has(name)) {
			continue
		}
		if kind != property.SourceNone {
			return property.Null, d.failf("malformed %s: it has more than one of text, path, uri, and assets", what)
		}
		kind = source
	}
	if what == "archive" {
		return d.archive(m, property.Archive{Hash: text["hash"], Source: kind, Path: text["path"], URI: text["uri"]})
	}
	a := property.Asset{Hash: text["hash"], Source: kind, Text: text["text"], Path: text["path"], URI: text["uri"]}
	switch {
	case kind == property.SourceAssets:
		return property.Null, d.fail("malformed asset: it has assets")
	case kind == property.SourceNone && (a.Hash == "" || a.Hash == emptyTextHash):
		a.Source = property.SourceText
	}
	return property.AssetOf(a), nil
}

func (d *decoder) archive(m property.Map, a property.Archive) (property.Value, error) {
	switch a.Source {
	case property.SourceText:
		return property.Null, d.fail("malformed archive: it has a text")
	case property.SourceAssets:
		assets, ok := m.Get("assets").AsObject()
		if !ok {
			return property.Null, d.fail("malformed archive: its assets are not an object")
		}
		for name, v := range assets.All() {
			if v.Kind() != property.KindAsset && v.Kind() != property.KindArchive {
				return property.Null, d.failf("malformed archive: its member %q is neither an asset nor an archive", name)
			}
		}
		a.Assets = assets
		// Pulumi writes no assets for an archive that was elided, as for one that has none.
		if assets.Len() == 0 && a.Hash != "" && a.Hash != emptyArchiveHash {
			a.Source = property.SourceNone
		}
	case property.SourceNone:
		if a.Hash == "" || a.Hash == emptyArchiveHash {
			a.Source = property.SourceAssets
		}
	}
	return property.ArchiveOf(a), nil
}

func (d *decoder) reference(m property.Map) (property.Value, error) {
	var r property.ResourceReference
	var err error
	if r.URN, _, err = d.text(m, "urn"); err != nil {
		return property.Null, err
	}
	if r.URN == "" {
		return property.Null, d.fail("malformed resource reference: it has no urn")
	}
	if r.PackageVersion, _, err = d.text(m, "packageVersion"); err != nil {
		return property.Null, err
	}
	// An old version of Pulumi wrote the ID as {"V": id}: null for a component, a
	// string, or an object for an ID that is not known.
	if old, ok := m.Get("id").AsObject(); ok {
		switch v := old.Get("V"); v.Kind() {
		case property.KindNull:
		case property.KindString:
			r.ID, r.HasID = v.AsString()
		case property.KindObject:
			r.HasID = true
		default:
			return property.Null, d.fail("malformed resource reference: its id is not a string")
		}
		return property.Reference(r), nil
	}
	r.ID, r.HasID, err = d.text(m, "id")
	if r.ID == unknownSentinel {
		r.ID = ""
	}
	return property.Reference(r), err
}

// secret decrypts a secret and reads what it holds. Its errors do not show that.
func (d *decoder) secret(m property.Map) (property.Value, error) {
	ciphertext, isSealed, err := d.text(m, "ciphertext")
	if err != nil {
		return property.Null, err
	}
	plaintext, isPlain, err := d.text(m, "plaintext")
	if err != nil {
		return property.Null, err
	}
	if isSealed == isPlain {
		return property.Null, d.fail("malformed secret: it must have one of ciphertext and plaintext")
	}
	switch {
	case isSealed && d.inSecret > 0:
		// Older versions of Pulumi name the plaintext so inside other secrets.
		plaintext = ciphertext
	case isSealed:
		d.sealed = true
		if d.codec.sealed {
			return property.Secret(property.Unknown), nil
		}
		if plaintext, err = d.codec.cache.Decrypt(d.ctx, ciphertext); errors.Is(err, secrets.ErrWithheld) {
			return property.Secret(property.Unknown), nil
		} else if err != nil {
			return property.Null, d.wrap("a secret cannot be decrypted", err)
		}
	case d.inSecret == 0:
		d.plain = true
	}
	inner, err := d.secretValue(plaintext)
	if err != nil {
		return property.Null, err
	}
	if isSealed && d.inSecret == 0 {
		e := encoder{ctx: d.ctx, codec: d.codec}
		if text := e.secretText(inner); e.err == nil {
			d.ciphertexts = append(d.ciphertexts, readSecret{path: d.path.String(), plaintext: text, ciphertext: ciphertext})
		}
	}
	return property.Secret(inner), nil
}

func (d *decoder) secretValue(plaintext string) (property.Value, error) {
	inner := decoder{
		reader:   newReader([]byte(plaintext), "", 0),
		ctx:      d.ctx,
		codec:    d.codec,
		path:     d.path,
		inSecret: d.inSecret + 1,
	}
	v, err := inner.value()
	if err == nil {
		err = inner.end()
	}
	d.byteStrings = d.byteStrings || inner.byteStrings
	if err != nil {
		reason := "what the secret holds is not a value of a state"
		if d.inSecret > 0 {
			reason = "a secret within a secret does not hold a value of a state"
		}
		return property.Null, d.fail(reason)
	}
	return v, nil
}
