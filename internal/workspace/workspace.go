// Package workspace opens what commands work on: a project, the selected stack, its configuration, and its
// state in the backend. It prints and asks nothing.
package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/keyservice"
	"github.com/husk-dev/husk/internal/backend/sealed"
	"github.com/husk-dev/husk/internal/base/confined"
)

// DefaultStack is the stack if none is named. It is made on first use.
const DefaultStack = "dev"

// dataDir is the directory beside the project file for the default backend and the selection.
const dataDir = confined.StateDir

// Workspace is an opened project.
type Workspace struct {
	Project *program.Project
	// Place is where the stacks are: a directory, or a URL without passwords.
	Place string
	// Origin says what names the place; empty for the directory beside the project file.
	Origin string
	// Detached is set without a project file: the name is from the state, and no program can run.
	Detached *program.NoProjectError
	// confirmed says that the operator has named the project, which calls itself whatever its author likes.
	confirmed bool
	// nowhere is the error of changes if nothing has named a backend.
	nowhere error

	backend *backend.Backend
	store   state.Store // the backend's
	// sealing encrypts the data in the backend.
	sealing *sealed.Sealing
	// copies is the directory for copies of records that are encrypted in the backend, empty if none is known.
	copies  string
	remark  func(message string)
	keys    secrets.Keys
	secrets *redact.Secrets
	// run and by are the fields of [Options].
	run, by string
	// tokens has the fencing tokens of the last leases, by the names of their stacks.
	tokens *sync.Map
}

// Options are the options of [Open].
type Options struct {
	// Remark receives messages for the user, such as that a key was made.
	Remark func(message string)
	// Store opens the store in a directory; nil stands for [filestore.New].
	Store func(directory string) state.Store
	// Backends open backends other than directories, by the schemes of their URLs.
	Backends map[string]backend.Opener
	// Secrets learns secrets and passphrases; nil for nobody.
	Secrets *redact.Secrets
	// Stack is the stack that the user named, if any. Without a project file, it may name the project.
	Stack string
	// Backend is the URL of the stacks that the program itself names, which goes before all others, and BackendOrigin says who
	// does: the worker that has begun this process, if it is empty.
	Backend, BackendOrigin string
	// File is the text of the project file, instead of that in the directory, and FileName its name: Husk.yaml, if that is empty.
	File     []byte
	FileName string
	// Withheld keeps secrets from the project: its state's secrets are unknown. It is for previews.
	Withheld bool
	// Project is the name of the only project that may be opened, a worker's run; empty for any.
	Project string
	// Run is the ID of a worker's run, and By who asked for it, whom the history names in place of the user of this process.
	Run, By string
}

// Open opens the project in the directory of a root, or only its state if the project file is gone (see
// [Workspace.Detached]). If the root does not trust the project, the operator names the backend, which is outside of the project,
// and nothing in the project's directory of data counts. The error comes from [program.LoadProject], or is about the backend's
// URL.
func Open(ctx context.Context, root *projectroot.Root, o Options) (*Workspace, error) {
	project, err := o.load(ctx, root)
	var none *program.NoProjectError
	if errors.As(err, &none) {
		if o.Project != "" {
			return nil, fmt.Errorf("the run is of the project %s, and there is no project file in its directory", o.Project)
		}
		return openDetached(ctx, root, none, o)
	}
	if err != nil {
		return nil, err
	}
	if o.Project != "" && project.Name != o.Project {
		return nil, fmt.Errorf("the run is of the project %s, and its files belong to the project %s", o.Project, project.Name)
	}
	at := operators(o.Backend, cmp.Or(o.BackendOrigin, workerOrigin))
	if o.Backend == "" {
		if at, err = backendOf(project); err != nil {
			return nil, err
		}
	}
	b, err := o.openFor(ctx, at, project.Root)
	if err != nil {
		return nil, err
	}
	w := newWorkspace(project, b, at, o)
	if w.untrusted() {
		return w, nil // its data directory decides nothing
	}
	if err := w.checkOverlooked(ctx, at, o); err != nil {
		return nil, err
	}
	return w, w.finishRenaming(ctx)
}

func (o Options) load(ctx context.Context, root *projectroot.Root) (*program.Project, error) {
	if o.File != nil {
		return program.ParseProject(ctx, root, cmp.Or(o.FileName, program.FileNames()[0]), o.File)
	}
	return program.LoadProject(ctx, root)
}

