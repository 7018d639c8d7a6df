package configload

// inode returns 0, which is no inode.
func inode(string) (uint64, error) { return 0, nil }
