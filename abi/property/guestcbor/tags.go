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
	switch tag {
	case tagUnknown:
		*dst = property.Unknown
		return d.null() || d.fail(start, property.FaultTagContents)
	case tagSecret:
		return d.secret(dst, start)
	case tagOutput:
		return d.output(dst, start)
	case tagAsset:
		return d.asset(dst, start)
	case tagArchive:
		return d.archive(dst, start)
	}
	return d.reference(dst, start)
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

// contentHead reads the head of a data item of a major type inside the tag at start.
func (d *decoder) contentHead(start int, want byte) (n uint64, ok bool) {
	major, n, ok := d.head()
	if ok && major != want {
		ok = d.fail(start, property.FaultTagContents)
	}
	return n, ok
}

// triple reads the head of the array of three in most tags.
func (d *decoder) triple(start int) bool {
	n, ok := d.contentHead(start, majorArray)
	if ok && n != 3 {
		return d.fail(start, property.FaultTagContents)
	}
	return ok && d.announce(start, 3, 1)
}

// contentText reads a text inside the tag at start.
func (d *decoder) contentText(dst *string, start int) (ok bool) {
	*dst, ok = d.text()
	if !ok && d.fault == property.FaultType {
		d.fail(start, property.FaultTagContents)
	}
	return ok
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

func (d *decoder) output(dst *property.Value, start int) bool {
	var o property.Output
	if !d.triple(start) || !d.plainValue(&o.Value, start) {
		return false
	}
	if d.pos < len(d.in) && d.in[d.pos]&^1 != simpleFalse {
		return d.fail(start, property.FaultTagContents)
	}
	var secret property.Value
	if !d.value(&secret) {
		return false
	}
	o.Secret, _ = secret.AsBool()
	n, ok := d.contentHead(start, majorArray)
	if !ok || !d.announce(start, n, 1) {
		return false
	}
	o.Dependencies = make([]string, n)
	for i := range o.Dependencies {
		if !d.contentText(&o.Dependencies[i], start) {
			return false
		}
		if i > 0 && o.Dependencies[i-1] >= o.Dependencies[i] {
			return d.fail(start, property.FaultTagContents)
		}
	}
	*dst = property.OutputOf(o)
	return true
}

// blob reads an asset or archive up to the contents.
func (d *decoder) blob(start int) (hash string, source property.AssetSource, ok bool) {
	if !d.triple(start) || !d.contentText(&hash, start) {
		return "", 0, false
	}
	n, ok := d.contentHead(start, majorUint)
	if ok && n > uint64(property.SourceAssets) {
		ok = d.fail(start, property.FaultTagContents)
	}
	return hash, property.AssetSource(n), ok
}

func (d *decoder) asset(dst *property.Value, start int) bool {
	hash, source, ok := d.blob(start)
	var contents string
	if !ok || !d.contentText(&contents, start) {
		return false
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
		return d.fail(start, property.FaultTagContents)
	}
	*dst = property.AssetOf(a)
	return true
}

func (d *decoder) archive(dst *property.Value, start int) bool {
	hash, source, ok := d.blob(start)
	if !ok {
		return false
	}
	a := property.Archive{Hash: hash, Source: source}
	if source == property.SourceAssets {
		ok = d.members(&a.Assets, start)
		*dst = property.ArchiveOf(a)
		return ok
	}
	var contents string
	if !d.contentText(&contents, start) {
		return false
	}
	switch source {
	case property.SourcePath:
		a.Path = contents
	case property.SourceURI:
		a.URI = contents
	}
	if own, ok := a.Contents(); !ok || own != contents {
		return d.fail(start, property.FaultTagContents)
	}
	*dst = property.ArchiveOf(a)
	return true
}

// members reads the assets and archives of the literal archive at start.
func (d *decoder) members(dst *property.Map, start int) bool {
	n, ok := d.contentHead(start, majorMap)
	if !ok {
		return false
	}
	entries, ok := d.entries(start, n)
	if !ok {
		return false
	}
	for i := range entries {
		if !isMember(&entries[i].Value) {
			return d.fail(start, property.FaultTagContents)
		}
	}
	*dst = property.SortedMap(entries)
	return true
}

func (d *decoder) reference(dst *property.Value, start int) bool {
	var r property.ResourceReference
	if !d.triple(start) || !d.contentText(&r.URN, start) {
		return false
	}
	if r.HasID = !d.null(); r.HasID && !d.contentText(&r.ID, start) {
		return false
	}
	ok := d.contentText(&r.PackageVersion, start)
	*dst = property.Reference(r)
	return ok
}
