package guestcbor

// extent returns where the data item at pos ends. It looks at every item that a guest gets, and Go
// compiles each of its branches to a jump through a table.
//
//go:noescape
func extent(in string, pos int) (end int)
