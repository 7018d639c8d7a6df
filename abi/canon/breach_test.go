package canon_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// answering returns four failures from every check, and nothing from every diff and handshake. A
// check of the type "fail" fails.
type answering struct{ abi.Unimplemented }

func (answering) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{}, nil
}

func (answering) Diff(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, nil
}

func (answering) Check(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	if r.Type == "fail" {
		return abi.CheckResponse{}, abi.NewError(abi.ErrorKindNotFound, "no such type")
	}
	failure := abi.CheckFailure{Path: "length", Reason: "too short"}
	return abi.CheckResponse{Failures: []abi.CheckFailure{failure, failure, failure, failure}}, nil
}

// memoryWriter changes a module's memory as a hostile module would.
type memoryWriter []byte

func (m memoryWriter) u8(at uint64, v byte)    { m[at] = v }
func (m memoryWriter) u32(at uint64, v uint32) { binary.LittleEndian.PutUint32(m[at:], v) }
func (m memoryWriter) get(at uint64) uint64    { return uint64(binary.LittleEndian.Uint32(m[at:])) }

// Offsets in the result<check-response, error> of check.
const (
	inputsPtr     = 4
	failuresPtr   = 12
	failuresLen   = 16
	failureSize   = 16
	failureReason = 8
)

func TestBreach(t *testing.T) {
	check := func(g *canon.Guest) error {
		_, err := g.Check(context.Background(), abi.CheckRequest{})
		return err
	}
	failing := func(g *canon.Guest) error {
		_, err := g.Check(context.Background(), abi.CheckRequest{Type: "fail"})
		return err
	}
	tests := []struct {
		name   string
		call   func(*canon.Guest) error
		tamper func(m memoryWriter, result uint64)
		want   string
		is     error
	}{
		{"neither ok nor error", check,
			func(m memoryWriter, r uint64) { m.u8(r, 2) },
			"provider.check: there is no such case", canon.ErrCase},
		{"list not aligned", check,
			func(m memoryWriter, r uint64) { m.u32(r+failuresPtr, uint32(m.get(r+failuresPtr)+2)) },
			"check-response.failures: the pointer is not aligned", canon.ErrMisaligned},
		{"list beyond the memory", check,
			func(m memoryWriter, r uint64) { m.u32(r+failuresLen, 1<<20) },
			"check-response.failures: the pointer and length lie outside of the memory", canon.ErrOutOfBounds},
		{"list whose size overflows", check,
			func(m memoryWriter, r uint64) { m.u32(r+failuresLen, 1<<28+1) },
			"check-response.failures: the list is longer than a memory can hold", canon.ErrLength},
		{"string beyond the memory", check,
			func(m memoryWriter, r uint64) { m.u32(m.get(r+failuresPtr)+failureSize, 0xffffffff) },
			"check-response.failures[1].path: the pointer and length lie outside of the memory", canon.ErrOutOfBounds},
		{"string not UTF-8", check,
			func(m memoryWriter, r uint64) {
				m.u8(m.get(m.get(r+failuresPtr)+3*failureSize+failureReason), 0xff)
			},
			"check-response.failures[3].reason: invalid UTF-8", canon.ErrUTF8},
		{"properties not CBOR", check,
			func(m memoryWriter, r uint64) { m.u8(m.get(r+inputsPtr), 0xff) },
			"check-response.inputs: ", property.FaultMalformed},
		{"bool of 2",
			func(g *canon.Guest) error {
				_, err := g.Diff(context.Background(), abi.DiffRequest{})
				return err
			},
			func(m memoryWriter, r uint64) { m.u8(r+4+12, 2) },
			"diff-response.delete-before-replace: a bool is neither 0 nor 1", canon.ErrBool},
		{"unknown enumeration case",
			func(g *canon.Guest) error {
				_, err := g.Diff(context.Background(), abi.DiffRequest{})
				return err
			},
			func(m memoryWriter, r uint64) { m.u8(r+4, 4) },
			"diff-response.changes: there is no such case", canon.ErrCase},
		{"unknown flag",
			func(g *canon.Guest) error {
				_, err := g.Handshake(context.Background(), abi.HandshakeRequest{})
				return err
			},
			func(m memoryWriter, r uint64) { m.u8(r+4+24, 1<<7) },
			"handshake-response.features: an unknown flag is set", canon.ErrFlags},
		{"unknown error kind", failing,
			func(m memoryWriter, r uint64) { m.u8(r+4, 9) },
			"error.kind: there is no such case", canon.ErrCase},
		{"init-failed without its data", failing,
			func(m memoryWriter, r uint64) { m.u8(r+4, byte(abi.ErrorKindInitFailed)) },
			"error.init-failure: it must be present exactly when the kind is init-failed", canon.ErrInitFailure},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return answering{} })
			f.left = func(_ string, _ int, result uint64) { test.tamper(f.memory, result) }
			err := test.call(f.guest)
			require.ErrorIs(t, err, test.is)
			require.ErrorContains(t, err, test.want)
			var e *canon.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, f.guest.Broken(), err)
			require.Equal(t, 1, f.released, "the result is released all the same")
		})
	}
}

