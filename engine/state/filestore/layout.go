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

	"github.com/husk-dev/husk/engine/state"
)

// files are the paths of a stack's files.
type files struct {
	name state.StackName

	stacks, checkpoint string
	backups            string
	locks, lock        string
}

func filesOf(name state.StackName) files {
	f := files{
		name:    name,
		stacks:  path.Join("stacks", name.Project),
		backups: path.Join("backups", name.Project),
		locks:   path.Join("locks", name.Project),
	}
	f.checkpoint = path.Join(f.stacks, name.Name+".json")
	f.lock = path.Join(f.locks, name.Name+".json")
	return f
}

// journal is the file of the records that follow the checkpoint with the stamp.
// Each checkpoint has a journal of its own name: a holder of the lease that was
// paused while it removed the last one cannot hit that of the next holder.
func (f files) journal(checkpoint stampValue) string {
	return fmt.Sprintf("%s/%s.%d-%d%s", f.stacks, f.name.Name, checkpoint.Token, checkpoint.Sequence, journalSuffix)
}

const journalSuffix = ".journal"

// journalOf returns the stamp of the checkpoint whose journal has the file name.
func (f files) journalOf(base string) (v stampValue, ok bool) {
	rest, ok := strings.CutPrefix(base, f.name.Name+".")
	if !ok {
		return v, false
	}
	n, err := fmt.Sscanf(rest, "%d-%d"+journalSuffix, &v.Token, &v.Sequence)
	return v, n == 2 && err == nil && path.Base(f.journal(v)) == base
}

// backup is the file that keeps the checkpoint with the stamp when it is replaced.
func (f files) backup(checkpoint stampValue) string {
	return fmt.Sprintf("%s/%s.%s.json", f.backups, f.name.Name, checkpoint.id())
}

// backupOf returns the stamp of the checkpoint that the file of that name keeps.
func (f files) backupOf(base string) (v stampValue, ok bool) {
	rest, ok := strings.CutPrefix(base, f.name.Name+".")
	if !ok {
		return v, false
	}
	id, ok := strings.CutSuffix(rest, ".json")
	if ok {
		v, ok = parseID(id)
	}
	return v, ok
}

// temporary is the file that the lease with the token writes its checkpoint to.
func (f files) temporary(token uint64) string {
	return fmt.Sprintf("%s%s%d", f.checkpoint, temporaryInfix, token)
}

const temporaryInfix = ".tmp"

// scratch is a temporary file that nobody else writes. The next lease removes what is left of it.
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
		if _, err := s.fs.ReadDir(d); err == nil {
			continue
		}
		if err := s.fs.MkdirAll(d, dirPerm); err != nil {
			return s.writeError(d, err)
		}
		if err := errors.Join(s.fs.SyncDir(path.Dir(d)), s.fs.SyncDir(".")); err != nil {
			return s.writeError(d, err)
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
	if err := json.Unmarshal(data, &meta); err != nil {
		return &state.CorruptError{File: s.fs.Path(metaFile), Offset: -1, Reason: "it is not JSON",
			Remedy: fmt.Sprintf(`write {"version":%d} to it`, layoutVersion), Cause: err}
	}
	if meta.Version != layoutVersion {
		return fmt.Errorf("%s has the layout %d and this husk knows %d: use a newer husk: %w",
			s.fs.Path(""), meta.Version, layoutVersion, state.ErrUnsupported)
	}
	return nil
}
