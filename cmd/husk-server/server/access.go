package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/keyring"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/backend/sealed"
	"github.com/husk-dev/husk/internal/base/intake"
)

// caller is who sends a request: a person, a worker, or a run that a worker has.
type caller struct {
	tenant, name string
	// person is [runapi.Token.Person], and empty for a run.
	person string
	role   runapi.Role
	// issuedBy is [runapi.Token.By].
	issuedBy string
	// from is the address of the connection.
	from string
	// hash is the hash of the token, and looked is when the database was asked for it.
	hash   string
	looked time.Time
	// asked is when the issuer of the login was asked whether it counts, the zero value for a token that is not renewed.
	asked time.Time
	// expires is when the token does, the zero value for never, and expired is the refusal of one that has.
	expires time.Time
	expired error
	// projects are patterns of the projects that the caller may use, empty for all.
	projects []string
	// stranger says that no secrets are decrypted for the runs of the caller.
	stranger bool
	// run is set for the token of a run, which may write its own stack and read others of its projects.
	run *record
	// held is the memory that the request has, for data from the database.
	held *intake.Held
	// ends are called once there is an answer.
	ends []func()
}

// end gives back what the request of the caller has taken.
func (c *caller) end() {
	for _, end := range c.ends {
		end()
	}
	c.held.End()
}

// bounded returns a context for the reads of a caller's request: their memory is taken before.
func (c *caller) bounded(ctx context.Context) context.Context {
	return intake.WithRoom(ctx, c.held.Add)
}

// everyTenant is the tenant of workers that take the runs of all.
const everyTenant = "*"

// refusal is an answer that refuses a request.
type refusal struct {
	status int
	reason string
	// hides says that the missing thing exists, for others.
	hides bool
	// after is when the client is to try again, 0 if that is not said.
	after time.Duration
	// loginEnded says that the caller's token came from a login, and has expired.
	loginEnded bool
}

func (r *refusal) Error() string { return r.reason }

func refusef(status int, format string, args ...any) error {
	return &refusal{status: status, reason: fmt.Sprintf(format, args...)}
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// tokenPrefix begins tokens, and runPrefix the tokens of runs. Other tokens never begin with runPrefix, because they have no
// further underscore.
const tokenPrefix, runPrefix = "husk_", "husk_run_"

// newSecret returns a token that nobody can guess.
func newSecret(prefix string) string { return prefix + rand.Text() + rand.Text() }

var errNoToken = refusef(http.StatusUnauthorized, "the token is not one of this server, or was revoked")

// caller returns who sends a request. The function end of the caller is to be called.
func (s *Server) caller(r *http.Request) (*caller, error) {
	c, err := s.bearer(r)
	if err == nil && c.expired != nil {
		c.end()
		return nil, c.expired
	}
	return c, err
}

// bearer returns the caller whose token a request has, even if the token has expired.
func (s *Server) bearer(r *http.Request) (*caller, error) {
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || secret == "" {
		return nil, refusef(http.StatusUnauthorized, "the request has no token")
	}
	var c *caller
	var held *intake.Held
	var used int64
	looked := time.Now()
	err := s.db.alone(r.Context(), func(t *tx) (err error) {
		hash := hashOf(secret)
		if !strings.HasPrefix(secret, runPrefix) {
			c, used, err = t.tokenOf(hash)
		}
		if c == nil && err == nil { // servers of earlier versions gave runs tokens as others
			c, held, err = s.runWith(t, hash)
		}
		return err
	})
	if err == nil && c == nil {
		err = errNoToken
	}
	if err == nil {
		c.from = from(r)
		err = s.renew(r, c)
	}
	if c != nil && held == nil {
		held = s.memory.Hold(c.tenant)
	}
	if err != nil {
		if held != nil {
			held.End()
		}
		return nil, err
	}
	c.held, c.looked = held, looked
	if c.run == nil {
		s.noteUse(r.Context(), c, used)
	}
	return c, nil
}

// from returns the address that a request comes from.
func from(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// tokenOf returns the caller with a token, by the token's hash, and when the token was last used; nil if no token has the hash.
func (t *tx) tokenOf(hash string) (c *caller, used int64, err error) {
	c = &caller{hash: hash}
	var kind, projects string
	var expires, asked int64
	err = t.row("SELECT kind, tenant, name, person, issued_by, role, projects, expires, used, asked FROM husk_tokens WHERE hash = ?", hash).
		Scan(&kind, &c.tenant, &c.name, &c.person, &c.issuedBy, &c.role, &projects, &expires, &used, &asked)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if expires > 0 && millis(t.Now()) > expires {
		c.expired = &refusal{status: http.StatusUnauthorized, reason: fmt.Sprintf("the token %s of %s has expired", c.name, c.tenant), loginEnded: kind == loginToken}
	}
	c.expires, c.asked = timeOf(expires), timeOf(asked)
	return c, used, json.Unmarshal([]byte(projects), &c.projects)
}

// runWith returns the run with a token, by its hash, as a caller, and the memory that it holds; none if there is no such run, or if the
// token that its worker has taken it with was revoked. What a worker has taken before that was noted has none.
func (s *Server) runWith(t *tx, hash string) (*caller, *intake.Held, error) {
	run, err := scanRun(t.row("SELECT "+columns+" FROM husk_runs WHERE token = ? AND state = 'running' AND (worker_token = '' OR EXISTS (SELECT 1 FROM husk_tokens k WHERE k.hash = worker_token))", hash).Scan)
	if run == nil || err != nil {
		return nil, nil, err
	}
	held := s.memory.Hold(run.tenant)
	t.ctx = intake.WithRoom(t.ctx, held.Add)
	return &caller{tenant: run.tenant, name: "the run " + run.ID, run: run, projects: run.projects}, held, t.decode(run)
}

// noteUse notes that the token of a caller is used, at most once in a minute. A note that is lost does not matter.
func (s *Server) noteUse(ctx context.Context, c *caller, last int64) {
	now := s.db.Now()
	before := millis(now.Add(-time.Minute))
	if last > before {
		return
	}
	err := s.db.alone(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE husk_tokens SET used = ? WHERE hash = ? AND used <= ?", millis(now), c.hash, before)
		return err
	})
	if err != nil && ctx.Err() == nil {
		slog.Warn("the use of a token is not noted", "token", c.name, "tenant", c.tenant, "error", err)
	}
}

// owner is the name of the caller to [remote.Server], whose leases belong to it.
func (c *caller) owner() string {
	if c.run != nil {
		return c.run.holder()
	}
	return ownerOf(c.tenant, "token", c.hash)
}

// holder is the name of the worker that has a run, or had it last, to [remote.Server]: a late call of one takes nothing from the
// next.
func (r *record) holder() string { return ownerOf(r.tenant, "run", cmp.Or(r.token, r.lost)) }

func ownerOf(tenant, kind, id string) string { return tenant + "/" + kind + "/" + id }

// may reports whether the caller has a role or a greater one.
func (c *caller) may(role runapi.Role) bool {
	if c.run != nil || c.role == runapi.Work || role == runapi.Work {
		return c.run == nil && c.role == role
	}
	return slices.Index(runapi.Roles, c.role) >= slices.Index(runapi.Roles, role)
}

// uses reports whether the caller may use a project.
func (c *caller) uses(project string) bool { return covers(c.projects, project) }

func covers(patterns []string, project string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matches, err := path.Match(pattern, project)
		return err == nil && matches
	})
}

