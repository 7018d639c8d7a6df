package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/husk-dev/husk/internal/runapi"
)

// follow sends the log of a run as events, and the run itself when its state changes, until it is final.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, c *caller) error {
	if err := c.require(runapi.Read, ""); err != nil {
		return err
	}
	after, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if text := r.URL.Query().Get("after"); text != "" {
		after, _ = strconv.ParseInt(text, 10, 64)
	}
	events := http.NewResponseController(w)
	told, alive := "", time.Now()
	id, again := r.PathValue("id"), keepAlive
	if s.db.postgres {
		again = lookAgain // another server may have it
	}
	rung, stop := s.changed.wait(func(changed string) bool { return changed == id })
	defer stop()
	for {
		run, lines, err := s.log(r.Context(), c, id, after)
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
		whole := run.lines <= after
		if is := fmt.Sprint(run.State, run.Worker, run.Attempt); is != told && (whole || !run.State.IsFinal()) {
			text, err := json.Marshal(run.Run)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "event: run\ndata: %s\n\n", text); err != nil {
				return nil
			}
			told = is
		}
		if time.Since(alive) > keepAlive {
			alive = time.Now()
			if _, err := io.WriteString(w, ": waiting\n\n"); err != nil {
				return nil
			}
		}
		if err := events.Flush(); err != nil || whole && run.State.IsFinal() {
			return nil
		}
		if !whole {
			continue
		}
		select {
		case <-rung:
		case <-time.After(again):
		case <-s.closing:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}
