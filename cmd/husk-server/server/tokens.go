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
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/printable"
)

const (
	// maxTokenName bounds the name of a token, in bytes.
	maxTokenName = 100
	// maxPatterns bounds the patterns of the projects of a token, and maxPattern each, in bytes: they are read with each request.
	maxPatterns, maxPattern = 100, 200
)

// isTokenName reports whether there can be a token with a name. Earlier versions have issued some whose name is not for a
// terminal, which can be revoked.
func isTokenName(name string) bool {
	return name != "" && len(name) <= maxTokenName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' })
}

// IssueToken makes a token, and its tenant if that is new. Another token of the tenant must not have the name.
func (s *Server) IssueToken(ctx context.Context, token runapi.Token) (*runapi.Token, error) {
	return s.issueToken(ctx, &caller{tenant: token.Tenant}, token)
}

// issueToken is IssueToken for a caller, who has no name if it is who runs the server.
func (s *Server) issueToken(ctx context.Context, c *caller, token runapi.Token) (*runapi.Token, error) {
	token.By = c.name
	switch {
	case token.Tenant == everyTenant && token.Role == runapi.Work:
	case !runapi.IsTeam(token.Tenant):
		return nil, refusef(http.StatusBadRequest, "the tenant %q: a name has lower-case letters, digits, and \"_\", and at most 40 of them", token.Tenant)
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
	if token.Role != runapi.Work && !slices.Contains(runapi.Roles, token.Role) {
		return nil, refusef(http.StatusBadRequest, "the role %q: it is one of %v, or %s", token.Role, runapi.Roles, runapi.Work)
	}
	if len(token.Projects) > maxPatterns {
		return nil, refusef(http.StatusBadRequest, "a token is for at most %d patterns of projects", maxPatterns)
	}
	for _, pattern := range token.Projects {
		if len(pattern) > maxPattern {
			return nil, refusef(http.StatusBadRequest, "the project %.60q… has more than %d bytes", pattern, maxPattern)
		}
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return nil, refusef(http.StatusBadRequest, "the project %q is not a valid pattern", pattern)
		}
	}
	projects, err := json.Marshal(append([]string{}, token.Projects...))
	if err != nil {
		return nil, err
	}
	token.Made, token.Secret = time.Now().UTC().Truncate(time.Millisecond), newSecret(tokenPrefix)
	err = s.db.step(ctx, func(t *tx) error {
		if token.Tenant != everyTenant {
			if err := s.addTenant(t, token.Tenant); err != nil {
				return err
			}
		}
		_, err := t.exec("INSERT INTO husk_tokens (hash, tenant, name, person, issued_by, role, projects, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			hashOf(token.Secret), token.Tenant, token.Name, token.Person, token.By, string(token.Role), string(projects), millis(token.Made), millis(token.Expires))
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
		slog.Info("a token was issued", "tenant", token.Tenant, "token", token.Name, "role", token.Role, "projects", token.Projects, "person", token.Person, "expires", token.Expires, "by", issuer(token.By))
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

// maxLogins bounds the logins that are checked at once: anybody may begin one, and each may ask an issuer. maxIssued bounds the valid
// tokens that a person has by logging in to a team.
const maxLogins, maxIssued = 16, 1000

// loginTurn has a login be one of [maxLogins], until the caller calls done.
func (s *Server) loginTurn() (config *identity.Config, done func(), err error) {
	if s.options.Identity == nil {
		return nil, nil, refusef(http.StatusNotFound, "nobody logs in to this server with another identity: who runs it sets --identity")
	}
	select {
	case s.logins <- struct{}{}:
		return s.options.Identity, func() { <-s.logins }, nil
	default:
		return nil, nil, tryLaterf(http.StatusTooManyRequests, "%d others log in now", maxLogins)
	}
}

// login exchanges an identity token, or a login with a device that somebody has confirmed, for a token.
func (s *Server) login(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	var in runapi.Login
	if err := s.read(w, r, c, smallBody, &in); err != nil {
		return nil, err
	}
	config, done, err := s.loginTurn()
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(r.Context(), 2*identity.Time)
	defer cancel()
	token := in.IdentityToken
	if in.Device != "" {
		issuer, err := config.Issuer(in.Issuer)
		if err != nil {
			return nil, refusedBy(err)
		}
		wait := 0
		if token, wait, err = issuer.Poll(ctx, in.Device); err != nil {
			return nil, refusedBy(err)
		}
		if wait > 0 {
			return runapi.LoggedIn{Wait: wait}, nil
		}
	}
	who, err := config.Verify(ctx, token, in.Team)
	if err != nil {
		return nil, refusedBy(err)
	}
	issued, err := s.issueTo(r.Context(), c, who)
	if err != nil {
		return nil, err
	}
	return runapi.LoggedIn{Token: issued}, nil
}

// issueTo issues a token for a verified identity.
func (s *Server) issueTo(ctx context.Context, c *caller, who *identity.Identity) (*runapi.Token, error) {
	var n int
	if err := s.db.alone(ctx, func(t *tx) error {
		return t.row("SELECT count(*) FROM husk_tokens WHERE tenant = ? AND person = ? AND issued_by = ? AND expires > ?", who.Rule.Team, who.Person, who.Issuer.URL, time.Now().UnixMilli()).Scan(&n)
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
	const room, tail = 20, 8 // of which there is the rest
	name = storable(name, maxTokenName-room) + "/" + strings.ToLower(rand.Text()[:tail])
	by := &caller{tenant: who.Rule.Team, name: who.Issuer.URL, person: who.Person, from: c.from}
	return s.issueToken(ctx, by, runapi.Token{
		Tenant: who.Rule.Team, Name: name, Person: who.Person, Role: who.Rule.Role, Projects: who.Rule.Projects,
		Expires: time.Now().Add(who.Issuer.Lifetime).UTC().Truncate(time.Millisecond),
	})
}

// beginLogin begins a login of a person: with a browser, on any device, at the issuer.
func (s *Server) beginLogin(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	var in runapi.DeviceLogin
	if err := s.read(w, r, c, smallBody, &in); err != nil {
		return nil, err
	}
	config, done, err := s.loginTurn()
	if err != nil {
		return nil, err
	}
	defer done()
	issuer, err := config.People(in.Issuer)
	if err != nil {
		return nil, refusedBy(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), identity.Time)
	defer cancel()
	begun, err := issuer.Begin(ctx)
	if err != nil {
		return nil, refusedBy(err)
	}
	return begun, nil
}

// refusedBy is the refusal of a request for which somebody is not known.
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

// pruneLogins removes tokens by which people and workloads had logged in, and that ended long ago.
func (s *Server) pruneLogins(ctx context.Context, before int64) error {
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM husk_tokens WHERE expires > 0 AND expires < ? AND (issued_by LIKE 'https://%' OR issued_by LIKE 'http://%')", before)
		return err
	})
}
