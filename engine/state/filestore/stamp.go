package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/state"
)

// A checkpoint's file has a member that the state in it lacks, so that Pulumi,
// which passes over unknown members, reads it as one of its own:
//
//	{"husk":{"sequence":12,"token":3},"version":3,"checkpoint":{…}}
const stampMember = state.StoreMember

// stampValue says where a checkpoint stands in the stack's history.
type stampValue struct {
	// Sequence is that of the last record whose effect the checkpoint holds.
	Sequence uint64 `json:"sequence"`
	// Token is the fencing token of the lease it was written under.
	Token uint64 `json:"token"`
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

// stamp returns the checkpoint, a JSON object, with the stamp as first member. It is in
// two parts, of which the second is a part of the checkpoint: that may be large.
func stamp(checkpoint []byte, v stampValue) (parts [2][]byte, err error) {
	rest, ok := bytes.CutPrefix(checkpoint, []byte("{"))
	if !ok {
		return parts, errors.New("a checkpoint must be a JSON object")
	}
	head := fmt.Appendf(nil, `{%q:{"sequence":%d,"token":%d}`, stampMember, v.Sequence, v.Token)
	if !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("}")) {
		head = append(head, ',')
	}
	return [2][]byte{head, rest}, nil
}

// maxSequence bounds what a stamp may hold, so that counting on never overflows.
const maxSequence = 1 << 53

// readStamp returns the stamp of a checkpoint, zero where another tool wrote the
// file and left it out. It reads no further than the stamp.
func readStamp(checkpoint io.Reader) (v stampValue, err error) {
	dec := jsontext.NewDecoder(checkpoint)
	if t, err := dec.ReadToken(); err != nil {
		return v, err
	} else if t.Kind() != jsontext.KindBeginObject {
		return v, errors.New("it is not an object")
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return v, err
		}
		if name.String() != stampMember {
			if err := dec.SkipValue(); err != nil {
				return v, err
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return v, err
		}
		if err := json.Unmarshal(value, &v); err != nil {
			return v, err
		}
		if v.Sequence > maxSequence || v.Token > maxSequence {
			return v, errors.New("its sequence number or token is out of range")
		}
		return v, nil
	}
	return v, nil
}