func newWorkspace(project *program.Project, b *backend.Backend, at place, o Options) *Workspace {
	keys := secrets.SystemKeys(func(path string) {
		o.Remark("Created a key that encrypts the secrets of new stacks: " + path +
			"\nKeep a copy of the key: without it, secrets cannot be read.\nSet HUSK_CONFIG_PASSPHRASE to use a passphrase instead.")
	})
	keys.Service = func(url string) (secrets.KeyService, error) {
		if url != ServerKey {
			return keyservice.Open(url)
		}
		if b.Keys == nil {
			return nil, fmt.Errorf("the server of the stack keeps its key, and %s is none: log in to the server with husk login https://:TOKEN@host", b.Place)
		}
		return b.Keys, nil
	}
	keys.Withheld = o.Withheld
	w := &Workspace{tokens: new(sync.Map), Project: project, Place: b.Place, Origin: at.Origin(), confirmed: o.Project != "", run: o.Run, by: o.By, nowhere: at.nowhere, keys: learningKeys(keys, o.Secrets), secrets: o.Secrets, remark: o.Remark}
	w.sealing = sealed.New(b, w.keys, sealed.Mode(project.Encryption))
	w.backend = w.sealing.Backend()
	w.store = w.backend.State
	w.copies = b.Dir
	if !b.Remote {
		w.copies, _ = copiesDir("file://" + b.Dir) // without one, there are no records of runs
	}
	return w
}

// ServerKey names the key that a server keeps for the secrets of its stacks.
const ServerKey = "husk://default"

// newSecrets returns the secrets provider of a new stack: the one that its configuration names, or else with a passphrase if one is set,
// with the key that the server of the stacks keeps, so that a run there can decrypt what it needs, or with the user's key.
func newSecrets(ctx context.Context, keys secrets.Keys, b *backend.Backend, c *Config) (secrets.Provider, error) {
	_, none := keys.Passphrase()
	switch service := c.service(); {
	case keys.Withheld:
	case service != "":
		return keys.NewCloud(ctx, service)
	case !errors.Is(none, secrets.ErrNoKey):
	case c.SecretsProvider() == secrets.TypePassphrase:
		return nil, none
	case b.Keys != nil:
		if p, err := keys.NewCloud(ctx, ServerKey); !errors.Is(err, errors.ErrUnsupported) {
			return p, err
		}
	}
	return keys.New(ctx)
}

// learningKeys returns keys whose passphrases become known secrets.
func learningKeys(keys secrets.Keys, known *redact.Secrets) secrets.Keys {
	lookup, read := keys.LookupEnv, keys.ReadFile
	keys.LookupEnv = func(name string) (string, bool) {
		value, ok := lookup(name)
		if !strings.HasSuffix(name, "_FILE") {
			known.Learn(value)
		}
		return value, ok
	}
	keys.ReadFile = func(path string) ([]byte, error) {
		text, err := read(path)
		known.Learn(string(text))
		return text, err
	}
	return keys
}

// name returns the full name of one of the project's stacks.
func (w *Workspace) name(stack string) state.StackName {
	return state.StackName{Project: w.Project.Name, Name: stack}
}

