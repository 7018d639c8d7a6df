package nospace

// Is reports false: Plan 9 distinguishes errors by text, which each file
// server words its own way.
func Is(error) bool { return false }
