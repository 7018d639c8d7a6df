package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/printable"
)

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

// issueTo issues a token to who has shown an identity token.
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
		if c < ' ' || printable.IsUnsafe(c) {
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
