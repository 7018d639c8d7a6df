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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Access is what the client of a request may use.
type Access struct {
	Backend *backend.Backend
	// Team shares memory: see [intake.Budget].
	Team string
	// Owner is who calls: a team and one of its tokens or runs. Leases and remembered answers are those of their owner, and mean
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

	// held is the memory that the call has, and loaded how much of it is for what stores have loaded.
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
	// Status is that of the answer, such as http.StatusUnauthorized.
	Status int
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Server is a handler of the calls of clients. It is safe for concurrent use.
type Server struct {
	access func(*http.Request) (*Access, error)
	budget *intake.Budget
	stop   context.CancelFunc
	done   chan struct{}
	ending sync.WaitGroup
	// large has something for each large body that is read.
	large chan struct{}

	mu       sync.Mutex
	sessions map[leaseKey]*session
	calls    map[callKey]*call
	// of counts the calls of each owner, and leasesOf its leases.
	of, leasesOf map[string]int
}

// session is a lease of a client.
type session struct {
	leaseKey
	// inUse is held during each call.
	inUse sync.Mutex
	// lease is nil before it is taken, and after it has ended.
	lease state.Lease
	// seen is when the client was last heard of. The server's mu guards it.
	seen time.Time
	// taken is the call that took the lease, whose answer has the state, until the client is heard of again. The server's mu
	// guards it.
	taken *call
	// held is the memory that the lease takes.
	held *intake.Held
}

// call is one that changes something.
type call struct {
	done chan struct{}
	// status and body are the answer, once done is closed, and at is when it was given.
	status int
	body   []byte
	at     time.Time
	// held is the memory of the body, which the server keeps. The server's mu guards it.
	held *intake.Held
}

// forget forgets the answer.
func (c *call) forget() {
	c.body = nil
	c.held.End()
}

// Handler returns a server, which is to be closed. access says what the client of a request may use. Its error is the
// client's if it is a [RefusedError]. What is received and sent at once takes its memory from a budget.
func Handler(access func(*http.Request) (*Access, error), budget *intake.Budget) *Server {
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{access: access, budget: budget, stop: stop, done: make(chan struct{}), large: make(chan struct{}, largeAtOnce), sessions: make(map[leaseKey]*session), calls: make(map[callKey]*call), of: make(map[string]int), leasesOf: make(map[string]int)}
	go s.tidy(ctx)
	return s
}

// Close ends all leases.
func (s *Server) Close() {
	s.stop()
	<-s.done
	s.end(func(*session) bool { return true })
	s.ending.Wait()
}

// Drop ends the leases of an owner, which has no more of them.
func (s *Server) Drop(owner string) {
	s.end(func(one *session) bool { return one.owner == owner })
	s.ending.Wait()
}

// tidy forgets answers, and ends the leases of silent clients.
func (s *Server) tidy(ctx context.Context) {
	defer close(s.done)
	ticks := time.NewTicker(beatTime / 2)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		s.forget(time.Now())
	}
}

func (s *Server) forget(now time.Time) {
	s.mu.Lock()
	for id, c := range s.calls {
		if !c.at.IsZero() && now.Sub(c.at) > answerTime {
			s.drop(id, c)
		}
	}
	s.mu.Unlock()
	s.end(func(one *session) bool { return now.Sub(one.seen) > leaseTime })
}

// drop forgets a call. The caller has mu.
func (s *Server) drop(id callKey, c *call) {
	c.forget()
	delete(s.calls, id)
	if s.of[id.owner]--; s.of[id.owner] == 0 {
		delete(s.of, id.owner)
	}
}

// end ends leases.
func (s *Server) end(which func(*session) bool) {
	var ended []*session
	s.mu.Lock()
	for id, one := range s.sessions {
		if which(one) {
			ended = append(ended, one)
			s.dropSession(id)
		}
	}
	s.mu.Unlock()
	// One that is in use is waited for.
	for _, one := range ended {
		s.ending.Go(func() {
			one.inUse.Lock()
			defer one.inUse.Unlock()
			one.release()
		})
	}
}

