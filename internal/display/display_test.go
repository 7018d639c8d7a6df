package display

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/base/printable"
)

func step(op engine.Op, name string) engine.StepInfo {
	const typ = "lab:index/thing:Thing"
	return engine.StepInfo{Op: op, URN: urn.New("dev", "demo", "", typ, name), Resource: typ, Name: name, Custom: true}
}

var started = engine.Started{Operation: "up", Project: "demo", Stack: "dev"}

// shown is a display whose output can be looked at.
type shown struct {
	*Text
	out, errs bytes.Buffer
}

func newShown(size func() (columns, rows int), events ...engine.Event) *shown {
	s := &shown{}
	s.Text = newText(&screen{out: &s.out, size: size}, NewOutput(&s.errs, nil), Options{})
	for _, e := range events {
		s.Event(e)
	}
	return s
}

func TestLiveLinesStayBelowWhatIsDone(t *testing.T) {
	s := newShown(func() (int, int) { return 80, 24 },
		started,
		engine.StepStarted{Step: step(engine.OpCreate, "one")},
		engine.StepStarted{Step: step(engine.OpUpdate, "two")},
		engine.StepStarted{Step: step(engine.OpSame, "three")})
	s.at(time.Now().Add(72 * time.Second))
	require.Equal(t, `Updating demo/dev
  +  lab:Thing one                            creating… 1m12s
  ~  lab:Thing two                            updating… 1m12s
`, onTerminal(t, s.out.String()))

	s.Event(engine.StepDone{Step: step(engine.OpUpdate, "two"), DurationMs: 72_000})
	s.Event(engine.Diagnostic{Severity: "warning", Provider: "lab", Message: "mind\nthe paint"})
	s.at(time.Now().Add(73 * time.Second))
	require.Equal(t, `Updating demo/dev
  ~  lab:Thing two                            updated (1m12s)
  warning: lab: mind
    the paint
  +  lab:Thing one                            creating… 1m13s
`, onTerminal(t, s.out.String()))

	s.Event(engine.StepDone{Step: step(engine.OpCreate, "one"), DurationMs: 80_000})
	s.Event(engine.Summary{Result: "succeeded", Changes: engine.Changes{Create: 1, Update: 1, Same: 1}, DurationMs: 80_400})
	s.Close(nil)
	require.Equal(t, `Updating demo/dev
  ~  lab:Thing two                            updated (1m12s)
  warning: lab: mind
    the paint
  +  lab:Thing one                            created (1m20s)

Done in 1m20s: 1 created, 1 updated, 1 unchanged.
`, onTerminal(t, s.out.String()))
}

// An action after a step is shown after the step, which ends later.
func TestActionsAreShownInTheirOrder(t *testing.T) {
	of := func(event string) engine.ActionInfo {
		return engine.ActionInfo{
			Name: "tell", Function: "lab:index/call:call", Event: event, URN: step(engine.OpCreate, "one").URN,
			Arguments: []engine.PropertyChange{{Path: "text", Kind: "add", New: `"hello"`}},
		}
	}
	s := newShown(func() (int, int) { return 80, 24 }, started, engine.StepStarted{Step: step(engine.OpCreate, "one")})
	s.options.Diff = true
	for _, event := range []string{"before-create", "after-create"} {
		s.Event(engine.ActionStarted{Action: of(event)})
		s.at(time.Now().Add(72 * time.Second))
		require.Contains(t, onTerminal(t, s.out.String()), "  >> lab:call tell "+actionEvents[event]+" lab:Thing one … 1m12s\n")
		s.Event(engine.ActionDone{Action: of(event), DurationMs: 200})
	}
	s.Event(engine.ActionFailed{Action: of("after-create"), Error: "nobody hears it"})
	s.Event(engine.StepDone{Step: step(engine.OpCreate, "one")})
	s.Event(engine.Summary{Changes: engine.Changes{Create: 1}, Actions: 2})
	s.Close(errors.New("nobody hears it"))
	require.Equal(t, `Updating demo/dev
  >> lab:call tell                            ran before the creation of lab:Thing one (0.2s)
        + text: "hello"
  +  lab:Thing one                            created
  >> lab:call tell                            ran after the creation of lab:Thing one (0.2s)
        + text: "hello"
  !  lab:call tell                            failed after the creation of lab:Thing one

Failed after 0.0s: 1 created, 2 actions run.
`, onTerminal(t, s.out.String()))
}

