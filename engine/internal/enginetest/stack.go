package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// Stack runs deployments over one state, which outlives each of them.
type Stack struct {
	t      testing.TB
	Cloud  *Cloud
	Store  state.Store
	Config []abi.ConfigEntry
	// Edit, if set, changes each deployment before it runs.
	Edit func(*Deployment)
	// MayFail allows an operation to fail that ends before the crash of CrashAt.
	MayFail bool

	name   state.StackName
	keyDir string

	mu     sync.Mutex
	events []engine.Event
}

// NewStack returns an empty stack over the cloud.
func NewStack(t testing.TB, cloud *Cloud) *Stack {
	s := &Stack{t: t, Cloud: cloud, Store: new(memstore.Store), name: state.StackName{Project: "proj", Name: "dev"}}
	require.NoError(t, state.Create(context.Background(), s.Store, s.name, s.keys()))
	return s
}

// Beside returns the stack of that name in the same store, which is made if there is none.
func (s *Stack) Beside(name string) *Stack {
	other := &Stack{t: s.t, Cloud: s.Cloud, Store: s.Store, keyDir: s.keyDir, name: state.StackName{Project: s.name.Project, Name: name}}
	err := state.Create(context.Background(), s.Store, other.name, s.keys())
	if !errors.Is(err, state.ErrStackExists) {
		require.NoError(s.t, err)
	}
	return other
}

// keys encrypts secrets with a user key that lives as long as the test.
func (s *Stack) keys() secrets.Keys {
	if s.keyDir == "" {
		s.keyDir = s.t.TempDir()
	}
	return secrets.Keys{
		LookupEnv: func(string) (string, bool) { return "", false },
		ReadFile:  os.ReadFile,
		ConfigDir: func() (string, error) { return s.keyDir, nil },
		KeyMade:   func(string) {},
	}
}

// Reread writes a plan to a file and reads it again, and returns its text, too.
func (s *Stack) Reread(p *engine.Plan) (*engine.Plan, string) {
	s.t.Helper()
	ctx := context.Background()
	_, codec, err := state.Load(ctx, s.Store, s.name, s.keys().Open)
	require.NoError(s.t, err)
	text, err := p.Encode(ctx, codec)
	require.NoError(s.t, err)
	read, err := engine.DecodePlan(ctx, text, s.keys().Open)
	require.NoError(s.t, err)
	return read, string(text)
}

// Open leases the stack's state.
func (s *Stack) Open(ctx context.Context) (*state.Stack, error) {
	return state.Open(ctx, s.Store, s.name, s.keys(), state.Holder{})
}

// CrashAt runs an operation in a process that dies at its n-th write to the store,
// before or after that write is done. It reports whether there were so many.
func (s *Stack) CrashAt(n int, late bool, run Operation, program engine.Program) bool {
	s.t.Helper()
	ctx := context.Background()
	crash := &Crash{Store: s.Store, At: n, Late: late}
	st, err := state.Open(ctx, crash, s.name, s.keys(), state.Holder{})
	if err == nil {
		_, err = run(ctx, s.deployment(st, program))
		err = errors.Join(err, st.Close(ctx))
	}
	if crash.Writes() < n {
		if !s.MayFail {
			require.NoError(s.t, err)
		}
		return false
	}
	require.ErrorIs(s.t, err, ErrCrash)
	require.NoError(s.t, s.Store.Break(ctx, s.name))
	return true
}

// Try runs an operation and returns its result.
func (s *Stack) Try(run Operation, program engine.Program) (*engine.Result, error) {
	s.t.Helper()
	ctx := context.Background()
	st, err := s.Open(ctx)
	require.NoError(s.t, err)
	defer func() {
		require.NoError(s.t, st.Close(ctx))
		require.NoError(s.t, s.Snapshot().Verify())
	}()
	return run(ctx, s.deployment(st, program))
}

