package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/state"
)

// staging is the suffix of a stack's name while its copy is being made.
const staging = ".migrating"

// staged returns the name of the copy of a stack.
func staged(name state.StackName) state.StackName {
	name.Name += staging
	return name
}

// Staged returns the stacks whose copies in a backend were left by a move that was cut off.
func Staged(ctx context.Context, b *Backend) ([]state.StackName, error) {
	all, err := b.State.List(ctx)
	var out []state.StackName
	for _, name := range all {
		if base, ok := bytes.CutSuffix([]byte(name.Name), []byte(staging)); ok {
			out = append(out, state.StackName{Project: name.Project, Name: string(base)})
		}
	}
	return out, err
}

// Migration moves stacks from one backend to another.
type Migration struct {
	From, To *Backend
	Holder   state.Holder
	// Fold has the checkpoint of a stack hold the effects of its journal. It may need the stack's key.
	Fold func(ctx context.Context, stack state.StackName) error
	// Modules returns the digests of the modules that a state names.
	Modules func(*state.Snapshot) []string
}

// Move moves a stack. A copy is made under another name, then the stack is removed, and then the copy gets
// its name: at no moment do two backends have the stack, and after an error or a crash, another Move goes
// on. A stack that is leased is ErrLocked.
func (m *Migration) Move(ctx context.Context, name state.StackName) (err error) {
	copyName := staged(name)
	if err := copyName.Validate(); err != nil {
		return fmt.Errorf("moving the stack %s: its copy has a longer name until it is complete: %w; rename the stack first", name, err)
	}
	here, err := m.From.State.List(ctx)
	if err != nil {
		return err
	}
	there, err := m.To.State.List(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(there, name) {
		return state.StackExists(name, m.To.Place)
	}
	isCopied := slices.Contains(there, copyName)
	if !slices.Contains(here, name) {
		if !isCopied {
			return state.StackNotFound(name, m.From.Place)
		}
		return m.finish(ctx, name) // the move was cut off between its last two steps
	}
	lease, contents, err := m.leaseFolded(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release(context.WithoutCancel(ctx))) }()
	snapshot, _, err := contents.Decode(ctx, nil)
	if err != nil {
		return err
	}
	checkpoint, err := withoutStoreMember(contents.Checkpoint)
	if err != nil {
		return err
	}
	if isCopied {
		if err := m.discard(ctx, name, snapshot); err != nil {
			return err
		}
	}
	if err := m.copyModules(ctx, snapshot); err != nil {
		return err
	}
	if err := m.To.State.Create(ctx, copyName, checkpoint); err != nil {
		return err
	}
	if err := m.copyBelongings(ctx, name, copyName); err != nil {
		return err
	}
	if err := m.compare(ctx, copyName, checkpoint); err != nil {
		return err
	}
	if err := lease.Remove(ctx); err != nil {
		return err
	}
	return m.finish(ctx, name)
}

// leaseFolded leases a stack without records.
func (m *Migration) leaseFolded(ctx context.Context, name state.StackName) (state.Lease, *state.Contents, error) {
	const attempts = 3 // another run may come in between
	for range attempts {
		lease, err := m.From.State.Lease(ctx, name, m.Holder)
		if err != nil {
			return nil, nil, err
		}
		contents, err := lease.Load(ctx)
		if err == nil && len(contents.Records) == 0 {
			return lease, contents, nil
		}
		if err := errors.Join(err, lease.Release(context.WithoutCancel(ctx))); err != nil {
			return nil, nil, err
		}
		if err := m.Fold(ctx, name); err != nil {
			return nil, nil, fmt.Errorf("completing the state of the stack %s, whose last run was cut off: %w", name, err)
		}
	}
	return nil, nil, fmt.Errorf("the stack %s is being changed by other runs", name)
}

