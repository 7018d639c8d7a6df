package guestcbor

import "github.com/husk-dev/husk/abi/property"

// tagged reads the contents of the tag whose head is at start.
func (d *decoder) tagged(dst *property.Value, start int, tag uint64) bool {
	if tag < tagUnknown || tag > tagReference {
		return d.fail(start, property.FaultUnknownTag)
	}
	if !d.announce(start, 1, 1) {
		return false
	}
	ok := false
	switch tag {
	case tagUnknown:
		*dst = property.Unknown
		return d.null() || d.fail(start, property.FaultTagContents)
	case tagSecret:
		return d.secret(dst, start)
	case tagOutput:
		*dst, ok = d.output(start)
	case tagAsset:
		*dst, ok = d.asset(start)
	case tagArchive:
		*dst, ok = d.archive(start)
	case tagReference:
		*dst, ok = d.reference(start)
	}
	return ok
}

// null reads null, and reports false for any other data item.
func (d *decoder) null() bool {
	if d.pos == len(d.in) || d.in[d.pos] != simpleNull {
		return false
	}
	d.pos++
	d.unread--
	return true
}

// triple reads the head of the array of three in most tags.
func (d *decoder) triple(start int) bool {
	major, n, ok := d.head()
	if !ok {
		return false
	}
	if major != majorArray || n != 3 {
		return d.fail(start, property.FaultTagContents)
	}
	return d.announce(start, 3, 1)
}

// contentText reads a text inside the tag at start.
func (d *decoder) contentText(start int) (string, bool) {
	s, ok := d.text()
	if !ok && d.fault == property.FaultType {
		d.fail(start, property.FaultTagContents)
	}
	return s, ok
}

// plainValue reads the value inside of a secret or output, which may be neither.
func (d *decoder) plainValue(dst *property.Value, start int) bool {
	if !d.enter(start) || !d.value(dst) {
		return false
	}
	if k := dst.Kind(); k == property.KindSecret || k == property.KindOutput {
		return d.fail(start, property.FaultTagContents)
	}
	d.depth++
	return true
}

func (d *decoder) secret(dst *property.Value, start int) bool {
	var inner property.Value
	ok := d.plainValue(&inner, start)
	*dst = property.Secret(inner)
	return ok
}

func (d *decoder) output(start int) (property.Value, bool) {
	var o property.Output
	if !d.triple(start) || !d.plainValue(&o.Value, start) {
		return property.Value{}, false
	}
	if d.pos < len(d.in) && d.in[d.pos]&^1 != simpleFalse {
		return property.Value{}, d.fail(start, property.FaultTagContents)
	}
	var secret property.Value
	if !d.value(&secret) {
		return property.Value{}, false
	}
	o.Secret, _ = secret.AsBool()
	major, n, ok := d.head()
	if !ok {
		return property.Value{}, false
	}
	if major != majorArray {
		return property.Value{}, d.fail(start, property.FaultTagContents)
	}
	if !d.announce(start, n, 1) {
		return property.Value{}, false
	}
	o.Dependencies = make([]string, n)
	for i := range o.Dependencies {
		if o.Dependencies[i], ok = d.contentText(start); !ok {
			return property.Value{}, false
		}
		if i > 0 && o.Dependencies[i-1] >= o.Dependencies[i] {
			return property.Value{}, d.fail(start, property.FaultTagContents)
		}
	}
	return property.OutputOf(o), true
}

// blob reads an asset or archive up to the contents.
func (d *decoder) blob(start int) (hash string, source property.AssetSource, ok bool) {
	if !d.triple(start) {
		return "", 0, false
	}
	if hash, ok = d.contentText(start); !ok {
		return "", 0, false
	}
	major, n, ok := d.head()
	if !ok {
		return "", 0, false
	}
	if major != majorUint || n > uint64(property.SourceAssets) {
		return "", 0, d.fail(start, property.FaultTagContents)
	}
	return hash, property.AssetSource(n), true
}

func (d *decoder) asset(start int) (property.Value, bool) {
	hash, source, ok := d.blob(start)
	if !ok {
		return property.Value{}, false
	}
	contents, ok := d.contentText(start)
	if !ok {
		return property.Value{}, false
	}
	a := property.Asset{Hash: hash, Source: source}
	switch source {
	case property.SourceText:
		a.Text = contents
	case property.SourcePath:
		a.Path = contents
	case property.SourceURI:
		a.URI = contents
	}
	if own, ok := a.Contents(); !ok || own != contents {
		return property.Value{}, d.fail(start, property.FaultTagContents)
	}
	return property.AssetOf(a), true
}

func (d *decoder) archive(start int) (property.Value, bool) {
	hash, source, ok := d.blob(start)
	if !ok {
		return property.Value{}, false
	}
	a := property.Archive{Hash: hash, Source: source}
	if source == property.SourceAssets {
		a.Assets, ok = d.members(start)
		return property.ArchiveOf(a), ok
	}
	contents, ok := d.contentText(start)
	if !ok {
		return property.Value{}, false
	}
	switch source {
	case property.SourcePath:
		a.Path = contents
	case property.SourceURI:
		a.URI = contents
	}
	if own, ok := a.Contents(); !ok || own != contents {
		return property.Value{}, d.fail(start, property.FaultTagContents)
	}
	return property.ArchiveOf(a), true
}

// members reads the assets and archives of the literal archive at start.
func (d *decoder) members(start int) (property.Map, bool) {
	major, n, ok := d.head()
	if !ok {
		return property.Map{}, false
	}
	if major != majorMap {
		return property.Map{}, d.fail(start, property.FaultTagContents)
	}
	entries, ok := d.entries(start, n)
	if !ok {
		return property.Map{}, false
	}
	for i := range entries {
		if !isMember(&entries[i].Value) {
			return property.Map{}, d.fail(start, property.FaultTagContents)
		}
	}
	return property.SortedMap(entries), true
}

func (d *decoder) reference(start int) (property.Value, bool) {
	var r property.ResourceReference
	if !d.triple(start) {
		return property.Value{}, false
	}
	var ok bool
	if r.URN, ok = d.contentText(start); !ok {
		return property.Value{}, false
	}
	if !d.null() {
		r.HasID = true
		if r.ID, ok = d.contentText(start); !ok {
			return property.Value{}, false
		}
	}
	if r.PackageVersion, ok = d.contentText(start); !ok {
		return property.Value{}, false
	}
	return property.Reference(r), true
}
