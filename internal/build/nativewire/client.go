package nativewire

import (
	"context"
	"io"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// maxCrossing bounds what an import gets or returns, in bytes.
const maxCrossing = 256 << 20

// Client is the end of husk.
type Client struct {
	link *link

	mu   sync.Mutex
	last uint64
	// running has the calls that are served, for the imports in them.
	running map[uint64]*running
}

type running struct {
	ctx     context.Context
	imports canon.Imports
}

// NewClient connects to a provider that reads calls from out, and answers to in. It reads until in ends.
func NewClient(in io.Reader, out io.Writer) *Client {
	c := &Client{link: newLink(out), running: make(map[uint64]*running)}
	go c.link.read(in, func(m message) {
		if m.Kind == imports {
			go c.serve(m)
		}
	})
	return c
}

// Ended is closed when the process has closed its output.
func (c *Client) Ended() <-chan struct{} { return c.link.ended }

// Open returns a provider with a configuration of its own. Calls may use the imports that do not belong to a call: log and store.
// The monitor comes from the call, see [abi.WithMonitor].
func (c *Client) Open(log abi.Log, kv abi.KV) abi.Provider {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return canon.NewProvider(&opened{client: c, session: c.last, imports: canon.Imports{Log: log, KV: kv}})
}

// opened calls the provider of a session.
type opened struct {
	client  *Client
	session uint64
	imports canon.Imports
}

func (o *opened) Begin(ctx context.Context, f *canon.Function) canon.Frame {
	r := &running{ctx: ctx, imports: o.imports}
	r.imports.Monitor = abi.MonitorFrom(ctx)
	o.client.mu.Lock()
	o.client.last++
	of := o.client.last
	o.client.running[of] = r
	o.client.mu.Unlock()
	inner := (&caller{link: o.client.link, template: message{Kind: calls, Session: o.session, Of: of}}).Begin(ctx, f)
	return &servedFrame{Frame: inner, end: func() {
		o.client.mu.Lock()
		defer o.client.mu.Unlock()
		delete(o.client.running, of)
	}}
}

// servedFrame is a frame that ends with its call.
type servedFrame struct {
	canon.Frame
	end func()
}

func (f *servedFrame) Call(args []uint64) (uint64, error) {
	defer f.end()
	return f.Frame.Call(args)
}

// serve serves an import.
func (c *Client) serve(m message) {
	answer := message{Kind: answers, ID: m.ID}
	defer func() { _ = c.link.send(answer) }() // the process may have ended
	c.mu.Lock()
	r := c.running[m.Of]
	c.mu.Unlock()
	if r == nil {
		answer.Failed = "the call in which the provider called this has ended"
		return
	}
	for _, entry := range canon.ImportTable() {
		if entry.Module != canon.Package+"/"+m.Interface+"@"+canon.Version || entry.Name != m.Name {
			continue
		}
		mem := newMemory(m.Memory)
		stack := append(m.Args, 0)
		guest := canon.NewGuest(mem, guestcbor.Codec{}, maxCrossing)
		if err := entry.Call(r.ctx, guest, &r.imports, stack); err != nil {
			answer.Failed = err.Error()
			return
		}
		answer.Memory = mem.bytes
		if len(entry.Results) > 0 {
			answer.Result = stack[0]
		}
		return
	}
	answer.Failed = "husk has no function " + m.Interface + "#" + m.Name
}