func TestAPreviewTellsNoTimes(t *testing.T) {
	preview := started
	preview.DryRun = true
	s := newShown(func() (int, int) { return 80, 24 }, preview)
	s.Event(engine.StepDone{Step: step(engine.OpCreate, "one"), DurationMs: 72_000})
	s.at(time.Now())
	require.Contains(t, onTerminal(t, s.out.String()), "\n  +  lab:Thing one                            create\n")
}

// A preview creates nothing, however long it takes to find out what an update would do.
func TestAPreviewPlans(t *testing.T) {
	preview := started
	preview.DryRun = true
	for _, size := range []func() (int, int){func() (int, int) { return 80, 24 }, nil} {
		s := newShown(size, preview, engine.StepStarted{Step: step(engine.OpCreate, "one")}, engine.StepStarted{Step: step(engine.OpRead, "two")})
		s.at(time.Now().Add(72 * time.Second))
		require.Contains(t, s.out.String(), "  +  lab:Thing one                            planning… 1m12s\n")
		require.Contains(t, s.out.String(), "  >  lab:Thing two                            reading… 1m12s\n")
	}
}

func TestLiveLinesLeaveRoomOnSmallTerminals(t *testing.T) {
	s := newShown(func() (int, int) { return 80, 6 }, started)
	for i := range 10 {
		s.Event(engine.StepStarted{Step: step(engine.OpCreate, fmt.Sprintf("thing%d", i))})
	}
	s.at(time.Now().Add(time.Second))
	require.Equal(t, 5, strings.Count(onTerminal(t, s.out.String()), "\n"))
	require.Contains(t, onTerminal(t, s.out.String()), "  … and 7 more\n")
	s.Close(nil)
}

func TestWithoutTerminalLongStepsAreMentioned(t *testing.T) {
	s := newShown(nil, started, engine.StepStarted{Step: step(engine.OpDelete, "one")})
	now := time.Now()
	for _, after := range []int{5, 11, 15, 22} {
		s.at(now.Add(time.Duration(after) * time.Second))
	}
	require.Equal(t, `Updating demo/dev
  -  lab:Thing one                            deleting… 11s
  -  lab:Thing one                            deleting… 22s
`, s.out.String())
	s.Close(nil)
}

func TestFailuresAreReadOnce(t *testing.T) {
	file := source.NewFile("Husk.yaml", []byte("resources:\n  one: 1\n"))
	placed := file.Errorf(source.Position{Line: 2, Column: 3}, "create lab:index:Thing %q: it is closed", "one")
	placed.Detail = "come back tomorrow"
	s := newShown(nil, started,
		engine.StepFailed{Step: step(engine.OpCreate, "one"), Error: "create lab:index:Thing \"one\": it is closed\ncome back tomorrow"},
		engine.StepFailed{Step: step(engine.OpCreate, "two"), Error: "the program never heard of this"},
		engine.Summary{Result: "failed", DurationMs: 1000})
	s.Close(errors.Join(source.Diagnostics{placed}, engine.ErrStopped, errors.New("first line\nsecond line")))
	require.Equal(t, `error: Husk.yaml:2:3: create lab:index:Thing "one": it is closed
    2 |   one: 1
      |   ^
  come back tomorrow
error: first line
  second line
error: lab:Thing two: the program never heard of this
`, s.errs.String())
	require.Contains(t, s.out.String(), "Failed after 1.0s: 2 failed.\n")
}