// discard removes the copy that an earlier move has left, which may be incomplete. It stays as a backup of its name.
func (m *Migration) discard(ctx context.Context, name state.StackName, present *state.Snapshot) error {
	copyName := staged(name)
	lease, err := m.To.State.Lease(ctx, copyName, m.Holder)
	if err != nil {
		return err
	}
	contents, err := lease.Load(ctx)
	if err == nil {
		var before *state.Snapshot
		if before, _, err = contents.Decode(ctx, nil); err == nil && present.Len() == 0 && before.Len() > 0 {
			err = fmt.Errorf("an earlier move of the stack %s to %s was cut off when its copy was complete, and there is a new, empty stack %s in %s now: "+
				"remove that with husk stack rm, and move again", name, m.To.Place, name, m.From.Place)
		}
	}
	if err == nil {
		err = lease.Remove(ctx)
	}
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

func (m *Migration) copyModules(ctx context.Context, snapshot *state.Snapshot) error {
	for _, digest := range m.Modules(snapshot) {
		has, err := m.From.Modules.Has(ctx, digest)
		if err != nil {
			return err
		}
		if !has {
			continue // it was not kept, and is not missing more than before
		}
		err = m.To.Modules.Put(ctx, digest, func() ([]byte, error) {
			content, err := m.From.Modules.Get(ctx, digest)
			if err != nil {
				return nil, err
			}
			if Digest(content) != digest {
				return nil, errors.New("it is damaged; list the module in the project, and run husk up, which keeps it anew")
			}
			return content, nil
		})
		if err != nil {
			return fmt.Errorf("moving the module %s: %w", digest, err)
		}
	}
	return nil
}

// copyBelongings copies what goes with a stack.
func (m *Migration) copyBelongings(ctx context.Context, name, as state.StackName) error {
	updates, err := m.From.State.History(ctx, name)
	if err == nil {
		err = m.To.State.SetHistory(ctx, as, updates)
	}
	if err != nil {
		return err
	}
	providers, err := m.From.KV.List(ctx, name)
	if err != nil {
		return err
	}
	for _, provider := range providers {
		content, _, err := m.From.KV.Load(ctx, name, provider)
		if err == nil {
			_, err = m.To.KV.Save(ctx, as, provider, content, "")
		}
		if err != nil {
			return err
		}
	}
	runs, err := m.From.History.List(ctx, name)
	if err != nil {
		return err
	}
	for _, id := range runs {
		content, err := m.From.History.Get(ctx, name, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a newer record has replaced it
		}
		if err == nil {
			err = m.To.History.Put(ctx, as, id, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compare checks that the copy is there as it was made.
func (m *Migration) compare(ctx context.Context, name state.StackName, checkpoint []byte) error {
	contents, err := m.To.State.Load(ctx, name)
	if err != nil {
		return err
	}
	is, err := withoutStoreMember(contents.Checkpoint)
	if err != nil {
		return err
	}
	if !bytes.Equal(is, checkpoint) || len(contents.Records) > 0 {
		return fmt.Errorf("the copy %s in %s was changed meanwhile; run the command again", name, m.To.Place)
	}
	return nil
}

// finish gives the complete copy its name.
func (m *Migration) finish(ctx context.Context, name state.StackName) (err error) {
	ctx = context.WithoutCancel(ctx) // the stack has no other place
	lease, err := m.To.State.Lease(ctx, staged(name), m.Holder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release(ctx)) }()
	contents, err := lease.Load(ctx)
	if err != nil {
		return err
	}
	if len(contents.Records) > 0 {
		return fmt.Errorf("the copy %s in %s was changed by a run: complete it with husk refresh --stack %s, and run the command again",
			staged(name), m.To.Place, staged(name))
	}
	checkpoint, err := withoutStoreMember(contents.Checkpoint)
	if err != nil {
		return err
	}
	return lease.Rename(ctx, name, checkpoint)
}

// withoutStoreMember returns a checkpoint without the member that its store has added.
func withoutStoreMember(checkpoint []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(checkpoint))
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
		return nil, errors.Join(errors.New("a checkpoint must be a JSON object"), err)
	}
	out := []byte{'{'}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		name = name.Clone()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if string(name) == `"`+state.StoreMember+`"` {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}
