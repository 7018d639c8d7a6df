package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Access has the rights of a request's client.
type Access struct {
	Backend *backend.Backend
	// Team shares memory: see [intake.Budget].
	Team string
	// Owner is who calls: a team and one of its tokens or runs. Leases and remembered answers belong to their owner, and mean
	// nothing to others. It is never empty.
	Owner string
	// Allows reports whether the client may read a stack, or write it.
	Allows func(stack state.StackName, write bool) bool
	// Keys encrypts the keys of stacks for clients who may write some stack; nil if the server keeps no key for them.
	Keys secrets.KeyService
	// Writes says that the client may write some stack. Without it, its calls are short, and it stores no modules.
	Writes bool
	// Decrypts says that the client may use Keys.
	Decrypts bool
	// Creates, if set, returns an error unless a client that may not write a stack may make it with a checkpoint.
	Creates func(ctx context.Context, stack state.StackName, checkpoint []byte) error
	// Still, if set, returns an error if the client has lost its rights while its call came.
	Still func(ctx context.Context) error
	// Changing, if set, is called before a call that begins to write a stack, or writes data beside its state. Its arguments
	// describe the command. After an error, the call is not done.
	Changing func(ctx context.Context, call string, stack state.StackName, detail string) error
	// Ended, if set, is the refusal of all calls, except the calls with which a run that already has its lease goes on and ends.
	Ended *RefusedError
	// Created, if set, is called with a stack that the client has made.
	Created func(ctx context.Context, stack state.StackName, checkpoint []byte) error
	// Leased, if set, is called with a stack whose lease the client has got, which ends again if it returns an error.
	Leased func(ctx context.Context, stack state.StackName) error
	// Room, if set, returns an error if the client may not store a new stack or module of so many bytes.
	Room func(bytes int) error
	// Refused, if set, is told what the client was refused.
	Refused func(*RefusedError)
	// Module reports whether the client may read the module with a digest, which stacks of others may use as well.
	// Nil allows all: modules have no secrets, and who asks knows the digest.
	Module func(digest string) bool
	// Modules returns the digests of the modules that a state names; nil if modules are never removed.
	Modules func(*state.Snapshot) []string
	// Readable reads the states in which Modules looks, with the keys that the server has; nil for the states of Backend.
	Readable state.Store
	// End, if set, is called when the call has ended.
	End func()

	// held is the memory of the call, and loaded the part of it for data that stores have loaded.
	held   *intake.Held
	loaded int64
}

func (a *Access) team() string { return cmp.Or(a.Team, a.Owner) }

// copies is how often a content is in memory while it is loaded and encoded: in the connection to the database, as it was
// loaded, and in the answer.
const copies = 3

// storeCopies is how often a content is in the connection to the database while it is stored.
const storeCopies = 2

// room takes memory for a content, before a store loads it.
func (a *Access) room(bytes int64) error {
	err := a.held.Add(copies * bytes)
	if err == nil {
		a.loaded += copies * bytes
	}
	return err
}

// answers takes memory for an answer, as far as the store has asked for none.
func (a *Access) answers(out *answer) error {
	if more := copies*out.size() - a.loaded; more > 0 {
		return a.room(more / copies)
	}
	return nil
}

// encoded gives back the memory of all but an answer of so many bytes.
func (a *Access) encoded(bytes int) {
	if more := a.loaded - int64(bytes); more > 0 {
		a.held.Give(more)
		a.loaded -= more
	}
}

// A RefusedError is an answer to a client that may not do what it asks for.
type RefusedError struct {
	// Status is the answer's status, such as http.StatusUnauthorized.
	Status int
	Reason string
	// LoginEnded says that the token came from a login, and has expired.
	LoginEnded bool
}

func (e *RefusedError) Error() string { return e.Reason }

// Server is a handler of the calls of clients. It remembers nothing between two calls: leases are in the store, so that each call
// may reach another server of the same stacks. It is safe for concurrent use.
type Server struct {
	access func(*http.Request) (*Access, error)
	budget *intake.Budget
	// large has something for each large body that is read.
	large chan struct{}
}

