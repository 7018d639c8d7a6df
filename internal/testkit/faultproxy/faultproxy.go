// Package faultproxy is a TCP proxy of tests, which cuts, delays, silences, and duplicates connections.
package faultproxy

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxy passes connections on to a server. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	conns  map[*link]bool
	delay  time.Duration
	// doubles says that new connections have a duplicate.
	doubles bool
	wg      sync.WaitGroup
}

// link is one connection: to the client, and to the server.
type link struct {
	client, server net.Conn
	// silent discards what the server answers, or, if deaf is set, what the client sends.
	silent, deaf bool
	// late holds the client's data back until the channel is closed, even if the client has gone. nil if nothing is held back.
	late chan struct{}
	// double is another connection to the server, which also gets the client's data. nil if there is none.
	double net.Conn
}

// Start starts a proxy for a server until the end of the test.
func Start(t testing.TB, target string) *Proxy {
	p, err := New(target)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// New starts a proxy for a server, for benchmarks.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, conns: make(map[*link]bool)}
	p.wg.Go(p.accept)
	return p, nil
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
	p.wg.Wait()
}

// Port is the port of 127.0.0.1 that the proxy listens at.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Address is the address that the proxy listens at.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Delay has whatever passes from now on wait for half of the round trip in each direction.
func (p *Proxy) Delay(roundTrip time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = roundTrip / 2
}

// Cut ends all connections, in the middle of whatever passes.
func (p *Proxy) Cut() {
	p.each(func(l *link) {
		if l.late != nil {
			l.client.Close() // its server hears of it when everything was delivered
			return
		}
		l.close()
	})
}

// Route passes connections that are made from now on to another server.
func (p *Proxy) Route(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Double has whatever clients send on connections that are made from now on arrive twice, the second time on another
// connection, whose answers nobody reads. Where the server has each connection begin with something new, such as a nonce
// of TLS or PostgreSQL, it refuses the duplicate.
func (p *Proxy) Double(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubles = is
}

// Silence has answers of the server get lost, so that requests take effect and nobody hears of it. The connections stay open
// until the proxy is told to Cut them.
func (p *Proxy) Silence() { p.each(func(l *link) { l.silent = true }) }

// Deafen has requests get lost, on connections that seem open to both sides.
func (p *Proxy) Deafen() { p.each(func(l *link) { l.deaf = true }) }

// Hold has requests that are sent from now on arrive only when they are delivered, also if their connection was cut, and
// the client has sent them again. The proxy waits for that when it is closed.
func (p *Proxy) Hold() (deliver func()) {
	late := make(chan struct{})
	p.each(func(l *link) {
		if l.late == nil {
			l.late = late
		}
	})
	return func() { close(late) }
}

func (p *Proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.conns {
		do(l)
	}
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
	if l.double != nil {
		l.double.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target, doubles := p.target, p.doubles
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			client.Close()
			continue
		}
		l := &link{client: client, server: server}
		if doubles {
			if l.double, err = net.Dial("tcp", target); err != nil {
				l.close()
				continue
			}
			p.wg.Go(func() { _, _ = io.Copy(io.Discard, l.double) }) // until it is closed
		}
		p.mu.Lock()
		p.conns[l] = true
		p.mu.Unlock()
		p.wg.Go(func() { p.pass(l, client, server, &l.deaf, &l.late) })
		p.wg.Go(func() { p.pass(l, server, client, &l.silent, new(chan struct{})) })
	}
}

// part is a chunk of data, and the time when it is passed on.
type part struct {
	data []byte
	due  time.Time
	late <-chan struct{}
}

// pass passes data on from one side to the other. Reading goes on while data waits, as on a long line.
func (p *Proxy) pass(l *link, from, to net.Conn, lost *bool, late *chan struct{}) {
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.conns, l)
		p.mu.Unlock()
	}()
	const parts = 1 << 12
	line := make(chan part, parts)
	var written sync.WaitGroup
	written.Go(func() {
		for x := range line {
			time.Sleep(time.Until(x.due))
			if x.late != nil {
				<-x.late
			}
			if to == l.server && l.double != nil {
				_, _ = l.double.Write(x.data) // the server may have refused it
			}
			if _, err := to.Write(x.data); err != nil {
				to.Close() // which ends the other direction when it has delivered what it has
			}
		}
	})
	defer written.Wait()
	defer close(line)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		gone, delay, until := *lost, p.delay, *late
		p.mu.Unlock()
		if n > 0 && !gone {
			line <- part{append([]byte(nil), buf[:n]...), time.Now().Add(delay), until}
		}
		if err != nil {
			return
		}
	}
}

// Faults returns a function that causes one of the faults in one of the proxies.
func Faults(proxies *[]*Proxy) func(*rand.Rand) {
	return func(random *rand.Rand) {
		p := (*proxies)[random.IntN(len(*proxies))]
		const longest = 20 // milliseconds
		pause := func() { time.Sleep(time.Duration(random.IntN(longest)) * time.Millisecond) }
		switch random.IntN(6) {
		case 0:
			p.Cut()
		case 1:
			p.Silence()
			pause()
			p.Cut()
		case 2:
			p.Deafen()
			pause()
			p.Cut()
		case 3:
			p.Delay(time.Duration(random.IntN(longest)) * time.Millisecond)
			pause()
			p.Delay(0)
		case 4:
			deliver := p.Hold()
			pause()
			p.Cut()
			time.AfterFunc(time.Duration(random.IntN(5*longest))*time.Millisecond, deliver)
		case 5:
			p.Double(true)
			p.Cut() // so that there are new connections
			const pauses = 4
			for range pauses {
				pause()
			}
			p.Double(false)
		}
	}
}