// addSession adds a lease that a client takes, unless it has too many. The caller has mu.
func (s *Server) addSession(one *session, access *Access) error {
	if s.leasesOf[one.owner] >= maxLeases {
		return &RefusedError{http.StatusTooManyRequests, fmt.Sprintf("the token has %d leases of stacks at once, the most that it may have: "+
			"end other commands that use it, or use a token for each", maxLeases)}
	}
	one.held = s.budget.Hold(access.team())
	if err := one.held.Add(leaseMemory); err != nil {
		return err
	}
	s.sessions[one.leaseKey] = one
	s.leasesOf[one.owner]++
	return nil
}

// dropSession forgets a lease. The caller has mu.
func (s *Server) dropSession(id leaseKey) {
	s.sessions[id].held.End()
	delete(s.sessions, id)
	if s.leasesOf[id.owner]--; s.leasesOf[id.owner] == 0 {
		delete(s.leasesOf, id.owner)
	}
}

func (one *session) release() {
	if one.lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseTime)
	defer cancel()
	if err := one.lease.Release(ctx); err != nil {
		slog.Warn("the lease of a stack could not be released", "stack", one.stack, "error", err)
	}
	one.lease = nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	var req request
	var of scope
	done, err := s.read(w, r, op, access, &req)
	defer done()
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
	do := func(ctx context.Context) (int, []byte) {
		return s.do(intake.WithRoom(ctx, access.room), op, access, of, &req)
	}
	if !op.changes {
		status, answer := do(r.Context())
		write(w, status, answer)
		return
	}
	s.once(w, r, callKey{of, name, req.Call}, access, do)
}

// read reads a call. The caller calls done when it does not need it any more. Only who may write a stack may send a large
// one, of which the server has few at once.
func (s *Server) read(w http.ResponseWriter, r *http.Request, op operation, access *Access, into *request) (done func(), err error) {
	done = func() {}
	limit := int64(maxShort)
	if size := r.ContentLength; op.large && (size < 0 || size > maxShort) {
		if !access.Writes {
			return done, &RefusedError{http.StatusForbidden, "the token does not allow to write a stack"}
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
		// Who sends slowly does not keep others waiting. A writer without deadlines has none to set.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(attemptTime + time.Duration(size/transferRate)*time.Second))
		defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }()
	}
	body, err := access.held.ReadAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	var full *intake.FullError
	switch {
	case errors.As(err, &full):
		return done, err
	case err != nil:
		return done, &RefusedError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the call has not come whole, or has more than %d MiB", limit>>20)}
	}
	var large *intake.TooLargeError
	switch err := intake.CBOR(decoder, access.held, body, into); {
	case errors.As(err, &full):
		return done, err
	case errors.As(err, &large):
		return done, &RefusedError{http.StatusBadRequest, "the call cannot be taken: " + large.Error()}
	case err != nil:
		return done, &RefusedError{http.StatusBadRequest, "the call cannot be understood: client and server are of different versions of husk"}
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
	// Who reads slowly does not keep memory from others. A writer without deadlines has none to set.
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

// tryAfter is when a client is to try again for which there is no memory, in seconds.
const tryAfter = "2"

// refusedFor returns the refusal of a call that there is no memory for.
func refusedFor(full *intake.FullError) *RefusedError {
	if full.Never {
		return &RefusedError{http.StatusRequestEntityTooLarge, full.Error()}
	}
	return &RefusedError{http.StatusServiceUnavailable, full.Error()}
}

func refuse(w http.ResponseWriter, err error) {
	var refused *RefusedError
	var full *intake.FullError
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &full):
		refused = refusedFor(full)
		if !full.Never {
			w.Header().Set("Retry-After", tryAfter)
		}
	default:
		slog.Error("a request for the state of a stack could not be served", "error", err)
		refused = &RefusedError{http.StatusInternalServerError, "the server cannot check what the token allows"}
	}
	http.Error(w, refused.Reason, refused.Status)
}