func TestStrangersCannotWriteOnTheTerminal(t *testing.T) {
	evil := "a\x1b[2J\x9b31m\r\u202eb\u2028\x00\xff"
	s := newShown(nil, started,
		engine.StepDone{Step: engine.StepInfo{Op: engine.OpCreate, Resource: "lab:index:" + evil, Name: evil, Reason: evil,
			Inputs: []engine.PropertyChange{{Path: evil, Kind: "add", New: evil}}}},
		engine.StepFailed{Step: step(engine.OpCreate, evil), Error: evil},
		engine.Diagnostic{Severity: "info", Provider: evil, Message: evil},
		engine.Diagnostic{Severity: "info", Message: evil, Ephemeral: true},
		engine.StackOutputs{Outputs: map[string]any{evil: evil, "list": []any{evil}}},
		engine.Summary{})
	s.options.Diff = true
	s.Event(engine.StepDone{Step: engine.StepInfo{Op: engine.OpUpdate, Name: "x", Diff: []engine.PropertyChange{{Path: evil, Old: evil, New: evil}}}})
	s.Close(nil)
	s2 := newShown(nil)
	s2.Close(errors.New(evil))
	for _, r := range s.out.String() + s.errs.String() + s2.errs.String() {
		require.False(t, printable.IsUnsafe(r) && r != '\n', "%q was written", r)
	}
	require.Contains(t, s.out.String(), `a\x1b[2J`)
}

func TestOutputsAreReadable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, WriteProperties(NewOutput(&out, nil), "Outputs", map[string]any{
		"pem": "-----BEGIN-----\nMIIB\n-----END-----\n", "n": 3.0, "on": true, "list": []any{"<a>", nil}, "text": "a b",
	}))
	require.Equal(t, `Outputs
  list: ["<a>",null]
  n: 3
  on: true
  pem:
    | -----BEGIN-----
    | MIIB
    | -----END-----
  text: a b
`, out.String())
}

// What a provider says is marked as its word in each line, with nothing of it before the mark.
func TestWhatProvidersSay(t *testing.T) {
	about := urn.New("dev", "demo", "", "lab:index/thing:Thing", "one")
	s := newShown(nil, started,
		engine.Diagnostic{Severity: "info", Provider: "lab", Guest: true, Message: "first\n\n  Done in 0.1s: 3 created.\nerror: forged\n"},
		engine.Diagnostic{Severity: "error", Provider: "lab", URN: about, Guest: true, Message: "\terror: x\n  warning: y"},
		engine.Diagnostic{Severity: "warning", Provider: "lab\nDone", Guest: true, Message: "z"},
		engine.Diagnostic{Severity: "info", Provider: "lab", Guest: true, Ephemeral: true, Message: "Done\nDone"},
		engine.Diagnostic{Severity: "debug", Provider: "lab", Guest: true, Message: "not shown"},
		engine.Diagnostic{Severity: "warning", Provider: "lab", Message: "the host's"})
	s.Close(nil)
	require.Equal(t, `Updating demo/dev
  lab | first
  lab |
  lab |   Done in 0.1s: 3 created.
  lab | error: forged
  lab | error: lab:Thing one: 	error: x
  lab |   warning: y
  lab\nDone | warning: z
  lab | Done\nDone
  warning: lab: the host's
`, s.out.String())

	s = newShown(func() (int, int) { return 80, 24 }, started, engine.Diagnostic{Severity: "info", Provider: "lab", Guest: true, Ephemeral: true, Message: "Done"})
	s.at(time.Now())
	require.Equal(t, "Updating demo/dev\n  lab | Done\n", onTerminal(t, s.out.String()))
	s.Close(nil)
}

