package guesttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
)

const note = "notes:index:Note"

type noteInputs struct {
	Title string `husk:"title,replace"`
	Text  string `husk:"text,default=empty"`
}

type noteState struct {
	noteInputs
	Words float64 `husk:"words"`
}

// store keeps notes. wrong is the mistake that it makes.
type store struct {
	notes map[string]noteState
	wrong string
}

func (s *store) state(in noteInputs) noteState {
	return noteState{in, float64(len(strings.Fields(in.Text)))}
}

func (s *store) Create(_ context.Context, r guest.CreateRequest[noteInputs]) (guest.CreateResponse[noteState], error) {
	if s.wrong == "create" {
		return guest.CreateResponse[noteState]{}, errors.New("the shelf is full")
	}
	state := s.state(r.Inputs)
	s.notes[r.Inputs.Title] = state
	if s.wrong == "no ID" {
		return guest.CreateResponse[noteState]{State: state}, nil
	}
	return guest.CreateResponse[noteState]{ID: r.Inputs.Title, State: state}, nil
}

func (s *store) Preview(_ context.Context, r guest.PreviewRequest[noteInputs, noteState]) (guest.PreviewResponse[noteState], error) {
	state := s.state(r.Inputs)
	if s.wrong == "preview" {
		state.Words = 77
	}
	return guest.PreviewResponse[noteState]{State: state, Known: []string{"words"}}, nil
}

func (s *store) Read(_ context.Context, r guest.ReadRequest[noteInputs, noteState]) (guest.ReadResponse[noteInputs, noteState], error) {
	state, ok := s.notes[r.ID]
	if !ok {
		return guest.ReadResponse[noteInputs, noteState]{}, guest.NotFound("no such note")
	}
	if s.wrong == "read" {
		state.Words++
	}
	return guest.ReadResponse[noteInputs, noteState]{ID: r.ID, Inputs: state.noteInputs, State: state}, nil
}

func (s *store) Update(_ context.Context, r guest.UpdateRequest[noteInputs, noteState]) (guest.UpdateResponse[noteState], error) {
	state := s.state(r.Inputs)
	s.notes[r.ID] = state
	return guest.UpdateResponse[noteState]{State: state}, nil
}

func (s *store) Delete(_ context.Context, r guest.DeleteRequest[noteState]) error {
	if _, ok := s.notes[r.ID]; !ok && s.wrong == "delete" {
		return errors.New("there is no such note")
	}
	if s.wrong != "stays" {
		delete(s.notes, r.ID)
	}
	return nil
}

type countArgs struct {
	Text string `husk:"text"`
}

type countResult struct {
	Words float64 `husk:"words"`
}

func provider(wrong string) guest.Provider {
	s := &store{notes: map[string]noteState{}, wrong: wrong}
	return guest.Provider{
		Name: "notes", Version: "1.0.0",
		Resources: []guest.Resource{guest.ResourceOf(note, s)},
		Functions: []guest.Function{guest.FunctionOf("notes:index:count", func(_ context.Context, in countArgs) (countResult, error) {
			return countResult{float64(len(strings.Fields(in.Text)))}, nil
		})},
	}
}

var lifecycle = guesttest.Lifecycle{
	Inputs: guesttest.Props{"title": "a"},
	State:  guesttest.Props{"title": "a", "text": "empty", "words": 1},
	Changes: []guesttest.Change{
		{Inputs: guesttest.Props{"title": "a", "text": "two words"}, Diff: []string{"text update"}, State: guesttest.Props{"words": 2}},
		{Inputs: guesttest.Props{"title": "b", "text": "two words"}, Diff: []string{"title update-replace"}},
	},
	Import: true,
}

func TestLifecycle(t *testing.T) { guesttest.New(t, provider("")).Lifecycle(note, lifecycle) }

