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
	// pending counts the requests without an answer by their IDs, and idle is signalled when there are none, or when the
	// channel closes.
	pending map[string]int
	closed  bool
	idle    *sync.Cond
}

func newDraining(c channel.Channel) *draining {
	d := &draining{Channel: c, pending: map[string]int{}}
	d.idle = sync.NewCond(&d.mu)
	return d
}

// envelope has the fields that distinguish requests, notifications, and answers.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
}

// isRequest reports whether a message is a request that is answered under its ID.
func (e *envelope) isRequest() bool {
	return e.Version == "2.0" && e.Method != "" && len(e.ID) > 0 && (e.ID[0] == '"' || e.ID[0] == '-' || '0' <= e.ID[0] && e.ID[0] <= '9')
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
	if json.Unmarshal(message, &e) == nil && e.isRequest() {
		d.pending[string(e.ID)]++
	}
	return message, nil
}

// drain waits until each request is answered, or the channel closes.
func (d *draining) drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.pending) > 0 && !d.closed {
		d.idle.Wait()
	}
}

// Send implements [channel.Channel].
func (d *draining) Send(message []byte) error {
	err := d.Channel.Send(message)
	var e envelope
	answered := ""
	if json.Unmarshal(message, &e) == nil && e.Method == "" {
		answered = string(e.ID)
	}
	d.end(answered, err != nil) // after an error, nobody reads answers any more
	return err
}

// Close implements [channel.Channel].
func (d *draining) Close() error {
	d.end("", true)
	return d.Channel.Close()
}

func (d *draining) end(answered string, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending[answered]--; d.pending[answered] <= 0 {
		delete(d.pending, answered)
	}
	d.closed = d.closed || closed
	d.idle.Broadcast()
}
