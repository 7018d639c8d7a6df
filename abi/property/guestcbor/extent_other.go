//go:build !wasm

package guestcbor

// extent returns where the data item at pos ends.
func extent(in string, pos int) (end int) {
	for unread := 1; unread > 0; unread-- {
		if pos >= len(in) {
			return truncated
		}
		b := in[pos]
		pos++
		n := int(b & 0x1f)
		switch {
		case n < 24:
		case n == 24 && pos < len(in):
			n = int(in[pos])
			pos++
		default:
			if n, pos = headOf(in, pos-1); pos < 0 {
				return pos
			}
		}
		if b >= majorTag { // other simple values, and floats, have no more than their head
			if b < majorSimple {
				unread++
			}
			continue
		}
		if b < majorBytes {
			continue
		}
		if n > len(in)-pos { // items take a byte at least
			return truncated
		}
		switch b & 0xe0 {
		case majorArray:
			unread += n
		case majorMap:
			unread += 2 * n
		default:
			pos += n
		}
	}
	return pos
}
