package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/cmd/husk-server/keyring"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/printable"
)

// maxTokenName bounds the name of a token, in bytes, and maxTokens the tokens of a team, but for those of logins: see [maxIssued].
const maxTokenName, maxTokens = 100, 10_000

// isTokenName reports whether there can be a token with a name. Earlier versions have issued some whose name is not for a
// terminal, which can be revoked.
func isTokenName(name string) bool {
	return name != "" && len(name) <= maxTokenName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' })
}

// IssueToken makes a token, and its tenant if that is new. Another token of the tenant must not have the name.
func (s *Server) IssueToken(ctx context.Context, token runapi.Token) (*runapi.Token, error) {
	return s.issueToken(ctx, &caller{tenant: token.Tenant}, token, issuedToken)
}

// The kinds of tokens: issued by a person or the operator of the server, or by a login with an identity.
const issuedToken, loginToken = "issued", "login"

// issueToken is IssueToken for a caller. The operator of the server has no name.
func (s *Server) issueToken(ctx context.Context, c *caller, token runapi.Token, kind string) (*runapi.Token, error) {
	token.By = c.name
	switch {
	case token.Tenant == everyTenant && token.Role == runapi.Work:
	case !runapi.IsTeam(token.Tenant):
		return nil, refusef(http.StatusBadRequest, "the tenant %q: a name has lower-case letters, digits, and \"_\", and at most 40 of them", token.Tenant)
	}
	if err := identity.CheckGrant(token.Role, token.Projects); err != nil {
		return nil, refusef(http.StatusBadRequest, "%v", err)
	}
	if token.Person == "" {
		token.Person = token.Name
	}
	if !identity.IsPerson(token.Person) {
		return nil, refusef(http.StatusBadRequest, "the person %.60q: a name has at most %d bytes", token.Person, identity.MaxPerson)
	}
	if !isTokenName(token.Name) || strings.ContainsFunc(token.Name, printable.IsUnsafe) {
		return nil, refusef(http.StatusBadRequest, "a token needs a name of at most %d bytes, such as its user's", maxTokenName)
	}
	projects, err := json.Marshal(append([]string{}, token.Projects...))
	if err != nil {
		return nil, err
	}
	token.Made, token.Secret = s.db.Now().Truncate(time.Millisecond), newSecret(tokenPrefix)
	err = s.db.step(ctx, func(t *tx) error {
		if token.Tenant != everyTenant {
			if err := s.addTenant(t, token.Tenant); err != nil {
				return err
			}
		}
		if kind == issuedToken {
			var n int
			if err := t.row("SELECT count(*) FROM husk_tokens WHERE tenant = ? AND kind = 'issued'", token.Tenant).Scan(&n); err != nil {
				return err
			}
			if n >= maxTokens {
				return refusef(http.StatusConflict, "%s has %d tokens already: revoke one first", token.Tenant, n)
			}
		}
		_, err := t.exec("INSERT INTO husk_tokens (hash, kind, tenant, name, person, issued_by, role, projects, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			hashOf(token.Secret), kind, token.Tenant, token.Name, token.Person, token.By, string(token.Role), string(projects), millis(token.Made), millis(token.Expires))
		if err != nil {
			return err
		}
		until := ""
		if !token.Expires.IsZero() {
			until = ", until " + token.Expires.Format(time.RFC3339)
		}
		return t.audit(c, "token.issue", token.Name, "role %s, for %s, projects %q%s", token.Role, token.Person, token.Projects, until)
	})
	if conflict(err) {
		return nil, refusef(http.StatusConflict, "the tenant %s has a token with the name %q: revoke it first, or choose another name", token.Tenant, token.Name)
	}
	if err == nil {
		expires := "never"
		if !token.Expires.IsZero() {
			expires = token.Expires.Format(time.RFC3339)
		}
		slog.Info("a token was issued", "tenant", token.Tenant, "token", token.Name, "role", token.Role, "projects", token.Projects, "person", token.Person, "expires", expires, "by", issuer(token.By))
	}
	return &token, err
}

// issuer names the token that issues or revokes another, for the log.
func issuer(by string) string { return cmp.Or(by, "who runs the server") }

// tokens returns the tokens of a tenant, without their secrets.
func (s *Server) tokens(ctx context.Context, tenant string) (all []runapi.Token, err error) {
	err = s.db.step(ctx, func(t *tx) error {
		if err := t.room("SELECT COALESCE(SUM(octet_length(projects) + ?), 0) FROM husk_tokens WHERE tenant = ?", smallRow, tenant); err != nil {
			return err
		}
		return t.rows(func(scan func(...any) error) error {
			token := runapi.Token{Tenant: tenant}
			var projects string
			var made, expires, used int64
			if err := scan(&token.Name, &token.Person, &token.By, &token.Role, &projects, &made, &expires, &used); err != nil {
				return err
			}
			token.Made, token.Expires, token.Used = timeOf(made), timeOf(expires), timeOf(used)
			all = append(all, token)
			return json.Unmarshal([]byte(projects), &all[len(all)-1].Projects)
		}, "SELECT name, person, issued_by, role, projects, made, expires, used FROM husk_tokens WHERE tenant = ? ORDER BY name", tenant)
	})
	return all, err
}

// revokeToken revokes a token of a caller's tenant, whose leases end.
func (s *Server) revokeToken(ctx context.Context, c *caller, name string) error {
	tenant := c.tenant
	var hash string
	err := s.db.step(ctx, func(t *tx) error {
		err := t.row("SELECT hash FROM husk_tokens WHERE tenant = ? AND name = ?", tenant, name).Scan(&hash)
		if errors.Is(err, sql.ErrNoRows) {
			return refusef(http.StatusNotFound, "the tenant %s has no token with the name %q", tenant, name)
		}
		if err == nil {
			_, err = t.exec("DELETE FROM husk_tokens WHERE hash = ?", hash)
		}
		if err != nil {
			return err
		}
		return t.audit(c, "token.revoke", name, "")
	})
	if err == nil {
		slog.Info("a token was revoked", "tenant", tenant, "token", name, "by", issuer(c.name))
		s.revoked.tell(hash)
		s.endLeases(ctx, tenant, ownerOf(tenant, "token", hash), state.StackName{})
	}
	return err
}

// First reports whether the server has issued no token yet.
func (s *Server) First(ctx context.Context) (bool, error) {
	var n int
	err := s.db.step(ctx, func(t *tx) error { return t.row("SELECT count(*) FROM husk_tokens").Scan(&n) })
	return n == 0, err
}

// maxIssued bounds the valid tokens that a person has by logging in to a team.
const maxIssued = 1000

// identities returns who logs in to the server.
func (s *Server) identities() (*identity.Config, error) {
	if s.options.Identity == nil {
		return nil, refusef(http.StatusNotFound, "nobody logs in to this server with another identity: who runs it sets --identity")
	}
	return s.options.Identity, nil
}

// login exchanges an identity token, or a login with a device that somebody has confirmed, for a token.
func (s *Server) login(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	var in runapi.Login
	if err := s.read(w, r, c, smallBody, &in); err != nil {
		return nil, err
	}
	config, err := s.identities()
	if err != nil {
		return nil, err
	}
	grant := identity.Grant{Token: in.IdentityToken}
	if in.Device != "" {
		issuer, err := config.Issuer(in.Issuer)
		if err != nil {
			return nil, refusedBy(err)
		}
		wait := 0
		if grant, wait, err = issuer.Poll(r.Context(), in.Device); err != nil {
			return nil, refusedBy(err)
		}
		if wait > 0 {
			return runapi.LoggedIn{Wait: wait}, nil
		}
	}
	who, err := config.Verify(r.Context(), grant.Token, in.Team, s.db.Now)
	if err != nil {
		return nil, refusedBy(err)
	}
	issued, err := s.issueTo(r.Context(), c, who)
	if err == nil {
		err = s.keepLogin(r.Context(), issued, who, grant)
	}
	if err != nil {
		return nil, err
	}
	return runapi.LoggedIn{Token: issued}, nil
}

// issueTo issues a token for a verified identity.
func (s *Server) issueTo(ctx context.Context, c *caller, who *identity.Identity) (*runapi.Token, error) {
	var n int
	if err := s.db.alone(ctx, func(t *tx) error {
		return t.row("SELECT count(*) FROM husk_tokens WHERE tenant = ? AND kind = 'login' AND person = ? AND issued_by = ? AND expires > ?", who.Rule.Team, who.Person, who.Issuer.URL, millis(t.Now())).Scan(&n)
	}); err != nil {
		return nil, err
	}
	if n >= maxIssued {
		return nil, tryLaterf(http.StatusTooManyRequests, "%s has %d tokens already, the first of which end soon: keep one for several commands", who.Person, n)
	}
	name := strings.Map(func(c rune) rune {
		if printable.IsUnsafe(c) {
			return -1
		}
		return c
	}, who.Name)
	const room, tail = 20, 8 // room is for the tail and its slash
	name = storable(name, maxTokenName-room) + "/" + strings.ToLower(rand.Text()[:tail])
	by := &caller{tenant: who.Rule.Team, name: who.Issuer.URL, person: who.Person, from: c.from}
	return s.issueToken(ctx, by, runapi.Token{
		Tenant: who.Rule.Team, Name: name, Person: who.Person, Role: who.Rule.Role, Projects: who.Rule.Projects,
		Expires: s.db.Now().Add(who.Issuer.Lifetime).Truncate(time.Millisecond),
	}, loginToken)
}

// beginLogin begins a login of a person: with a browser, on any device, at the issuer.
func (s *Server) beginLogin(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	var in runapi.DeviceLogin
	if err := s.read(w, r, c, smallBody, &in); err != nil {
		return nil, err
	}
	config, err := s.identities()
	if err != nil {
		return nil, err
	}
	issuer, err := config.People(in.Issuer)
	if err != nil {
		return nil, refusedBy(err)
	}
	begun, err := issuer.Begin(r.Context())
	if err != nil {
		return nil, refusedBy(err)
	}
	return begun, nil
}

// refusedBy returns the refusal of a request whose identity the issuer or the rules refuse, and any other error as it is.
func refusedBy(err error) error {
	var refused *identity.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	answer := &refusal{status: refused.Status, reason: refused.Reason}
	if refused.Later {
		answer.after = tryAfter
	}
	return answer
}

// pruneLogins removes tokens of logins that expired before a time, except those with which a worker does a run.
func (s *Server) pruneLogins(ctx context.Context, before int64) error {
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM husk_tokens WHERE kind = 'login' AND expires > 0 AND expires < ? AND hash NOT IN (SELECT worker_token FROM husk_runs WHERE state = 'running')", before)
		return err
	})
}

