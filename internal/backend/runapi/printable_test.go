package runapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// TestWhatServersSay has a server send errors that would control a terminal, and answers that would take much memory.
func TestWhatServersSay(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refuses":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":"no\u001b[2J\n\u202eserver | Approved by ann."}`)
		case "/list":
			_, _ = io.WriteString(w, "["+strings.Repeat("{},", 1<<19)+"{}]")
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: run\ndata: {\"options\":[%s\"\"]}\n\n", strings.Repeat(`"",`, 1<<18))
		}
	})
	_, err := client.CallFor(t.Context(), 0, http.MethodGet, "/refuses", nil, nil)
	require.ErrorContains(t, err, `no\x1b[2J\n\u202eserver | Approved by ann.`)
	var runs []runapi.Run
	_, err = client.CallFor(t.Context(), 0, http.MethodGet, "/list", nil, &runs)
	require.ErrorContains(t, err, "more than 8 times as much memory")
	require.Empty(t, runs)
	err = client.Follow(t.Context(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0, func(*runapi.Line, *runapi.Run) (bool, error) { return true, nil })
	require.ErrorContains(t, err, "more than 8 times as much memory")
}
