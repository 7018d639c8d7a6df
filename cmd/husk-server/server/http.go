package server

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

const (
	// maxSlots bounds the runs that a worker says it takes at once.
	maxSlots = 10_000
	// maxWait bounds how long a question for a run waits.
	maxWait = 55 * time.Second
	// keepAlive is how often a log without news says that the connection is alive.
	keepAlive = 15 * time.Second
)

// openAPI describes the requests below /v1, except the ones of workers and states.
//
//go:embed openapi.json
var openAPI []byte

// forms are the forms of identifiers in paths, by their placeholders and the segments before these.
var forms = map[string]struct {
	what string
	is   func(string) bool
}{
	"runs/{id}":        {"ID of a run, which has 26 upper-case letters and digits", runapi.IsID},
	"schedules/{name}": {"name of a schedule, which has letters, digits, and \"._-\"", schedulePattern.MatchString},
	"tokens/{name}":    {"name of a token", isTokenName},
	"webhooks/{hook}":  {"name of a hook, which has letters, digits, and \"._-\"", webhook.IsName},
	"bundles/{digest}": {"digest of a bundle, which has the form sha256:…", runapi.IsDigest},
}

// route answers the requests of a method and a path.
type route struct {
	// segments are the names of the identifiers in its path, and kinds the keys of their forms.
	segments, kinds []string
	needs           needs
	do              handler
}

// needs is the authentication that a route requires. Its zero value is invalid: each route names one.
type needs int

const (
	_ needs = iota
	aToken
	// nothing lets everybody in who can reach the server.
	nothing
)

// newRoute returns the route of a pattern. Each segment that is an identifier needs a form.
func newRoute(pattern string, r route) (*route, error) {
	if r.needs != aToken && r.needs != nothing {
		return nil, fmt.Errorf("the route %s does not say whether it needs a token", pattern)
	}
	_, path, _ := strings.Cut(pattern, " ")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if !strings.ContainsAny(part, "{}") {
			continue
		}
		kind := parts[i-1] + "/" + part
		if forms[kind].is == nil {
			return nil, fmt.Errorf("the route %s has %s, which has no form", pattern, part)
		}
		r.segments, r.kinds = append(r.segments, strings.Trim(part, "{}")), append(r.kinds, kind)
	}
	return &r, nil
}

// check returns an error unless the identifiers in the path of a request have their forms: there is nothing with others.
func (route *route) check(r *http.Request) error {
	for i, segment := range route.segments {
		form := forms[route.kinds[i]]
		if text := r.PathValue(segment); !form.is(text) {
			status := http.StatusNotFound
			if r.Method == http.MethodPut {
				status = http.StatusBadRequest
			}
			return refusef(status, "%.60q is not a valid %s", text, form.what)
		}
	}
	return nil
}

