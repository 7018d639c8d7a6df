package runlog_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/backend/runlog"
)

var begun = time.Date(2026, 11, 23, 13, 45, 0, 0, time.UTC)

func header(kind string, at time.Time) runlog.Header {
	return runlog.Header{Kind: kind, Project: "shop", Stack: "dev", Start: at, User: "ada", Host: "desk", PID: 7}
}

func begin(t *testing.T, dir string, o runlog.Options) *runlog.Recorder {
	t.Helper()
	r, err := runlog.Begin(dir, header("up", begun), o)
	require.NoError(t, err)
	return r
}

func step(op engine.Op, name string) engine.StepInfo {
	u := urn.URN("urn:pulumi:dev::shop::lab:index:Thing::" + name)
	return engine.StepInfo{Op: op, URN: u, Resource: "lab:index:Thing", Name: name, Custom: true}
}

// entries reads a whole record.
func entries(t *testing.T, dir, id string) []runlog.Entry {
	t.Helper()
	r, err := runlog.Open(dir, id)
	require.NoError(t, err)
	defer r.Close()
	all, err := r.Next()
	require.NoError(t, err)
	return all
}

// A record has what happened, in order, and how it ended. Steps that change nothing are left out.
func TestARecordIsReadAsItWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "shop", "dev")
	r := begin(t, dir, runlog.Options{Instances: func() []runlog.Instances {
		return []runlog.Instances{{Name: "lab", Digest: "sha256:1", Instances: 2, Memory: 5 << 20, Calls: 3, Fuel: 99}}
	}})
	created := step(engine.OpCreate, "one")
	created.Inputs = []engine.PropertyChange{{Path: "name", Kind: "add", New: `"one"`}}
	sent := []engine.Event{
		engine.Started{Operation: "up", Project: "shop", Stack: "dev"},
		engine.StepStarted{Step: created},
		engine.StepDone{Step: created, DurationMs: 12, Cost: &engine.StepCost{Calls: 1, Microseconds: 900}},
		engine.StepFailed{Step: step(engine.OpUpdate, "two"), Error: "the lab is closed"},
		engine.Summary{Result: "failed", Changes: engine.Changes{Create: 1}},
	}
	for _, e := range sent {
		r.Event(e)
	}
	r.Event(engine.StepStarted{Step: step(engine.OpSame, "three")})
	r.Event(engine.StepDone{Step: step(engine.OpSame, "three")})
	r.Event(engine.Diagnostic{Severity: "info", Message: "50 %", Ephemeral: true})
	require.NoError(t, r.Close(r.EndOf(true, errors.New("the lab is closed"))))

	var got []engine.Event
	var last runlog.Entry
	var instances []runlog.Instances
	for _, e := range entries(t, dir, r.ID()) {
		if e.Event != nil {
			got = append(got, e.Event)
		}
		if e.Instances != nil {
			instances = e.Instances
		}
		last = e
	}
	require.Equal(t, sent, got)
	require.Equal(t, uint64(5<<20), instances[0].Peak)
	end := runlog.End{Result: runlog.Failed, Error: "the lab is closed", Changes: engine.Changes{Create: 1}}
	require.Equal(t, &end, last.End)

	records, err := runlog.List(dir)
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, "20261123T134500.000Z-up-7", records[0].ID)
	require.Equal(t, header("up", begun), records[0].Header)
	require.Equal(t, &end, records[0].End)
	require.False(t, records[0].Running)
}

// Whoever reads a record while it is written gets each entry once.
func TestARecordIsFollowed(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, dir, runlog.Options{})
	reader, err := runlog.Open(dir, r.ID())
	require.NoError(t, err)
	defer reader.Close()
	described, err := runlog.Describe(dir, r.ID())
	require.NoError(t, err)
	require.True(t, described.Running)
	require.Nil(t, described.End)

	var seen []runlog.Entry
	next := func() bool {
		more, err := reader.Next()
		require.NoError(t, err)
		seen = append(seen, more...)
		return len(seen) > 0
	}
	r.Event(engine.Started{Operation: "up"})
	require.Eventually(t, next, time.Minute, time.Millisecond)
	require.NoError(t, r.Close(r.EndOf(false, nil)))
	next()
	require.Len(t, seen, 2)
	require.Equal(t, runlog.Declined, seen[1].End.Result)

	// A line that is not yet whole is left for the next time.
	path := filepath.Join(dir, r.ID()+".jsonl")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteString(`{"at":5,"type":"started",`)
	require.NoError(t, err)
	more, err := reader.Next()
	require.NoError(t, err)
	require.Empty(t, more)
	_, err = file.WriteString(`"data":{"operation":"destroy"}}` + "\n" + `{"type":"from-the-future","data":{}}` + "\nno JSON\n")
	require.NoError(t, err)
	more, err = reader.Next()
	require.NoError(t, err)
	require.Len(t, more, 1)
	require.Equal(t, engine.Started{Operation: "destroy"}, more[0].Event)
}

