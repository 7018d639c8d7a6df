// Package settings holds what the build of a ported provider has chosen.
package settings

// JSON is an object with the package's name, its version, and a [terraform.Mapping] as mapping. The
// linker sets it.
var JSON string
