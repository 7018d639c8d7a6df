package server_test

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// countTrips listens in front of PostgreSQL, and counts how often it is asked something and an answer is waited for: clients end what
// they send at once by one message.
func countTrips(t *testing.T, to int) (port int, trips *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	trips = &atomic.Int64{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			database, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, database)
				_ = client.Close()
			}()
			go func() {
				_ = pass(bufio.NewReader(client), database, trips)
				_ = database.Close()
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, trips
}

// pass passes messages of a client on.
func pass(from *bufio.Reader, to io.Writer, trips *atomic.Int64) error {
	const sync, simple, lengthBytes = 'S', 'Q', 4
	for kind := 0; ; kind = 1 { // the first message has none
		header, err := from.Peek(kind + lengthBytes)
		if err != nil {
			return err
		}
		if kind > 0 && (header[0] == sync || header[0] == simple) {
			trips.Add(1)
		}
		if _, err := io.CopyN(to, from, int64(kind)+int64(binary.BigEndian.Uint32(header[kind:]))); err != nil {
			return err
		}
	}
}

// The most frequent requests wait for PostgreSQL a few times only.
func TestTripsToTheDatabase(t *testing.T) {
	p := postgrestest.Start(t)
	port, trips := countTrips(t, p.Port)
	b := open(t, server.Options{Database: p.URL("postgres", port)})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	var claim *runapi.Claim
	lines, sequence := 0, 0
	stack := fields{"Project": "shop", "Name": "s0"}
	lease := fields{"stack": stack, "lease": rand.Text()}
	call := func(name string, f fields) {
		t.Helper()
		status, answer := b.state(claim.Token, name, f)
		require.False(t, failed(status, answer), "%s: %d %s", name, status, answer)
	}
	const most = 200
	queued := 0
	for _, c := range []struct {
		what   string
		trips  int64
		before func()
		do     func()
	}{
		{"a question for a run that finds none", 3, nil, func() { require.Nil(t, b.next(worker, "w", nil)) }},
		{"a question for a run", 11, func() {
			b.asked(ann, runapi.NewRun{Project: "shop", Stack: fmt.Sprintf("s%d", queued)})
			queued++
		}, func() {
			is := b.next(worker, "w", nil)
			require.NotNil(t, is)
			if claim == nil {
				claim = is
			}
		}},
		{"a sign of life", 2, nil, func() {
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{}, nil)
			require.NoError(t, err)
		}},
		{"lines of a log", 2, nil, func() {
			var beat runapi.Beat
			for range 100 {
				lines++
				beat.Lines = append(beat.Lines, runapi.Line{Number: int64(lines), Stream: runapi.Out, Time: time.Now(), Text: "line"})
			}
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", beat, nil)
			require.NoError(t, err)
		}},
		{"the lock of a stack", 3, func() {
			if status, _ := b.state(claim.Token, "create", fields{"stack": stack, "call": rand.Text(), "content": []byte("{}")}); status == http.StatusOK {
				lease = lease.with(fields{"call": rand.Text(), "load": true})
			}
		}, func() { call("lease", lease) }},
		{"a sign of life of a lock", 2, nil, func() { call("beat", fields{"stack": stack, "lease": lease["lease"]}) }},
		{"a state", 2, nil, func() { call("load", fields{"stack": stack}) }},
		{"the record of a step", 3, nil, func() {
			sequence++
			call("append", fields{"stack": stack, "lease": lease["lease"], "call": rand.Text(), "sequence": sequence, "content": []byte("{}")})
		}},
		{"the status of a run", 3, nil, func() { b.run(ann, claim.ID) }},
	} {
		least := int64(most)
		for range most { // the server also asks on its own
			if c.before != nil {
				c.before()
			}
			before := trips.Load()
			c.do()
			if least = min(least, trips.Load()-before); least <= c.trips {
				break
			}
		}
		t.Logf("%s: %d", c.what, least)
		require.LessOrEqual(t, least, c.trips, c.what)
	}
	_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Succeeded}, nil)
	require.NoError(t, err)
	require.Len(t, b.log(ann, claim.ID), lines)
}
