package filestore

// noSpace reports false: Plan 9 distinguishes errors by text, which each file
// server words its own way.
func noSpace(error) bool { return false }
