package filestore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

type files struct {
	name state.StackName

	stacks, checkpoint string
	backups            string
	locks, lock        string
	// guard is held while a token is taken, and has the last one as well.
	guard              string
	histories, history string
	// kv and runs are directories that others fill.
	kv, runs string

	// listed has the earlier results of [Store.stampedFiles] for other stacks; nil has it list again.
	listed *sync.Map
}

func filesOf(name state.StackName) files {
	f := files{
		name:      name,
		stacks:    path.Join(stacksDir, name.Project),
		backups:   path.Join(backupsDir, name.Project),
		locks:     path.Join(locksDir, name.Project),
		histories: path.Join(historyDir, name.Project),
		kv:        path.Join(kvDir, name.Project, name.Name),
		runs:      path.Join(runsDir, name.Project, name.Name),
	}
	f.checkpoint = path.Join(f.stacks, name.Name+checkpointSuffix)
	f.lock = path.Join(f.locks, name.Name+".json")
	f.guard = path.Join(f.locks, name.Name+".tokens")
	f.history = path.Join(f.histories, name.Name+historySuffix)
	return f
}

// The directories of a store, and the ends of the names in them.
const (
	stacksDir  = "stacks"
	backupsDir = "backups"
	historyDir = "history"
	locksDir   = "locks"
	kvDir      = "kv"
	runsDir    = "runs"
	intentsDir = "intents"

	checkpointSuffix = ".json"
	journalSuffix    = ".journal"
	removedSuffix    = ".removed"
	historySuffix    = ".jsonl"
	damagedInfix     = ".damaged"
	temporaryInfix   = ".tmp"
)

// Names returns the names that a store has in its directory. A * stands for any text.
func Names() []string {
	return []string{stacksDir, backupsDir, historyDir, locksDir, kvDir, runsDir, intentsDir, metaFile + "*"}
}

// journal is the file of the records that follow the checkpoint. Each checkpoint has its own: a paused holder that removes its
// journal cannot hit the next holder's.
func (f files) journal(checkpoint stampValue) string {
	return path.Join(f.stacks, f.name.Name+"."+checkpoint.id()+journalSuffix)
}

// backup is the file that keeps the checkpoint with the stamp when it is replaced.
func (f files) backup(checkpoint stampValue) string {
	return path.Join(f.backups, f.name.Name+"."+checkpoint.id()+checkpointSuffix)
}

// removedJournal is the journal of the checkpoint with the stamp when the stack is removed.
func (f files) removedJournal(checkpoint stampValue) string {
	return path.Join(f.backups, path.Base(f.journal(checkpoint)))
}

// removed is the file that records that the lease with the token removed the stack.
func (f files) removed(token uint64) string {
	return path.Join(f.backups, f.name.Name+"."+stampValue{Token: token}.id()+removedSuffix)
}

// damaged is the file for the damaged data that the lease with the token found.
func (f files) damaged(token uint64, of string) string {
	return path.Join(f.backups, fmt.Sprintf("%s.%d%s%s", f.name.Name, token, damagedInfix, of))
}

func parseStamped(base, suffix string) (name string, v stampValue, ok bool) {
	rest, ok := strings.CutSuffix(base, suffix)
	if !ok {
		return "", v, false
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return "", v, false
	}
	v, ok = parseID(rest[dot+1:])
	return rest[:dot], v, ok
}

func (f files) temporary(token uint64) string {
	return fmt.Sprintf("%s%s%d", f.checkpoint, temporaryInfix, token)
}

// scratch is a temporary file that nobody else writes. The next lease removes it if it is left over.
func (f files) scratch() string { return f.checkpoint + temporaryInfix + rand.Text() }

// prepare checks the name and makes the directories of a stack.
func (s *Store) prepare(ctx context.Context, name state.StackName) error {
	if err := name.Validate(); err != nil {
		return err
	}
	if err := s.checkMeta(ctx); err != nil {
		return err
	}
	f := filesOf(name)
	for _, d := range []string{f.stacks, f.backups, f.locks} {
		if err := s.makeDir(d); err != nil {
			return err
		}
	}
	if there, err := s.exists(metaFile); there || err != nil {
		return err
	}
	// Several may write it at the same time, and all write the same.
	meta := fmt.Appendf(nil, "{\"version\":%d}\n", layoutVersion)
	temporary := metaFile + temporaryInfix + rand.Text()
	if err := s.writeFile(temporary, meta); err != nil {
		return err
	}
	return s.publish(temporary, metaFile, ".")
}

// makeDir makes a directory durably, and those above it.
func (s *Store) makeDir(name string) error {
	if _, err := s.fs.ReadDir(name); err == nil {
		return nil
	}
	if err := s.fs.MkdirAll(name, dirPerm); err != nil {
		return s.writeError(name, err)
	}
	if err := errors.Join(s.fs.SyncDir(path.Dir(name)), s.fs.SyncDir(".")); err != nil {
		return s.writeError(name, err)
	}
	return nil
}

// checkMeta refuses a directory with another layout.
func (s *Store) checkMeta(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := s.readFile(metaFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var meta struct{ Version int }
	if err := json.Unmarshal(data, &meta); err != nil || meta.Version == 0 {
		return s.corrupt(metaFile, "it names no version", fmt.Sprintf(`write {"version":%d} to it`, layoutVersion), jsonerror.Explain(data, err))
	}
	if meta.Version != layoutVersion {
		return fmt.Errorf("%s has the layout %d and this husk knows %d: use a newer husk: %w",
			s.fs.Path(""), meta.Version, layoutVersion, state.ErrUnsupported)
	}
	return nil
}
