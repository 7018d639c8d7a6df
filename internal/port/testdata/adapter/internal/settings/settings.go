// Package settings has what a port has chosen.
package settings

// JSON is set by the linker.
var JSON string