// A deployment that gives no sign of life was cut off.
func TestADeploymentThatWasKilledIsCutOff(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "20261123T134500.000Z-up-7.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(`{"at":0,"type":"run","data":{"kind":"up","start":"2026-11-23T13:45:00Z"}}`+"\n"), 0o600))
	require.NoError(t, os.Chtimes(name, begun.Add(time.Minute), begun.Add(time.Minute)))
	records, err := runlog.List(dir)
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.False(t, records[0].Running)
	require.Nil(t, records[0].End)
	require.Equal(t, time.Minute, records[0].Took)
}

// Only its owner reads a record, and no secret is in it, also in text that only a provider made.
func TestARecordHasNoSecrets(t *testing.T) {
	var secrets redact.Secrets
	secrets.Learn("correct horse <battery>")
	dir := t.TempDir()
	r := begin(t, dir, runlog.Options{Secrets: &secrets})
	r.Event(engine.Diagnostic{Severity: "info", Message: "connecting as correct horse <battery>", Guest: true})
	r.Use(host.AuditEvent{Provider: "lab", Capability: "http", Target: "GET https://example.org/correct horse <battery>", Allowed: true})
	require.NoError(t, r.Close(r.EndOf(true, errors.New("401: correct horse <battery>"))))
	path := filepath.Join(dir, r.ID()+".jsonl")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "correct horse")
	require.Equal(t, 3, strings.Count(string(text), redact.Mask))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

// The same use of a capability is one entry, with its count.
func TestUsesAreCounted(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, dir, runlog.Options{})
	for range 1000 {
		r.Use(host.AuditEvent{Provider: "lab", Capability: "env", Target: "HOME", Allowed: true})
	}
	r.Use(host.AuditEvent{Provider: "lab", Capability: "env", Target: "HOME", Reason: "it is not granted"})
	require.NoError(t, r.Close(r.EndOf(true, nil)))
	counts := map[bool]int{}
	for _, e := range entries(t, dir, r.ID()) {
		for _, u := range e.Uses {
			counts[u.Allowed] = u.Count
		}
	}
	require.Equal(t, map[bool]int{true: 1000, false: 1}, counts)
}

// A record has a bound. What failed is recorded even then, and the end.
func TestARecordIsBounded(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, dir, runlog.Options{})
	long := strings.Repeat("x", 1<<20)
	for i := range 40 {
		s := step(engine.OpCreate, fmt.Sprint(i))
		s.Inputs = []engine.PropertyChange{{Path: "text", Kind: "add", New: long}}
		r.Event(engine.StepDone{Step: s})
	}
	r.Event(engine.StepFailed{Step: step(engine.OpCreate, "last"), Error: "the lab is closed"})
	require.NoError(t, r.Close(r.EndOf(true, nil)))
	info, err := os.Stat(filepath.Join(dir, r.ID()+".jsonl"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(17<<20))
	all := entries(t, dir, r.ID())
	require.NotNil(t, all[len(all)-1].End)
	require.IsType(t, engine.StepFailed{}, all[len(all)-2].Event)
	require.True(t, all[len(all)-3].Left)
}

// The oldest records go when there are too many. Other files stay.
func TestOldRecordsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	for i := range 60 {
		r, err := runlog.Begin(dir, header("up", begun.Add(time.Duration(i)*time.Hour)), runlog.Options{})
		require.NoError(t, err)
		require.NoError(t, r.Close(r.EndOf(true, nil)))
	}
	records, err := runlog.List(dir)
	require.NoError(t, err)
	require.Len(t, records, 50)
	require.Equal(t, begun.Add(59*time.Hour), records[0].Start)
	require.FileExists(t, filepath.Join(dir, "notes.txt"))
}

func TestNamesOfOtherFilesAreNoRecords(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"", "..", "../../stacks/shop/dev", "20261123T134500.000Z-up-7/../x", "notes"} {
		_, err := runlog.Open(dir, id)
		require.ErrorContains(t, err, "there is no record", id)
	}
	_, err := runlog.Open(dir, "20261123T134500.000Z-up-7")
	require.ErrorIs(t, err, runlog.ErrNoRecord)
}

// Each event of the engine can be read back: one that is new must be added to the reader.
func TestAllEventsOfTheEngineAreKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "engine", "event.go"), nil, 0)
	require.NoError(t, err)
	reader, err := os.ReadFile("format.go")
	require.NoError(t, err)
	found := 0
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Type" && f.Recv != nil {
			found++
			require.Contains(t, string(reader), "event[engine."+f.Recv.List[0].Type.(*ast.Ident).Name+"](all)")
		}
	}
	require.Positive(t, found)
}
