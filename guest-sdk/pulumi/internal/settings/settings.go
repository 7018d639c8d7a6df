// Package settings holds the choices of a ported provider's build.
package settings

// JSON has the version of the package, and a mapping of names. The linker sets it; otherwise it is empty.
var JSON string
