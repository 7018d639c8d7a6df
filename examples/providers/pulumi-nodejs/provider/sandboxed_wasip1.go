package provider

// sandboxed says that the environment has only variables that the provider was granted.
const sandboxed = true
