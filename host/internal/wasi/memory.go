package wasi

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
)

const (
	// maxVectors bounds the buffers of one read or write (IOV_MAX on Linux).
	maxVectors = 1024
	// maxTransfer bounds the bytes that one call reads or writes, so that none holds
	// up the host for long. Guests go on after a short count as they do anywhere.
	maxTransfer = 1 << 20
	// maxPath is the length of a path in bytes (PATH_MAX on Linux).
	maxPath = 4096
)

// memory is a guest's linear memory. A guest may pass any offset and length.
type memory struct {
	api.Memory
}

// bytes is a view of guest memory, valid until the guest runs again.
func (m memory) bytes(offset, length uint32) ([]byte, Errno) {
	if m.Memory == nil {
		return nil, errFault
	}
	view, ok := m.Read(offset, length)
	if !ok {
		return nil, errFault
	}
	return view, success
}

func (m memory) putU32(offset, value uint32) Errno {
	view, errno := m.bytes(offset, 4)
	if errno == success {
		binary.LittleEndian.PutUint32(view, value)
	}
	return errno
}

func (m memory) putU64(offset uint32, value uint64) Errno {
	view, errno := m.bytes(offset, 8)
	if errno == success {
		binary.LittleEndian.PutUint64(view, value)
	}
	return errno
}

func (m memory) path(offset, length uint32) (string, Errno) {
	if length > maxPath {
		return "", errNametoo
	}
	view, errno := m.bytes(offset, length)
	if errno != success {
		return "", errno
	}
	path := string(view)
	switch {
	case path == "":
		return "", errNoent
	case !utf8.ValidString(path):
		return "", errIlseq
	case strings.IndexByte(path, 0) >= 0:
		return "", errInval
	}
	return path, success
}

// transfer passes the buffers of an iovec or ciovec array to do, one by one, until
// one of them is served short or [maxTransfer] is reached, and returns the total.
// An error after some bytes is left for the next call to meet.
func (m memory) transfer(vectors, count uint32, do func([]byte) (int, error)) (uint32, Errno) {
	if count > maxVectors {
		return 0, errInval
	}
	array, errno := m.bytes(vectors, count*8)
	if errno != success {
		return 0, errno
	}
	total := 0
	for ; len(array) > 0 && total < maxTransfer; array = array[8:] {
		offset, length := binary.LittleEndian.Uint32(array), binary.LittleEndian.Uint32(array[4:])
		buffer, errno := m.bytes(offset, length)
		if errno != success {
			return 0, errno
		}
		if len(buffer) == 0 {
			continue
		}
		wanted := buffer[:min(len(buffer), maxTransfer-total)]
		n, err := do(wanted)
		total += n
		if err != nil && total == 0 {
			return 0, errnoOf(err)
		}
		if err != nil || n < len(wanted) {
			break
		}
	}
	return uint32(total), success
}
