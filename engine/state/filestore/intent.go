package filestore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/checkedjson"
)

// An intent is a step that changes more than one file: two checkpoints, or a checkpoint and other files of the stack. It is a
// file itself: before that has its name, nothing has changed. After that, whoever finds it finishes the step and removes it.
//
// Each part of an intent belongs to one stack, and needs the lock of that stack alone. A part that
// is done does nothing, so an intent that a loss of power brings back does no harm.
type intent struct {
	// Publish is done before Remove, because a renamed stack takes over what belongs to the old one.
	Publish []publication `json:"publish,omitempty"`
	Remove  []removal     `json:"remove,omitempty"`
}

type publication struct {
	Stack state.StackName
	// Stamp is the checkpoint's stamp. Its token names the temporary file.
	Stamp stampValue
	// From is the stack that is renamed to this one, nil if none is.
	From *state.StackName `json:",omitempty"`
}

type removal struct {
	Stack state.StackName
	// Token is the lease's token. A stack of the same name that was made later stays.
	Token uint64
	// Renamed says that the history and the kept values belong to another stack now.
	Renamed bool `json:",omitempty"`
}

const intentSuffix = ".json"

// stackKey stands for a stack in the names of intents. The name itself would be too long.
func stackKey(name state.StackName) string {
	const size = 8 // bytes, enough for all stacks of a store to differ
	sum := sha256.Sum256([]byte(name.String()))
	return hex.EncodeToString(sum[:size])
}

// stacks returns the stacks of the intent, the published ones first.
func (in intent) stacks() (out []state.StackName) {
	for _, p := range in.Publish {
		out = append(out, p.Stack)
	}
	for _, r := range in.Remove {
		out = append(out, r.Stack)
	}
	return out
}

// file returns the name of the intent's file without its ending, which names the stacks.
func (in intent) file(token uint64) string {
	var keys []string
	for _, name := range in.stacks() {
		keys = append(keys, stackKey(name))
	}
	return path.Join(intentsDir, fmt.Sprintf("%s.%d", strings.Join(keys, "-"), token))
}

func concerns(base string, name state.StackName) bool {
	keys, _, _ := strings.Cut(base, ".")
	return slices.Contains(strings.Split(keys, "-"), stackKey(name))
}

// commit takes the step of an intent about the stacks of these leases.
func (s *Store) commit(in intent, leases ...*lease) error {
	file := in.file(leases[0].token)
	err := s.draft(in, file+temporaryInfix)
	if err == nil {
		// Whoever takes a lease away from here on removes the draft, so it cannot become an intent.
		err = checkAll(leases)
	}
	if err == nil {
		if err = s.fs.Rename(file+temporaryInfix, file+intentSuffix); err != nil {
			err = cmp.Or(checkAll(leases), s.writeError(file, err))
		}
	}
	if err != nil {
		return errors.Join(err, s.discard(in, file+temporaryInfix))
	}
	err = s.fs.SyncDir(intentsDir)
	if err != nil {
		err = s.writeError(file, err)
	}
	for _, name := range in.stacks() {
		if err == nil {
			err = s.execute(in, name)
		}
	}
	if err != nil {
		for _, l := range leases {
			l.ended = err // the next holder finishes the step, or finds that it was not taken
		}
		return fmt.Errorf("%w (the next command that uses the stack finishes this)", err)
	}
	_ = s.remove(file + intentSuffix) // if it stays, the next holder finds all of it done
	return nil
}

func (s *Store) draft(in intent, file string) error {
	if err := s.makeDir(intentsDir); err != nil {
		return err
	}
	for _, p := range in.Publish {
		// A loss of power must not leave the intent without the files that it is about.
		if err := s.fs.SyncDir(filesOf(p.Stack).stacks); err != nil {
			return s.writeError(filesOf(p.Stack).checkpoint, err)
		}
	}
	data, err := checkedjson.Marshal(in)
	if err != nil {
		return err
	}
	return s.writeFile(file, data)
}

func (s *Store) discard(in intent, draft string) error {
	errs := []error{s.remove(draft)}
	for _, p := range in.Publish {
		errs = append(errs, s.remove(filesOf(p.Stack).temporary(p.Stamp.Token)))
	}
	return errors.Join(errs...)
}

func checkAll(leases []*lease) error {
	var errs []error
	for _, l := range leases {
		errs = append(errs, l.check())
	}
	return errors.Join(errs...)
}

// execute does the parts of an intent that belong to the stack. The caller holds its lock.
func (s *Store) execute(in intent, name state.StackName) error {
	f := filesOf(name)
	for _, p := range in.Publish {
		if p.Stack == name {
			if err := s.executePublication(f, p); err != nil {
				return fmt.Errorf("changing the stack %s: %w", name, err)
			}
		}
	}
	for _, r := range in.Remove {
		if r.Stack == name {
			if err := s.executeRemoval(f, r); err != nil {
				return fmt.Errorf("removing the stack %s: %w", name, err)
			}
		}
	}
	return nil
}

func (s *Store) executePublication(f files, p publication) error {
	done, err := s.published(p)
	if done || err != nil {
		return err
	}
	if p.From != nil {
		err = s.moveBelongings(filesOf(*p.From), f)
	} else if was, stampErr := s.stampOf(f); stampErr == nil {
		err = s.keepBackup(f, was, func() error { return nil })
	}
	if err != nil {
		return err
	}
	return s.publishCheckpoint(f, p.Stamp)
}

// published reports whether a publication is done. Its temporary file is gone then.
func (s *Store) published(p publication) (bool, error) {
	there, err := s.exists(filesOf(p.Stack).temporary(p.Stamp.Token))
	return !there, err
}

