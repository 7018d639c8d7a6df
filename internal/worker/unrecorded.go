package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/confined"
)

// unrecordedFile is in the home of a run, and has the records that the server did not take.
const unrecordedFile = "unrecorded"

// unrecordedReason is why a run goes on elsewhere that has such records.
const unrecordedReason = "the run could not record what it has made last, which its worker hands in"

// owned says which run a directory is of, in the file of its lock: to the next worker with this directory, if this one dies.
type owned struct {
	Run     string `json:"run"`
	Token   string `json:"token"`
	Project string `json:"project"`
	Stack   string `json:"stack"`
}

func ownedBy(claim *runapi.Claim) owned {
	return owned{claim.ID, claim.Token, claim.Project, claim.Stack}
}

// keepUnrecorded keeps what a run has made and could not record, until the server takes it. It reports whether there was anything.
// After an error, it is where it was.
func (w *worker) keepUnrecorded(of owned, home string) (kept bool, err error) {
	if w.edge != nil {
		return false, nil // its stacks are on this disk
	}
	file, err := confined.Dir{Path: home}.Open(filepath.Join(home, unrecordedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // all is recorded
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	records, err := remote.ReadUnrecorded(file)
	if err != nil {
		w.Say("some of what the run %s has made, and could not record, is lost: %v", of.Run, err)
	}
	left := runapi.Unrecorded{Run: of.Run, Token: of.Token}
	for _, r := range records {
		if last := records[len(records)-1]; r.Stack.Project == of.Project && r.Stack.Name == of.Stack && r.Token == last.Token {
			left.Lease, left.Records = r.Token, append(left.Records, runapi.StateRecord{Sequence: r.Sequence, Record: r.Record})
		}
	}
	if len(left.Records) == 0 {
		return false, nil
	}
	text, err := json.Marshal(left)
	if err != nil {
		return false, err
	}
	if err := atomicfile.Write(filepath.Join(w.dir("unrecorded"), fmt.Sprintf("%s-%d%s", of.Run, left.Lease, handInSuffix)), text, 0o600); err != nil {
		return false, err
	}
	w.Say("run %s has made what it could not record: it is handed in once the server takes it", of.Run)
	select {
	case w.left <- struct{}{}:
	default:
	}
	return true, nil
}

// handInSuffix ends the names of files that are handed in. Others are not whole.
const handInSuffix = ".json"

// handIn hands in what runs could not record, also those of a worker with this directory that has ended, until the worker stops.
func (w *worker) handIn(stop context.Context) {
	for {
		w.handInAll(stop)
		select {
		case <-stop.Done():
			return
		case <-w.left:
		case <-time.After(pause):
		}
	}
}

func (w *worker) handInAll(ctx context.Context) {
	entries, _ := os.ReadDir(w.dir("unrecorded")) // the next time, else
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), handInSuffix) {
			w.handInOne(ctx, entry.Name())
		}
	}
}

func (w *worker) handInOne(ctx context.Context, name string) {
	file := filepath.Join(w.dir("unrecorded"), name)
	text, err := os.ReadFile(file)
	if err != nil {
		return // another worker with this directory was first
	}
	_, err = w.client.Send(ctx, 0, http.MethodPost, "/v1/work/unrecorded", "application/json", text)
	var refused *runapi.StatusError
	switch {
	case err == nil:
		w.Say("what a run could not record is recorded now: %s", name)
		err = os.Remove(file)
	case errors.As(err, &refused) && refused.IsFinal() && refused.Status != http.StatusUnauthorized:
		// Nobody else knows what the run has made.
		aside := filepath.Join(w.dir("refused"), name)
		w.Say("what a run could not record stays unrecorded, and is in %s: %v", aside, err)
		err = os.Rename(file, aside)
	default:
		return // the next time
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Say("%v", err)
	}
}
