package contactstest

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/moduleprogram"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/examples/contacts/provider"
	"github.com/husk-dev/husk/examples/contacts/roster"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
	guestprogram "github.com/husk-dev/husk/guest-sdk/program"
	"github.com/husk-dev/husk/host"
)

// Roster requires of the module of the program roster what the one in Go does: the same registrations, previews, states, and errors. said is
// what the error says of a panic, or of its like, beside its text.
func Roster(t *testing.T, module *host.Module, said ...string) {
	native := func(testing.TB) abi.Program { return guestprogram.New(roster.Declare) }
	open := opening(module)
	t.Run("it registers what the program in Go does", func(t *testing.T) { registersTheSame(t, native(t), open(t)) })
	t.Run("it deploys what the program in Go does", func(t *testing.T) {
		require.Equal(t, rosterLives(t, native), rosterLives(t, open))
	})
	t.Run("what has failed keeps the state, and names the program", func(t *testing.T) { rosterFails(t, open, said) })
}

// RosterFailsLater requires that the module of the program roster fails by what it began and does not wait for.
func RosterFailsLater(t *testing.T, module *host.Module) {
	api, _ := Service(t)
	s, up := rosterStack(t, api.URL, opening(module))
	_, err := s.do(engine.Run, up(map[string]string{"mode": "later"}, false))
	require.ErrorContains(t, err, "no such mood")
}

