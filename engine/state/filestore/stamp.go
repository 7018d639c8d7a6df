package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/state"
)

// A checkpoint's file has a member that the state in it lacks, so that Pulumi,
// which passes over unknown members, reads it as one of its own:
//
//	{"husk":{"sequence":12,"token":3,"crc32c":"8a1b0f3c"},"version":3,"checkpoint":{…}}
//
// The checksum is the CRC-32C of the whole file, with zeros in place of its own eight digits.
// The member comes first and is written in exactly this way; a file with any other stamp was
// changed. Other tools write no stamp: such files are read as they are. The first versions of
// Husk wrote no checksum; the next checkpoint has one. A later form has a member "layout".

// stampValue says where a checkpoint stands in the stack's history.
type stampValue struct {
	// Sequence is the number of the last record whose effect the checkpoint holds.
	Sequence uint64
	// Token is the fencing token of the lease it was written under.
	Token uint64
}

func (v stampValue) before(w stampValue) bool {
	return v.Token < w.Token || v.Token == w.Token && v.Sequence < w.Sequence
}

// id names the checkpoint among its stack's.
func (v stampValue) id() string { return fmt.Sprintf("%d-%d", v.Token, v.Sequence) }

// parseID reads what id returns, and nothing else.
func parseID(id string) (v stampValue, ok bool) {
	n, err := fmt.Sscanf(id, "%d-%d", &v.Token, &v.Sequence)
	return v, n == 2 && err == nil && v.id() == id
}

// stampFormat is the beginning of a checkpoint's file, up to the end of the stamp.
const stampFormat = `{"husk":{"sequence":%d,"token":%d,"crc32c":"%s"}`

// formerFormat is the beginning of files by the first versions of Husk.
const formerFormat = `{"husk":{"sequence":%d,"token":%d}`

// head returns the stamp with a checksum, or the former stamp if that is empty.
func (v stampValue) head(checksum string) []byte {
	if checksum == "" {
		return fmt.Appendf(nil, formerFormat, v.Sequence, v.Token)
	}
	return fmt.Appendf(nil, stampFormat, v.Sequence, v.Token, checksum)
}

// noChecksum stands for the checksum's digits while it is computed.
const noChecksum = "00000000"

// checksum returns the digits of the checksum of a file that has the rest behind the head.
func (v stampValue) checksum(rest ...[]byte) string {
	sum := crc32.Checksum(v.head(noChecksum), crcTable)
	for _, part := range rest {
		sum = crc32.Update(sum, crcTable, part)
	}
	return fmt.Sprintf("%08x", sum)
}

// stamp returns a checkpoint, a JSON object, with the stamp as first member. The second part is a
// part of the checkpoint, which may be large.
func stamp(checkpoint []byte, v stampValue) (parts [2][]byte, err error) {
	rest, ok := bytes.CutPrefix(checkpoint, []byte("{"))
	if !ok {
		return parts, errors.New("a checkpoint must be a JSON object")
	}
	var comma []byte
	if !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("}")) {
		comma = []byte(",")
	}
	return [2][]byte{append(v.head(v.checksum(comma, rest)), comma...), rest}, nil
}

// verify returns the stamp of a checkpoint, zero for none, and an error if it was altered.
func verify(checkpoint []byte) (stampValue, error) {
	v, checksum, ok := parseStamp(checkpoint)
	if !ok {
		return stampValue{}, checkUnstamped(checkpoint)
	}
	if checksum == "" {
		if !jsontext.Value(checkpoint).IsValid() {
			return v, errors.New("it is not a JSON object")
		}
		return v, nil
	}
	if is := v.checksum(checkpoint[len(v.head(checksum)):]); is != checksum {
		return v, fmt.Errorf("its checksum is %s, but its contents have %s", checksum, is)
	}
	return v, nil
}

// Verify returns an error if a checkpoint of a store was altered. Other JSON passes.
func Verify(checkpoint []byte) error {
	_, err := verify(checkpoint)
	return err
}

const (
	// maxSequence bounds what a stamp may hold, so that counting on never overflows.
	maxSequence = 1 << 53
	// maxStamp bounds the beginning of a file that holds the stamp, in bytes.
	maxStamp = 128
)

// parseStamp reads the stamp at the beginning of a file. The checksum is empty in the former form.
func parseStamp(file []byte) (v stampValue, checksum string, ok bool) {
	head := file[:min(len(file), maxStamp)]
	format := strings.Replace(stampFormat, "%s", "%8s", 1)
	n, err := fmt.Sscanf(string(head), format, &v.Sequence, &v.Token, &checksum)
	if former := n == 2; former {
		checksum, err = "", nil
	}
	ok = err == nil && (checksum == "" || len(checksum) == len(noChecksum)) && v.Sequence <= maxSequence && v.Token <= maxSequence &&
		bytes.HasPrefix(head, v.head(checksum)) // Sscanf takes other spellings, too
	return v, checksum, ok
}

// documentMembers are the members of a checkpoint of any version.
var documentMembers = []string{"version", "features", "checkpoint", "deployment", "stack", "config", "latest"}

// checkUnstamped refuses a file that is not a JSON object, or has a stamp that was altered, also if the stamp has another name:
// it would pass for a file of another tool, which has no checksum.
func checkUnstamped(checkpoint []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(checkpoint))
	if t, err := dec.ReadToken(); err != nil {
		return err
	} else if t.Kind() != jsontext.KindBeginObject {
		return errors.New("it is not an object")
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		t, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if name == state.StoreMember {
			var newer struct{ Layout int }
			if json.Unmarshal(value, &newer) == nil && newer.Layout > layoutVersion {
				return fmt.Errorf("it has the layout %d and this husk knows %d: use a newer husk: %w", newer.Layout, layoutVersion, state.ErrUnsupported)
			}
			return fmt.Errorf("the member %q is not as husk writes it", name)
		}
		var members map[string]json.RawMessage
		if slices.Contains(documentMembers, name) || json.Unmarshal(value, &members) != nil {
			continue
		}
		for _, stamped := range []string{"sequence", "token", "crc32c"} {
			if members[stamped] != nil {
				return fmt.Errorf("the member %q has the %s of the member %q, whose name is damaged", name, stamped, state.StoreMember)
			}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more follows on the object")
	default:
		return err
	}
}