// Handler returns a server. access says what the client of a request may use. Its error is the client's if it is a
// [RefusedError]. The data received and sent at once takes its memory from a budget.
func Handler(access func(*http.Request) (*Access, error), budget *intake.Budget) *Server {
	return &Server{access: access, budget: budget, large: make(chan struct{}, largeAtOnce)}
}

// EndLeases ends the lease of an owner, who has no more of it, in a stack of a backend, or all of them if the stack is the zero
// value.
func EndLeases(ctx context.Context, b *backend.Backend, owner string, stack state.StackName) error {
	store, err := leases(b)
	if err != nil {
		return err
	}
	return store.EndLeases(ctx, owner, stack)
}

// leases returns the store of a backend, if it keeps leases for those who have no process here.
func leases(b *backend.Backend) (backend.Resumer, error) {
	if store, ok := b.State.(backend.Resumer); ok {
		return store, nil
	}
	return nil, errors.New("the server cannot have its clients write here: the leases of this backend end with the process that takes them")
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(backend.AnswerHeader, backend.Answered)
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, Path), "/")
	op, ok := operations[name]
	if !ok {
		http.Error(w, "there is no such call: client and server are of different versions of husk", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != contentType {
		http.Error(w, "a call is a POST of "+contentType, http.StatusMethodNotAllowed)
		return
	}
	access, err := s.access(r)
	if err == nil && access.Owner == "" {
		err = errors.New("the client of a call has no name")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	if access.End != nil {
		defer access.End()
	}
	access.held = s.budget.Hold(access.team())
	defer access.held.End()
	refuse := func(err error) {
		var refused *RefusedError
		if errors.As(err, &refused) && access.Refused != nil {
			access.Refused(refused)
		}
		refuse(w, err)
	}
	if access.Ended != nil && !op.goesOn {
		refuse(access.Ended)
		return
	}
	var req request
	var of scope
	done, err := s.read(w, r, op, access, &req)
	defer done()
	if err == nil && access.Still != nil {
		err = access.Still(r.Context())
	}
	if err == nil {
		of, err = scoped(access, op, &req)
	}
	if err == nil {
		err = op.check(access, &req)
	}
	if err == nil && op.grows && access.Room != nil {
		err = access.Room(len(req.Content))
	}
	if err == nil && op.changes {
		err = access.held.Add(storeCopies * req.size())
	}
	if err != nil {
		refuse(err)
		return
	}
	req.again = r.Header.Get(attemptHeader) != ""
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		refuse(err) // the client has sent it again since, and the effect of that call must stay
		return
	}
	if op.changes {
		// Once a change has begun, its outcome is found out, also if the client is gone.
		ctx = context.WithoutCancel(ctx)
	}
	if op.audited && access.Changing != nil {
		if err := access.Changing(ctx, name, req.Stack, req.about()); err != nil {
			refuse(err)
			return
		}
	}
	status, answer := s.do(intake.WithRoom(ctx, access.room), op, access, of, &req)
	write(w, status, answer)
}

// read reads a call. The caller calls done when it does not need it any more. Only clients that may write a stack may send a
// large body, because the server holds few at once.
func (s *Server) read(w http.ResponseWriter, r *http.Request, op operation, access *Access, into *request) (done func(), err error) {
	done = func() {}
	limit := int64(maxShort)
	if size := r.ContentLength; op.large && (size < 0 || size > maxShort) {
		if !access.Writes {
			return done, &RefusedError{Status: http.StatusForbidden, Reason: "the token does not allow to write a stack"}
		}
		select {
		case s.large <- struct{}{}:
			done = func() { <-s.large }
		case <-r.Context().Done():
			return done, r.Context().Err()
		}
		if size < 0 {
			size = maxBody
		}
		limit = maxBody
		// A slow sender does not keep others waiting. A writer without deadlines has none to set.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(attemptTime + time.Duration(size/transferRate)*time.Second))
		defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }()
	}
	body, err := access.held.ReadAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	var full *intake.FullError
	var most *http.MaxBytesError
	switch {
	case errors.As(err, &full):
		return done, err
	case errors.As(err, &most):
		return done, &RefusedError{Status: http.StatusRequestEntityTooLarge, Reason: fmt.Sprintf("the call has more than %d MiB", limit>>20)}
	case err != nil:
		return done, &RefusedError{Status: http.StatusServiceUnavailable, Reason: "the call has not come whole"}
	}
	var large *intake.TooLargeError
	switch err := intake.CBOR(decoder, access.held, body, into); {
	case errors.As(err, &full):
		return done, err
	case errors.As(err, &large):
		return done, &RefusedError{Status: http.StatusBadRequest, Reason: "the call cannot be taken: " + large.Error()}
	case err != nil:
		return done, &RefusedError{Status: http.StatusBadRequest, Reason: "the call cannot be understood: client and server are of different versions of husk"}
	}
	return done, nil
}