// moveBelongings gives a renamed stack the history, the kept values, and the records of runs that it had under its old name.
func (s *Store) moveBelongings(from, to files) error {
	if there, err := s.exists(from.history); err != nil {
		return err
	} else if there {
		if err := s.move(from.history, to.history); err != nil {
			return err
		}
	}
	for _, filled := range [][2]string{{from.kv, to.kv}, {from.runs, to.runs}} {
		entries, err := s.readDir(filled[0])
		if err == nil && entries != nil {
			err = s.move(filled[0], filled[1])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// move gives a file or a directory another name. Whatever had that name is of a stack that is gone.
func (s *Store) move(from, to string) error {
	if err := s.makeDir(path.Dir(to)); err != nil {
		return err
	}
	err := errors.Join(s.fs.RemoveAll(to), s.fs.Rename(from, to))
	if err == nil {
		err = errors.Join(s.fs.SyncDir(path.Dir(to)), s.fs.SyncDir(path.Dir(from)))
	}
	if err != nil {
		return s.writeError(to, err)
	}
	return nil
}

// executeRemoval removes the checkpoint last: when it is gone, so is everything else.
func (s *Store) executeRemoval(f files, r removal) error {
	there, err := s.exists(f.checkpoint)
	if err != nil {
		return err
	}
	if done, err := s.removed(r); there && done || err != nil {
		return err // the stack was made anew
	}
	if err := s.markRemoved(f, r.Token); err != nil {
		return err
	}
	if !r.Renamed {
		if err := errors.Join(s.remove(f.history), s.fs.RemoveAll(f.kv), s.fs.RemoveAll(f.runs)); err != nil {
			return err
		}
	}
	err = s.journals(f, func(v stampValue) error { return s.fs.Rename(f.journal(v), f.removedJournal(v)) })
	if err == nil && there {
		err = s.retire(f, r.Token)
	}
	if err == nil {
		err = errors.Join(s.fs.SyncDir(f.backups), s.fs.SyncDir(f.stacks))
	}
	if err != nil {
		return s.writeError(f.checkpoint, err)
	}
	return nil
}

// removed reports whether a removal is done: no checkpoint is there, or one that was made later.
func (s *Store) removed(r removal) (bool, error) {
	f := filesOf(r.Stack)
	if there, err := s.exists(f.checkpoint); !there || err != nil {
		return !there, err
	}
	v, err := s.stampOf(f)
	return err == nil && v.Token > r.Token, nil // a damaged one was there before
}

// markRemoved records that the stack was removed on purpose. Otherwise it would look lost.
func (s *Store) markRemoved(f files, token uint64) error {
	if err := s.writeFile(f.removed(token)); err != nil {
		return err
	}
	if err := s.fs.SyncDir(f.backups); err != nil {
		return s.writeError(f.removed(token), err)
	}
	return nil
}

func (s *Store) retire(f files, token uint64) error {
	v, err := s.stampOf(f)
	if err != nil {
		return s.fs.Rename(f.checkpoint, f.damaged(token, checkpointSuffix))
	}
	// The backup may be the same file under its second name, and rename would leave both names.
	if there, err := s.exists(f.backup(v)); there || err != nil {
		return errors.Join(err, s.remove(f.checkpoint))
	}
	return s.fs.Rename(f.checkpoint, f.backup(v))
}

func (s *Store) intended(f files) bool {
	entries, err := s.readDir(intentsDir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return concerns(e.Name(), f.name) })
}

// finishIntents finishes intents about a stack, and removes drafts. The caller holds its lock.
func (s *Store) finishIntents(f files) error {
	for {
		entries, err := s.readDir(intentsDir)
		if err != nil {
			return err
		}
		changed := false
		for _, e := range entries {
			name := path.Join(intentsDir, e.Name())
			if !concerns(e.Name(), f.name) {
				continue
			}
			if strings.HasSuffix(name, intentSuffix) {
				err = s.finish(name, f.name)
			} else if err = s.fs.Remove(name); errors.Is(err, fs.ErrNotExist) {
				// A holder that was paused has committed it meanwhile.
				changed, err = true, nil
			} else if err != nil {
				err = s.writeError(name, err)
			}
			if err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
	}
}

// finish does the parts of an intent that belong to the stack, whose lock the caller holds, and
// removes the intent if all parts are done.
func (s *Store) finish(file string, name state.StackName) error {
	in, err := s.readIntent(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.execute(in, name)
	}
	if err != nil {
		return err
	}
	for _, p := range in.Publish {
		if done, err := s.published(p); !done || err != nil {
			return err
		}
	}
	for _, r := range in.Remove {
		if done, err := s.removed(r); !done || err != nil {
			return err
		}
	}
	return s.remove(file)
}

func (s *Store) readIntent(file string) (in intent, err error) {
	data, err := s.readFile(file)
	if err != nil {
		return in, err
	}
	checked, err := checkedjson.Unmarshal(data, &in)
	if err == nil && !checked {
		err = errors.New("it has no checksum")
	}
	if err != nil {
		return in, s.corrupt(file, "a renaming or move of stacks that was cut off cannot be finished",
			"move the file away to leave the stacks as they are, and compare them with husk state ls before the next update", err)
	}
	return in, nil
}

// finishAllIntents finishes intents about stacks without a lease. A leased stack's holder does.
func (s *Store) finishAllIntents() {
	entries, err := s.readDir(intentsDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		file := path.Join(intentsDir, e.Name())
		if !strings.HasSuffix(file, intentSuffix) {
			continue
		}
		in, err := s.readIntent(file)
		if err != nil {
			continue
		}
		for _, name := range in.stacks() {
			lock, err := s.fs.Lock(filesOf(name).lock)
			if err != nil {
				continue
			}
			_ = s.finish(file, name)
			_ = lock.Close()
		}
	}
}
