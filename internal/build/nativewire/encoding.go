package nativewire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// A message is its length, and its fields one after the other. Numbers are encoded by [binary.AppendUvarint]; texts, lists, and
// memory have their length before them.

// encode returns the message with its length.
func (m *message) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(m.Kind))
	for _, n := range []uint64{m.ID, m.Session, m.Of, uint64(m.Function), m.Result, uint64(len(m.Args))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range m.Args {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range []string{m.Interface, m.Name, m.Failed} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = append(binary.AppendUvarint(b, uint64(len(m.Memory))), m.Memory...)
	return append(binary.AppendUvarint(make([]byte, 0, len(b)+binary.MaxVarintLen64), uint64(len(b))), b...)
}

// errMalformed is a message of something else than this package.
var errMalformed = errors.New("a message is malformed")

// readMessage reads one message.
func readMessage(in *bufio.Reader) (m message, err error) {
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return m, err
	}
	if size > math.MaxInt32 {
		return m, errMalformed
	}
	d := decoder{rest: make([]byte, size)}
	if _, err := io.ReadFull(in, d.rest); err != nil {
		return m, err
	}
	m.Kind, m.ID, m.Session, m.Of, m.Function, m.Result = kind(d.number()), d.number(), d.number(), d.number(), int(d.number()), d.number()
	for range min(d.number(), uint64(len(d.rest))) {
		m.Args = append(m.Args, d.number())
	}
	m.Interface, m.Name, m.Failed = string(d.bytes()), string(d.bytes()), string(d.bytes())
	m.Memory = d.bytes()
	if d.failed || len(d.rest) > 0 {
		return m, errMalformed
	}
	return m, nil
}

// decoder takes fields from a message.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) bytes() []byte {
	size := d.number()
	if size > uint64(len(d.rest)) {
		d.failed, d.rest = true, nil
		return nil
	}
	b := d.rest[:size:size]
	d.rest = d.rest[size:]
	return b
}
