package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// maxBody bounds the body of a request but for bundles, in bytes: a plan, and lines of a log.
	maxBody = 64 << 20
	// maxRequest bounds one that asks for a run, whose options may be many, in bytes.
	maxRequest = 4 << 20
	// smallBody bounds one that does not count, in bytes. Few bodies are larger, except bundles and plans.
	smallBody = 1 << 20
	// bodiesAtOnce bounds the bodies in memory of all teams, bodiesOfTeam of one team, and bodiesOfToken of one token, in bytes.
	// Each has room for one of the largest bodies. Requests and answers are counted apart.
	bodiesAtOnce, bodiesOfTeam, bodiesOfToken = 256 << 20, 128 << 20, 64 << 20
	// leastTime and leastRate bound how long a body may take, in bytes a second: who sends or reads slowly does not keep others
	// waiting for ever. Clients give up no later.
	leastTime, leastRate = time.Minute, 256 << 10
	// ofStrangers bounds the memory of all requests that need no token, in bytes.
	ofStrangers = 32 << 20
	// slowBody is the time for the body of a request after which its token may have been revoked meanwhile.
	slowBody = time.Second
	// tryAfter is the time after which a client retries if there is no room for its body.
	tryAfter = 2 * time.Second
)

// bodies counts the large bodies that there are, in bytes.
type bodies struct {
	mu  sync.Mutex
	all int64
	of  map[string]int64 // by team, and by team and token
}

// begin counts a body, until the caller calls end. It is refused if there is no room for it.
func (b *bodies) begin(c *caller, size int64) (end func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	team, token := c.tenant, c.tenant+"\n"+c.name
	switch {
	case b.all+size > bodiesAtOnce:
		return nil, tryLaterf(http.StatusServiceUnavailable, "the server has %d MiB of files and logs in hand, and bears %d: try again", b.all>>20, int64(bodiesAtOnce)>>20)
	case b.of[team]+size > bodiesOfTeam:
		return nil, tryLaterf(c.busy(), "the team %s sends or gets %d MiB of files and logs already, and may %d at once: try again", team, b.of[team]>>20, int64(bodiesOfTeam)>>20)
	case b.of[token]+size > bodiesOfToken:
		return nil, tryLaterf(c.busy(), "the token %s sends or gets %d MiB of files and logs already, and may %d at once: try again", c.name, b.of[token]>>20, int64(bodiesOfToken)>>20)
	}
	if b.of == nil {
		b.of = make(map[string]int64)
	}
	add := func(size int64) {
		b.all += size
		for _, one := range []string{team, token} {
			if b.of[one] += size; b.of[one] == 0 {
				delete(b.of, one)
			}
		}
	}
	add(size)
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		add(-size)
	}), nil
}

// busy is the status that tells a caller to do less. A worker would take it for the loss of its run.
func (c *caller) busy() int {
	if c.run != nil {
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

func tryLaterf(status int, format string, args ...any) error {
	refused := refusef(status, format, args...).(*refusal)
	refused.after = tryAfter
	return refused
}

// body reads the body of a request, of at most so many bytes, and in a time that depends on its size, into memory that it takes
// from the server's. The caller calls done once it has no use for it.
func (s *Server) body(w http.ResponseWriter, r *http.Request, c *caller, most int64) (content []byte, held *intake.Held, done func(), err error) {
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	if size > most {
		return nil, nil, nil, refusef(http.StatusRequestEntityTooLarge, "the body has %d bytes, and may have %d MiB", size, most>>20)
	}
	held = s.account(c.tenant)
	done = held.End
	if size > smallBody {
		end, err := s.coming.begin(c, size)
		if err != nil {
			return nil, nil, nil, err
		}
		done = func() {
			held.End()
			end()
		}
	}
	// A writer without deadlines has none to set. The one of a body must not end what follows.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(timeFor(size)))
	content, err = held.ReadAll(http.MaxBytesReader(w, r.Body, most), r.ContentLength)
	_ = deadlines.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	var full *intake.FullError
	switch {
	case errors.As(err, &full):
	case errors.As(err, &large):
		err = refusef(http.StatusRequestEntityTooLarge, "the body may have %d MiB", most>>20)
	case err != nil:
		err = refusef(http.StatusRequestTimeout, "the body has not come whole and in time")
	}
	if err == nil {
		var is *caller
		if is, err = s.still(r.Context(), c); err == nil {
			err = is.expired
		}
	}
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	return content, held, done, nil
}

// still returns the caller as the token is now, and an error if it was revoked while the request came: the body may have taken minutes. For
// most, which come at once, the database is not asked again. What a run asks for looks at the run itself.
func (s *Server) still(ctx context.Context, c *caller) (is *caller, err error) {
	if c.hash == "" || time.Since(c.looked) < s.slow {
		return c, nil
	}
	err = s.db.alone(ctx, func(t *tx) (err error) {
		if is, _, err = t.tokenOf(c.hash); is == nil && err == nil {
			err = errNoToken
		}
		return err
	})
	return is, err
}

// account returns the account of a request of a team, which is empty if it needs no token.
func (s *Server) account(team string) *intake.Held {
	if team == "" {
		return s.strangers.Hold(team)
	}
	return s.memory.Hold(team)
}

func timeFor(size int64) time.Duration {
	return leastTime + time.Duration(size/leastRate)*time.Second
}

// read reads the body of a request as JSON. It refuses unknown fields.
func (s *Server) read(w http.ResponseWriter, r *http.Request, c *caller, most int64, into any) error {
	_, err := s.readSized(w, r, c, most, into)
	return err
}

// readSized is read, and returns the size of the body, which a request that sends in chunks does not say.
func (s *Server) readSized(w http.ResponseWriter, r *http.Request, c *caller, most int64, into any) (size int64, err error) {
	content, held, done, err := s.body(w, r, c, most)
	if err != nil {
		return 0, err
	}
	var full *intake.FullError
	switch err = intake.JSON(held, content, into); {
	case errors.As(err, &full):
	case err != nil:
		err = refusef(http.StatusBadRequest, "the body of the request cannot be understood: %v", err)
	}
	if err != nil {
		done()
		return 0, err
	}
	c.ends = append(c.ends, done) // the decoded body is in use until there is an answer
	return int64(len(content)), nil
}

// largeOfTeam bounds the large calls of /v1/state that one team makes at once. The server takes twice as many: a team that sends
// slowly leaves turns for others.
const largeOfTeam = 2

// turns are the turns of teams that make large calls.
type turns struct {
	mu sync.Mutex
	of map[string]chan struct{}
}

func (t *turns) team(name string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = make(map[string]chan struct{})
	}
	if t.of[name] == nil {
		t.of[name] = make(chan struct{}, largeOfTeam)
	}
	return t.of[name]
}

// serveStates serves a call about the states of stacks.
func (s *Server) serveStates(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		if c, err := s.caller(r); err == nil { // else it is refused below
			c.end()
			turn := s.large.team(c.tenant)
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-r.Context().Done():
				return
			}
		}
	}
	s.states.ServeHTTP(w, r)
}
