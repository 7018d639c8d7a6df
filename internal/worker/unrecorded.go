package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/confined"
)

// unrecordedFile is in the home of a run, and has the records that the server did not take.
const unrecordedFile = "unrecorded"

// keepUnrecorded keeps what a run has made and could not record, until the server takes it.
func (w *worker) keepUnrecorded(claim *runapi.Claim, home string) error {
	file, err := confined.Dir{Path: home}.Open(filepath.Join(home, unrecordedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // all is recorded
	}
	if err != nil {
		return err
	}
	defer file.Close()
	records, err := remote.ReadUnrecorded(file)
	if err != nil || len(records) == 0 {
		return err
	}
	left := runapi.Unrecorded{Run: claim.ID, Token: claim.Token, Lease: records[len(records)-1].Token}
	for _, r := range records {
		if r.Stack.Project == claim.Project && r.Stack.Name == claim.Stack && r.Token == left.Lease {
			left.Records = append(left.Records, runapi.StateRecord{Sequence: r.Sequence, Record: r.Record})
		}
	}
	text, err := json.Marshal(left)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(w.dir("unrecorded"), claim.ID+".json"), text, 0o600); err != nil {
		return err
	}
	w.Say("run %s has made what it could not record: it is handed in once the server takes it", claim.ID)
	select {
	case w.left <- struct{}{}:
	default:
	}
	return nil
}

// handIn hands in what runs could not record, also those of a worker with this directory that has ended, until the worker stops.
func (w *worker) handIn(stop context.Context) {
	for {
		entries, _ := os.ReadDir(w.dir("unrecorded")) // the next time, else
		for _, entry := range entries {
			w.handInOne(stop, filepath.Join(w.dir("unrecorded"), entry.Name()))
		}
		select {
		case <-stop.Done():
			return
		case <-w.left:
		case <-time.After(pause):
		}
	}
}

func (w *worker) handInOne(ctx context.Context, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return // another worker with this directory was first
	}
	_, err = w.client.Send(ctx, 0, http.MethodPost, "/v1/work/unrecorded", "application/json", text)
	var refused *runapi.StatusError
	switch {
	case err == nil:
		w.Say("what a run could not record is recorded now: %s", filepath.Base(file))
	case errors.As(err, &refused) && refused.Answered && refused.Status < 500 && refused.Status != http.StatusTooManyRequests:
		w.Say("what a run could not record stays unrecorded: %v", err)
	default:
		return // the next time
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Say("%v", err)
	}
}
