package worker

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

// What a run could not record survives its worker, and every answer but one of the server. What the server refuses is not thrown away:
// nobody else knows it.
func TestWhatADeadWorkerHasLeftIsHandedIn(t *testing.T) {
	var got []runapi.Unrecorded
	var status int
	marked := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if marked {
			w.Header().Set(backend.AnswerHeader, backend.Answered)
		}
		if r.Method == http.MethodPost {
			var one runapi.Unrecorded
			require.NoError(t, json.NewDecoder(r.Body).Decode(&one))
			got = append(got, one)
			w.WriteHeader(status)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	begin := func() *worker {
		client, err := runapi.NewClient(server.URL, "token")
		require.NoError(t, err)
		w := &worker{Options: Options{Dir: dir, Say: t.Logf}, client: client}
		for _, name := range []string{"runs", "unrecorded", "refused"} {
			require.NoError(t, os.MkdirAll(w.dir(name), 0o700))
		}
		_, err = client.CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
		require.NoError(t, err)
		return w
	}
	names := func(of string) (all []string) {
		entries, err := os.ReadDir(filepath.Join(dir, of))
		require.NoError(t, err)
		for _, entry := range entries {
			all = append(all, entry.Name())
		}
		return all
	}
	of := owned{Run: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Token: "secret", Project: "shop", Stack: "dev"}
	stack := state.StackName{Project: "shop", Name: "dev"}
	left := func(token uint64) {
		runDir, end, err := begin().runDir(of)
		require.NoError(t, err)
		var text []byte
		for sequence := range uint64(2) {
			line, err := json.Marshal(remote.Unrecorded{Stack: stack, Token: token, Sequence: sequence + 8, Record: []byte("record")})
			require.NoError(t, err)
			text = append(append(text, line...), '\n')
		}
		text = append(text, "{cut off"...)
		require.NoError(t, os.WriteFile(filepath.Join(runDir, "home", unrecordedFile), text, 0o600))
		require.NoError(t, end(false)) // as a process that ends leaves it
	}
	left(3)
	left(4)
	next := begin()
	require.NoError(t, next.clearRuns())
	require.Empty(t, names("runs"))
	require.Len(t, names("unrecorded"), 2, "one is not written over the other")

	for _, answer := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusUnauthorized} {
		status = answer
		next.handInAll(t.Context())
		require.Len(t, names("unrecorded"), 2)
	}
	marked, status = false, http.StatusNotFound
	next.handInAll(t.Context())
	require.Len(t, names("unrecorded"), 2, "it is no answer of the server")
	marked, status = true, http.StatusConflict
	next.handInAll(t.Context())
	require.Empty(t, names("unrecorded"))
	require.Len(t, names("refused"), 2)
	left(5)
	require.NoError(t, next.clearRuns())
	got, status = nil, http.StatusNoContent
	next.handInAll(t.Context())
	require.Empty(t, names("unrecorded"))
	require.Len(t, names("refused"), 2)
	require.Equal(t, []runapi.Unrecorded{{Run: of.Run, Token: "secret", Lease: 5, Records: []runapi.StateRecord{
		{Sequence: 8, Record: []byte("record")}, {Sequence: 9, Record: []byte("record")},
	}}}, got)
}