func TestCalls(t *testing.T) {
	p := guesttest.New(t, provider(""))
	r := p.Create(note, guesttest.Props{"title": "a", "text": "some words"})
	if r.ID != "a" || r.Text("text") != "some words" {
		t.Fatal(r)
	}
	if _, failures := p.TryCheck(note, guesttest.Props{"text": 7}); strings.Join(failures, "|") != "text: expected string, got number|title: required property is missing; expected string" {
		t.Fatalf("%q", failures)
	}
	if got, _ := p.Invoke("notes:index:count", guesttest.Props{"text": "a b c"}).Get("words").AsNumber(); got != 3 {
		t.Fatal(got)
	}
	if _, err := p.TryInvoke("notes:index:count", guesttest.Props{}); err == nil || !strings.Contains(err.Error(), "text: ") {
		t.Fatal(err)
	}
	if p.Import(note, "missing") != nil {
		t.Fatal("found")
	}
}

// recorder is a test that notes its failure in place of failing.
type recorder struct {
	testing.TB
	ctx    context.Context
	mu     sync.Mutex
	failed string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Fatal(args ...any)        { r.note(fmt.Sprint(args...)); panic(r) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.note(fmt.Sprintf(format, args...))
	panic(r)
}

// Errorf is called by the goroutines of a service.
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) note(failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = failure
}

// failure returns what a test of a provider reports.
func failure(t *testing.T, wrong string, test func(p *guesttest.Provider)) string {
	return recorded(t, func(t testing.TB) { test(guesttest.New(t, provider(wrong))) })
}

// A mistake of a provider is reported with the resource and the property.
func TestMistakes(t *testing.T) {
	for wrong, want := range map[string]string{
		"create":  `creating notes:index:Note "it": the shelf is full`,
		"no ID":   "returned no ID",
		"preview": "notes:index:Note \"it\": the creation is not as the preview promised\n  words: want 77, got 1\ninputs:\n  text: \"empty\"\n  title: \"a\"\nstate:\n",
		"read":    "notes:index:Note \"it\": the read does not give the state that was recorded\n  words: want 1, got 2\nstate:\n",
		"stays":   `notes:index:Note "it" is still there after its deletion`,
		"delete":  "deleting notes:index:Note \"it\" again, as after a run that was interrupted: there is no such note",
	} {
		got := failure(t, wrong, func(p *guesttest.Provider) { p.Lifecycle(note, lifecycle) })
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q does not contain %q", wrong, got, want)
		}
	}
	for want, change := range map[string]func(l *guesttest.Lifecycle){
		"the difference of notes:index:Note \"it\" is not as expected\nwant:\n  words update\ngot:\n  text update\nstate:\n": func(l *guesttest.Lifecycle) {
			l.Changes = []guesttest.Change{{Inputs: guesttest.Props{"title": "a", "text": "x"}, Diff: []string{"words update"}}}
		},
		"notes:index:Note \"it\": the state after the creation is not as expected\n  words: want 5, got 1\ninputs:\n": func(l *guesttest.Lifecycle) { l.State = guesttest.Props{"words": 5} },
		"the inputs of notes:index:Note \"it\" are refused:\ntitle: required property is missing":                     func(l *guesttest.Lifecycle) { l.Inputs = guesttest.Props{} },
		"no literal of a property value: chan int":                                                                    func(l *guesttest.Lifecycle) { l.Inputs = guesttest.Props{"title": make(chan int)} },
	} {
		l := lifecycle
		change(&l)
		got := failure(t, "", func(p *guesttest.Provider) { p.Lifecycle(note, l) })
		if !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
	got := failure(t, "", func(p *guesttest.Provider) { p.Create(note, guesttest.Props{"title": "a"}).Value("txet") })
	if !strings.Contains(got, "has no property txet: it has ") {
		t.Error(got)
	}
}

type config struct {
	Region string `husk:"region"`
}

func TestConfiguration(t *testing.T) {
	region := ""
	declared := guest.Provider{Name: "notes", Version: "1.0.0", Config: guest.ConfigOf(func(_ context.Context, c config) error {
		region = c.Region
		return nil
	})}
	guesttest.New(t, declared).Configure(guesttest.Props{"region": "here"})
	if region != "here" {
		t.Fatal(region)
	}
	r := &recorder{ctx: t.Context()}
	func() {
		defer func() { _ = recover() }()
		guesttest.New(r, declared).Configure(nil)
	}()
	if !strings.Contains(r.failed, "the configuration is refused:\nregion: ") {
		t.Fatal(r.failed)
	}
}
