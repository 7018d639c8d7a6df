// Package settings holds what the build of a ported provider has chosen.
package settings

// JSON has the version of the package, and a mapping of names. The linker sets it; otherwise it is empty.
var JSON string