func opening(module *host.Module) func(testing.TB) abi.Program {
	return func(t testing.TB) abi.Program {
		p, err := module.NewProgram(t.Context(), "roster", nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	}
}

func registersTheSame(t *testing.T, native, module abi.Program) {
	made, failed := 0, 0
	for seed := range uint64(300) {
		run := func(p abi.Program) ([]string, string, *abi.Error) {
			random := rand.New(rand.NewPCG(seed, 1))
			m := &Monitor{Preview: random.IntN(2) == 0, Random: rand.New(rand.NewPCG(seed, 2))}
			if random.IntN(2) == 0 {
				m.Failing, m.Result = []string{"mine", "ann", "bob", "team"}[random.IntN(4)], abi.RegistrationResult(random.IntN(3))
			}
			response, err := p.Run(abi.WithMonitor(t.Context(), m), abi.ProgramRunRequest{
				Engine: "test", Stack: urn.New("dev", "roster", "", urn.RootType, "roster-dev"),
				Context: abi.RunContext{Project: "roster", Stack: "dev", DryRun: m.Preview, Config: []abi.ConfigEntry{
					{Key: "roster:url", Value: "http://127.0.0.1:1"}, {Key: "roster:city", Value: "Zürich"}, {Key: "roster:note", Value: "correct horse", Secret: true},
				}},
			})
			require.Empty(t, m.running, "seed %d: something still runs", seed)
			var registered []string
			for _, r := range m.Registered {
				registered = append(registered, canontest.Dump(r))
			}
			slices.Sort(registered) // each language has an order of its own
			return registered, canontest.Dump(response), abi.AsError(err)
		}
		ours, ourOutputs, ourErr := run(native)
		theirs, theirOutputs, theirErr := run(module)
		if ourErr != nil || theirErr != nil {
			require.True(t, ourErr != nil && theirErr != nil, "seed %d: %v and %v", seed, ourErr, theirErr)
			require.Equal(t, []any{ourErr.Kind, ourErr.Path, ourErr.Message}, []any{theirErr.Kind, theirErr.Path, theirErr.Message}, "seed %d", seed)
			failed++
			continue
		}
		require.Equal(t, ours, theirs, "seed %d", seed)
		require.Equal(t, ourOutputs, theirOutputs, "seed %d", seed)
		made++
	}
	require.Greater(t, min(made, failed), 30)
}

// rosterStack returns a stack whose program is opened for each run.
func rosterStack(t *testing.T, url string, open func(testing.TB) abi.Program) (*stack, func(config map[string]string, keepGoing bool) engine.Up) {
	dir := t.TempDir()
	text := "name: proj\nruntime: wasm\nmain: program\nconfig: {city: {type: string, default: Bern}, street: {type: string, default: Aare 1, secret: true}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
	project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	s := newStack(t, url, func() abi.Provider {
		p, err := guest.New(provider.New())
		require.NoError(t, err)
		return p
	})
	return s, func(config map[string]string, keepGoing bool) engine.Up {
		s.config = []abi.ConfigEntry{{Key: "proj:url", Value: url}}
		for key, v := range config {
			s.config = append(s.config, abi.ConfigEntry{Key: "proj:" + key, Value: v, Secret: key == "note"})
		}
		return engine.Up{ContinueOnError: keepGoing, Program: moduleprogram.New(project, func(context.Context) (abi.Program, error) { return open(t), nil }, nil)}
	}
}

// rosterLives returns the steps, errors, and states of the lives of a stack.
func rosterLives(t *testing.T, open func(testing.TB) abi.Program) (told []string) {
	api, contacts := Service(t)
	s, up := rosterStack(t, api.URL, open)
	tell := func(steps []string, err error) {
		text := strings.Join(append(steps, s.dump()...), "\n")
		if err != nil {
			text += "\n" + err.Error()
		}
		text = strings.ReplaceAll(text, api.URL, "URL")
		if mine := s.resources()["mine"]; mine != nil {
			text = strings.ReplaceAll(text, mine.ID, "ID") // which is random
		}
		told = append(told, text)
	}
	config := map[string]string{"note": "correct horse"}
	tell(s.do(engine.Preview, up(config, false)))
	require.Empty(t, contacts.Items())
	api.Fail("POST /contacts", 2, guesttest.Status(500))
	tell(s.do(engine.Run, up(config, true)))
	require.Contains(t, told[1], "the service answers 500")
	require.NotContains(t, s.resources(), "bob")
	tell(s.do(engine.Run, up(config, false)))
	made := s.resources()
	require.Equal(t, property.String("Bob, after Ann (person)"), made["bob"].Inputs.Get("name"))
	require.Equal(t, "staff", made["bob"].Parent.Name())
	require.Equal(t, []urn.URN{made["ann"].URN}, made["bob"].PropertyDependencies["address"])
	require.True(t, made["ann"].Inputs.Get("password").IsSecret())
	street, _ := made["ann"].Inputs.Get("address").AsObject()
	require.True(t, street.Get("street").IsSecret())
	outputs := made["proj-dev"].Outputs
	require.Equal(t, property.Array(property.String(made["team-Eve"].ID), property.String(made["team-Max"].ID)), outputs.Get("team"))
	require.Equal(t, property.Secret(property.String("correct horse")), outputs.Get("note"))
	require.Equal(t, property.Array(property.String("Bob, after Ann (person)")), outputs.Get("found"))
	require.Equal(t, property.String("Ann"), outputs.Get("seen"))
	require.False(t, outputs.Has("none"))
	steps, err := s.do(engine.Run, up(config, false))
	require.NoError(t, err)
	require.Equal(t, []string{"read seen"}, steps, "nothing has changed")
	config["city"] = "Genf"
	tell(s.do(engine.Preview, up(config, false)))
	tell(s.do(engine.Run, up(config, false)))
	tell(s.do(engine.Run, engine.Destroy{}))
	require.Empty(t, contacts.Items())
	return told
}

// rosterFails has the program fail after its first contact.
func rosterFails(t *testing.T, open func(testing.TB) abi.Program, said []string) {
	api, contacts := Service(t)
	s, up := rosterStack(t, api.URL, open)
	for mode, want := range map[string][]string{"fail": {"no such mood"}, "panic": append([]string{"no such mood"}, said...)} {
		_, err := s.do(engine.Preview, up(map[string]string{"mode": mode}, false))
		require.ErrorContains(t, err, "no such mood")
		_, err = s.do(engine.Run, up(map[string]string{"mode": mode}, false))
		for _, text := range append(want, "Husk.yaml:3:7: the program failed: ") {
			require.ErrorContains(t, err, text)
		}
		require.Len(t, contacts.Items(), 1, "what was made stays, and is made once")
		require.NotEmpty(t, s.resources()["ann"].ID)
	}
	_, err := s.do(engine.Run, up(nil, false))
	require.NoError(t, err)
	require.Contains(t, s.resources(), "bob")
	_, err = s.do(engine.Run, up(map[string]string{"mode": "fail"}, false))
	require.ErrorContains(t, err, "no such mood")
	require.Contains(t, s.resources(), "bob", "nothing is deleted")
}

// dump returns all that is recorded.
func (s *stack) dump() (told []string) {
	snapshot, _, err := state.Load(s.t.Context(), &s.store, stackName, s.keys.Open)
	require.NoError(s.t, err)
	for _, r := range snapshot.Resources() {
		one := recorded{URN: r.URN, Parent: r.Parent, ID: r.ID, Provider: r.Provider, Inputs: r.Inputs, Outputs: r.Outputs, Dependencies: r.Dependencies, InitErrors: r.InitErrors}
		if r.URN.Name() == "mine" { // which has the URL of its service
			one.Inputs, one.Outputs = property.Map{}, property.Map{}
		}
		text := canontest.Dump(one)
		for _, key := range slices.Sorted(maps.Keys(r.PropertyDependencies)) {
			text += " " + key + " from " + canontest.Dump(r.PropertyDependencies[key])
		}
		told = append(told, text)
	}
	slices.Sort(told)
	return told
}

// recorded is what a run has recorded of a resource.
type recorded struct {
	URN, Parent     urn.URN
	ID, Provider    string
	Inputs, Outputs property.Map
	Dependencies    []urn.URN
	InitErrors      []string
}
