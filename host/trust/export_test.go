package trust

// Matches reports whether a signer is one that is allowed, for tests of patterns, which would need a certificate for each.
func Matches(a Allowed, s Signer) bool { return a.matches(s) }
