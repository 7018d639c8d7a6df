// Package checkedjson reads and writes JSON objects with a checksum, which detects files that were altered.
package checkedjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// An object begins with the CRC-32C of the text without it:
//
//	{"crc32c":"8a1b0f3c","version":2,"items":{…}}
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const member = `{"crc32c":`

func head(text []byte) []byte {
	return fmt.Appendf(nil, "%s\"%08x\",", member, crc32.Checksum(text, castagnoli))
}

// Marshal returns the JSON of a value with its checksum. The value is an object that has members.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) < len(`{"":0}`) || text[0] != '{' {
		return nil, fmt.Errorf("%T is not an object with members", v)
	}
	return append(head(text), text[1:]...), nil
}

// Unmarshal reads an object with a checksum, or without one if checked is false. A member that v does not
// have is an error, because its name may have been altered.
func Unmarshal(data []byte, v any) (checked bool, err error) {
	text := data
	if checked = bytes.HasPrefix(data, []byte(member)); checked {
		size := len(head(nil))
		text = append([]byte("{"), data[min(size, len(data)):]...)
		if !bytes.HasPrefix(data, head(text)) {
			return false, errors.New("its checksum does not match")
		}
	}
	if err := jsonerror.Unmarshal(text, v); err != nil {
		return false, err
	}
	return checked, nil
}
