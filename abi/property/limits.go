package property

// Limits bound what a codec decodes, and what it encodes, so that nothing is
// sent that the other side would refuse. A zero field stands for its default.
type Limits struct {
	// Size is the largest encoding, in bytes.
	Size int
	// Depth is the deepest nesting. Each array, object, literal archive, secret,
	// and output is one level; the outermost object of a Map is the first. More
	// than MaxDepth counts as that.
	Depth int
	// Items is the largest number of CBOR data items (RFC 8949, section 2): each
	// value, map key, tag, and each part of a tag's contents is one. It bounds the
	// memory of the decoded value, which takes at most some 100 bytes an item
	// beside the text.
	Items int
}

// The defaults of Limits.
const (
	// DefaultSize, 64 MiB, fits the largest assets that programs hold as text
	// (Lambda's zipped code is at most 50 MB) and bounds the copies in flight.
	DefaultSize = 64 << 20
	// DefaultDepth is several times what providers' most recursive types reach (the
	// rule statements of web application firewalls), and keeps the stack of a
	// recursive decoder in any language under some hundred KB.
	DefaultDepth = 128
	// DefaultItems, about a million, is a hundred times the items of a 100 KB
	// object, and holds a decoded value under some 100 MB.
	DefaultItems = 1 << 20
)

// MaxDepth is the most that Limits.Depth may be, so that the stacks of recursive
// codecs stay under some ten MB whatever is asked for.
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