// require returns an error unless the caller has a role in a project; an empty project is any.
func (c *caller) require(role runapi.Role, project string) error {
	switch {
	case !c.may(role):
		return refusef(http.StatusForbidden, "the token %s does not allow this: it needs the role %s", c.name, role)
	case project != "" && !c.uses(project):
		return refusef(http.StatusForbidden, "the token %s is not for the project %s", c.name, project)
	}
	return nil
}

// requireWorker returns an error unless the caller is a worker. If runs need approval, it must be a worker of the server's
// operator: a worker shows the plan to approve, and writes states, so an admin with a worker of her own would need nobody else.
func (s *Server) requireWorker(c *caller, project string) error {
	if err := c.require(runapi.Work, project); err != nil {
		return err
	}
	return s.allowWorker(c.issuedBy)
}

// allowWorker returns an error if by must not issue a worker's token. by is empty for the server's operator.
func (s *Server) allowWorker(by string) error {
	if s.options.RequireApproval && by != "" {
		return refusef(http.StatusForbidden, "the server has been started with --require-approval: who runs it issues the tokens of workers, with husk server token")
	}
	return nil
}

// requireAll returns an error unless the caller is an admin of all projects, which tokens are about.
func (c *caller) requireAll() error {
	if err := c.require(runapi.Admin, ""); err != nil {
		return err
	}
	if len(c.projects) > 0 {
		return refusef(http.StatusForbidden, "the token %s is for some projects only, and can neither see, issue, nor revoke tokens", c.name)
	}
	return nil
}

// finishTime is how long a run may go on after its token has expired, so that it records what it has made.
const finishTime = 24 * time.Hour

