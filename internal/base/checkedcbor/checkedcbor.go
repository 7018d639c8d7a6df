// Package checkedcbor encodes records of files as CBOR with a checksum. The same record has the same
// bytes. A file that was altered on the disk is an error, and never another record.
package checkedcbor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// A file is an array of two items: a byte string with the CRC-32C of the record's encoding, and the
// record.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const headSize = 2 + crc32.Size

func head(record []byte) []byte {
	return binary.BigEndian.AppendUint32([]byte{0x82, 0x44}, crc32.Checksum(record, castagnoli))
}

// Marshal returns the encoding of a record with its checksum.
func Marshal(record any) ([]byte, error) {
	data, err := strictcbor.Marshal(record)
	if err != nil {
		return nil, err
	}
	return append(head(data), data...), nil
}

// Unmarshal decodes what [Marshal] returned. A member of a record that v does not have is an error.
func Unmarshal(data []byte, v any) error {
	if len(data) < headSize || !bytes.Equal(data[:headSize], head(data[headSize:])) {
		return errors.New("its checksum does not match")
	}
	return strictcbor.Unmarshal(data[headSize:], v)
}
