package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
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

// Tokens of logins whose issuer has [identity.Issuer.Renew] are renewed as they are used: the server asks the issuer for another identity
// token, and the rules for its claims. Who has left a group, or was disabled, loses the right with that request.

// keepLogin keeps what a login is renewed with.
func (s *Server) keepLogin(ctx context.Context, issued *runapi.Token, who *identity.Identity, g identity.Grant) error {
	if who.Issuer.Renew == 0 || g.Refresh == "" {
		return nil
	}
	team, err := s.tenant(ctx, issued.Tenant)
	if err != nil {
		return err
	}
	return s.keepRefresh(ctx, team, hashOf(issued.Secret), g.Refresh)
}

// keepRefresh keeps what the login with the token of a hash is renewed with the next time, and that its issuer was asked.
func (s *Server) keepRefresh(ctx context.Context, team *tenant, hash, refresh string) error {
	sealed, err := team.Encrypt(ctx, []byte(refresh))
	if err != nil {
		return err
	}
	return s.db.alone(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE husk_tokens SET refresh = ?, asked = ? WHERE hash = ?", base64.StdEncoding.EncodeToString(sealed), millis(t.Now()), hash)
		return err
	})
}

// expiry tells when the token of a caller is to be looked at again, nil for never: it expires then, or is renewed.
func (s *Server) expiry(c *caller) <-chan time.Time {
	if c.expires.IsZero() {
		return nil
	}
	at := c.expires
	if !c.asked.IsZero() && s.options.Identity != nil {
		if issuer, err := s.options.Identity.Issuer(c.issuedBy); err == nil && issuer.Renew > 0 {
			if next := c.asked.Add(issuer.Renew); next.Before(at) {
				at = next
			}
		}
	}
	return time.After(max(at.Sub(s.db.Now()), 0) + time.Second) // the time of the database is not known to the millisecond
}

// renew asks the issuer of a caller's login about it, once it is time for that. While the issuer cannot be asked, the token counts until it
// expires.
func (s *Server) renew(r *http.Request, c *caller) error {
	if c.asked.IsZero() || c.expired != nil || s.options.Identity == nil {
		return nil
	}
	issuer, err := s.options.Identity.Issuer(c.issuedBy)
	if err != nil || issuer.Renew == 0 || s.db.Now().Sub(c.asked) < issuer.Renew {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), timerTime) // what was asked for with is used up
	defer stop()
	var sealed string
	mine := false // and not another request's, or server's
	if err := s.db.step(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE husk_tokens SET asked = ? WHERE hash = ? AND asked = ?", millis(t.Now()), c.hash, millis(c.asked))
		if mine = n == 1; err != nil || !mine {
			return err
		}
		return t.row("SELECT refresh FROM husk_tokens WHERE hash = ?", c.hash).Scan(&sealed)
	}); err != nil || !mine {
		return err
	}
	who, err := s.askAgain(ctx, c, issuer, sealed)
	var refused *identity.RefusedError
	if errors.As(err, &refused) && !refused.Later {
		return s.endLogin(ctx, c, refused.Reason)
	}
	if err != nil {
		slog.Warn("a login could not be renewed, and ends if that stays so", "tenant", c.tenant, "token", c.name, "expires", c.expires, "error", err)
		return nil
	}
	c.asked = s.db.Now()
	c.role, c.projects, c.expires = who.Rule.Role, slices.Clone(who.Rule.Projects), s.db.Now().Add(issuer.Lifetime).Truncate(time.Millisecond)
	return nil
}

// endLogin has the token of a caller expire. What it has begun under a lease is recorded.
func (s *Server) endLogin(ctx context.Context, c *caller, reason string) error {
	c.expires = s.db.Now().Truncate(time.Millisecond)
	c.expired = &refusal{status: http.StatusUnauthorized, reason: reason, loginEnded: true}
	err := s.db.step(ctx, func(t *tx) error {
		if _, err := t.exec("UPDATE husk_tokens SET expires = ?, ended = ?, refresh = '', asked = 0 WHERE hash = ?", millis(c.expires)-1, millis(c.expires), c.hash); err != nil {
			return err
		}
		return t.audit(c.atIssuer(), "token.end", c.name, "%s", reason)
	})
	if err == nil {
		slog.Info("a login has ended", "tenant", c.tenant, "token", c.name, "reason", reason)
		s.revoked.tell(c.hash)
	}
	return err
}

// atIssuer is the caller to the audit log where the issuer of a login has decided.
func (c *caller) atIssuer() *caller {
	return &caller{tenant: c.tenant, name: c.issuedBy, person: c.person, from: c.from}
}

// askAgain renews the login of a caller, who is to be the same person in the same team.
func (s *Server) askAgain(ctx context.Context, c *caller, issuer *identity.Issuer, sealed string) (*identity.Identity, error) {
	team, err := s.tenant(ctx, c.tenant)
	if err != nil {
		return nil, err
	}
	text, err := base64.StdEncoding.DecodeString(sealed)
	if err == nil {
		text, err = team.Decrypt(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	grant, err := issuer.Refresh(ctx, string(text))
	if grant.Refresh != "" && grant.Refresh != string(text) { // what was asked with counts no more, whatever comes next
		if keepErr := s.keepRefresh(ctx, team, c.hash, grant.Refresh); err == nil {
			err = keepErr
		}
	}
	if err != nil {
		return nil, err
	}
	who, err := s.options.Identity.Verify(ctx, grant.Token, c.tenant, s.db.Now)
	if err != nil {
		return nil, err
	}
	if who.Issuer != issuer || who.Person != c.person {
		return nil, &identity.RefusedError{Status: http.StatusUnauthorized, Reason: "the issuer " + issuer.URL + " has renewed the login of another person"}
	}
	projects, err := json.Marshal(append([]string{}, who.Rule.Projects...))
	if err != nil {
		return nil, err
	}
	return who, s.db.step(ctx, func(t *tx) error {
		if who.Rule.Role != c.role || !slices.Equal(who.Rule.Projects, c.projects) {
			if err := t.audit(c.atIssuer(), "token.renew", c.name, "role %s, for %s, projects %q", who.Rule.Role, who.Person, who.Rule.Projects); err != nil {
				return err
			}
		}
		_, err := t.exec("UPDATE husk_tokens SET role = ?, projects = ?, expires = ? WHERE hash = ?",
			string(who.Rule.Role), string(projects), millis(t.Now().Add(issuer.Lifetime)), c.hash)
		return err
	})
}
