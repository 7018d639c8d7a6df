package shape

import (
	"reflect"
	"unsafe"
)

// spare are values that were allocated together, because reflection takes many calls for each. A guest
// has one thread: another goroutine can only run during an allocation.
type spare struct {
	slice reflect.Type
	next  unsafe.Pointer
	left  int
}

const (
	// mostSpare is how many values are allocated together: who keeps one keeps all.
	mostSpare = 8
	// spareSize is the size, in bytes, up to which that is done with a type.
	spareSize = 256
)

func (r *spare) take(s *Shape) unsafe.Pointer {
	if r.left == 0 {
		if s.size == 0 || s.size > spareSize {
			return addressOf(reflect.New(s.goType).Elem())
		}
		if r.slice == nil {
			r.slice = reflect.SliceOf(s.goType)
		}
		next := addressOf(reflect.MakeSlice(r.slice, mostSpare, mostSpare).Index(0))
		r.next, r.left = next, mostSpare
	}
	p := r.next
	r.left--
	if r.next = nil; r.left > 0 {
		r.next = unsafe.Add(p, s.size)
	}
	return p
}