// stateAccess returns the caller's rights to the states of stacks.
func (s *Server) stateAccess(r *http.Request) (*remote.Access, error) {
	c, err := s.bearer(r)
	if err == nil && c.expired != nil && s.db.Now().Sub(c.expires) > finishTime {
		err = c.expired
	}
	if err == nil && c.role == runapi.Work && c.run == nil {
		err = refusef(http.StatusForbidden, "the token of a worker is for taking runs, and each run has a token of its own for its stack")
	}
	if err != nil {
		var refused *refusal
		if errors.As(err, &refused) {
			s.logRefusal(r, c, refused)
			err = ofState(refused)
		}
		if c != nil {
			c.end()
		}
		return nil, away(err)
	}
	t, err := s.tenant(r.Context(), c.tenant)
	if err != nil {
		c.end()
		return nil, away(err)
	}
	access := &remote.Access{Backend: t.backend, End: c.end, Team: c.tenant, Owner: c.owner(), Keys: t, Modules: engine.Modules, Readable: t.readable()}
	_ = errors.As(ofState(c.expired), &access.Ended) // nil unless it has expired
	// With approval by others, only runs write states. One that previews does not.
	writes := c.may(runapi.Request) && !s.options.RequireApproval
	// A run can send what it has decrypted anywhere, and so it decrypts for whom the server would decrypt.
	access.Decrypts = c.may(runapi.Request) || c.run != nil && !c.run.withheld
	if c.may(runapi.Request) && !writes {
		access.Creates = t.isEmpty
	}
	access.Changing = func(ctx context.Context, call string, stack state.StackName, detail string) error {
		return s.auditState(ctx, c, call, stack, detail)
	}
	access.Still = func(ctx context.Context) error {
		_, err := s.still(ctx, c)
		return away(ofState(err))
	}
	if c.run != nil {
		access.Changing = nil // the run is recorded
		writes = !c.run.Previewing && c.run.Changes()
		access.Created = func(ctx context.Context, _ state.StackName, content []byte) error {
			return s.created(ctx, c.run, content)
		}
		access.Leased = func(ctx context.Context, _ state.StackName) error { return s.leased(ctx, c.run) }
	}
	access.Writes = writes
	access.Allows = func(stack state.StackName, write bool) bool {
		own := c.run != nil && stack.Project == c.run.Project && stack.Name == c.run.Stack
		return own && (writes || !write) || c.uses(stack.Project) && (!write || c.run == nil && writes)
	}
	access.Room = func(bytes int) error {
		return ofState(s.room(r.Context(), c.tenant, int64(bytes)))
	}
	access.Refused = func(refused *remote.RefusedError) {
		s.logRefusal(r, c, &refusal{status: refused.Status, reason: refused.Reason})
	}
	return access, nil
}

// ofState returns a refusal for clients of states, and any other error itself.
func ofState(err error) error {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return &remote.RefusedError{Status: refused.status, Reason: refused.reason, LoginEnded: refused.loginEnded}
	}
	return err
}

// away returns an error of the database for clients of states: one that is away is back later.
func away(err error) error {
	if !isAway(err) {
		return err
	}
	slog.Error("a request for the state of a stack could not be served: the database cannot be reached", "error", err)
	return &remote.RefusedError{Status: errAway.status, Reason: errAway.reason}
}

// logRefusal records who was refused what.
func (s *Server) logRefusal(r *http.Request, c *caller, refused *refusal) {
	if refused.status == http.StatusNotFound && !refused.hides {
		return // nothing was there to be refused
	}
	who, tenant := "", ""
	if c != nil {
		who, tenant = c.name, c.tenant
	}
	s.counts.refuse()
	s.auditRefusal(r, c, refused)
	slog.Warn("refused", "token", who, "tenant", tenant, "from", r.RemoteAddr, "method", r.Method, "path", r.URL.Path, "status", refused.status, "reason", refused.reason)
}

// isEmpty returns an error unless a state has nothing in it, so that anybody may begin with it.
func (t *tenant) isEmpty(ctx context.Context, stack state.StackName, checkpoint []byte) error {
	alone := backend.Files("", new(memstore.Store))
	if err := alone.State.Create(ctx, stack, checkpoint); err != nil {
		return err
	}
	room := func(bytes int64) error { return intake.Room(ctx, bytes) }
	snapshot, err := backend.Snapshot(ctx, sealed.New(alone, ownKeys{t}, sealed.Keep).Backend().State, stack, rowCopies, room)
	var full *intake.FullError
	if errors.As(err, &full) {
		return err
	}
	empty := err == nil && snapshot.Len() == 0
	if empty {
		for range snapshot.Operations() {
			empty = false
		}
	}
	if !empty {
		return &remote.RefusedError{Status: http.StatusForbidden, Reason: "the server has been started with --require-approval: only runs write to the stack " + stack.String()}
	}
	return nil
}

// tenant returns a tenant that has a token.
func (s *Server) tenant(ctx context.Context, name string) (*tenant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[name]; t != nil {
		return t, nil
	}
	t := &tenant{name: name, load: func(ctx context.Context) (*keyring.Ring, error) { return s.keysOf(ctx, name) }}
	_, err := t.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("the tenant %s: %w", name, err)
	}
	if t.backend, err = s.openState(ctx, name); err != nil {
		return nil, err
	}
	s.tenants[name] = t
	return t, nil
}

// endLeases ends the lease of an owner, who has no more of it, in a stack, or all of them if the stack is the zero value.
func (s *Server) endLeases(ctx context.Context, tenant, owner string, stack state.StackName) {
	t, err := s.tenant(ctx, tenant)
	if err == nil {
		err = remote.EndLeases(ctx, t.backend, owner, stack)
	}
	if err != nil {
		slog.Warn("leases are left, and end by themselves", "tenant", tenant, "error", err)
	}
}

// endLease ends the lease that the worker of a run has of its stack.
func (s *Server) endLease(ctx context.Context, r *record) {
	s.endLeases(ctx, r.tenant, r.holder(), state.StackName{Project: r.Project, Name: r.Stack})
}
