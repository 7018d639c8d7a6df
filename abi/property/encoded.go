package property

import "sync"

// object has the contents of a Map, and array the contents of an array. If they were made of an encoding, the parts are decoded
// on the first access.
type object struct {
	entries []Entry
	encoded *encoded
}

type array struct {
	elements []Value
	encoded  *encoded
}

func newArray(elements []Value) *array {
	if len(elements) == 0 {
		return nil
	}
	return &array{elements: elements}
}

// encoded is the encoding of an array or object.
type encoded struct {
	text    string
	length  int
	decoder Decoder

	// decoding is held while the parts are decoded. decoded is set after that.
	decoding sync.Mutex
	decoded  flag
}

// A Decoder decodes arrays and objects of valid encodings. It must be safe for concurrent use.
type Decoder interface {
	// Elements returns the elements of an array.
	Elements(encoding string) []Value
	// Entries returns the entries of an object, in the order of CompareKeys.
	Entries(encoding string) []Entry
}

// EncodedMap returns the map of length entries that has a valid encoding, which nobody may change.
// Each level is decoded on the first access. A map without an access is encoded by copying, and
// equals all maps of the same encoding.
func EncodedMap(encoding string, length int, decoder Decoder) Map {
	if length == 0 {
		return Map{}
	}
	o := &struct {
		object
		encoded
	}{encoded: encoded{text: encoding, length: length, decoder: decoder}}
	o.object.encoded = &o.encoded
	return Map{o: &o.object}
}

// OpenedMap is EncodedMap for entries that the caller decodes at once. It must set them, distinct
// and in the order of CompareKeys, before it hands on the map.
func OpenedMap(encoding string, length int) (m Map, entries []Entry) {
	if length == 0 {
		return Map{}, nil
	}
	// Most objects are small. One allocation for all takes guests half the time of two.
	var o *object
	var e *encoded
	switch {
	case length <= 4:
		all := new(struct {
			object
			encoded
			entries [4]Entry
		})
		o, e, entries = &all.object, &all.encoded, all.entries[:length:length]
	case length <= 8:
		all := new(struct {
			object
			encoded
			entries [8]Entry
		})
		o, e, entries = &all.object, &all.encoded, all.entries[:length:length]
	default:
		o, e, entries = new(object), new(encoded), make([]Entry, length)
	}
	e.text, e.length = encoding, length
	e.decoded.set()
	o.entries, o.encoded = entries, e
	return Map{o: o}, entries
}

// EncodedArray returns the array of length elements that has a valid encoding, see EncodedMap.
func EncodedArray(encoding string, length int, decoder Decoder) Value {
	if length == 0 {
		return Array()
	}
	a := &struct {
		array
		encoded
	}{encoded: encoded{text: encoding, length: length, decoder: decoder}}
	a.array.encoded = &a.encoded
	return Value{kind: KindArray, ref: &a.array}
}

// Encoding returns the encoding that v was made of. ok is false for other values.
func (v Value) Encoding() (encoding string, ok bool) {
	switch ref := v.ref.(type) {
	case *object:
		return Map{o: ref}.Encoding()
	case *array:
		if ref != nil && ref.encoded != nil {
			return ref.encoded.text, true
		}
	}
	return "", false
}

// Encoding returns the encoding that m was made of. ok is false for other maps.
func (m Map) Encoding() (encoding string, ok bool) {
	if m.o == nil || m.o.encoded == nil {
		return "", false
	}
	return m.o.encoded.text, true
}

func (o *object) all() []Entry {
	if o == nil {
		return nil
	}
	if o.encoded != nil && !o.encoded.decoded.isSet() {
		o.decode()
	}
	return o.entries
}

func (o *object) decode() {
	e := o.encoded
	e.decoding.Lock()
	defer e.decoding.Unlock()
	if !e.decoded.isSet() {
		o.entries = e.decoder.Entries(e.text)
		e.decoded.set()
	}
}

func (a *array) all() []Value {
	if a == nil {
		return nil
	}
	if a.encoded != nil && !a.encoded.decoded.isSet() {
		a.decode()
	}
	return a.elements
}

func (a *array) decode() {
	e := a.encoded
	e.decoding.Lock()
	defer e.decoding.Unlock()
	if !e.decoded.isSet() {
		a.elements = e.decoder.Elements(e.text)
		e.decoded.set()
	}
}

// same reports whether m and n are known to be equal without a look at their entries.
func (m Map) same(n Map) bool {
	return m.Is(n) || m.o != nil && n.o != nil && m.o.encoded.same(n.o.encoded)
}

func (e *encoded) same(f *encoded) bool {
	return e != nil && f != nil && EqualText(e.text, f.text)
}
