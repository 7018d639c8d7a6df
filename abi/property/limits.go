package property

// Limits bound what a codec decodes and encodes. A zero field stands for its default.
type Limits struct {
	// Size is the largest encoding, in bytes.
	Size int
	// Depth is the deepest nesting, at most MaxDepth. Each array, object, literal archive, secret,
	// and output is one level. The outermost object of a Map is the first.
	Depth int
	// Items is the largest number of CBOR data items (RFC 8949, section 2): each value, map key,
	// tag, and part of a tag is one. An item takes at most some 100 bytes of memory beside its text.
	Items int
}

// The defaults of Limits.
const (
	// DefaultSize fits the largest assets that programs hold as text (the zipped code of Lambda has
	// at most 50 MB) and bounds the copies in flight.
	DefaultSize = 64 << 20
	// DefaultDepth is several times the depth of the most recursive types of providers, and keeps
	// the stack of a recursive decoder in any language under some hundred KB.
	DefaultDepth = 128
	// DefaultItems is a hundred times the items of an object of 100 KB, and keeps a decoded value
	// under some 100 MB.
	DefaultItems = 1 << 20
)

// MaxDepth bounds Limits.Depth, so that the stacks of recursive codecs stay under some ten MB.
const MaxDepth = 20000

// WithDefaults returns l with the defaults for its zero fields.
func (l Limits) WithDefaults() Limits {
	l.Depth = min(l.Depth, MaxDepth)
	if l.Size == 0 {
		l.Size = DefaultSize
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	if l.Items == 0 {
		l.Items = DefaultItems
	}
	return l
}
