package canon

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// Caller is the side that calls: a host calls the exports of a module, a guest
// calls what it imports.
type Caller interface {
	Begin(ctx context.Context, f *Function) Frame
}

// Frame is one call.
type Frame interface {
	Memory
	// Call runs the core function. A result in memory is an address: an export returns it, and an
	// import gets it as its last argument.
	Call(args []uint64) (result uint64, err error)
	// Imported reports whether the function is an import.
	Imported() bool
	// End ends the call after its result was read. breach says how the other side broke the ABI.
	End(breach error)
}

// crossing holds the data of a call, in one allocation.
type crossing struct {
	writer lowerer
	reader lifter
	room   room
	args   [maxFlatParams + 1]uint64
}

// crossingOf returns the crossing of the frame, or a new one.
func crossingOf(frame Frame) *crossing {
	if e, ok := frame.(*exportFrame); ok {
		return e.crossing
	}
	return &crossing{}
}

// call lowers the parameters, calls, and lifts the result, unless lift is nil. An error of the other
// side is an *abi.Error, a value that cannot cross an *Error, and anything else an error of the
// frame.
func call(ctx context.Context, c Caller, f *Function, lower func(*lowerer, []byte), lift func(*lifter, []byte)) error {
	frame := c.Begin(ctx, f)
	k := crossingOf(frame)
	w := &k.writer
	// A function that cannot fail cannot refuse a text.
	w.mem, w.root, w.lossy = frame, callRoot(f), !f.fails
	record := k.room.zeroed(f.params.size)
	if lower != nil {
		lower(w, record)
	}
	args := k.args[:len(f.params.slots)]
	if f.spilled() {
		args = append(args[:0], uint64(w.store(record, f.params.align, "")))
	} else {
		f.params.flatten(args, record)
	}
	area := uint64(0)
	if frame.Imported() && f.indirect() {
		area = uint64(w.store(make([]byte, f.result.size), f.result.align, ""))
		args = append(args, area)
	}
	if w.err != nil {
		return w.err
	}
	result, err := frame.Call(args)
	if err != nil {
		return err
	}
	if area != 0 {
		result = area
	}
	answer, breach := f.answer(&k.reader, frame, result, lift)
	frame.End(breach)
	if breach != nil {
		return breach
	}
	if answer == nil {
		return nil
	}
	if !frame.Imported() && answer.Origin != abi.ErrorOriginRemote {
		answer.Origin = abi.ErrorOriginGuest // a module cannot speak for the host
	}
	return answer
}

// answer lifts the result of a call with lift, or returns the error that the other side returned.
func (f *Function) answer(l *lifter, mem Memory, result uint64, lift func(*lifter, []byte)) (*abi.Error, error) {
	if f.result.size == 0 {
		return nil, nil
	}
	l.mem, l.root = mem, callRoot(f)
	var b []byte
	if f.indirect() {
		b = l.area(uint32(result), f.result)
	} else {
		b = make([]byte, f.result.size)
		if !f.result.unflatten(b, []uint64{result}) {
			l.fail("", ErrRange)
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	if f.fails {
		failed := l.enum(b, 2, "") == 1
		b = b[f.payload:]
		if failed {
			l.root = errorRoot
			e := l.failure(b)
			if breach, ok := l.err.(*Error); ok && e.InitFailure != nil && e.InitFailure.ID != "" {
				breach.Made = e.InitFailure
			}
			return e, l.err
		}
	}
	if l.err == nil && lift != nil {
		l.root = responseRoot(f)
		lift(l, b)
	}
	return nil, l.err
}
