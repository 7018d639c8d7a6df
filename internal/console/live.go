package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// refreshEvery is the time between two looks at what a page shows.
	refreshEvery = 400 * time.Millisecond
	// writeTime is how long a browser may take to accept an update.
	writeTime = 10 * time.Second
)

// serveLive sends the parts of a page that change, as server-sent events: each a list of parts in JSON. A page tells
// of its first parts all that differ from what the browser has.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	at, err := url.ParseRequestURI(r.URL.Query().Get("page"))
	if err != nil || at.Host != "" || !strings.HasPrefix(at.Path, "/") || strings.HasPrefix(at.Path, "//") {
		http.Error(w, "page must be the path of a page", http.StatusBadRequest)
		return
	}
	select {
	case s.lives <- struct{}{}:
		defer func() { <-s.lives }()
	default:
		http.Error(w, fmt.Sprintf("%d pages are open, and no more are kept up to date: close some", maxLives), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(event string, data []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return err
		}
		return control.Flush()
	}
	sent := make(map[string]string)
	seen := ""
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for first := true; ; first = false {
		if now := s.fingerprint(r.Context(), at); first || now != seen {
			seen = now
			changed, err := s.changed(r, at, sent)
			if err == nil && len(changed) > 0 {
				var data []byte
				if data, err = json.Marshal(changed); err == nil {
					err = send("parts", data)
				}
			}
			if err != nil && send("failed", quoted(s.options.Secrets.In(err.Error()))) != nil {
				return
			}
		}
		select {
		case <-s.done:
			_ = send("closed", []byte("{}"))
			return
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}

func quoted(text string) []byte {
	data, _ := json.Marshal(text) // a string is always JSON
	return data
}

// changed returns the parts of a page that differ from the sent ones, and notes them as sent.
func (s *Server) changed(r *http.Request, at *url.URL, sent map[string]string) ([]part, error) {
	p, err := s.page(r.Context(), at)
	if err != nil {
		return nil, err
	}
	var out []part
	for _, sec := range p.Sections {
		for _, part := range sec.Parts {
			if sent[part.ID] != part.version {
				sent[part.ID] = part.version
				out = append(out, part)
			}
		}
	}
	return out, nil
}
