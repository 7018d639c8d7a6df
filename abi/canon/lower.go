package canon

import (
	"math"
	"strings"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// lowerer writes values. Its methods get the zeroed bytes from the field on. After the first
// failure, which err holds, they write nothing.
//
// The target of a pointer field is stored before the record with the pointer, each string and list in its own allocation, because
// the bindings of other languages free them one by one.
type lowerer struct {
	path
	mem Memory
	err error
	// refused is set if err is about a value, so that the memory stays usable.
	refused bool
	// lossy replaces invalid UTF-8, where the text matters more than its exact bytes.
	lossy bool
	// own is set if mem is the program's own memory.
	own *Own
	// room is for lists that mem keeps as they are.
	room []byte
}

// refuse fails because of a value that cannot be lowered.
//
//go:noinline
func (w *lowerer) refuse(field string, err error) {
	if w.err == nil {
		w.err, w.refused = &Error{Path: w.to(field), Err: err}, true
	}
}

func (w *lowerer) bool(b []byte, v bool) {
	if v {
		b[0] = 1
	}
}

func (w *lowerer) enum(b []byte, v uint8, cases int, field string) {
	if int(v) >= cases {
		w.refuse(field, ErrCase)
	}
	b[0] = v
}

func (w *lowerer) flags(b []byte, v uint32, known uint8, field string) {
	if v&^uint32(known) != 0 {
		w.refuse(field, ErrFlags)
	}
	b[0] = uint8(v)
}

func (w *lowerer) f64(b []byte, v float64) { putU64(b, math.Float64bits(v)) }

func (w *lowerer) string(b []byte, v string, field string) {
	if v == "" {
		nothing(b, 1)
		return
	}
	if !property.ValidText(v) {
		if w.lossy {
			v = strings.ToValidUTF8(v, "\uFFFD")
		} else {
			w.refuse(field, ErrUTF8)
		}
	}
	if w.own != nil {
		putExtent(b, w.own.keep(unsafe.Pointer(unsafe.StringData(v))), uint32(len(v)))
		return
	}
	w.bytes(b, unsafe.Slice(unsafe.StringData(v), len(v)), field)
}

func (w *lowerer) bytes(b []byte, v []byte, field string) { w.list(b, v, len(v), 1, field) }

func (w *lowerer) properties(b []byte, v property.Map, field string) {
	data, err := w.mem.Codec().Marshal(v)
	if err != nil {
		w.refuse(field, err)
	}
	w.bytes(b, data, field)
}

func (w *lowerer) value(b []byte, v property.Value, field string) {
	data, err := w.mem.Codec().MarshalValue(v)
	if err != nil {
		w.refuse(field, err)
	}
	w.bytes(b, data, field)
}

// failure lowers an error. It leaves out what has no place in the contract: the data of a failed
// initialization with another kind, and the reverse. It never refuses text.
func (w *lowerer) failure(b []byte, e *abi.Error) {
	answer := abi.Error{Kind: abi.ErrorKindInternal, Message: "an error without a description"}
	if e != nil {
		answer = *e
	}
	if answer.Kind != abi.ErrorKindInitFailed {
		answer.InitFailure = nil
	} else if answer.InitFailure == nil {
		answer.Kind = abi.ErrorKindInternal
	}
	lossy := w.lossy
	w.lossy = true
	lowerError(w, b, &answer)
	w.lossy = lossy
}

// list stores the bytes of n elements and writes their address and number.
func (w *lowerer) list(b []byte, data []byte, n int, align uint32, field string) {
	ptr := w.store(data, align, field)
	putExtent(b, ptr, uint32(n))
}

// nothing writes the address and number of no elements. The address is their alignment, because
// other languages have pointers that are never null.
func nothing(b []byte, align uint32) { putExtent(b, align, 0) }

// store stores bytes that nobody may change any more.
func (w *lowerer) store(data []byte, align uint32, field string) uint32 {
	if w.err != nil || len(data) == 0 {
		return align
	}
	if w.own != nil {
		return w.own.keep(unsafe.Pointer(unsafe.SliceData(data)))
	}
	if uint64(len(data)) > math.MaxUint32 {
		w.refuse(field, ErrLength)
		return align
	}
	ptr, err := w.mem.Store(data, align)
	if err != nil {
		w.err = &Error{Path: w.to(field), Err: err}
	}
	return ptr
}

func lowerStrings[S ~string](w *lowerer, b []byte, v []S, field string) {
	if len(v) == 0 {
		nothing(b, 4)
		return
	}
	w.strings(b, unsafe.Slice((*string)(unsafe.Pointer(unsafe.SliceData(v))), len(v)), field)
}

// strings is lowerStrings for lists that are not empty.
func (w *lowerer) strings(b []byte, v []string, field string) {
	const size = 8
	if uint64(len(v))*size > math.MaxUint32 {
		w.refuse(field, ErrLength)
		return
	}
	data := w.record(len(v) * size)
	if w.own != nil {
		w.own.keep(unsafe.Pointer(unsafe.SliceData(v))) // which keeps the texts
	}
	w.enter(field)
	for i, text := range v {
		at := data[i*size:]
		if w.own != nil && text != "" && property.ValidText(text) {
			putExtent(at, uint32(uintptr(unsafe.Pointer(unsafe.StringData(text)))), uint32(len(text)))
			continue
		}
		w.at(i)
		w.string(at, text, "")
		if w.err != nil {
			return
		}
	}
	w.leave()
	w.list(b, data, len(v), 4, field)
}

// lowerList lowers a list of elements of the size and alignment.
func lowerList[T any](w *lowerer, b []byte, v []T, field string, size, align uint32, lower func(*lowerer, []byte, *T)) {
	if len(v) == 0 {
		nothing(b, align)
		return
	}
	lowerElements(w, b, v, field, size, align, lower)
}

// lowerElements is lowerList for lists that are not empty.
func lowerElements[T any](w *lowerer, b []byte, v []T, field string, size, align uint32, lower func(*lowerer, []byte, *T)) {
	if uint64(len(v))*uint64(size) > math.MaxUint32 {
		w.refuse(field, ErrLength)
		return
	}
	data := w.record(len(v) * int(size))
	w.enter(field)
	for i := range v {
		w.at(i)
		lower(w, data[i*int(size):], &v[i])
		if w.err != nil {
			return
		}
	}
	w.leave()
	w.list(b, data, len(v), align, field)
}

// record returns zeroed bytes for the elements of a list.
func (w *lowerer) record(size int) []byte {
	if size > len(w.room) {
		return make([]byte, size)
	}
	data := w.room[:size:size]
	w.room = w.room[(size+7)&^7:] // aligned for all
	clear(data)
	return data
}
