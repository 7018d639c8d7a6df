package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// operation is the operation of a call. It has a form for each identifier that it takes: without one it does not start.
type operation struct {
	// changes says that it changes something: its outcome is found out, and another attempt finds what an earlier one has done.
	changes bool
	// large says that it may send more than maxShort.
	large bool
	// audited says that [Access.Changing] is told of it. Operations that need a lease follow the call that has taken it.
	audited bool
	// grows says that it stores something new, and not what a run must be able to record.
	grows bool
	// goesOn says that a run may do it under its lease after its token has expired.
	goesOn bool
	// stacks is how many stacks it is about, and leases how many leases of these it has.
	stacks, leases int
	// id is the form of [request.ID].
	id form
	// check returns an error if the client may not do it.
	check func(*Access, *request) error
	do    func(context.Context, *Server, *Access, scope, *request) (answer, error)
}

var operations map[string]operation

func init() { // it refers to itself by way of the server
	operations = map[string]operation{
		"list":            {do: list, check: anybody, id: noID},
		"load":            {do: load, check: mayRead, stacks: 1, id: noID},
		"create":          {do: create, check: mayCreate, stacks: 1, id: noID, changes: true, audited: true, large: true, grows: true},
		"held":            {do: held, check: mayWrite, stacks: 1, id: noID},
		"break":           {do: breakLease, check: mayWrite, stacks: 1, id: noID, changes: true, audited: true},
		"lease":           {do: take, check: mayWrite, stacks: 1, leases: 1, id: noID, changes: true, audited: true},
		"release":         {do: release, check: mayWrite, stacks: 1, leases: 1, id: noID, goesOn: true, changes: true},
		"release-with":    {do: releaseWith, check: mayEnd, stacks: 1, leases: 1, id: endingID, goesOn: true, changes: true, large: true},
		"beat":            {do: beat, check: mayWrite, stacks: 1, leases: 1, id: noID, goesOn: true},
		"leased-load":     {do: leasedLoad, check: mayWrite, stacks: 1, leases: 1, id: noID, goesOn: true},
		"salvage":         {do: salvage, check: mayWrite, stacks: 1, leases: 1, id: noID, goesOn: true},
		"reset":           {do: reset, check: mayWrite, stacks: 1, leases: 1, id: noID, changes: true, audited: true, large: true},
		"append":          {do: appendRecord, check: mayWrite, stacks: 1, leases: 1, id: noID, goesOn: true, changes: true, large: true},
		"checkpoint":      {do: checkpoint, check: mayWrite, stacks: 1, leases: 1, id: noID, goesOn: true, changes: true, large: true},
		"checkpoint-both": {do: checkpointBoth, check: mayWriteBoth, stacks: 2, leases: 2, id: noID, goesOn: true, changes: true, large: true},
		"rename":          {do: rename, check: mayWriteBoth, stacks: 2, leases: 1, id: noID, changes: true, audited: true, large: true},
		"remove":          {do: remove, check: mayWrite, stacks: 1, leases: 1, id: noID, changes: true, audited: true},
		"backups":         {do: backups, check: mayRead, stacks: 1, id: noID},
		"backup":          {do: backup, check: mayRead, stacks: 1, id: backupID},
		"history":         {do: history, check: mayRead, stacks: 1, id: noID},
		"set-history":     {do: setHistory, check: mayWrite, stacks: 1, id: noID, changes: true, audited: true, large: true},
		"modules/has":     {do: hasModule, check: mayUseModule, id: moduleID},
		"modules/get":     {do: getModule, check: mayUseModule, id: moduleID},
		"modules/put":     {do: putModule, check: mayPutModule, id: moduleID, changes: true, large: true, grows: true},
		"kv/list":         {do: listValues, check: mayRead, stacks: 1, id: noID},
		"kv/load":         {do: loadValue, check: mayRead, stacks: 1, id: providerID},
		"kv/save":         {do: saveValue, check: mayWrite, stacks: 1, id: providerID, changes: true, audited: true, large: true},
		"runs/list":       {do: listRuns, check: mayRead, stacks: 1, id: noID},
		"runs/get":        {do: getRun, check: mayRead, stacks: 1, id: recordID},
		"runs/put":        {do: putRun, check: mayWrite, stacks: 1, id: recordID, changes: true, large: true},
		"keys/encrypt":    {do: encryptKey, check: mayUseKeys, id: noID},
		"keys/decrypt":    {do: decryptKey, check: mayUseKeys, id: noID},
		"check":           {do: check, check: anybody, id: noID},
		"modules/keep":    {do: keepModule, check: mayUseModule, id: moduleID, changes: true},
		"modules/collect": {do: collectModules, check: mayCollect, id: noID, changes: true},
	}
	for name, op := range operations {
		if op.id.is == nil || op.check == nil || op.leases > op.stacks {
			panic("the call " + name + " has an identifier without a form or a stack")
		}
	}
}