// EndTeam ends a team: it revokes its tokens, and removes its schedules. If the team has stacks or open runs, it does so only with
// withStacks, which removes the stacks and the keys of their secrets, and cancels the runs. Its audit log stays, and nobody gets its name
// again. It goes on with an end that was cut off.
func (s *Server) EndTeam(ctx context.Context, team string, withStacks bool) error {
	operator := &caller{tenant: team, role: runapi.Admin}
	var ended, running int64
	var open []string
	if err := s.db.step(ctx, func(t *tx) (err error) {
		err = t.row("SELECT ended FROM husk_tenants WHERE name = ?", team).Scan(&ended)
		if errors.Is(err, sql.ErrNoRows) {
			return refusef(http.StatusNotFound, "there is no team %q", team)
		}
		if err == nil {
			running, open, err = t.openRuns(team)
		}
		return err
	}); err != nil {
		return err
	}
	if ended == 0 {
		keeper, err := s.tenant(ctx, team)
		if err != nil {
			return err
		}
		stacks, err := keeper.backend.State.List(ctx)
		if err != nil {
			return err
		}
		if running > 0 {
			return errRunning(team, running)
		}
		if !withStacks && len(stacks)+len(open) > 0 {
			return refusef(http.StatusConflict, "the team %s has %d stacks and %d open runs: destroy and remove them first, or remove the stacks without their objects, and cancel the runs, with --with-stacks", team, len(stacks), len(open))
		}
		for _, id := range open {
			if _, err := s.cancelRun(ctx, operator, id, ""); err != nil {
				return err
			}
		}
		if err := s.db.step(ctx, func(t *tx) error { return s.endTeam(t, operator, len(stacks)) }); err != nil {
			return err
		}
		slog.Info("a team has ended", "tenant", team, "stacks", len(stacks))
	}
	return s.removeStates(ctx, team)
}

