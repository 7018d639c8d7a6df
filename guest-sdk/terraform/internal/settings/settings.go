// Package settings holds the choices of a ported provider's build.
package settings

// JSON is an object with the package's name, its version, and a [terraform.Mapping] as mapping. The
// linker sets it.
var JSON string
