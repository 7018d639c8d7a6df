package git

// isSymlinkWindowsNonAdmin returns false, because this is not Windows.
func isSymlinkWindowsNonAdmin(err error) bool { return false }