// TestLimit lifts small memories that describe large values.
func TestLimit(t *testing.T) {
	for name, tamper := range map[string]func(f *fake, r uint64){
		"one long string": func(f *fake, r uint64) {
			ptr, _ := f.Store(make([]byte, limit+1), 1)
			m := memoryWriter(f.memory)
			m.u32(m.get(r+failuresPtr), ptr)
			m.u32(m.get(r+failuresPtr)+4, limit+1)
		},
		"one string many times": func(f *fake, r uint64) {
			const n = 1000
			text, _ := f.Store(make([]byte, 64<<10), 1)
			list, _ := f.Store(make([]byte, n*failureSize), 4)
			m := memoryWriter(f.memory)
			for i := range uint64(n) {
				m.u32(uint64(list)+i*failureSize, text)
				m.u32(uint64(list)+i*failureSize+4, 64<<10)
			}
			m.u32(r+failuresPtr, list)
			m.u32(r+failuresLen, n)
		},
		"many empty elements": func(f *fake, r uint64) {
			const n = limit / 16
			list, _ := f.Store(make([]byte, n*failureSize), 4)
			memoryWriter(f.memory).u32(r+failuresPtr, list)
			memoryWriter(f.memory).u32(r+failuresLen, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return answering{} })
			f.left = func(_ string, _ int, result uint64) { tamper(f, result) }
			_, err := f.guest.Check(t.Context(), abi.CheckRequest{})
			var exceeded *canon.LimitError
			require.ErrorAs(t, err, &exceeded)
			require.EqualValues(t, limit, exceeded.Limit)
			require.ErrorContains(t, err, "exceed the limit of 1048576 bytes")
		})
	}
}

// hostile is an instance whose exports all answer the same number.
type hostile struct {
	*fake
	answer uint64
	trap   error
}

func (h hostile) Call(_ context.Context, _ int, stack []uint64) error {
	stack[0] = h.answer
	return h.trap
}

func TestHostileInstance(t *testing.T) {
	request := abi.CheckRequest{Name: "a name to store"}
	for name, test := range map[string]struct {
		instance hostile
		want     string
	}{
		"allocates outside":   {hostile{answer: 1 << 30}, "outside of the memory"},
		"allocates unaligned": {hostile{answer: 1}, "not aligned"},
		"traps":               {hostile{trap: errors.New("wasm error: unreachable")}, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			test.instance.fake = &fake{memory: make([]byte, 1<<16)}
			g := canon.NewGuest(test.instance, guestcbor.Codec{}, limit)
			_, err := g.Check(t.Context(), request)
			require.ErrorContains(t, err, test.want)
			require.Error(t, g.Broken())
		})
	}
}

// TestImportBreach calls imports with arguments that no honest module passes.
func TestImportBreach(t *testing.T) {
	for _, test := range []struct {
		iface, name string
		stack       []uint64
		want        string
	}{
		{"tcp", "read", []uint64{1, 10, 2, 64}, "tcp.read.wait: a bool is neither 0 nor 1"},
		{"tcp", "read", []uint64{1, 10, 256, 64}, "tcp.read: the value does not fit its type"},
		{"tcp", "connect", []uint64{0, 0, 1 << 16, 0, 64}, "tcp.connect: the value does not fit its type"},
		{"tcp", "close-write", []uint64{1, 1 << 20}, "outside of the memory"},
		{"tcp", "close-write", []uint64{1, 65}, "not aligned"},
		{"log", "write", []uint64{4, 0, 0, 0, 0, 0}, "log.write.entry.severity: there is no such case"},
		{"log", "write", []uint64{0, firstFree - 4, 10, 0, 0, 0}, "log.write.entry.message: the pointer and length lie outside"},
		{"monitor", "start", []uint64{4, 64}, "monitor.start: the pointer is not aligned"},
		{"monitor", "start", []uint64{1 << 20, 64}, "monitor.start: the pointer and length lie outside"},
	} {
		t.Run(test.iface+"."+test.name, func(t *testing.T) {
			var trace canontest.Trace
			f := newFake(canontest.NewHost(&trace), echoing(nil))
			err := importNamed(t, test.iface, test.name).Call(t.Context(), f.guest, &f.imports, test.stack)
			require.ErrorContains(t, err, test.want)
			require.ErrorIs(t, f.guest.Broken(), err)
		})
	}
}

func importNamed(t *testing.T, iface, name string) *canon.Import {
	for _, i := range canon.ImportTable() {
		if strings.Contains(i.Module, "/"+iface+"@") && i.Name == name {
			return &i
		}
	}
	require.Fail(t, "no such import", "%s.%s", iface, name)
	return nil
}