// routes returns the handlers of requests.
func (s *Server) routes() (*http.ServeMux, error) {
	mux := http.NewServeMux()
	mux.HandleFunc(remote.Path, s.serveStates)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI)
	})
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {}) // whoever answers is alive
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /healthz", s.ready) // its name in earlier versions
	for pattern, one := range map[string]route{
		"POST /v1/login":        {needs: nothing, do: s.login},
		"POST /v1/login/device": {needs: nothing, do: s.beginLogin},
		"POST /webhooks/{hook}": {needs: nothing, do: s.hook}, // whose secret the host shows
		"GET /v1/whoami": {needs: aToken, do: func(_ http.ResponseWriter, _ *http.Request, c *caller) (any, error) {
			return runapi.Who{Name: c.name, Tenant: c.tenant, Role: c.role, Person: c.person}, nil
		}},
		"GET /v1/status": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Read, ""); err != nil {
				return nil, err
			}
			return s.status(r.Context(), c.tenant)
		}},
		"POST /v1/runs": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Preview, ""); err != nil {
				return nil, err
			}
			var n runapi.NewRun
			if err := s.read(w, r, c, maxRequest, &n); err != nil {
				return nil, err
			}
			return s.request(r.Context(), c, n)
		}},
		"GET /v1/runs": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Read, ""); err != nil {
				return nil, err
			}
			query := r.URL.Query()
			most, err := number(r, "limit", 50)
			if err != nil {
				return nil, err
			}
			project, stack := query.Get("project"), query.Get("stack")
			if err := (state.StackName{Project: cmp.Or(project, "any"), Name: cmp.Or(stack, "any")}).Validate(); err != nil {
				return nil, refusef(http.StatusBadRequest, "%v", err)
			}
			return s.runs(r.Context(), c, project, stack, query.Has("open"), int(most))
		}},
		"GET /v1/runs/{id}": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Read, ""); err != nil {
				return nil, err
			}
			run, _, _, err := s.log(r.Context(), c, r.PathValue("id"), math.MaxInt64)
			if err != nil {
				return nil, err
			}
			return run.Run, nil
		}},
		"POST /v1/runs/{id}/cancel": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return s.cancelRun(r.Context(), c, r.PathValue("id"), r.URL.Query().Get("call"))
		}},
		"POST /v1/runs/{id}/approve": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return s.approve(r.Context(), c, r.PathValue("id"), true)
		}},
		"POST /v1/runs/{id}/reject": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return s.approve(r.Context(), c, r.PathValue("id"), false)
		}},
		"POST /v1/runs/{id}/retry": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return s.retry(r.Context(), c, r.PathValue("id"), r.URL.Query().Has("pending"))
		}},
		"GET /v1/schedules": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Read, ""); err != nil {
				return nil, err
			}
			return s.schedules(r.Context(), c, "")
		}},
		"GET /v1/schedules/{name}": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Read, ""); err != nil {
				return nil, err
			}
			return s.schedule(r.Context(), c, r.PathValue("name"))
		}},
		"PUT /v1/schedules/{name}": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.require(runapi.Admin, ""); err != nil {
				return nil, err
			}
			var schedule runapi.Schedule
			if err := s.read(w, r, c, maxRequest, &schedule); err != nil {
				return nil, err
			}
			schedule.Name = r.PathValue("name")
			return s.setSchedule(r.Context(), c, schedule)
		}},
		"DELETE /v1/schedules/{name}": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return nil, s.removeSchedule(r.Context(), c, r.PathValue("name"))
		}},
		"GET /v1/tokens": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.requireAll(); err != nil {
				return nil, err
			}
			return s.tokens(r.Context(), c.tenant)
		}},
		"POST /v1/tokens": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.requireAll(); err != nil {
				return nil, err
			}
			var token runapi.Token
			if err := s.read(w, r, c, smallBody, &token); err != nil {
				return nil, err
			}
			if token.Person != "" && token.Person != c.person {
				return nil, refusef(http.StatusForbidden, "the tokens that %s issues belong to %s, even if others use them: the server's operator issues tokens for other people", c.name, c.person)
			}
			if token.Role == runapi.Work {
				if err := s.allowWorker(c.name); err != nil {
					return nil, err
				}
			}
			if err := s.roomForRequest(r.Context(), c.tenant, 0); err != nil {
				return nil, err
			}
			token.Tenant, token.Person = c.tenant, c.person
			return s.issueToken(r.Context(), c, token, issuedToken)
		}},
		"DELETE /v1/tokens/{name}": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.requireAll(); err != nil {
				return nil, err
			}
			return nil, s.revokeToken(r.Context(), c, r.PathValue("name"))
		}},
		"GET /v1/audit": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.requireAll(); err != nil {
				return nil, err
			}
			most, err := number(r, "limit", maxAuditPage)
			if err != nil {
				return nil, err
			}
			before, err := number(r, "before", math.MaxInt64)
			if err != nil {
				return nil, err
			}
			return s.auditLog(r.Context(), c.tenant, before, int(min(most, maxAuditPage)))
		}},
		"HEAD /v1/bundles/{digest}": {needs: aToken, do: func(_ http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return nil, s.hasBundle(r.Context(), c, r.PathValue("digest"))
		}},
		"PUT /v1/bundles/{digest}": {needs: aToken, do: s.putBundle},
		"GET /v1/runs/{id}/log": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return sent, s.follow(w, r, c)
		}},

		"POST /v1/work/next": {needs: aToken, do: s.next},
		"GET /v1/work/bundle": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			return sent, s.sendBundle(w, r, c)
		}},
		"POST /v1/work/report": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := s.requireWorker(c, ""); err != nil {
				return nil, err
			}
			var p runapi.Report
			size, err := s.readSized(w, r, c, maxBody, &p)
			if err != nil {
				return nil, err
			}
			if err := s.room(r.Context(), c.tenant, size); err != nil {
				return nil, err
			}
			return nil, s.report(r.Context(), c, p)
		}},
		"POST /v1/work/beat": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.isRun(); err != nil {
				return nil, err
			}
			var b runapi.Beat
			if err := s.read(w, r, c, maxBody, &b); err != nil {
				return nil, err
			}
			return s.beat(r.Context(), c, b)
		}},
		"POST /v1/work/unrecorded": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := s.requireWorker(c, ""); err != nil {
				return nil, err
			}
			var u runapi.Unrecorded
			if err := s.read(w, r, c, maxBody, &u); err != nil {
				return nil, err
			}
			return nil, s.settle(r.Context(), c, u)
		}},
		"POST /v1/work/end": {needs: aToken, do: func(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
			if err := c.isRun(); err != nil {
				return nil, err
			}
			var e runapi.End
			if err := s.read(w, r, c, maxBody, &e); err != nil {
				return nil, err
			}
			return nil, s.end(r.Context(), c, e)
		}},
	} {
		route, err := newRoute(pattern, one)
		if err != nil {
			return nil, err
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, route) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, nil, refusef(http.StatusNotFound, "this server of husk has nothing at %.200q: /openapi.json says what it has", r.URL.Path))
	})
	return mux, nil
}