// Errors tell no secrets, and what an event has told already is not told again.
func TestErrorsTellNoSecrets(t *testing.T) {
	var secrets redact.Secrets
	secrets.Learn("hunter2")
	s := &shown{}
	s.Text = newText(&screen{out: &s.out}, NewOutput(&s.errs, &secrets), Options{})
	s.Event(started)
	s.Event(redact.Copy[engine.Event](&secrets, engine.StepFailed{Step: step(engine.OpCreate, "one"), Error: "the password hunter2 is wrong"}))
	s.Close(errors.New("create one: the password hunter2 is wrong"))
	require.Equal(t, "error: create one: the password [secret] is wrong\n", s.errs.String())

	var out bytes.Buffer
	j := NewJSON(NewOutput(&out, &secrets))
	j.Close(errors.New("the password hunter2 is wrong"))
	require.Contains(t, out.String(), `"message":"the password [secret] is wrong"`)
}

func TestShortTypes(t *testing.T) {
	for typ, want := range map[string]string{
		"random:index/randomPet:RandomPet": "random:RandomPet",
		"lab:index:Thing":                  "lab:Thing",
		"aws:s3/bucket:Bucket":             "aws:s3:Bucket",
		"aws:s3/other:Bucket":              "aws:s3/other:Bucket",
		"pulumi:providers:aws":             "pulumi:providers:aws",
		"pulumi:pulumi:Stack":              "stack",
		"odd":                              "odd",
		"a:b:":                             "a:b:",
	} {
		require.Equal(t, want, shortType(typ), typ)
	}
}

func TestJSONEndsWithTheSummary(t *testing.T) {
	var out bytes.Buffer
	j := NewJSON(NewOutput(&out, nil))
	j.Event(started)
	j.Event(engine.Summary{Result: "succeeded", DurationMs: 7, Changes: engine.Changes{Create: 1}})
	j.Event(engine.Diagnostic{Severity: "info", Message: "<late>"})
	j.Close(errors.New("the state could not be saved"))
	require.Equal(t, `{"type":"started","operation":"up","project":"demo","stack":"dev","dryRun":false}
{"type":"diagnostic","severity":"info","message":"<late>"}
{"type":"diagnostic","severity":"error","message":"the state could not be saved"}
{"type":"summary","result":"failed","changes":{"create":1,"update":0,"replace":0,"delete":0,"same":0,"read":0},"durationMs":7}
`, out.String())
}