// Operations returns the names of the calls.
func Operations() []string { return slices.Sorted(maps.Keys(operations)) }

// anybody is a check of calls that show only what the client may read.
func anybody(*Access, *request) error { return nil }

func may(a *Access, stack state.StackName, write bool) error {
	if !a.Allows(stack, write) {
		verb := "read"
		if write {
			verb = "write"
		}
		return &RefusedError{Status: http.StatusForbidden, Reason: "the token does not allow to " + verb + " the stack " + stack.String()}
	}
	return nil
}

func mayRead(a *Access, r *request) error  { return may(a, r.Stack, false) }
func mayWrite(a *Access, r *request) error { return may(a, r.Stack, true) }

func mayCreate(a *Access, r *request) error {
	return may(a, r.Stack, a.Creates == nil)
}

func mayWriteBoth(a *Access, r *request) error {
	if err := may(a, r.Stack, true); err != nil {
		return err
	}
	return may(a, r.Other, true)
}

func mayUseModule(a *Access, r *request) error {
	if a.Module != nil && !a.Module(r.ID) {
		return &RefusedError{Status: http.StatusForbidden, Reason: "the token does not allow to use the module " + r.ID}
	}
	return nil
}

// mayEnd is a check of calls that end a run, which has used modules.
func mayEnd(a *Access, r *request) error {
	if err := mayWrite(a, r); err != nil {
		return err
	}
	if len(r.Modules) > maxModules {
		return &RefusedError{Status: http.StatusBadRequest, Reason: "a run has used at most " + strconv.Itoa(maxModules) + " modules"}
	}
	for _, digest := range r.Modules {
		if err := mayUseModule(a, &request{ID: digest}); err != nil {
			return err
		}
	}
	return nil
}

func mayPutModule(a *Access, r *request) error {
	if !a.Writes {
		return &RefusedError{Status: http.StatusForbidden, Reason: "the token does not allow to write a stack, which modules are stored for"}
	}
	return mayUseModule(a, r)
}

// mayUseKeys is a check of calls about the keys of stacks, without which nobody can write a stack with secrets.
func mayUseKeys(a *Access, r *request) error {
	if len(r.Content) == 0 || len(r.Content) > maxKey {
		return &RefusedError{Status: http.StatusBadRequest, Reason: "a key has at most " + strconv.Itoa(maxKey) + " bytes"}
	}
	if a.Keys != nil && !a.Decrypts {
		return &RefusedError{Status: http.StatusForbidden, Reason: "the token does not allow to ask for a run that changes something, which decrypting its secrets needs"}
	}
	return nil
}

func encryptKey(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	return withKeys(a, func(k secrets.KeyService) ([]byte, error) { return k.Encrypt(ctx, r.Content) })
}

func decryptKey(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	return withKeys(a, func(k secrets.KeyService) ([]byte, error) { return k.Decrypt(ctx, r.Content) })
}

func withKeys(a *Access, do func(secrets.KeyService) ([]byte, error)) (answer, error) {
	if a.Keys == nil {
		return answer{}, fmt.Errorf("the server keeps no key for secrets: %w", errors.ErrUnsupported)
	}
	content, err := do(a.Keys)
	return answer{Content: content}, err
}

// list returns the stacks that the client may read.
func list(ctx context.Context, _ *Server, a *Access, _ scope, _ *request) (answer, error) {
	all, err := a.Backend.State.List(ctx)
	return answer{Stacks: slices.DeleteFunc(all, func(stack state.StackName) bool { return !a.Allows(stack, false) })}, err
}

func load(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	c, err := a.Backend.State.Load(ctx, r.Stack)
	return answer{Contents: sent(c, a.Backend.Place)}, err
}

func create(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	if a.Creates != nil {
		if err := a.Creates(ctx, r.Stack, r.Content); err != nil {
			return answer{}, err
		}
	}
	err := a.Backend.State.Create(ctx, r.Stack, r.Content)
	if r.again && errors.Is(err, state.ErrStackExists) && isNew(ctx, a, r.Stack, r.Content) {
		err = nil
	}
	if err == nil && a.Created != nil {
		err = a.Created(ctx, r.Stack, r.Content)
	}
	return answer{}, err
}

func held(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	store, err := leases(a.Backend)
	if err != nil {
		return answer{}, err
	}
	token, err := store.Held(ctx, r.Stack)
	return answer{Token: token}, err
}

