package wasi

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// FirstSocket is the lowest descriptor of a socket, above files' descriptors.
const FirstSocket = 1 << 20

// ErrWouldWait is the error of a [Socket] that cannot be read or written yet.
var ErrWouldWait error = errAgain

// Socket is an object that a guest can read, write, and wait for, beside files. No method waits. Errors are for the guest, which
// sees EIO for an unknown one.
type Socket interface {
	// Read returns [ErrWouldWait] if nothing has arrived, and [io.EOF] at the end.
	Read(p []byte) (int, error)
	// Write returns [ErrWouldWait] if nothing can be sent.
	Write(p []byte) (int, error)
	// CloseWrite ends sending.
	CloseWrite() error
	// Ready reports whether a read, or a write, would not wait.
	Ready(write bool) bool
}

// Sockets are the sockets of one instance.
type Sockets interface {
	// Socket returns the socket with that descriptor, nil for none.
	Socket(fd uint32) Socket
	// CloseSocket closes it.
	CloseSocket(fd uint32)
	// Changed receives after a socket has become ready, unless that was not received yet.
	Changed() <-chan struct{}
	// Ended returns the context of the call that is served: with its end, nothing waits for sockets any more.
	Ended() context.Context
}

// socket returns the socket with that descriptor, nil for none.
func (c *call) socket(fd uint32) Socket {
	if fd < FirstSocket || c.sys.config.Sockets == nil {
		return nil
	}
	return c.sys.config.Sockets.Socket(fd)
}

// hasEnded reports whether the call that is served has ended, for sockets.
func (c *call) hasEnded() bool { return c.sys.config.Sockets.Ended().Err() != nil }

func (c *call) readSocket(s Socket) Errno {
	n, errno := c.mem.transfer(c.u32(1), c.u32(2), func(p []byte) (int, error) {
		n, err := s.Read(p)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, c.orCanceled(err)
	})
	if errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(3), n)
}

func (c *call) writeSocket(s Socket) Errno {
	n, errno := c.mem.transfer(c.u32(1), c.u32(2), func(p []byte) (int, error) {
		n, err := s.Write(p)
		return n, c.orCanceled(err)
	})
	if errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(3), n)
}

// orCanceled returns the error that replaces a wait once the call has ended.
func (c *call) orCanceled(err error) error {
	if err == ErrWouldWait && c.hasEnded() {
		return errCanceled
	}
	return err
}

const (
	shutdownRead  = 1 << 0
	shutdownWrite = 1 << 1
)

func sockShutdown(c *call) Errno {
	s := c.socket(c.u32(0))
	if s == nil {
		return errBadf
	}
	how := c.u32(1)
	if how == 0 || how&^(shutdownRead|shutdownWrite) != 0 {
		return errInval
	}
	if how&shutdownWrite == 0 {
		return success // what arrives need not be read
	}
	return errnoOf(s.CloseWrite())
}

// awaitSockets waits until a socket has changed, the time is over, if it is above zero, or the call has
// ended.
func (c *call) awaitSockets(wait time.Duration) {
	sockets := c.sys.config.Sockets
	ended := sockets.Ended()
	if _, system := c.sys.config.Clock.(systemClock); system || wait == 0 {
		var over <-chan time.Time
		if wait > 0 {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-sockets.Changed():
		case <-over:
		case <-ended.Done():
		case <-c.ctx.Done():
		}
		return
	}
	sleep, wake := context.WithCancel(c.ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-sockets.Changed():
		case <-ended.Done():
		case <-sleep.Done():
		}
		wake()
	}()
	_ = c.sys.config.Clock.Sleep(sleep, wait) // an error is one of the reasons above
	wake()
	<-watched // it must not receive what the next wait is for
}

// subscription is a wait for a socket.
type subscription struct {
	event
	socket Socket
}

// sockets returns a poll's subscriptions of sockets.
func (c *call) sockets(records []byte) (list []subscription) {
	for ; len(records) > 0; records = records[subscriptionSize:] {
		if kind := records[8]; kind != eventRead && kind != eventWrite {
			continue
		}
		if s := c.socket(binary.LittleEndian.Uint32(records[16:])); s != nil {
			list = append(list, subscription{event{userdata: binary.LittleEndian.Uint64(records), kind: records[8]}, s})
		}
	}
	return list
}

// readySockets appends the events of the sockets that are ready, which all are once the call has ended.
func (c *call) readySockets(ready []event, sockets []subscription) []event {
	all := len(sockets) > 0 && c.hasEnded()
	for _, s := range sockets {
		if all || s.socket.Ready(s.kind == eventWrite) {
			ready = append(ready, s.event)
		}
	}
	return ready
}

// pollSockets waits for sockets and timers.
func (c *call) pollSockets(sockets []subscription, timers []event, wait time.Duration) []event {
	clock := c.sys.config.Clock
	begun := clock.Elapsed()
	for {
		c.mustGoOn()
		if ready := c.readySockets(nil, sockets); len(ready) > 0 {
			return ready
		}
		left := time.Duration(0)
		if len(timers) > 0 {
			if left = wait - (clock.Elapsed() - begun); left <= 0 {
				return timers
			}
		}
		c.awaitSockets(left)
	}
}