// write writes an answer, which is a reason if its status is one of a refusal.
func write(w http.ResponseWriter, status int, body []byte) {
	if status != http.StatusOK {
		if isLater(status) {
			w.Header().Set("Retry-After", tryAfter)
		}
		http.Error(w, string(body), status)
		return
	}
	w.Header().Set("Content-Type", contentType)
	// A slow reader does not keep memory from others. A writer without deadlines has none to set.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetWriteDeadline(time.Now().Add(attemptTime + time.Duration(len(body)/transferRate)*time.Second))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone asks again
	_ = deadlines.Flush()
	_ = deadlines.SetWriteDeadline(time.Time{})
}

// isLater reports whether a call was refused that may be answered later.
func isLater(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
}

// tryAfter is the time after which a client retries if the server lacks memory for its request, in seconds.
const tryAfter = "2"

// refusedFor returns the refusal of a call for lack of memory.
func refusedFor(full *intake.FullError) *RefusedError {
	if full.Never {
		return &RefusedError{Status: http.StatusRequestEntityTooLarge, Reason: full.Error()}
	}
	return &RefusedError{Status: http.StatusServiceUnavailable, Reason: full.Error()}
}

func refuse(w http.ResponseWriter, err error) {
	var refused *RefusedError
	var full *intake.FullError
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &full):
		refused = refusedFor(full)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		refused = &RefusedError{Status: http.StatusServiceUnavailable, Reason: "the connection has ended"}
	default:
		slog.Error("a request for the state of a stack could not be served", "error", err)
		refused = &RefusedError{Status: http.StatusInternalServerError, Reason: "the server cannot check what the token allows"}
	}
	if isLater(refused.Status) {
		w.Header().Set("Retry-After", tryAfter)
	}
	if refused.LoginEnded {
		w.Header().Set(backend.LoginHeader, backend.LoginEnded)
	}
	http.Error(w, refused.Reason, refused.Status)
}

// do does a call.
func (s *Server) do(ctx context.Context, op operation, access *Access, of scope, req *request) (int, []byte) {
	out, err := op.do(ctx, s, access, of, req)
	if err == nil && !op.changes {
		err = access.answers(&out)
	}
	var full *intake.FullError
	var refused *RefusedError
	switch {
	case errors.As(err, &full):
		refused = refusedFor(full)
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden && access.Refused != nil:
		access.Refused(refused)
	}
	if errors.Is(err, backend.ErrNewerSchema) {
		slog.Error("a call could not be served: a newer version of husk server has changed the tables of the stacks", "error", err)
		return http.StatusServiceUnavailable, []byte("a newer version of husk server has changed the tables of the stacks, and this server is to be replaced")
	}
	if full != nil || refused != nil && refused.Status == http.StatusTooManyRequests {
		return refused.Status, []byte(refused.Reason)
	}
	if err != nil {
		out.Failure = failureOf(err, access.Backend.Place)
	}
	const rest = 4 << 10 // parts that the size does not count, but for rare cases
	var body bytes.Buffer
	body.Grow(int(out.size()) + rest)
	if err := encoder.MarshalToBuffer(out, &body); err != nil {
		slog.Error("the answer to a call could not be written", "error", err)
		return http.StatusInternalServerError, nil
	}
	access.encoded(body.Len())
	return http.StatusOK, body.Bytes()
}

