//go:build !wasm

package shape

import (
	"reflect"
	"unsafe"
)

type spare struct{}

// New returns a pointer to a new zero value of the shape's type.
func (s *Shape) New() unsafe.Pointer { return addressOf(reflect.New(s.goType).Elem()) }
