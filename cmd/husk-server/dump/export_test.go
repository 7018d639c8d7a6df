package dump

// SetMaxLine sets the bound of a line, in bytes, until the caller calls back.
func SetMaxLine(bytes int64) (back func()) {
	was := maxLine
	maxLine = bytes
	return func() { maxLine = was }
}
