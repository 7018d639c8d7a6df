package contactstest

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
)

// Deployed has the engine make, change, and remove a team with the provider that load opens for a URL. It must serve several calls at once.
func Deployed(t *testing.T, load func(t testing.TB, url string) abi.Provider) {
	api, contacts := Service(t)
	s := newStack(t, api.URL, func() abi.Provider { return load(t, api.URL) })

	note := "correct horse"
	steps, err := s.do(engine.Preview, s.team(note, "Ann", "Bob"))
	require.NoError(t, err)
	all := []string{"create boss", "create mine", "create proj-dev", "create team", "create team-Ann", "create team-Bob"}
	require.Equal(t, all, steps, "the names of its contacts are not known yet")
	require.Empty(t, contacts.Items())

	api.Fail("POST /contacts", 3, guesttest.Status(500))
	_, err = s.do(engine.Run, s.team(note, "Ann", "Bob"))
	require.ErrorContains(t, err, "the service answers 500")
	require.NotContains(t, s.resources(), "team-Bob")
	require.Contains(t, s.resources(), "team-Ann")

	steps, err = s.do(engine.Run, s.team(note, "Ann", "Bob"))
	require.NoError(t, err)
	require.Subset(t, steps, []string{"create team-Bob"})
	require.NotContains(t, steps, "create team-Ann", "what was made stays")
	made := s.resources()
	require.Equal(t, "team", made["team-Bob"].Parent.Name())
	require.Contains(t, made["team-Bob"].Dependencies, made["team-Ann"].URN)
	require.Contains(t, made["team-Ann"].PropertyDependencies["name"], made["boss"].URN)
	require.Equal(t, property.String("Ann@boss (person)"), made["team-Ann"].Inputs.Get("name"))
	require.True(t, made["team-Ann"].Inputs.Get("password").IsSecret())
	require.True(t, made["team"].Inputs.Get("note").IsSecret())
	require.Equal(t, property.Array(property.String(made["team-Ann"].ID), property.String(made["team-Bob"].ID)), made["team"].Outputs.Get("ids"))
	require.Equal(t, note, contacts.Items()[made["team-Ann"].ID]["password"])

	steps, err = s.do(engine.Run, s.team(note, "Ann", "Bob"))
	require.NoError(t, err)
	require.Empty(t, steps, "nothing has changed")

	steps, err = s.do(engine.Run, s.team("battery staple", "Ann", "Eve"))
	require.NoError(t, err)
	require.Subset(t, steps, []string{"create team-Eve", "delete team-Bob", "update team-Ann"})
	require.Equal(t, "battery staple", contacts.Items()[made["team-Ann"].ID]["password"])

	before := len(api.Requests())
	_, err = s.do(engine.Run, engine.Destroy{})
	require.NoError(t, err)
	require.Empty(t, contacts.Items())
	var deleted []string
	for _, r := range api.Requests()[before:] {
		deleted = append(deleted, r.String())
	}
	require.Equal(t, []string{"DELETE /contacts/4", "DELETE /contacts/2", "DELETE /contacts/1"}, deleted, "what others depend on goes last")
}

// team is a program with a team, whose domain is known when another contact is made.
func (s *stack) team(note string, names ...string) engine.Up {
	list := make(pt.List, len(names))
	for i, name := range names {
		list[i] = name
	}
	return engine.Up{Program: goprogram.Func(func(ctx context.Context, stack *goprogram.Stack) (property.Map, error) {
		mine, err := stack.Resource(ctx, goprogram.Declaration{Type: "pulumi:providers:contacts", Name: "mine", Inputs: pt.MapOf(pt.Object{"url": s.url})})
		if err != nil {
			return property.Map{}, err
		}
		options := abi.ResourceOptions{Provider: mine.Reference()}
		boss, err := stack.Resource(ctx, goprogram.Declaration{Type: Contact, Name: "boss", Inputs: pt.MapOf(pt.Object{"name": "boss"}), Options: options})
		if err != nil {
			return property.Map{}, err
		}
		inputs := pt.MapOf(pt.Object{"names": list, "domain": boss.Output("label"), "note": property.Secret(property.String(note))})
		_, err = stack.RemoteComponent(ctx, goprogram.Declaration{Type: Team, Name: "team", Inputs: inputs, Options: options})
		return property.Map{}, err
	})}
}

// stack is a stack in memory.
type stack struct {
	t     *testing.T
	url   string
	load  func() abi.Provider
	store memstore.Store
	keys  secrets.Keys
	// config is that of the stack.
	config []abi.ConfigEntry
}

var stackName = state.StackName{Project: "proj", Name: "dev"}

func newStack(t *testing.T, url string, load func() abi.Provider) *stack {
	dir := t.TempDir()
	s := &stack{t: t, url: url, load: load, keys: secrets.Keys{
		LookupEnv: func(string) (string, bool) { return "", false }, ReadFile: os.ReadFile,
		ConfigDir: func() (string, error) { return dir, nil }, KeyMade: func(string) {},
	}}
	require.NoError(t, state.Create(t.Context(), &s.store, stackName, s.keys))
	return s
}

// Load opens the provider.
func (s *stack) Load(_ context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	if spec.Name != "contacts" {
		return nil, errors.New("no package " + spec.Name)
	}
	return s.load(), nil
}

// do runs an operation, and returns the steps that did something, or would, sorted.
func (s *stack) do(run func(context.Context, engine.Deployment, engine.Operation) (*engine.Result, error), operation engine.Operation) ([]string, error) {
	ctx := s.t.Context()
	opened, err := state.Open(ctx, &s.store, stackName, s.keys, state.Holder{})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, opened.Close(context.WithoutCancel(ctx))) }()
	var mu sync.Mutex
	var done []string
	_, err = run(ctx, engine.Deployment{
		Project: stackName.Project, Stack: stackName.Name, Config: s.config, Providers: s, State: opened,
		Events: func(e engine.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e, ok := e.(engine.StepDone); ok && e.Step.Op != engine.OpSame {
				done = append(done, string(e.Step.Op)+" "+e.Step.Name)
			}
		},
	}, operation)
	slices.Sort(done)
	return done, err
}

// resources returns the recorded resources by name.
func (s *stack) resources() map[string]*state.Resource {
	snapshot, _, err := state.Load(s.t.Context(), &s.store, stackName, s.keys.Open)
	require.NoError(s.t, err)
	found := map[string]*state.Resource{}
	for _, r := range snapshot.Resources() {
		found[r.URN.Name()] = r
	}
	return found
}