// breakLease breaks the lease with a token, or any for a client that asks for none.
func breakLease(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	store, err := leases(a.Backend)
	switch {
	case err != nil:
	case r.Token == 0:
		err = store.Break(ctx, r.Stack)
	default:
		err = store.BreakHeld(ctx, r.Stack, r.Token)
	}
	return answer{}, err
}

func beat(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	store, err := leases(a.Backend)
	if err == nil {
		err = store.Extend(ctx, r.Stack, of.leases(r)[0].key())
	}
	return answer{}, err
}

// leased does something with a lease.
func leased(ctx context.Context, a *Access, of scope, r *request, do func(state.Lease) (answer, error)) (out answer, err error) {
	err = use(ctx, a, of.leases(r), func(leases []state.Lease) error {
		out, err = do(leases[0])
		return err
	})
	return out, err
}

// reserve sets space aside for the next records. The answer to a client says if there is none.
func reserve(ctx context.Context, l state.Lease, a *Access) *failure {
	return failureOf(l.Reserve(ctx), a.Backend.Place)
}

func leasedLoad(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	return leased(ctx, a, of, r, func(l state.Lease) (answer, error) {
		c, err := l.Load(context.WithoutCancel(ctx)) // it also mends the journal
		if err != nil {
			return answer{}, err
		}
		return answer{Contents: sent(c, a.Backend.Place), NoSpace: reserve(ctx, l, a)}, nil
	})
}

// begun is the answer to a client that has got a lease, with the state and the history if it was loaded.
func begun(ctx context.Context, a *Access, stack state.StackName, l state.Lease, c *state.Contents) answer {
	out := answer{Token: l.Token()}
	if c == nil {
		return out
	}
	out.Contents, out.NoSpace = sent(c, a.Backend.Place), reserve(ctx, l, a)
	var err error
	out.Records, err = a.Backend.State.History(backend.WithToken(ctx, out.Token), stack)
	out.Updates = err == nil // else the client asks for it when it needs it
	return out
}

func salvage(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	return leased(ctx, a, of, r, func(l state.Lease) (answer, error) {
		c, err := l.Salvage(ctx)
		return answer{Contents: sent(c, a.Backend.Place)}, err
	})
}

func reset(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	return leased(ctx, a, of, r, func(l state.Lease) (answer, error) {
		aside, err := l.Reset(ctx, r.Content)
		hide := hidden(a.Backend.Place)
		for i := range aside {
			aside[i] = hide(aside[i])
		}
		return answer{Names: aside}, err
	})
}

func appendRecord(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	return leased(ctx, a, of, r, func(l state.Lease) (answer, error) {
		if err := l.Append(ctx, r.Sequence, r.Content); err != nil {
			return answer{}, err
		}
		return answer{NoSpace: reserve(ctx, l, a)}, nil
	})
}

func checkpoint(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	return leased(ctx, a, of, r, func(l state.Lease) (answer, error) { return answer{}, l.Checkpoint(ctx, r.Sequence, r.Content) })
}

func checkpointBoth(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	return answer{}, use(ctx, a, of.leases(r), func(leases []state.Lease) error {
		return leases[0].CheckpointBoth(ctx, state.NextCheckpoint{Sequence: r.Sequence, Checkpoint: r.Content},
			leases[1], state.NextCheckpoint{Sequence: r.OtherSequence, Checkpoint: r.OtherContent})
	})
}

func rename(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	out, err := leased(ctx, a, of, r, func(l state.Lease) (answer, error) { return answer{}, l.Rename(ctx, r.Other, r.Content) })
	if r.again && errors.Is(err, state.ErrFenced) && isGone(ctx, a, r.Stack) && isNew(ctx, a, r.Other, r.Content) {
		err = nil
	}
	return out, err
}

func remove(ctx context.Context, _ *Server, a *Access, of scope, r *request) (answer, error) {
	out, err := leased(ctx, a, of, r, func(l state.Lease) (answer, error) { return answer{}, l.Remove(ctx) })
	if r.again && errors.Is(err, state.ErrFenced) && isGone(ctx, a, r.Stack) {
		err = nil
	}
	return out, err
}

// isNew reports whether a stack is as an earlier attempt has made it.
func isNew(ctx context.Context, a *Access, stack state.StackName, checkpoint []byte) bool {
	c, err := a.Backend.State.Load(ctx, stack)
	return err == nil && c.Sequence == 0 && len(c.Records) == 0 && bytes.Equal(c.Checkpoint, checkpoint)
}

// isGone reports whether the stack does not exist, as after an earlier attempt.
func isGone(ctx context.Context, a *Access, stack state.StackName) bool {
	_, err := a.Backend.State.Load(ctx, stack)
	return errors.Is(err, state.ErrStackNotFound)
}