// once does a call, or gives the answer that it has given before.
func (s *Server) once(w http.ResponseWriter, r *http.Request, id callKey, access *Access, do func(context.Context) (int, []byte)) {
	s.mu.Lock()
	c, repeated := s.calls[id]
	busy := !repeated && s.of[id.owner] >= maxRemembered
	var full error
	if !repeated && !busy {
		c = &call{done: make(chan struct{}), held: s.budget.Hold(access.team())}
		if full = c.held.Add(callMemory); full == nil {
			s.calls[id] = c
			s.of[id.owner]++
		}
	}
	s.mu.Unlock()
	if full != nil {
		refuse(w, full)
		return
	}
	if busy {
		w.Header().Set("Retry-After", strconv.Itoa(int(answerTime.Seconds())))
		http.Error(w, fmt.Sprintf("the token has changed something %d times in %v: try again later", maxRemembered, answerTime), http.StatusTooManyRequests)
		return
	}
	if !repeated {
		s.first(c, id, func() (int, []byte) {
			// Once a change has begun, its outcome is found out, also if the client is gone.
			return do(context.WithoutCancel(r.Context()))
		})
	}
	select {
	case <-c.done:
		s.mu.Lock()
		status, body := c.status, c.body
		var err error
		if repeated {
			err = access.held.Add(int64(len(body))) // it may be forgotten before this one has read it
		}
		s.mu.Unlock()
		if err != nil {
			refuse(w, err)
			return
		}
		write(w, status, body)
	case <-r.Context().Done():
	}
}

// first does a call for the first time. Whoever waits for its answer gets one also if that is a panic.
func (s *Server) first(c *call, id callKey, do func() (int, []byte)) {
	status, body := http.StatusInternalServerError, []byte(nil)
	defer func() {
		s.mu.Lock()
		c.status, c.body, c.at = status, body, time.Now()
		if isLater(status) {
			// Nothing was done: the client tries again, and is to have more luck.
			s.drop(id, c)
		} else if len(body) > smallAnswer && c.held.Add(int64(len(body))) != nil {
			// Who waits for it now gets it, and later there is no room for it.
			time.AfterFunc(attemptTime, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				c.forget()
			})
		}
		s.mu.Unlock()
		close(c.done)
	}()
	status, body = do()
}

// callMemory is what a call takes that is remembered, with an answer of at most smallAnswer, in bytes.
const callMemory, smallAnswer = 1 << 10, 256

// do does a call.
func (s *Server) do(ctx context.Context, op operation, access *Access, of scope, req *request) (int, []byte) {
	out, err := op.do(ctx, s, access, of, req)
	if err == nil && !op.changes {
		err = access.answers(&out)
	}
	var full *intake.FullError
	var refused *RefusedError
	if errors.As(err, &full) {
		refused = refusedFor(full)
	}
	if refused != nil || errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests {
		return refused.Status, []byte(refused.Reason)
	}
	if err != nil {
		out.Failure = failureOf(err, access.Backend.Place)
	}
	const rest = 4 << 10 // what is not in the size, but for rare cases
	var body bytes.Buffer
	body.Grow(int(out.size()) + rest)
	if err := encoder.MarshalToBuffer(out, &body); err != nil {
		slog.Error("the answer to a call could not be written", "error", err)
		return http.StatusInternalServerError, nil
	}
	access.encoded(body.Len())
	return http.StatusOK, body.Bytes()
}

// use calls do with leases, which nobody else uses meanwhile.
func (s *Server) use(do func([]state.Lease) error, leases []leaseKey) error {
	var sessions []*session
	for _, key := range leases {
		one := s.session(key)
		if one == nil {
			return state.Fenced(key.stack)
		}
		if slices.Contains(sessions, one) {
			return errors.New("the two leases are one")
		}
		sessions = append(sessions, one)
	}
	// In one order, so that no two calls wait for each other.
	ordered := slices.SortedFunc(slices.Values(sessions), func(a, b *session) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.stack.String(), b.stack.String()))
	})
	for _, one := range ordered {
		one.inUse.Lock()
		defer one.inUse.Unlock()
	}
	var all []state.Lease
	for _, one := range sessions {
		if one.lease == nil {
			return state.Fenced(one.stack)
		}
		all = append(all, one.lease)
	}
	return do(all)
}

