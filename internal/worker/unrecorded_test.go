package worker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

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
	var said []string
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
		w := &worker{Options: Options{Dir: dir, Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}, client: client}
		for _, name := range []string{"runs", "unrecorded", "refused"} {
			require.NoError(t, os.MkdirAll(w.dir(name), 0o700))
		}
		_, err = client.CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
		require.NoError(t, err)
		return w
	}
	names := func(of string) (all []string) {
		files, err := filesIn(filepath.Join(dir, of))
		require.NoError(t, err)
		for _, file := range files {
			all = append(all, file.name)
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
	left(3) // as earlier versions wrote it
	of.Team = "acme"
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
	for _, answer := range []int{http.StatusNotFound, http.StatusRequestEntityTooLarge} {
		marked, status, said = false, answer, nil
		next.handInAll(t.Context())
		next.handInAll(t.Context())
		require.Len(t, names("unrecorded"), 2, "it is no answer of the server")
		require.Len(t, said, 2, "each is told once: %q", said)
	}
	require.Contains(t, said[0], "raise its limit, which is client_max_body_size in nginx")
	for _, name := range names("unrecorded") {
		longAgo := time.Now().Add(-2 * keepTime)
		require.NoError(t, os.Chtimes(filepath.Join(dir, "unrecorded", name), longAgo, longAgo))
	}
	marked, status = true, http.StatusConflict
	next.handInAll(t.Context())
	require.Empty(t, names("unrecorded"))
	_, err := next.clearRefused()
	require.NoError(t, err)
	require.Len(t, names("refused"), 2, "they are kept from the refusal on")
	left(5)
	require.NoError(t, next.clearRuns())
	status, said = http.StatusRequestEntityTooLarge, nil
	next.handInAll(t.Context())
	aside := filepath.Join("acme", of.Run+"-5.json")
	require.Contains(t, names("refused"), aside, "the server itself takes no more")
	require.Contains(t, said[0], "once the server takes as much, move the file back")
	require.NoError(t, os.Rename(filepath.Join(dir, "refused", aside), filepath.Join(dir, "unrecorded", aside)))
	got, status = nil, http.StatusNoContent
	next.handInAll(t.Context())
	require.Empty(t, names("unrecorded"))
	require.Len(t, names("refused"), 2)
	require.Equal(t, []runapi.Unrecorded{{Run: of.Run, Token: "secret", Lease: 5, Records: []runapi.StateRecord{
		{Sequence: 8, Record: []byte("record")}, {Sequence: 9, Record: []byte("record")},
	}}}, got)
}

// Who fills the disk of a worker with what his runs could not record has no more runs there. Nothing is thrown away for that, and
// other teams go on.
func TestWhatRunsLeaveIsBounded(t *testing.T) {
	w := &worker{Options: Options{Dir: t.TempDir(), Name: "w1"}}
	leave := func(name string, size int64, age time.Duration) {
		file := filepath.Join(w.Dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.NoError(t, os.Truncate(file, size))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(file, then, then))
	}
	up := func(team string) *runapi.Claim {
		return &runapi.Claim{Team: team, Run: runapi.Run{NewRun: runapi.NewRun{Operation: "up"}}}
	}
	leave("unrecorded/old.json", 1, 0)
	leave("unrecorded/acme/1.json", teamBytes/2, 2*keepTime)
	leave("refused/acme/2.json", teamBytes/2-1, 0)
	leave("refused/acme/3.json", teamBytes, keepTime)
	require.NoError(t, w.checkLeft(up("acme")), "what was refused long ago is gone")
	leave("refused/acme/4.json", 1, 0)
	require.ErrorContains(t, w.checkLeft(up("acme")), "the worker w1 begins no run that changes something: it holds 512 MiB of objects that earlier runs of its team")
	require.NoError(t, w.checkLeft(up("zebra")))
	preview := up("acme")
	preview.Operation = "preview"
	require.NoError(t, w.checkLeft(preview), "it leaves nothing")
	leave("unrecorded/others/5.json", leftBytes-teamBytes-1, 0)
	require.ErrorContains(t, w.checkLeft(up("zebra")), "4096 MiB of objects that earlier runs of all teams")
	files, err := filesIn(w.Dir)
	require.NoError(t, err)
	require.Len(t, files, 5, "all that is not old stays")
}