// Each kind of event is read as it was written.
func TestEventsAreReadAsWritten(t *testing.T) {
	one, change := step(engine.OpCreate, "one"), engine.PropertyChange{Path: "tags.owner", Kind: "add", New: `"me"`, Replaces: true}
	one.Diff = []engine.PropertyChange{change}
	action := engine.ActionInfo{Name: "restart", Function: "lab:restart", Arguments: one.Diff}
	source := analysis.Source{Pack: "house", Version: "1.0.0", Policy: "tags"}
	events := []engine.Event{
		engine.Started{Operation: "up", Project: "demo", Stack: "dev", DryRun: true},
		engine.StepStarted{Step: one}, engine.StepDone{Step: one, DurationMs: 3}, engine.StepFailed{Step: one, Error: "it is <closed>"},
		engine.ActionStarted{Action: action}, engine.ActionDone{Action: action, DurationMs: 3}, engine.ActionFailed{Action: action, Error: "no"},
		engine.Diagnostic{Severity: "warning", Message: "a\nb", URN: one.URN, Ephemeral: true}, engine.Preparing{Provider: "lab", Doing: "compiling", ElapsedMs: 4, Size: 9},
		engine.MoveSuggested{From: one.URN, To: one.URN + "2"}, engine.StackOutputs{Outputs: map[string]any{"a": []any{"b", 1.0}}, Changes: one.Diff},
		engine.ProviderCosts{Package: "lab", Methods: []engine.MethodCost{{Method: "Create", Calls: 2}}},
		engine.PolicyPackLoaded{Name: "house", Version: "1.0.0", Policies: []engine.PolicyInfo{{Name: "tags", Level: "advisory"}}},
		engine.PolicyRemediated{Source: source, URN: one.URN, Changes: one.Diff}, engine.PolicyViolated{Source: source, Level: "mandatory", Message: "it is too large"},
		engine.Summary{Result: "failed", Changes: engine.Changes{Create: 1}, Policies: &engine.PolicyCounts{Packs: 1}, DurationMs: 5},
	}
	require.Len(t, readers(), len(events))
	for _, want := range events {
		var out bytes.Buffer
		j := NewJSON(NewOutput(&out, nil))
		j.write(want)
		got, err := ReadEvent(out.Bytes())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, other := range []string{"", "worker", "[]", `{"type":"dance"}`, `{"type":"summary","result":7}`} {
		_, err := ReadEvent([]byte(other))
		require.Error(t, err, other)
	}
}

func TestPolicies(t *testing.T) {
	source := analysis.Source{Pack: "house", Version: "1.0.0", Policy: "tags"}
	one := step(engine.OpCreate, "one").URN
	events := []engine.Event{
		started,
		engine.PolicyPackLoaded{Name: "house", Version: "1.0.0"},
		engine.PolicyRemediated{Source: source, URN: one, Message: "added owner", Changes: []engine.PropertyChange{{Path: "tags.owner", Kind: "add", New: `"me"`}}},
		engine.PolicyViolated{Source: source, Level: "advisory", URN: one, Path: "tags", Message: "there are\x1b few"},
		engine.PolicyViolated{Source: source, Level: "mandatory", Message: "it is too large"},
		engine.Summary{Result: "failed", Policies: &engine.PolicyCounts{Packs: 1, Mandatory: 1, Advisory: 2, Remediated: 1}},
	}
	s := newShown(nil, events...)
	s.options.Diff = true
	s.Event(events[2])
	s.Close(&engine.PolicyError{Violation: analysis.Violation{Source: source, Mandatory: true, Message: "it is too large"}})
	require.Equal(t, `Updating demo/dev
  ~  lab:Thing one                            corrected by tags: added owner house 1.0.0
  advice: lab:Thing one: tags: there are\x1b few (tags of house 1.0.0)
  !  the stack                                violates tags
  ~  lab:Thing one                            corrected by tags: added owner house 1.0.0
        + tags.owner: "me"

Policies of house 1.0.0: 1 violation, 2 advisory violations, 1 correction.
Failed after 0.0s.
`, s.out.String())
	require.Equal(t, "error: the stack violates the policy tags of house 1.0.0: it is too large\n", s.errs.String())

	s = newShown(nil, started, engine.PolicyPackLoaded{Name: "house", Version: "1.0.0"}, engine.Summary{Policies: &engine.PolicyCounts{Packs: 1}})
	s.Close(nil)
	require.Contains(t, s.out.String(), "Policies of house 1.0.0: no violations.\n")
}

// What is made ready is shown with the time that it takes, each by itself, for as long as it
// takes; where there are no live lines, at its begin and at its end.
func TestWhatIsMadeReady(t *testing.T) {
	compiling := func(provider string, elapsed int64, done bool) engine.Preparing {
		return engine.Preparing{Provider: provider, Doing: "compiling", ElapsedMs: elapsed, Done: done}
	}
	s := newShown(func() (int, int) { return 80, 24 }, started)
	now := time.Now()
	s.showPreparing(compiling("tls", 500, false), now)
	s.showPreparing(compiling("random\x1b", 500, false), now.Add(time.Second))
	s.at(now.Add(2 * time.Second))
	require.Equal(t, "Updating demo/dev\n  compiling random\\x1b… 1.5s\n  compiling tls… 2.5s\n", onTerminal(t, s.out.String()))
	s.showPreparing(compiling("tls", 2600, true), now.Add(2*time.Second))
	s.at(now.Add(2 * time.Second))
	require.Equal(t, "Updating demo/dev\n  compiling random\\x1b… 1.5s\n", onTerminal(t, s.out.String()))
	s.showPreparing(compiling("random\x1b", 1700, true), now.Add(2*time.Second))
	s.at(now.Add(2 * time.Second))
	require.Equal(t, "Updating demo/dev\n", onTerminal(t, s.out.String()))

	fetched := compiling("tls", 1500, false)
	fetched.Received, fetched.Size = 1_000_000, 4_000_000
	s = newShown(func() (int, int) { return 80, 24 }, started)
	s.showPreparing(compiling("tls", 500, false), now)
	s.showPreparing(fetched, now.Add(time.Second))
	s.at(now.Add(time.Second))
	require.Equal(t, "Updating demo/dev\n  compiling tls… 25 % of 4.0 MB, 1.5s\n", onTerminal(t, s.out.String()))

	s = newShown(nil, started, compiling("tls", 500, false), fetched, compiling("tls", 2600, true))
	require.Equal(t, "Updating demo/dev\n  compiling tls…\n  compiling tls took 2.6s\n", s.out.String())

	var out bytes.Buffer
	NewJSON(NewOutput(&out, nil)).Event(compiling("tls", 500, false))
	require.Equal(t, `{"type":"preparing","provider":"tls","doing":"compiling","elapsedMs":500}`+"\n", out.String())
}

// Timings are shown at the end, where they are asked for.
func TestTimings(t *testing.T) {
	slow, failed := step(engine.OpCreate, "slow"), step(engine.OpUpdate, "failed")
	def := step(engine.OpCreate, "default")
	def.DefaultProvider = true
	for _, asked := range []bool{false, true} {
		s := &shown{}
		s.Text = newText(&screen{out: &s.out}, NewOutput(&s.errs, nil), Options{Timings: asked})
		for _, e := range []engine.Event{
			started,
			engine.StepDone{Step: def, DurationMs: 9_000},
			engine.StepFailed{Step: failed, DurationMs: 3, Error: "no", Cost: &engine.StepCost{Calls: 1, Microseconds: 4_120}},
			engine.StepDone{Step: slow, DurationMs: 1_234, Cost: &engine.StepCost{Calls: 2, Microseconds: 1_000_000}},
			engine.ProviderCosts{Package: "lab", URN: "urn:pulumi:dev::demo::pulumi:providers:lab::default", Methods: []engine.MethodCost{
				{Method: "check", Calls: 12, BySchema: 7, Microseconds: 900, LongestMicroseconds: 100, Fuel: 1_234_567, BytesIn: 999, BytesOut: 1_000},
				{Method: "create", Calls: 1, Failures: 1, Microseconds: 61_234_567, LongestMicroseconds: 1_234_567},
			}},
			engine.ProviderCosts{Package: "lab", URN: "urn:pulumi:dev::demo::pulumi:providers:lab::mine", Methods: []engine.MethodCost{
				{Method: "read", Calls: 1, Microseconds: 12_345, LongestMicroseconds: 12_345},
			}},
			engine.Summary{Result: "succeeded"},
		} {
			s.Event(e)
		}
		s.Close(nil)
		_, told, _ := strings.Cut(s.out.String(), "Done in 0.0s: nothing changed.\n")
		if !asked {
			require.Empty(t, told)
			continue
		}
		require.Equal(t, `
Provider calls
  PROVIDER  METHOD  CALLS  BY SCHEMA  FAILED  TIME     LONGEST  FUEL  SENT  RECEIVED
  lab       check   12     7          0       900µs    100µs    1.2M  999B  1.0kB
  lab       create  1                 1       1m1.23s  1.23s                
  lab mine  read    1                 0       12.35ms  12.35ms              

Slowest steps
  RESOURCE          STEP    TIME    IN ITS PROVIDER
  lab:Thing slow    create  1.23s   1s
  lab:Thing failed  update  4.12ms  4.12ms
`, told)
	}
}
