package adapter

import (
	"encoding/binary"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// packedParts returns the parts of an object as the protocol sends it, each as it is sent. It follows the
// specification of MessagePack: terraform-plugin-go reads whole objects only, and its versions have
// different modules for it.
func packedParts(b []byte) (map[string][]byte, error) {
	wrong := errors.New("it is not an object")
	count, b, ok := packedCount(b)
	if !ok {
		return nil, wrong
	}
	parts := map[string][]byte{}
	for range count {
		afterKey, ok := skipPacked(b)
		if !ok {
			return nil, wrong
		}
		key, err := tftypes.ValueFromMsgPack(b[:len(b)-len(afterKey)], tftypes.String)
		var name string
		if err == nil {
			err = key.As(&name)
		}
		rest, ok := skipPacked(afterKey)
		if err != nil || !ok {
			return nil, wrong
		}
		parts[name], b = afterKey[:len(afterKey)-len(rest)], rest
	}
	return parts, nil
}

// packedCount returns the number of entries of a map, and the bytes behind it.
func packedCount(b []byte) (count int, rest []byte, ok bool) {
	switch {
	case len(b) == 0:
		return 0, nil, false
	case b[0]&0xf0 == 0x80:
		return int(b[0] & 0xf), b[1:], true
	case b[0] == 0xde:
		return packedLength(b[1:], 2)
	case b[0] == 0xdf:
		return packedLength(b[1:], 4)
	}
	return 0, nil, false
}

func packedLength(b []byte, size int) (n int, rest []byte, ok bool) {
	if len(b) < size {
		return 0, nil, false
	}
	var whole [8]byte
	copy(whole[8-size:], b)
	return int(binary.BigEndian.Uint64(whole[:])), b[size:], true
}

// skipPacked returns the bytes behind the first value.
func skipPacked(b []byte) (rest []byte, ok bool) {
	for left := 1; left > 0; left-- {
		if len(b) == 0 {
			return nil, false
		}
		// The first byte is followed by a length in so many bytes, then size bytes or so many values for each of that length.
		c := b[0]
		b = b[1:]
		length, size, values := 0, 0, 0
		switch {
		case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
		case c <= 0x8f:
			left += 2 * int(c&0xf)
		case c <= 0x9f:
			left += int(c & 0xf)
		case c <= 0xbf:
			size = int(c & 0x1f)
		case c >= 0xc4 && c <= 0xc6: // bytes
			length = 1 << (c - 0xc4)
		case c >= 0xc7 && c <= 0xc9: // an extension, after its type
			length, size = 1<<(c-0xc7), 1
		case c == 0xca:
			size = 4
		case c == 0xcb:
			size = 8
		case c >= 0xcc && c <= 0xcf:
			size = 1 << (c - 0xcc)
		case c >= 0xd0 && c <= 0xd3:
			size = 1 << (c - 0xd0)
		case c >= 0xd4 && c <= 0xd8:
			size = 1 + 1<<(c-0xd4)
		case c >= 0xd9 && c <= 0xdb: // a text
			length = 1 << (c - 0xd9)
		case c == 0xdc, c == 0xdd:
			length, values = 2<<(c-0xdc), 1
		case c == 0xde, c == 0xdf:
			length, values = 2<<(c-0xde), 2
		default:
			return nil, false
		}
		if length > 0 {
			var n int
			if n, b, ok = packedLength(b, length); !ok {
				return nil, false
			}
			if values > 0 {
				left += n * values
			} else {
				size += n
			}
		}
		if size > len(b) {
			return nil, false
		}
		b = b[size:]
	}
	return b, true
}
