// Package settings holds the choices of a ported provider's build.
package settings

// JSON is an object with the package's name, its version, a [terraform.Mapping] as mapping, and as only the types that it
// has, with * for any text, if it has not all. The linker sets it.
var JSON string
