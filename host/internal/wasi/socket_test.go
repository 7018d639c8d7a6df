package wasi

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipes are sockets of a test. Each is ready once something was put into it.
type pipes struct {
	changed chan struct{}
	ended   context.Context
	open    map[uint32]*pipe
}

type pipe struct{ arrived chan byte }

func (p *pipes) Socket(fd uint32) Socket {
	if found, ok := p.open[fd]; ok {
		return found
	}
	return nil
}
func (p *pipes) CloseSocket(fd uint32)    { delete(p.open, fd) }
func (p *pipes) Changed() <-chan struct{} { return p.changed }
func (p *pipes) Ended() context.Context   { return p.ended }

func (p *pipe) Read(to []byte) (int, error) {
	select {
	case b, more := <-p.arrived:
		if !more {
			return 0, io.EOF
		}
		to[0] = b
		return 1, nil
	default:
		return 0, ErrWouldWait
	}
}
func (*pipe) Write(p []byte) (int, error) { return len(p), nil }
func (*pipe) CloseWrite() error           { return nil }
func (p *pipe) Ready(write bool) bool     { return write || len(p.arrived) > 0 }

// otherClock is not the system's, but shows the same time.
type otherClock struct{ Clock }

func pollRecord(userdata uint64, kind byte, fd uint32, timeout time.Duration) []byte {
	record := make([]byte, subscriptionSize)
	binary.LittleEndian.PutUint64(record, userdata)
	record[8] = kind
	binary.LittleEndian.PutUint32(record[16:], fd)
	if kind == eventClock {
		binary.LittleEndian.PutUint32(record[16:], clockMonotonic)
		binary.LittleEndian.PutUint64(record[24:], uint64(timeout))
	}
	return record
}

// Waiting ends when a socket is ready, a timer fires, or the call ends, by whatever clock.
func TestWaitingForSockets(t *testing.T) {
	const fd = FirstSocket + 1
	for name, clock := range map[string]Clock{"the system's clock": SystemClock(), "another clock": otherClock{SystemClock()}} {
		t.Run(name, func(t *testing.T) {
			ended, end := context.WithCancel(t.Context())
			defer end()
			one := &pipe{make(chan byte, 1)}
			sockets := &pipes{changed: make(chan struct{}, 1), ended: ended, open: map[uint32]*pipe{fd: one}}
			c := &call{ctx: t.Context(), sys: New(Config{Clock: clock, Sockets: sockets})}
			poll := func(records ...[]byte) (ready []uint64) {
				var all []byte
				for _, r := range records {
					all = append(all, r...)
				}
				immediately, timers, wait, errno := c.subscriptions(all)
				require.Equal(t, success, errno)
				events := c.readySockets(immediately, c.sockets(all))
				if len(events) == 0 {
					events = c.pollSockets(c.sockets(all), timers, wait)
				}
				for _, e := range events {
					ready = append(ready, e.userdata)
				}
				return ready
			}
			require.Equal(t, []uint64{2}, poll(pollRecord(1, eventRead, fd, 0), pollRecord(2, eventWrite, fd, 0)))
			require.Equal(t, []uint64{3}, poll(pollRecord(1, eventRead, fd, 0), pollRecord(3, eventClock, 0, time.Millisecond)))
			for range 100 {
				go func() {
					one.arrived <- 'x'
					sockets.changed <- struct{}{}
				}()
				require.Equal(t, []uint64{1}, poll(pollRecord(1, eventRead, fd, 0), pollRecord(3, eventClock, 0, time.Hour)))
				<-one.arrived
			}
			require.Equal(t, []uint64{4}, poll(pollRecord(4, eventRead, fd+1, 0)))
			go end()
			require.Equal(t, []uint64{1}, poll(pollRecord(1, eventRead, fd, 0)))
			require.Equal(t, errCanceled, c.orCanceled(ErrWouldWait))
		})
	}
}
