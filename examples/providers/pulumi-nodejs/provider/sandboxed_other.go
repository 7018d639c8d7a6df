//go:build !wasip1

package provider

// sandboxed says that the environment has only variables that the provider was granted: in tests it does not.
const sandboxed = false
