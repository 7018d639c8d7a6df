package wasi

import (
	"encoding/binary"
	"io/fs"
)

// stat is a file's attributes in the terms of preview 1. Times are nanoseconds since 1970.
type stat struct {
	device, inode             uint64
	kind                      byte
	links, size               uint64
	access, modified, changed uint64
}

// statSize is the size of a `filestat` in memory.
const statSize = 64

func (c *call) putStat(at uint32, s stat) Errno {
	record, errno := c.mem.bytes(at, statSize)
	if errno != success {
		return errno
	}
	clear(record)
	le := binary.LittleEndian
	le.PutUint64(record, s.device)
	le.PutUint64(record[8:], s.inode)
	record[16] = s.kind
	le.PutUint64(record[24:], s.links)
	le.PutUint64(record[32:], s.size)
	le.PutUint64(record[40:], s.access)
	le.PutUint64(record[48:], s.modified)
	le.PutUint64(record[56:], s.changed)
	return success
}

func fileType(mode fs.FileMode) byte {
	switch {
	case mode.IsRegular():
		return typeRegular
	case mode.IsDir():
		return typeDirectory
	case mode&fs.ModeSymlink != 0:
		return typeSymlink
	default:
		return typeUnknown
	}
}

// statOf takes what the os package tells portably; the system adds the rest.
func statOf(info fs.FileInfo) stat {
	modified := uint64(max(info.ModTime().UnixNano(), 0))
	s := stat{
		kind: fileType(info.Mode()), links: 1, size: uint64(max(info.Size(), 0)),
		access: modified, modified: modified, changed: modified,
	}
	systemStat(info, &s)
	return s
}

func (c *call) statPlace(at *place) (stat, Errno) {
	if at.isVirtual() {
		return stat{kind: typeDirectory, links: 1, inode: at.node.serial}, success
	}
	info, err := at.found()
	if err != nil {
		return stat{}, c.sys.config.Files.errno(err)
	}
	return statOf(info), success
}