// use calls do with leases, and again if another process has used them meanwhile: an attempt of the client that reached another
// server, for example.
func use(ctx context.Context, access *Access, leased []leaseKey, do func([]state.Lease) error) error {
	store, err := leases(access.Backend)
	if err != nil {
		return err
	}
	const attempts = 5
	for n := 1; ; n++ {
		var all []state.Lease
		for _, key := range leased {
			one, err := store.Resume(ctx, key.stack, key.key())
			if err == nil && key.token != 0 && one.Token() != key.token {
				err = state.Fenced(key.stack)
			}
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		if err := do(all); n == attempts || !errors.Is(err, backend.ErrRaced) {
			return err
		}
	}
}

// take takes a lease for a client, and loads the state if that is asked for. After an error, there is no lease.
func take(ctx context.Context, _ *Server, access *Access, of scope, req *request) (answer, error) {
	store, err := leases(access.Backend)
	if err != nil {
		return answer{}, err
	}
	l, c, err := store.LeaseAs(ctx, req.Stack, req.Holder, of.leases(req)[0].key(), req.Load) // it also mends the journal
	if errors.Is(err, backend.ErrManyLeases) {
		return answer{}, &RefusedError{Status: http.StatusTooManyRequests, Reason: "the token has " + err.Error() + ": end other commands that use it, or use a token for each"}
	}
	if err != nil {
		return answer{}, err
	}
	if access.Leased != nil {
		err = access.Leased(ctx, req.Stack)
	}
	if err == nil && c != nil {
		err = access.answers(&answer{Contents: &contents{State: *c}})
	}
	if err != nil {
		return answer{}, errors.Join(err, store.EndLeases(ctx, access.Owner, req.Stack)) // another attempt takes it again
	}
	return begun(ctx, access, req.Stack, l, c), nil
}

// release ends a lease of a client. One that has ended already is none to end.
func release(ctx context.Context, _ *Server, access *Access, of scope, req *request) (answer, error) {
	err := use(ctx, access, of.leases(req), func(l []state.Lease) error { return l[0].Release(ctx) })
	if errors.Is(err, state.ErrFenced) {
		err = nil
	}
	return answer{}, err
}

// releaseWith is release, and stores what the run of the lease leaves. It answers with the modules that are not stored. A
// lease that has ended already is an error, after which the client stores the rest by calls that need no lease.
func releaseWith(ctx context.Context, _ *Server, access *Access, of scope, req *request) (answer, error) {
	var ended backend.Ended
	err := use(ctx, access, of.leases(req), func(l []state.Lease) error {
		ended = access.Backend.Release(ctx, req.Stack, l[0], backend.Ending{Updates: req.Records, Run: req.ID, Record: req.Content, Modules: req.Modules})
		return ended.Err
	})
	if req.again && errors.Is(err, state.ErrFenced) && recorded(ctx, access, req) {
		ended, err = backend.Ended{Missing: req.Modules}, nil
	}
	out := answer{NoRecord: failureOf(ended.Lost, access.Backend.Place)}
	for _, digest := range ended.Missing {
		is, keepErr := keepsModule(ctx, access, digest)
		if err = errors.Join(err, keepErr); !is {
			out.Names = append(out.Names, digest)
		}
	}
	return out, err
}

// recorded reports whether an earlier attempt has stored the ending of a run.
func recorded(ctx context.Context, access *Access, req *request) bool {
	if len(req.Records) == 0 {
		return false
	}
	records, err := access.Backend.State.History(ctx, req.Stack)
	last := req.Records[len(req.Records)-1]
	return err == nil && slices.ContainsFunc(records, func(is []byte) bool { return bytes.Equal(is, last) })
}
