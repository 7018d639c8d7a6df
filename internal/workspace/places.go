package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// OwnFiles returns the files of the workspace: states, modules, values of providers, and the selected stack.
func (w *Workspace) OwnFiles() []string {
	all := []string{w.dataPath("")}
	if file, err := loginFile(); err == nil {
		all = append(all, file)
	}
	if w.copies != "" && w.Project.Encryption == program.EncryptAll {
		all = append(all, w.copies)
	}
	if inside, err := filepath.Rel(w.backend.Dir, w.Project.Dir); err != nil || !filepath.IsLocal(inside) {
		return append(all, w.backend.Dir)
	}
	// The project is in the directory of the state, which has other files, too.
	for _, name := range filestore.Names() {
		all = append(all, filepath.Join(w.backend.Dir, name))
	}
	return append(all, w.ModulesDir())
}

// StateDir returns the directory of the states, empty if they are in no directory.
func (w *Workspace) StateDir() string {
	if w.backend.Remote {
		return ""
	}
	return w.backend.Dir
}

// References returns the stacks that a program can refer to: all in the same backend, and for a project that is not trusted
// its own, once the operator has named it.
func (w *Workspace) References() builtin.Stacks {
	if w.untrusted() {
		return builtin.Stacks{Store: ownStacks{w.store, w}, Open: w.keys.Open}
	}
	return builtin.Stacks{Store: w.store, Open: w.keys.Open}
}

// Stores returns a function that opens the values that a stack's providers store. The store of states renames and removes them
// with the stack.
func (w *Workspace) Stores(ctx context.Context, stack string) func(provider string) (*kvstore.Store, error) {
	return func(provider string) (*kvstore.Store, error) {
		if err := backend.CheckProvider(provider); err != nil {
			return nil, err
		}
		if !w.isCopied(stack) {
			return kvstore.Open(filepath.Join(w.backend.Dir, "kv", w.Project.Name, stack, provider+".cbor"))
		}
		return kvstore.OpenIn(&values{fenced: func() context.Context { return w.fence(ctx, w.name(stack)) }, kv: w.backend.KV, stack: w.name(stack), provider: provider, place: w.Place})
	}
}

// values is the [kvstore.Place] of a provider in a backend.
type values struct {
	fenced          func() context.Context
	kv              backend.KV
	stack           state.StackName
	provider, place string
	version         string
}

func (v *values) String() string {
	return "what " + v.provider + " stores for the stack " + v.stack.String() + " in " + v.place
}

func (v *values) Load() (text []byte, err error) {
	text, v.version, err = v.kv.Load(v.fenced(), v.stack, v.provider)
	return text, err
}

func (v *values) Save(text []byte) error {
	next, err := v.kv.Save(v.fenced(), v.stack, v.provider, text, v.version)
	if err == nil {
		v.version = next
	}
	return err
}

// isCopied reports whether what belongs to a stack is not in files that can be used as they are: they are elsewhere, or
// encrypted.
func (w *Workspace) isCopied(stack string) bool {
	if w.backend.Remote {
		return true
	}
	seals, err := w.sealing.Seals(context.Background(), w.name(stack))
	return seals || err != nil && !errors.Is(err, state.ErrCorrupt) // a damaged stack has no runs that could tell something
}

// RunsDir returns the directory for records of a stack's deployments. In a directory of stacks, the store of states
// renames and removes it with the stack.
func (w *Workspace) RunsDir(stack string) string {
	if w.backend.Remote || !w.isCopied(stack) {
		return w.backend.RunsDir(w.name(stack))
	}
	copies := w.copies
	if copies == "" {
		copies = os.DevNull // in which nothing can be kept, which is a warning
	}
	return filepath.Join(copies, "runs", w.Project.Name, stack)
}

// KeepRun keeps the record of a deployment that has ended where the stack is.
func (w *Workspace) KeepRun(stack, id string, content []byte) error {
	if !w.isCopied(stack) {
		return nil
	}
	return notKept(w.Place, w.backend.History.Put(w.fence(context.Background(), w.name(stack)), w.name(stack), id, content))
}

func notKept(place string, err error) error {
	if err != nil {
		err = fmt.Errorf("keeping the record of this run in %s: %w", place, err)
	}
	return err
}

// FetchRuns copies records of a stack's deployments that other machines have kept to [Workspace.RunsDir].
func (w *Workspace) FetchRuns(ctx context.Context, stack string) error {
	if !w.isCopied(stack) {
		return nil
	}
	ids, err := w.backend.History.List(ctx, w.name(stack))
	for _, id := range ids {
		file := filepath.Join(w.RunsDir(stack), id+".jsonl")
		if _, missing := os.Stat(file); missing == nil || !filepath.IsLocal(id) {
			continue
		}
		content, getErr := w.backend.History.Get(ctx, w.name(stack), id)
		if getErr == nil {
			getErr = cmp.Or(os.MkdirAll(filepath.Dir(file), 0o700), atomicfile.Write(file, content, 0o600))
		}
		err = errors.Join(err, getErr)
	}
	return err
}

// forgetCopies removes the copies of the records of a stack that has gone.
func (w *Workspace) forgetCopies(stack string) error {
	if w.copies == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(w.copies, "runs", w.Project.Name, stack))
}

// StateDirs returns the directories in which a file changes whenever the state or the history of a stack of the
// project does.
func (w *Workspace) StateDirs() []string {
	if w.backend.Remote {
		return nil
	}
	return []string{filepath.Join(w.backend.Dir, "stacks", w.Project.Name), filepath.Join(w.backend.Dir, "history", w.Project.Name)}
}

// ModulesDir returns the directory, beside the stacks, of the modules that made their resources.
func (w *Workspace) ModulesDir() string { return w.backend.ModulesDir() }

// SharedModules returns where modules are kept for all machines, nil if that is [Workspace.ModulesDir].
func (w *Workspace) SharedModules() backend.Modules {
	if !w.backend.Remote {
		return nil
	}
	return w.backend.Modules
}

// HasModule reports whether a module is kept.
func (w *Workspace) HasModule(ctx context.Context, digest string) (bool, error) {
	if _, ok := backend.SumOf(digest); !ok {
		return false, nil
	}
	return w.backend.Modules.Has(ctx, digest)
}

// ModulesInUse returns the digests of the modules that any stack of the backend names, including other projects' stacks. leased,
// unless nil, is not read again. A stack that cannot be read is an error, because it may need any module.
func (w *Workspace) ModulesInUse(ctx context.Context, leased *state.Stack) (map[string]bool, error) {
	stacks, err := w.store.List(ctx)
	if err != nil {
		return nil, err
	}
	ctx = state.Together(ctx)
	inUse := make(map[string]bool)
	for _, name := range stacks {
		var snapshot *state.Snapshot
		if leased != nil && leased.Name() == name {
			snapshot = leased.Snapshot()
		} else if snapshot, _, err = state.Load(ctx, w.store, name, nil); err != nil {
			return nil, err
		}
		for _, digest := range engine.Modules(snapshot) {
			inUse[digest] = true
		}
	}
	return inUse, nil
}