func backups(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	all, err := a.Backend.State.Backups(ctx, r.Stack)
	return answer{Backups: all}, err
}

func backup(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	c, err := a.Backend.State.Backup(ctx, r.Stack, r.ID)
	return answer{Contents: sent(c, a.Backend.Place)}, err
}

func history(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	records, err := a.Backend.State.History(ctx, r.Stack)
	return answer{Records: records}, err
}

func setHistory(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	return answer{}, a.Backend.State.SetHistory(backend.WithToken(ctx, r.Token), r.Stack, r.Records)
}

func hasModule(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	has, err := a.Backend.Modules.Has(ctx, r.ID)
	return answer{Is: has}, err
}

func getModule(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	content, err := a.Backend.Modules.Get(ctx, r.ID)
	return answer{Content: content}, err
}

// errNoModule has a module not be stored.
var errNoModule = errors.New("the module is not stored")

// keepModule protects a module that is stored from being collected, and reports whether there is one.
func keepModule(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	is, err := keepsModule(ctx, a, r.ID)
	return answer{Is: is}, err
}

func keepsModule(ctx context.Context, a *Access, digest string) (bool, error) {
	err := a.Backend.Modules.Put(ctx, digest, func() ([]byte, error) { return nil, errNoModule })
	if errors.Is(err, errNoModule) {
		return false, nil
	}
	return err == nil, err
}

func mayCollect(a *Access, _ *request) error {
	if !a.Writes {
		return &RefusedError{Status: http.StatusForbidden, Reason: "the token does not allow to write a stack, after which modules are removed"}
	}
	return nil
}

// collectModules removes the modules that no stack names, even stacks that the client may not read.
func collectModules(ctx context.Context, s *Server, a *Access, _ scope, _ *request) (answer, error) {
	if a.Modules == nil {
		return answer{}, nil
	}
	readable := a.Readable
	if readable == nil {
		readable = a.Backend.State
	}
	return answer{}, a.Backend.Modules.Collect(ctx, func() (map[string]bool, error) {
		stacks, err := a.Backend.State.List(ctx)
		inUse := make(map[string]bool)
		for _, name := range stacks {
			digests, err := modulesOf(ctx, s, a, readable, name)
			if errors.Is(err, state.ErrStackNotFound) {
				continue // it was removed meanwhile
			}
			if err != nil {
				return nil, fmt.Errorf("one of the stacks on the server may name any module: %w", err)
			}
			for _, digest := range digests {
				inUse[digest] = true
			}
		}
		return inUse, err
	})
}

// modulesOf returns the digests that the state of a stack names. It takes memory for that state only.
func modulesOf(ctx context.Context, s *Server, a *Access, readable state.Store, name state.StackName) ([]string, error) {
	held := s.budget.Hold(a.team())
	defer held.End()
	snapshot, err := backend.Snapshot(ctx, readable, name, copies, held.Add)
	if err != nil {
		return nil, err
	}
	return a.Modules(snapshot), nil
}

func putModule(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	if is := backend.Digest(r.Content); is != r.ID {
		return answer{}, errors.New("the module has the digest " + is + ", and it was sent as " + r.ID)
	}
	return answer{}, a.Backend.Modules.Put(ctx, r.ID, func() ([]byte, error) { return r.Content, nil })
}

func listValues(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	names, err := a.Backend.KV.List(ctx, r.Stack)
	return answer{Names: names}, err
}

func loadValue(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	content, version, err := a.Backend.KV.Load(ctx, r.Stack, r.ID)
	return answer{Content: content, Version: version}, err
}

func saveValue(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	next, err := a.Backend.KV.Save(backend.WithToken(ctx, r.Token), r.Stack, r.ID, r.Content, r.ExpectedVersion)
	if r.again && errors.Is(err, backend.ErrChanged) {
		content, version, loadErr := a.Backend.KV.Load(ctx, r.Stack, r.ID)
		if loadErr == nil && bytes.Equal(content, r.Content) {
			next, err = version, nil // an earlier attempt has saved it
		}
	}
	return answer{Version: next}, err
}

func listRuns(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	ids, err := a.Backend.History.List(ctx, r.Stack)
	return answer{Names: ids}, err
}

func getRun(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	content, err := a.Backend.History.Get(ctx, r.Stack, r.ID)
	return answer{Content: content}, err
}

func putRun(ctx context.Context, _ *Server, a *Access, _ scope, r *request) (answer, error) {
	return answer{}, a.Backend.History.Put(ctx, r.Stack, r.ID, r.Content)
}

func check(ctx context.Context, _ *Server, a *Access, _ scope, _ *request) (answer, error) {
	if a.Backend.Check == nil {
		return answer{}, nil
	}
	return answer{}, a.Backend.Check(ctx)
}