// number returns a number of the query of a request, which is one if it is not there.
func number(r *http.Request, name string, otherwise int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, refusef(http.StatusBadRequest, "the %s %.60q is not a number from 1 on", name, text)
	}
	return n, nil
}

// ready answers 200 if the server serves requests, and 503 while it stops, cannot reach its database, or is older than the tables there.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.db.outdated.Load() {
		http.Error(w, errOutdated.reason, http.StatusServiceUnavailable)
		return
	}
	select {
	case <-s.closing:
		http.Error(w, "the server is stopping", http.StatusServiceUnavailable)
		return
	default:
	}
	if err := s.db.probe.reached(); err != nil {
		http.Error(w, "the database cannot be reached", http.StatusServiceUnavailable)
	}
}

// checkText returns an error if the path or the query of a request is not UTF-8, or has a zero byte: no database stores that as text.
func checkText(r *http.Request) error {
	query, err := url.QueryUnescape(r.URL.RawQuery)
	for _, text := range []string{r.URL.Path, query} {
		if err != nil || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return refusef(http.StatusBadRequest, "the path or the query of the request is not UTF-8, or has a zero byte")
		}
	}
	return nil
}

// isRun returns an error unless the caller has the token of a run.
func (c *caller) isRun() error {
	if c.run == nil {
		return refusef(http.StatusForbidden, "the token %s does not belong to a run", c.name)
	}
	return nil
}

// handler answers the request of a caller with a value, which is sent as JSON, or with none.
type handler func(http.ResponseWriter, *http.Request, *caller) (any, error)

// sent is the value of a handler that has written the answer itself.
var sent = new(struct{})

