package lsp

import (
	"encoding/json"
	"sync"

	"github.com/creachadair/jrpc2/channel"
)

// draining is a channel whose end is received when each request before it is answered: the server drops what it has not
// answered when it stops.
type draining struct {
	channel.Channel

	mu sync.Mutex
	// pending counts the requests without an answer, and idle is signalled when there are none, or when the channel closes.
	pending int
	closed  bool
	idle    *sync.Cond
}

func newDraining(c channel.Channel) *draining {
	d := &draining{Channel: c}
	d.idle = sync.NewCond(&d.mu)
	return d
}

// envelope is what separates requests, notifications, and answers.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// Recv implements [channel.Channel].
func (d *draining) Recv() ([]byte, error) {
	message, err := d.Channel.Recv()
	if err != nil {
		d.drain()
		return message, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var e envelope
	if json.Unmarshal(message, &e) == nil && e.ID != nil && e.Method != "" {
		d.pending++
	}
	return message, nil
}

// drain waits until each request is answered, or the channel closes.
func (d *draining) drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.pending > 0 && !d.closed {
		d.idle.Wait()
	}
}

// Send implements [channel.Channel].
func (d *draining) Send(message []byte) error {
	err := d.Channel.Send(message)
	var e envelope
	if json.Unmarshal(message, &e) == nil && e.ID != nil && string(e.ID) != "null" && e.Method == "" {
		d.end(1, false)
	}
	if err != nil { // nobody reads answers any more
		d.end(0, true)
	}
	return err
}

// Close implements [channel.Channel].
func (d *draining) Close() error {
	d.end(0, true)
	return d.Channel.Close()
}

func (d *draining) end(answers int, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending -= answers
	d.closed = d.closed || closed
	d.idle.Broadcast()
}
