package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// slowest bounds the time in which who follows a log takes a page of it.
	slowest = 30 * time.Second
	// maxWatchers bounds the logs that are followed with one token at once.
	maxWatchers = 256
	// pageMemory is the memory of a page of a log until it is sent, in bytes: its lines, and the longest of them encoded twice.
	pageMemory = 5 << 20
)

// watchers counts the logs that are followed, by team and token.
type watchers struct {
	mu sync.Mutex
	of map[string]int
}

// begin counts one, until the caller calls end.
func (w *watchers) begin(c *caller) (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[string]int)
	}
	token := c.tenant + "\n" + c.name
	if w.of[token] >= maxWatchers {
		return nil, tryLaterf(http.StatusTooManyRequests, "the token %s follows %d logs already", c.name, maxWatchers)
	}
	w.of[token]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.of[token]--; w.of[token] == 0 {
			delete(w.of, token)
		}
	}, nil
}

// follow sends the log of a run as events, and the run itself when its state changes, until it is final.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, c *caller) error {
	if err := c.require(runapi.Read, ""); err != nil {
		return err
	}
	after := int64(0)
	if text := cmp.Or(r.URL.Query().Get("after"), r.Header.Get("Last-Event-ID")); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return refusef(http.StatusBadRequest, "%.40q is not the number of a line", text)
		}
	}
	stopWatching, err := s.watchers.begin(c)
	if err != nil {
		return err
	}
	defer stopWatching()
	events := http.NewResponseController(w)
	told, id := "", r.PathValue("id")
	changed, stop := s.changed.wait(id)
	defer stop()
	revoked, stop := s.revoked.wait(c.hash)
	defer stop()
	expired := s.expiry(c)
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	held := s.memory.Hold(c.tenant)
	defer held.End()
	ctx := intake.WithRoom(r.Context(), held.Add)
	for check := true; ; { // at first because it may have been revoked before this was waited for
		select {
		case <-revoked:
			check = true
		case <-expired:
			check = true
		default:
		}
		if check {
			check = false
			if c, err = s.caller(r); err == nil {
				expired = s.expiry(c)
				c.end()
				err = c.require(runapi.Read, "")
			}
			if err != nil && told != "" {
				return nil // who asks again hears of it
			}
			if err != nil {
				return err
			}
		}
		err := held.Add(pageMemory)
		var run *record
		var lines []runapi.Line
		var more bool
		if err == nil {
			run, lines, more, err = s.log(ctx, c, id, after)
		}
		if err != nil {
			if told != "" {
				return nil // the answer has begun: the client asks again
			}
			return err
		}
		if told == "" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache")
		}
		_ = events.SetWriteDeadline(time.Now().Add(slowest)) // a writer without deadlines has none to set
		for _, line := range lines {
			text, err := json.Marshal(line)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "id: %d\nevent: line\ndata: %s\n\n", line.Number, text); err != nil {
				return nil
			}
			after = line.Number
		}
		whole := !more
		if is := fmt.Sprint(run.State, run.Worker, run.Attempt, run.WaitsFor); is != told && (whole || !run.State.IsFinal()) {
			text, err := json.Marshal(run.Run)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "event: run\ndata: %s\n\n", text); err != nil {
				return nil
			}
			told = is
		}
		if err := events.Flush(); err != nil || whole && run.State.IsFinal() {
			return nil
		}
		held.End()
		if !whole {
			continue
		}
		for waiting := true; waiting; {
			select {
			case <-changed:
				waiting = false
			case <-revoked:
				waiting, check = false, true
			case <-expired:
				waiting, check = false, true
			case <-idle.C:
				_ = events.SetWriteDeadline(time.Now().Add(slowest))
				if _, err := io.WriteString(w, ": waiting\n\n"); err != nil || events.Flush() != nil {
					return nil
				}
			case <-s.closing:
				return nil
			case <-r.Context().Done():
				return nil
			}
		}
	}
}