func (s *Server) answer(w http.ResponseWriter, r *http.Request, route *route) {
	var c *caller
	var err error
	if route.needs == nothing {
		c = &caller{held: s.account(""), from: from(r)}
	} else {
		c, err = s.caller(r)
	}
	if err == nil {
		defer c.end()
		r = r.WithContext(c.bounded(r.Context()))
		err = route.check(r)
	}
	var out any
	if err == nil {
		out, err = route.do(w, r, c)
	}
	if err != nil {
		if route.needs == nothing {
			c = nil // it is nobody whom a team knows
		}
		s.refuse(w, r, c, err)
		return
	}
	if out == any(sent) {
		return
	}
	if out == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A slow reader does not keep memory from others. A writer without deadlines has none to set.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetWriteDeadline(time.Now().Add(timeFor(c.held.Bytes())))
	_ = json.NewEncoder(w).Encode(out) // a client that is gone asks again
	_ = deadlines.Flush()
	_ = deadlines.SetWriteDeadline(time.Time{})
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, c *caller, err error) {
	var refused *refusal
	var full *intake.FullError
	if errors.As(err, &full) {
		if full.Never {
			err = refusef(http.StatusRequestEntityTooLarge, "%v", full)
		} else {
			err = tryLaterf(http.StatusServiceUnavailable, "%v", full)
		}
	}
	switch {
	case errors.As(err, &refused):
		s.logRefusal(r, c, refused)
	case r.Context().Err() != nil: // the client is gone, or was too slow: without an answer it would take this for done
		refused = &refusal{status: http.StatusServiceUnavailable, reason: "the connection has ended"}
	case isAway(err):
		slog.Error("a request could not be answered: the database cannot be reached", "method", r.Method, "path", r.URL.Path, "error", err)
		refused = errAway
	default:
		slog.Error("a request could not be answered", "method", r.Method, "path", r.URL.Path, "error", err)
		refused = &refusal{status: http.StatusInternalServerError, reason: "the server cannot answer now: its log says why"}
	}
	w.Header().Set("Content-Type", "application/json")
	if refused.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(refused.after.Seconds())))
	}
	if refused.loginEnded {
		w.Header().Set(backend.LoginHeader, backend.LoginEnded)
	}
	w.WriteHeader(refused.status)
	_ = json.NewEncoder(w).Encode(runapi.Problem{Error: refused.reason})
}

// next waits until there is a run for a worker, and answers with it, or with none after a while.
func (s *Server) next(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	if err := s.requireWorker(c, ""); err != nil {
		return nil, err
	}
	var ask runapi.Ask
	if err := s.read(w, r, c, smallBody, &ask); err != nil {
		return nil, err
	}
	if !labelPattern.MatchString(ask.Worker) {
		return nil, refusef(http.StatusBadRequest, "the worker %q: a name has letters, digits, and \"._-/\"", ask.Worker)
	}
	if err := checkLabels(ask.Labels); err != nil {
		return nil, err
	}
	if ask.Slots < 0 || ask.Slots > maxSlots || ask.Running < 0 || ask.Running > maxSlots {
		return nil, refusef(http.StatusBadRequest, "a worker takes at most %d runs at once", maxSlots)
	}
	if _, edge := ask.Labels[runapi.EdgeLabel]; edge && c.tenant == everyTenant {
		return nil, refusef(http.StatusForbidden, "the token %s is for the runs of all teams, and an edge worker keeps the states of one: issue it a token of its team", c.name)
	}
	if err := s.seen(r.Context(), c, ask); err != nil {
		return nil, err
	}
	ready, stop := s.db.ready.wait(func(w wanted) bool {
		return (c.tenant == everyTenant || c.tenant == w.tenant) && c.uses(w.project) && selects(w.selector, ask.Labels)
	})
	defer stop()
	end := time.After(min(time.Duration(ask.Seconds)*time.Second, maxWait))
	held := c.held
	for {
		held.End() // what the last look has taken
		claim, err := s.claim(r.Context(), c, ask)
		if claim != nil || err != nil {
			return claim, err
		}
		select {
		case <-ready:
			is, err := s.caller(r) // the token may have been revoked
			if err != nil {
				return nil, err
			}
			is.end()
			if err := s.requireWorker(is, ""); err != nil {
				return nil, err
			}
			c = is
		case <-end:
			return nil, nil
		case <-s.closing:
			return nil, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}
