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
	"slices"
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
	Team    string `json:"team"`
	Project string `json:"project"`
	Stack   string `json:"stack"`
}

func ownedBy(claim *runapi.Claim) owned {
	return owned{claim.ID, claim.Token, claim.Team, claim.Project, claim.Stack}
}

// keepUnrecorded keeps the objects that a run made and could not record, until the server takes them. It reports whether there
// was anything. After an error, it is where it was.
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
		w.Say("some objects that the run %s made and could not record are lost: %v", of.Run, err)
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
	ofTeam := filepath.Join(w.dir("unrecorded"), of.Team)
	if err := os.MkdirAll(ofTeam, 0o700); err != nil {
		return false, err
	}
	if err := atomicfile.Write(filepath.Join(ofTeam, fmt.Sprintf("%s-%d%s", of.Run, left.Lease, handInSuffix)), text, 0o600); err != nil {
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

// handIn hands in the unrecorded objects of runs, also of an ended worker with this directory, until the worker stops.
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
	files, _ := filesIn(w.dir("unrecorded")) // the next time, else
	for _, file := range files {
		if strings.HasSuffix(file.name, handInSuffix) {
			w.handInOne(ctx, file.name)
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
		again := ""
		if refused.Status == http.StatusRequestEntityTooLarge {
			again = "; once the server takes as much, move the file back"
		}
		w.Say("what a run could not record stays unrecorded, and is in %s: %v%s", aside, err, again)
		if err = os.MkdirAll(filepath.Dir(aside), 0o700); err == nil {
			now := time.Now() // from when on it is kept, however long it has waited
			err = os.Chtimes(file, now, now)
		}
		if err == nil {
			err = os.Rename(file, aside)
		}
	case refused != nil && !refused.Answered && w.told[name] != err.Error():
		// A proxy that takes no body of that size never will, and somebody must tell it to.
		if w.told == nil {
			w.told = map[string]string{}
		}
		w.told[name] = err.Error()
		w.Say("what a run could not record is in %s until it can be handed in: %v", file, err)
		return
	default:
		return // the next time
	}
	delete(w.told, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Say("%v", err)
	}
}

const (
	// leftBytes bounds the records of objects that runs made and could not record, including refused ones, and teamBytes the
	// records of one team. A run that has begun before they are reached may leave as much as [remote.ReadUnrecorded] takes.
	leftBytes = 4 << 30
	teamBytes = 512 << 20
)

// checkLeft returns an error if earlier runs have left so much that another one of the team may not begin. Their records stay:
// nobody else has them. One team reaches its own bound long before the bound of all.
func (w *worker) checkLeft(claim *runapi.Claim) error {
	if w.edge != nil || claim.Previewing || !claim.Changes() {
		return nil
	}
	unrecorded, err := filesIn(w.dir("unrecorded"))
	if err != nil {
		return err
	}
	refused, err := w.clearRefused()
	if err != nil {
		return err
	}
	var all, ofTeam int64
	for _, file := range slices.Concat(unrecorded, refused) {
		all += file.size
		if filepath.Dir(file.name) == claim.Team {
			ofTeam += file.size
		}
	}
	whose, left := "its team", ofTeam
	if all >= leftBytes {
		whose, left = "all teams", all
	} else if ofTeam < teamBytes {
		return nil
	}
	return fmt.Errorf("the worker %s begins no run that changes something: it holds %d MiB of objects that earlier runs of %s made and could not record. "+
		"Its operator settles or moves the files in unrecorded and refused of its directory", w.Name, left>>20, whose)
}

// clearRefused removes the files that the server has refused long ago, and returns the others.
func (w *worker) clearRefused() (kept []leftFile, err error) {
	files, err := filesIn(w.dir("refused"))
	for _, file := range files {
		if time.Since(file.written) < keepTime {
			kept = append(kept, file)
			continue
		}
		if removeErr := os.Remove(filepath.Join(w.dir("refused"), file.name)); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return kept, err
}

// leftFile is a file that a run has left. Its name begins with the directory of its team, which earlier versions did not make.
type leftFile struct {
	name    string
	size    int64
	written time.Time
}

// filesIn returns the files of a directory, and of those in it.
func filesIn(dir string) (all []leftFile, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was handed in meanwhile
		}
		if err == nil {
			all = append(all, leftFile{filepath.FromSlash(name), info.Size(), info.ModTime()})
		}
		return err
	})
	return all, err
}
