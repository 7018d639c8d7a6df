package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/internal/backend/runapi"
)

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
		if _, err := t.exec("UPDATE husk_tokens SET expires = ?, refresh = '', asked = 0 WHERE hash = ?", millis(c.expires)-1, c.hash); err != nil {
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