// session returns that of a lease, nil if there is none. It is the only way to one.
func (s *Server) session(key leaseKey) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.sessions[key]
	if one == nil {
		return nil
	}
	one.seen = time.Now()
	if one.taken != nil {
		one.taken.forget()
		one.taken = nil // the client has got it; a late request for the lease gets an empty one, and no lease
	}
	return one
}

// take takes a lease for a client, and loads the state if that is asked for. After an error, there is no lease.
func take(ctx context.Context, s *Server, access *Access, of scope, req *request) (answer, error) {
	key := of.leases(req)[0]
	one := &session{leaseKey: key, seen: time.Now()}
	one.inUse.Lock()
	defer one.inUse.Unlock()
	s.mu.Lock()
	var err error
	if s.sessions[key] != nil {
		err = errors.New("the identifier of the lease is that of another")
	} else if err = s.addSession(one, access); err == nil {
		one.taken = s.calls[callKey{of, "lease", req.Call}]
	}
	s.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	var c *state.Contents
	if req.Load {
		one.lease, c, err = access.Backend.State.LeaseAndLoad(context.WithoutCancel(ctx), req.Stack, req.Holder) // it also mends the journal
	} else {
		one.lease, err = access.Backend.State.Lease(ctx, req.Stack, req.Holder)
	}
	if err == nil && access.Leased != nil {
		err = access.Leased(ctx, req.Stack)
	}
	if err == nil && c != nil {
		err = access.answers(&answer{Contents: &contents{State: *c}})
	}
	if err != nil {
		s.mu.Lock()
		if s.sessions[key] == one {
			s.dropSession(key)
		}
		s.mu.Unlock()
		one.release()
		return answer{}, err
	}
	return begun(ctx, access, req.Stack, one.lease, c), nil
}

// release ends a lease of a client. One that has ended already is none to end.
func release(ctx context.Context, s *Server, _ *Access, of scope, req *request) (answer, error) {
	return answer{}, s.endLease(of.leases(req)[0], func(l state.Lease) error { return l.Release(ctx) })
}

// releaseWith is release, and stores what the run of the lease leaves. It answers with the modules that are not stored. A
// lease that has ended already is an error, after which the client stores the rest by calls that need no lease.
func releaseWith(ctx context.Context, s *Server, access *Access, of scope, req *request) (answer, error) {
	ended := backend.Ended{Err: state.Fenced(req.Stack)}
	_ = s.endLease(of.leases(req)[0], func(l state.Lease) error {
		ended = access.Backend.Release(ctx, req.Stack, l, backend.Ending{Updates: req.Records, Run: req.ID, Record: req.Content, Modules: req.Modules})
		return ended.Err
	})
	out, err := answer{NoRecord: failureOf(ended.Lost, access.Backend.Place)}, ended.Err
	for _, digest := range ended.Missing {
		is, keepErr := keepsModule(ctx, access, digest)
		if err = errors.Join(err, keepErr); !is {
			out.Names = append(out.Names, digest)
		}
	}
	return out, err
}

// endLease ends a lease of a client, if it has not ended, with a function. After an error, the client can try again, and
// the server does if the client is silent.
func (s *Server) endLease(key leaseKey, end func(state.Lease) error) error {
	one := s.session(key)
	if one == nil {
		return nil
	}
	one.inUse.Lock()
	defer one.inUse.Unlock()
	if one.lease == nil {
		return nil
	}
	if err := end(one.lease); err != nil {
		return err
	}
	one.lease = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[key] == one {
		s.dropSession(key)
	}
	return nil
}