func errRunning(team string, running int64) error {
	return refusef(http.StatusConflict, "%d runs of the team %s are at workers: cancel them, and wait for their end", running, team)
}

// openRuns counts the runs of a team at workers, and returns its other ones that are not final.
func (t *tx) openRuns(team string) (running int64, others []string, err error) {
	err = t.row("SELECT count(*) FROM husk_runs WHERE tenant = ? AND state = 'running'", team).Scan(&running)
	if err == nil {
		others, err = t.texts("SELECT id FROM husk_runs WHERE tenant = ? AND state IN ('queued', 'running', 'waiting') AND state <> 'running' ORDER BY -number", team)
	}
	return running, others, err
}

// endTeam changes the rows of a team that ends. Runs that were asked for meanwhile are in its way.
func (s *Server) endTeam(t *tx, operator *caller, stacks int) error {
	team := operator.tenant
	if err := t.lockTenants(); err != nil {
		return err
	}
	tokens, err := t.exec("DELETE FROM husk_tokens WHERE tenant = ?", team)
	if err != nil {
		return err
	}
	running, open, err := t.openRuns(team)
	if err != nil {
		return err
	}
	if running+int64(len(open)) > 0 {
		return errRunning(team, running+int64(len(open)))
	}
	ring, err := s.keys.Read()
	if err == nil {
		_, err = t.exec("UPDATE husk_tenants SET ended = "+t.now()+", key = ? WHERE name = ?", ring.Seal(keyring.NewKey(), team), team) // what was encrypted is not to be read
	}
	for _, statement := range []string{"DELETE FROM husk_former_keys WHERE tenant = ?", "DELETE FROM husk_schedules WHERE tenant = ?", "DELETE FROM husk_workers WHERE tenant = ?"} {
		if err == nil {
			_, err = t.exec(statement, team)
		}
	}
	if err != nil {
		return err
	}
	return t.audit(operator, "team.end", team, "%d tokens revoked, %d stacks removed", tokens, stacks)
}