func (s *Stack) deployment(st *state.Stack, program engine.Program) Deployment {
	s.events = nil
	d := Deployment{Up: engine.Up{Program: program}, Deployment: engine.Deployment{
		Project: s.name.Project, Stack: s.name.Name, Config: s.Config, Providers: s.Cloud, State: st,
		Stacks: builtin.Stacks{Store: s.Store, Open: s.keys().Open},
		Events: func(e engine.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
	}}
	if s.Edit != nil {
		s.Edit(&d)
	}
	return d
}

// Up updates the stack and requires that it succeeds, as the other operations do.
func (s *Stack) Up(program Program) engine.Changes {
	s.t.Helper()
	return s.must(Up, program)
}

// Preview previews an update.
func (s *Stack) Preview(program Program) engine.Changes {
	s.t.Helper()
	return s.must(Preview, program)
}

// Destroy deletes everything.
func (s *Stack) Destroy() engine.Changes {
	s.t.Helper()
	return s.must(Destroy, nil)
}

// Refresh reads everything.
func (s *Stack) Refresh() engine.Changes {
	s.t.Helper()
	return s.must(Refresh, nil)
}

func (s *Stack) must(run Operation, program engine.Program) engine.Changes {
	s.t.Helper()
	result, err := s.Try(run, program)
	require.NoError(s.t, err)
	return result.Changes
}

// Steps returns the finished steps of the last operation as "op name", without steps that changed nothing and steps of default
// providers.
func (s *Stack) Steps() []string {
	var out []string
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && !done.Step.DefaultProvider && done.Step.Op != engine.OpSame {
			out = append(out, fmt.Sprintf("%s %s", done.Step.Op, done.Step.Name))
		}
	}
	return out
}

// Events returns the events of the last operation.
func (s *Stack) Events() []engine.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// Warnings returns the warnings of the last operation.
func (s *Stack) Warnings() []string {
	var out []string
	for _, e := range s.Events() {
		if d, ok := e.(engine.Diagnostic); ok && d.Severity == "warning" {
			out = append(out, d.Message)
		}
	}
	return out
}

// Snapshot reads the state.
func (s *Stack) Snapshot() *state.Snapshot {
	s.t.Helper()
	snapshot, _, err := state.Load(context.Background(), s.Store, s.name, s.keys().Open)
	require.NoError(s.t, err)
	return snapshot
}

// Recorded returns all that the state holds, to compare. A checkpoint of the same gives other numbers, so it has none.
func (s *Stack) Recorded() []any {
	s.t.Helper()
	snapshot := s.Snapshot()
	all := []any{snapshot.Manifest, snapshot.Extensions}
	for _, res := range snapshot.Resources() {
		all = append(all, res)
	}
	for _, pending := range snapshot.Operations() {
		all = append(all, pending)
	}
	return all
}

// Resource returns the recorded resource of that name, nil if there is none.
func (s *Stack) Resource(name string) *state.Resource {
	s.t.Helper()
	for _, res := range s.Snapshot().Resources() {
		if res.URN.Name() == name && !res.Delete {
			return res
		}
	}
	return nil
}

// Change changes the recorded resources of that name. There are several while one of another type waits to be deleted.
func (s *Stack) Change(name string, f func(*state.Resource)) {
	s.t.Helper()
	ctx := context.Background()
	st, err := s.Open(ctx)
	require.NoError(s.t, err)
	var entry state.Entry
	for serial, res := range st.Snapshot().Resources() {
		if res.URN.Name() == name && !res.Delete {
			n := *res
			f(&n)
			entry = append(entry, state.PutResource{Serial: serial, Resource: &n})
		}
	}
	require.NotEmpty(s.t, entry)
	require.NoError(s.t, st.Append(ctx, entry))
	require.NoError(s.t, st.Close(ctx))
}

// Double records the resource of that name a second time, and each of both as an old copy or not.
func (s *Stack) Double(name string, first, second bool) {
	s.t.Helper()
	ctx := context.Background()
	st, err := s.Open(ctx)
	require.NoError(s.t, err)
	var entry state.Entry
	for serial, res := range st.Snapshot().Resources() {
		if res.URN.Name() == name && !res.Delete && entry == nil {
			one, other := *res, *res
			one.Delete, other.Delete = first, second
			entry = state.Entry{state.PutResource{Serial: serial, Resource: &one}, state.PutResource{Serial: st.NextSerial(), Resource: &other}}
		}
	}
	require.NotEmpty(s.t, entry)
	require.NoError(s.t, st.Append(ctx, entry))
	require.NoError(s.t, st.Close(ctx))
}
