package wasi

import (
	"context"
	"encoding/binary"
	"time"
)

// Clock is the time that guests see. It must be safe for concurrent use.
type Clock interface {
	// Now is the wall clock.
	Now() time.Time
	// Elapsed is the monotonic clock. It is above zero and never runs backwards.
	Elapsed() time.Duration
	// Sleep returns after the duration, or with an error when the context ends.
	Sleep(ctx context.Context, duration time.Duration) error
}

// SystemClock is the machine's clock.
func SystemClock() Clock {
	// Some guests take a clock of zero for one that does not work.
	return systemClock{start: time.Now().Add(-time.Second)}
}

type systemClock struct{ start time.Time }

func (c systemClock) Now() time.Time         { return time.Now() }
func (c systemClock) Elapsed() time.Duration { return time.Since(c.start) }

func (c systemClock) Sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Clock identifiers. The two CPU time clocks are refused.
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// clockResolution is the resolution reported to guests, in nanoseconds.
const clockResolution = 1

// tellsTime is called before the guest learns of the clock.
func (c *call) tellsTime() {
	if read := c.sys.config.ClockRead; read != nil {
		read()
	}
}

func (c *call) clock(id uint32) (nanoseconds uint64, errno Errno) {
	switch id {
	case clockRealtime:
		return uint64(c.now().UnixNano()), success
	case clockMonotonic:
		return uint64(c.sys.config.Clock.Elapsed()), success
	default:
		return 0, errInval
	}
}

func clockFunctions() []function {
	return []function{
		{"clock_res_get", "ii", func(c *call) Errno {
			if _, errno := c.clock(c.u32(0)); errno != success {
				return errno
			}
			return c.mem.putU64(c.u32(1), clockResolution)
		}},
		{"clock_time_get", "iIi", func(c *call) Errno {
			c.tellsTime()
			now, errno := c.clock(c.u32(0))
			if errno != success {
				return errno
			}
			return c.mem.putU64(c.u32(2), now)
		}},
		{"poll_oneoff", "iiii", pollOneoff},
	}
}

const (
	subscriptionSize = 48
	eventSize        = 32
	// maxSubscriptions is more than runtimes ask for: one for each open file and a timer.
	maxSubscriptions = 4 * DefaultOpenFiles

	eventClock = 0
	eventRead  = 1
	eventWrite = 2

	// absoluteTime marks a timeout as a point in time of its clock.
	absoluteTime = 1
)

// event is the result of one subscription.
type event struct {
	userdata uint64
	errno    Errno
	kind     byte
}

// pollOneoff waits for the first of several events. Files are always ready, so a
// guest waits only where all subscriptions are timers and sockets that are not; that wait ends
// with the context.
func pollOneoff(c *call) Errno {
	in, out, count, written := c.u32(0), c.u32(1), c.u32(2), c.u32(3)
	if count == 0 || count > maxSubscriptions {
		return errInval
	}
	subscriptions, errno := c.mem.bytes(in, count*subscriptionSize)
	if errno != success {
		return errno
	}
	ready, timers, wait, errno := c.subscriptions(subscriptions)
	if errno != success {
		return errno
	}
	switch sockets := c.sockets(subscriptions); {
	case len(ready) > 0:
		ready = c.readySockets(ready, sockets)
	case len(sockets) > 0:
		ready = c.pollSockets(sockets, timers, wait)
	default:
		if err := c.sys.config.Clock.Sleep(c.ctx, wait); err != nil {
			panic(err)
		}
		ready = timers
	}
	events, errno := c.mem.bytes(out, uint32(len(ready))*eventSize)
	if errno != success {
		return errno
	}
	for i, e := range ready {
		record := events[i*eventSize : (i+1)*eventSize]
		clear(record)
		binary.LittleEndian.PutUint64(record, e.userdata)
		binary.LittleEndian.PutUint16(record[8:], uint16(e.errno))
		record[10] = e.kind
	}
	return c.mem.putU32(written, uint32(len(ready)))
}

// subscriptions sorts a poll's subscriptions: the ones that are ready at once, and the earliest timers with the time until they
// fire.
func (c *call) subscriptions(records []byte) (ready, timers []event, wait time.Duration, errno Errno) {
	for ; len(records) > 0; records = records[subscriptionSize:] {
		e := event{userdata: binary.LittleEndian.Uint64(records), kind: records[8]}
		switch e.kind {
		case eventClock:
			remaining, errno := c.remaining(records[16:subscriptionSize])
			if errno != success {
				return nil, nil, 0, errno
			}
			switch {
			case remaining <= 0:
				ready = append(ready, e)
			case len(timers) == 0 || remaining < wait:
				timers, wait = append(timers[:0], e), remaining
			case remaining == wait:
				timers = append(timers, e)
			}
		case eventRead, eventWrite:
			fd := binary.LittleEndian.Uint32(records[16:])
			if c.sys.handles.get(fd) == nil {
				if c.socket(fd) != nil {
					break
				}
				e.errno = errBadf
			}
			ready = append(ready, e)
		default:
			return nil, nil, 0, errInval
		}
	}
	return ready, timers, wait, success
}

// remaining is the time until a timer fires.
func (c *call) remaining(timer []byte) (time.Duration, Errno) {
	now, errno := c.clock(binary.LittleEndian.Uint32(timer))
	if errno != success {
		return 0, errno
	}
	timeout := binary.LittleEndian.Uint64(timer[8:])
	if binary.LittleEndian.Uint16(timer[24:])&absoluteTime != 0 {
		c.tellsTime() // whether that time has come
		if timeout <= now {
			return 0, success
		}
		timeout -= now
	}
	const longest = 1<<63 - 1
	return time.Duration(min(timeout, longest)), success
}
