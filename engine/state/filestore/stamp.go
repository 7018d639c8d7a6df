package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/state"
)

// A checkpoint's file has a member that the state in it lacks, so that Pulumi,
// which passes over unknown members, reads it as one of its own:
//
//	{"husk":{"sequence":12,"token":3,"crc32c":"8a1b0f3c"},"version":3,"checkpoint":{…}}
//
// The checksum is the CRC-32C of the whole file, with zeros in place of its own eight digits.
// The member comes first and is written in exactly this way. If a stamp has a checksum and
// is written in any other way, the file was changed. Older versions of Husk wrote no
// checksum, and other tools write no stamp: such files are read as they are.
const (
	stampMember = state.StoreMember

	sequenceMember = "sequence"
	tokenMember    = "token"
	checksumMember = "crc32c"
)

// stampValue says where a checkpoint stands in the stack's history.
type stampValue struct {
	// Sequence is that of the last record whose effect the checkpoint holds.
	Sequence uint64
	// Token is the fencing token of the lease it was written under.
	Token uint64
}

// before reports whether v is an earlier checkpoint than w.
func (v stampValue) before(w stampValue) bool {
	return v.Token < w.Token || v.Token == w.Token && v.Sequence < w.Sequence
}

// id names the checkpoint among those of its stack.
func (v stampValue) id() string { return fmt.Sprintf("%d-%d", v.Token, v.Sequence) }

// parseID reads what id returns, and nothing else.
func parseID(id string) (v stampValue, ok bool) {
	n, err := fmt.Sscanf(id, "%d-%d", &v.Token, &v.Sequence)
	return v, n == 2 && err == nil && v.id() == id
}

// head returns the beginning of a checkpoint's file, up to the end of the stamp.
func (v stampValue) head(checksum string) []byte {
	return fmt.Appendf(nil, `{%q:{%q:%d,%q:%d,%q:%q}`,
		stampMember, sequenceMember, v.Sequence, tokenMember, v.Token, checksumMember, checksum)
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

// stamp returns the checkpoint, a JSON object, with the stamp as first member. It is in
// two parts, of which the second is a part of the checkpoint: that may be large.
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

// verify returns the stamp of a checkpoint, zero if it has none. It returns an error if the file is
// not as it was written.
func verify(checkpoint []byte) (stampValue, error) {
	v, checksum, err := readStamp(bytes.NewReader(checkpoint))
	if err != nil || checksum == "" {
		return v, err
	}
	rest, ok := bytes.CutPrefix(checkpoint, v.head(checksum))
	if !ok {
		return v, fmt.Errorf("the member %q is not as husk writes it", stampMember)
	}
	if is := v.checksum(rest); is != checksum {
		return v, fmt.Errorf("its checksum is %s, and that of its contents %s", checksum, is)
	}
	return v, nil
}

// Verify returns an error if a checkpoint that a store wrote was altered since. Other JSON, such as
// an export, has no checksum and passes.
func Verify(checkpoint []byte) error {
	_, err := verify(checkpoint)
	return err
}

// maxSequence bounds what a stamp may hold, so that counting on never overflows.
const maxSequence = 1 << 53

// readStamp returns the stamp of a checkpoint and the digits of its checksum. The stamp is zero if
// another tool wrote the file, the checksum is empty if the stamp has none. readStamp reads
// no further than the stamp and does not verify the checksum.
func readStamp(checkpoint io.Reader) (v stampValue, checksum string, err error) {
	dec := jsontext.NewDecoder(checkpoint)
	if t, err := dec.ReadToken(); err != nil {
		return v, "", err
	} else if t.Kind() != jsontext.KindBeginObject {
		return v, "", errors.New("it is not an object")
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return v, "", err
		}
		if text := name.String(); text == stampMember {
			return parseStamp(dec)
		} else if err := skipMember(dec, text); err != nil {
			return v, "", err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return v, "", err
	}
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return v, "", nil
	case nil:
		return v, "", errors.New("more follows on the object")
	default:
		return v, "", err
	}
}

// parseStamp reads the value of the stamp's member: a sequence number, a token, and perhaps a
// checksum.
func parseStamp(dec *jsontext.Decoder) (v stampValue, checksum string, err error) {
	members, err := readMembers(dec)
	if err != nil {
		return v, "", err
	}
	number := func(name string) (n uint64) {
		if err == nil {
			if n, err = strconv.ParseUint(string(members[name]), 10, 64); err != nil || n > maxSequence {
				err = fmt.Errorf("the member %q has no %s that can be right", stampMember, name)
			}
		}
		return n
	}
	v = stampValue{Sequence: number(sequenceMember), Token: number(tokenMember)}
	if err != nil {
		return v, "", err
	}
	known := 2
	if value, ok := members[checksumMember]; ok {
		known++
		text, quoted := bytes.CutPrefix(value, []byte(`"`))
		text, ended := bytes.CutSuffix(text, []byte(`"`))
		if !quoted || !ended || len(text) != len(noChecksum) {
			return v, "", fmt.Errorf("the member %q has no %s that can be right", stampMember, checksumMember)
		}
		checksum = string(text)
	}
	if len(members) != known {
		return v, "", fmt.Errorf("the member %q has an unknown member", stampMember)
	}
	if kind := dec.PeekKind(); kind != jsontext.KindString && kind != jsontext.KindEndObject {
		return v, "", fmt.Errorf("the member %q ends in the wrong place", stampMember)
	}
	return v, checksum, nil
}

// readMembers reads an object.
func readMembers(dec *jsontext.Decoder) (map[string]jsontext.Value, error) {
	if dec.PeekKind() != jsontext.KindBeginObject {
		return nil, fmt.Errorf("the member %q is not an object", stampMember)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	members := make(map[string]jsontext.Value)
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		members[key] = value.Clone()
	}
	_, err := dec.ReadToken()
	return members, err
}

// documentMembers are the members of a checkpoint of any version.
var documentMembers = []string{"version", "features", "checkpoint", "deployment", "stack", "config", "latest"}

// skipMember skips a member that is not the stamp. A member of another name with the contents of a
// stamp is a stamp whose name was damaged. Without this check, the file would pass for one of
// another tool, which has no checksum.
func skipMember(dec *jsontext.Decoder, name string) error {
	if slices.Contains(documentMembers, name) || dec.PeekKind() != jsontext.KindBeginObject {
		return dec.SkipValue()
	}
	members, err := readMembers(dec)
	if err != nil {
		return err
	}
	for _, of := range []string{sequenceMember, tokenMember, checksumMember} {
		if _, ok := members[of]; ok {
			return fmt.Errorf("the member %q has the %s of the member %q, whose name is damaged", name, of, stampMember)
		}
	}
	return nil
}
