package property

import (
	"iter"
	"slices"
)

// Equal reports whether v and w are the same value, secrets and outputs included. It compares as
// state is compared, not encodings:
//
//   - NaN equals NaN, and 0 equals -0.
//   - A null property of an object equals an absent one.
//   - Assets, and archives, that both have a hash are equal if the hashes are.
//   - The package version of a resource reference does not count.
//   - Unknown equals Unknown, though the values may turn out different.
func (v Value) Equal(w Value) bool { return comparison{}.equal(v, w) }

// EqualContents is Equal that looks through secrets and outputs.
func (v Value) EqualContents(w Value) bool { return comparison{contents: true}.equal(v, w) }

// Equal reports whether m and n have equal properties, see Value.Equal.
func (m Map) Equal(n Map) bool { return comparison{}.equalMaps(m, n) }

// EqualContents is Equal that looks through secrets and outputs.
func (m Map) EqualContents(n Map) bool { return comparison{contents: true}.equalMaps(m, n) }

// comparison compares values with their secrets and outputs, or their contents alone.
type comparison struct {
	contents bool
}

func (c comparison) equal(v, w Value) bool {
	if c.contents {
		v, w = v.Plain(), w.Plain()
	}
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindBool:
		return v.num == w.num
	case KindNumber:
		return v.num == w.num || v.num != v.num && w.num != w.num
	case KindString:
		return v.str == w.str
	case KindArray:
		return c.equalArrays(v.ref.(*array), w.ref.(*array))
	case KindObject:
		return c.equalMaps(v.object(), w.object())
	case KindAsset:
		return equalAssets(v.ref.(*Asset), w.ref.(*Asset))
	case KindArchive:
		return c.equalArchives(v.ref.(*Archive), w.ref.(*Archive))
	case KindResourceReference:
		return equalReferences(v.ref.(*ResourceReference), w.ref.(*ResourceReference))
	case KindSecret:
		return c.equal(*v.ref.(*Value), *w.ref.(*Value))
	case KindOutput:
		a, b := v.ref.(*Output), w.ref.(*Output)
		return sameOrigin(a, b) && c.equal(a.Value, b.Value)
	default: // null, unknown
		return true
	}
}

func (c comparison) equalArrays(x, y *array) bool {
	if x == y || x != nil && y != nil && x.encoded.same(y.encoded) {
		return true
	}
	a, b := x.all(), y.all()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !c.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (c comparison) equalMaps(m, n Map) bool {
	if m.same(n) {
		return true
	}
	a, b := m.Entries(), n.Entries()
	for len(a) > 0 && len(b) > 0 && a[0].Key == b[0].Key { // most often all keys are the same
		if !c.equal(a[0].Value, b[0].Value) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	for _, p := range pairs(SortedMap(a), SortedMap(b)) {
		if !c.equal(p.v, p.w) {
			return false
		}
	}
	return true
}

// pair holds the values of a key in two maps. A missing one is null.
type pair struct{ v, w Value }

// pairs iterates over the keys of m and n in the order of deterministic CBOR.
func pairs(m, n Map) iter.Seq2[string, pair] {
	return func(yield func(string, pair) bool) {
		a, b := m.Entries(), n.Entries()
		for len(a) > 0 || len(b) > 0 {
			var order int
			switch {
			case len(b) == 0:
				order = -1
			case len(a) == 0:
				order = 1
			default:
				order = CompareKeys(a[0].Key, b[0].Key)
			}
			var key string
			var both pair
			if order <= 0 {
				key, both.v = a[0].Key, a[0].Value
				a = a[1:]
			}
			if order >= 0 {
				key, both.w = b[0].Key, b[0].Value
				b = b[1:]
			}
			if !yield(key, both) {
				return
			}
		}
	}
}

// equalHashes reports whether two assets or archives with a hash have the same one. known is false if
// one of them has none.
func equalHashes(a, b string) (equal, known bool) { return a == b, a != "" && b != "" }

func equalAssets(a, b *Asset) bool {
	equal, known := equalHashes(a.Hash, b.Hash)
	if known || !equal || a.Source != b.Source {
		return known && equal
	}
	x, _ := a.Contents()
	y, _ := b.Contents()
	return x == y
}

func (c comparison) equalArchives(a, b *Archive) bool {
	equal, known := equalHashes(a.Hash, b.Hash)
	if known || !equal || a.Source != b.Source {
		return known && equal
	}
	x, _ := a.Contents()
	y, _ := b.Contents()
	return x == y && (a.Source != SourceAssets || c.equalMaps(a.Assets, b.Assets))
}

func equalReferences(a, b *ResourceReference) bool {
	return a.URN == b.URN && a.HasID == b.HasID && (!a.HasID || a.ID == b.ID)
}

// sameOrigin reports whether outputs differ at most in their values.
func sameOrigin(a, b *Output) bool {
	return a.Secret == b.Secret && slices.Equal(a.Dependencies, b.Dependencies)
}