// Stacks returns the names of the project's stacks, sorted, including damaged ones. If it finds any, it
// ignores errors about stacks of other projects.
func (w *Workspace) Stacks(ctx context.Context) ([]string, error) {
	all, err := w.store.List(ctx)
	var names []string
	for _, n := range all {
		if n.Project == w.Project.Name {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	return nil, err
}

// mustExist returns an error if there is no such stack, damaged or not.
func (w *Workspace) mustExist(ctx context.Context, stack string) error {
	stacks, err := w.Stacks(ctx)
	if err == nil && !slices.Contains(stacks, stack) {
		err = &NoStackError{Stack: stack, Place: w.Place, Err: state.ErrStackNotFound}
	}
	return err
}

// NoStackError is the error for a stack that does not exist.
type NoStackError struct {
	Stack, Place string
	// Others are existing stacks, if the user must mean one of them.
	Others []string
	// Elsewhere says where the stacks of the project are, nil if nothing says that it is another place.
	Elsewhere error
	Err       error
}

// Error says how to make the stack.
func (e *NoStackError) Error() string {
	how := "create it with: husk stack init " + e.Stack
	switch {
	case e.Elsewhere != nil:
		how = e.Elsewhere.Error()
	case len(e.Others) > 0:
		how = "it has " + strings.Join(e.Others, ", ")
	case e.Stack == DefaultStack:
		how = "husk up creates it"
	}
	return fmt.Sprintf("there is no stack %q in %s; %s", e.Stack, e.Place, how)
}

// Unwrap returns the store's error.
func (e *NoStackError) Unwrap() error { return e.Err }

func (w *Workspace) explain(stack string, err error) error {
	if errors.Is(err, state.ErrStackNotFound) {
		return &NoStackError{Stack: stack, Place: w.Place, Elsewhere: w.NotedElsewhere(), Err: err}
	}
	return err
}

// Init makes a stack.
func (w *Workspace) Init(ctx context.Context, stack string) error {
	if err := program.CheckStackName(stack); err != nil {
		return err
	}
	if w.nowhere != nil {
		return w.nowhere
	}
	if err := w.NotedElsewhere(); err != nil {
		return err
	}
	keys, err := w.keysOf(stack)
	if err != nil {
		return err
	}
	if err := state.Create(ctx, w.store, w.name(stack), keys); err != nil {
		return err
	}
	w.noteBackend()
	return nil
}

// Lease opens the state of a stack for changes, and makes the default stack if there is none. command is
// for users who find the stack locked.
func (w *Workspace) Lease(ctx context.Context, stack, command string) (*state.Stack, error) {
	keys, err := w.keysOf(stack)
	if err == nil {
		err = cmp.Or(w.nowhere, w.mayOpen(ctx, stack))
	}
	if err != nil {
		return nil, err
	}
	s, err := state.Open(ctx, w.store, w.name(stack), keys, w.holder(command))
	if errors.Is(err, state.ErrStackNotFound) && stack == DefaultStack {
		if err = w.ensure(ctx, stack); err == nil {
			s, err = state.Open(ctx, w.store, w.name(stack), keys, w.holder(command))
		}
	} else if err == nil {
		w.noteBackend() // of a stack that was there before the note was, or whose note was lost
	}
	return w.settled(ctx, s, w.explain(stack, err))
}

// settled returns a leased stack, unless there was an error, after it has brought the stack's encryption to the project's
// setting.
func (w *Workspace) settled(ctx context.Context, s *state.Stack, err error) (*state.Stack, error) {
	if err != nil {
		return nil, err
	}
	w.leased(s)
	changed, err := w.sealing.Change(w.fence(ctx, s.Name()), s)
	if err != nil {
		err = fmt.Errorf("changing the encryption of the stack %s, as encryption in %s says: %w", s.Name().Name, w.Project.File.Name, err)
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	switch {
	case changed && w.Project.Encryption == program.EncryptAll:
		w.remark(fmt.Sprintf("The whole state of the stack %s is encrypted from now on. Earlier states, which are kept as backups, are in clear until %d updates have replaced them.",
			s.Name().Name, state.KeptBackups))
	case changed:
		w.remark(fmt.Sprintf("Only the secrets of the stack %s are encrypted from now on.", s.Name().Name))
	}
	return s, nil
}

// leased notes the lease's token, under which a stack's belongings are changed from now on.
func (w *Workspace) leased(s *state.Stack) { w.tokens.Store(s.Name(), s.Token()) }

// fence returns a context for changes of a leased stack's belongings.
func (w *Workspace) fence(ctx context.Context, stack state.StackName) context.Context {
	return backend.WithToken(ctx, w.token(stack))
}

// token returns the fencing token of the last lease of a stack, 0 if there was none.
func (w *Workspace) token(stack state.StackName) uint64 {
	last, _ := w.tokens.Load(stack)
	token, _ := last.(uint64)
	return token
}

// ensure makes the default stack if there is none. Other stacks must exist.
func (w *Workspace) ensure(ctx context.Context, stack string) error {
	for until := time.Now().Add(otherMakes); ; {
		err := w.mustExist(ctx, stack)
		if !errors.Is(err, state.ErrStackNotFound) || stack != DefaultStack {
			return err
		}
		err = w.Init(ctx, stack)
		locked := (*state.LockedError)(nil)
		switch {
		case errors.Is(err, state.ErrStackExists):
			return nil
		case !errors.As(err, &locked) || time.Now().After(until):
			return err
		}
		select {
		case <-time.After(looksAgain):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// otherMakes is how long a command waits for the stack that another one is making.
const (
	otherMakes = 10 * time.Second
	looksAgain = 20 * time.Millisecond
)

// LeaseExisting is Lease for a stack that must exist.
func (w *Workspace) LeaseExisting(ctx context.Context, stack, command string) (*state.Stack, error) {
	if err := cmp.Or(w.nowhere, w.mayOpen(ctx, stack)); err != nil {
		return nil, err
	}
	s, err := state.Open(ctx, w.store, w.name(stack), w.keys, w.holder(command))
	return w.settled(ctx, s, w.explain(stack, err))
}

// Read returns the state of a stack. If sealed is set, it needs no key, and secrets are unknown.
func (w *Workspace) Read(ctx context.Context, stack string, sealed bool) (*state.Snapshot, *state.Codec, error) {
	if err := w.mayOpen(ctx, stack); err != nil {
		return nil, nil, err
	}
	open := state.OpenSecrets(w.keys.Open)
	if sealed {
		open = nil
	}
	snapshot, codec, err := state.Load(ctx, w.store, w.name(stack), open)
	return snapshot, codec, w.explain(stack, err)
}

// PassphraseCodec returns a codec that encrypts with the passphrase that is set.
func (w *Workspace) PassphraseCodec() (*state.Codec, error) {
	passphrase, err := w.keys.Passphrase()
	if err != nil {
		return nil, err
	}
	provider, err := secrets.NewPassphrase(passphrase)
	if err != nil {
		return nil, err
	}
	return state.NewCodec(provider), nil
}

// Copy returns a copy of a state in memory, for previews without a lock, or an empty default stack.
func (w *Workspace) Copy(ctx context.Context, stack string) (*state.Stack, error) {
	keys, err := w.keysOf(stack)
	if err == nil {
		err = w.mayOpen(ctx, stack)
	}
	if err != nil {
		return nil, err
	}
	var copies memstore.Store
	snapshot, codec, err := w.Read(ctx, stack, false)
	if errors.Is(err, state.ErrStackNotFound) && stack == DefaultStack {
		if err = w.NotedElsewhere(); err == nil {
			err = state.Create(ctx, &copies, w.name(stack), keys)
		}
		if err != nil {
			return nil, err
		}
		return state.Open(ctx, &copies, w.name(stack), keys, w.holder("preview"))
	}
	if err == nil {
		err = copies.Create(ctx, w.name(stack), nil)
	}
	if err != nil {
		return nil, err
	}
	lease, err := copies.Lease(ctx, w.name(stack), w.holder("preview"))
	if err != nil {
		return nil, err
	}
	return state.OpenCopy(ctx, lease, w.name(stack), snapshot, codec, keys)
}

// Remove removes a stack. If it has something, or cannot be read, forget decides: it gets the resources, or the error of
// reading, and returns nil to forget them. A nil forget forgets nothing.
func (w *Workspace) Remove(ctx context.Context, stack string, forget func([]*state.Resource, error) error) error {
	if err := w.mayOpen(ctx, stack); err != nil {
		return err
	}
	lease, err := w.store.Lease(ctx, w.name(stack), w.holder("stack rm"))
	if err != nil {
		return w.explain(stack, err)
	}
	err = func() error {
		snapshot, _, err := w.Read(ctx, stack, true)
		objects := objectsOf(snapshot)
		switch {
		case err == nil && len(objects) == 0:
		case forget != nil:
			if err := forget(objects, err); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			s := "s"
			if len(objects) == 1 {
				s = ""
			}
			return fmt.Errorf("the stack %q still has %d resource%s: run husk destroy first, or forget it with --force", stack, len(objects), s)
		}
		if err := lease.Remove(ctx); err != nil {
			return err
		}
		return w.forgetCopies(stack)
	}()
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// objectsOf returns the resources that exist, or may exist since a run was cut off; none of no state.
func objectsOf(snapshot *state.Snapshot) (objects []*state.Resource) {
	if snapshot == nil {
		return nil
	}
	for _, r := range snapshot.Resources() {
		if counts(r) {
			objects = append(objects, r)
		}
	}
	for _, op := range snapshot.Operations() {
		objects = append(objects, op.Resource)
	}
	return objects
}

// CountResources returns the number of resources without the stack itself and providers.
func CountResources(s *state.Snapshot) int {
	n := 0
	for _, r := range s.Resources() {
		if counts(r) {
			n++
		}
	}
	return n
}

// counts reports whether a resource is an object of a provider, and not the stack, a component, or a provider.
func counts(r *state.Resource) bool { return r.Custom && !r.IsProvider() }

// Outputs returns the outputs of a stack's root resource.
func Outputs(s *state.Snapshot) property.Map {
	for _, r := range s.Resources() {
		if r.Type == urn.RootType && !r.Delete {
			return r.Outputs
		}
	}
	return property.Map{}
}

// holder says who has the lease of a stack for a command.
func (w *Workspace) holder(command string) state.Holder {
	h := holder(command)
	h.User = cmp.Or(w.by, h.User)
	return h
}

func holder(command string) state.Holder {
	h := state.Holder{PID: os.Getpid(), Command: "husk " + command, Since: time.Now()}
	h.Host, _ = os.Hostname() // empty if unknown
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	return h
}

func (w *Workspace) dataPath(name string) string {
	return filepath.Join(w.Project.Dir, dataDir, name)
}

// Decode reads the JSON of an export with its secrets. The codec encodes it again.
func (w *Workspace) Decode(ctx context.Context, data []byte) (*state.Snapshot, *state.Codec, error) {
	return state.Decode(ctx, data, w.keys.Open)
}
