package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/husk-dev/husk/engine/state"
)

// writerVariable is the environment variable that makes a test binary a writer of the place that it names.
const writerVariable = "HUSK_TEST_WRITER"

// Main runs the tests of a package, as TestMain does, or the process of a writer of [Processes], which uses the store
// that open returns.
func Main(m *testing.M, open func(ctx context.Context, place string) (state.Store, error)) {
	place, isWriter := os.LookupEnv(writerVariable)
	if !isWriter {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(writerVariable)
	ctx := context.Background()
	store, err := open(ctx, place)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the store cannot be opened:", err)
		os.Exit(1)
	}
	s := server{store: store, leases: make(map[int]state.Lease)}
	if err := s.serve(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "the test cannot be served:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// request is an order of the test to a writer.
type request struct {
	Do       string
	Stack    state.StackName
	Holder   state.Holder
	Lease    int
	Sequence uint64
	Content  []byte
}

// reply is a writer's answer.
type reply struct {
	Lease int
	Token uint64
	// Checkpoint, Sequence, and Records are the contents that it has loaded.
	Checkpoint []byte
	Sequence   uint64
	Records    [][]byte
	// Failure is the text of an error, Is the indexes of the toldErrors that it matches, and Saved the field of a NoSpaceError.
	Failure string
	Is      []int
	Saved   bool
}

// toldErrors are the errors that a history tells apart.
var toldErrors = []error{state.ErrLocked, state.ErrFenced, state.ErrNoSpace, state.ErrCorrupt, state.ErrSequence, state.ErrStackNotFound, state.ErrStackExists}

// told is an error of another process.
type told struct {
	text string
	is   []error
}

func (e *told) Error() string   { return e.text }
func (e *told) Unwrap() []error { return e.is }

func (a *reply) err() error {
	if a.Failure == "" {
		return nil
	}
	e := &told{text: a.Failure}
	for _, i := range a.Is {
		e.is = append(e.is, toldErrors[i])
	}
	if a.Saved {
		e.is = append(e.is, &state.NoSpaceError{Saved: true})
	}
	return e
}

func (a *reply) fail(err error) {
	if err == nil {
		return
	}
	a.Failure = err.Error()
	for i, known := range toldErrors {
		if errors.Is(err, known) {
			a.Is = append(a.Is, i)
		}
	}
	var full *state.NoSpaceError
	a.Saved = errors.As(err, &full) && full.Saved
}

func (a *reply) contents() *state.Contents {
	return &state.Contents{Checkpoint: a.Checkpoint, Sequence: a.Sequence, Records: a.Records}
}

func (a *reply) show(c *state.Contents, err error) error {
	if err == nil {
		a.Checkpoint, a.Sequence, a.Records = c.Checkpoint, c.Sequence, c.Records
	}
	return err
}

// server does what the test wants, one thing after the other.
type server struct {
	store  state.Store
	leases map[int]state.Lease
	last   int
}

// serve returns nil when the test needs the process no more.
func (s *server) serve(ctx context.Context, from io.Reader, to io.Writer) error {
	requests, replies := json.NewDecoder(from), json.NewEncoder(to)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var a reply
		a.fail(s.do(ctx, &r, &a))
		if err := replies.Encode(a); err != nil {
			return err
		}
	}
}

func (s *server) do(ctx context.Context, r *request, a *reply) error {
	taken := func(l state.Lease) {
		s.last++
		s.leases[s.last] = l
		a.Lease, a.Token = s.last, l.Token()
	}
	switch r.Do {
	case "create":
		return s.store.Create(ctx, r.Stack, r.Content)
	case "load":
		return a.show(s.store.Load(ctx, r.Stack))
	case "break":
		return s.store.Break(ctx, r.Stack)
	case "lease":
		l, err := s.store.Lease(ctx, r.Stack, r.Holder)
		if err == nil {
			taken(l)
		}
		return err
	case "lease and load":
		l, c, err := s.store.LeaseAndLoad(ctx, r.Stack, r.Holder)
		if err == nil {
			taken(l)
		}
		return a.show(c, err)
	}
	l, ok := s.leases[r.Lease]
	if !ok {
		return fmt.Errorf("there is no lease %d", r.Lease)
	}
	switch r.Do {
	case "leased load":
		return a.show(l.Load(ctx))
	case "reserve":
		return l.Reserve(ctx)
	case "append":
		return l.Append(ctx, r.Sequence, r.Content)
	case "checkpoint":
		return l.Checkpoint(ctx, r.Sequence, r.Content)
	case "release":
		delete(s.leases, r.Lease)
		return l.Release(ctx)
	}
	return fmt.Errorf("nobody can do %q", r.Do)
}
