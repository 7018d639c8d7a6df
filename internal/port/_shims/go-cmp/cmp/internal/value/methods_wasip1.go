package value

import (
	"reflect"
	"strings"
)

// methodsOf returns the methods of an interface without a name, as package reflect writes them.
func methodsOf(t reflect.Type) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(t.String(), "interface {"), "}"))
}
