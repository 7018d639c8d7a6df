package guestcbor

// extent returns where the data item at pos ends. It looks at every item that a guest is
// sent, and Go makes a jump through a table of each branch of it.
//
//go:noescape
func extent(in string, pos int) (end int)
