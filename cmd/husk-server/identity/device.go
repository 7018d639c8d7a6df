package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// Begin asks an issuer for a login with a device, as RFC 8628 has it.
func (i *Issuer) Begin(ctx context.Context) (*runapi.DeviceLogin, error) {
	ctx, found, done, err := i.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	endpoint := found.Endpoint().DeviceAuthURL
	if endpoint == "" {
		return nil, refusef(http.StatusNotImplemented, "the issuer %s has no login with a device: it names no device_authorization_endpoint", i.URL)
	}
	scopes := slices.Concat([]string{oidc.ScopeOpenID}, i.Scopes)
	var answer struct {
		Device   string `json:"device_code"`
		UserCode string `json:"user_code"`
		URL      string `json:"verification_uri"`
		Whole    string `json:"verification_uri_complete"`
		Seconds  int    `json:"expires_in"`
		Interval int    `json:"interval"`
	}
	refused, err := i.post(ctx, endpoint, url.Values{"scope": {strings.Join(scopes, " ")}}, &answer)
	if err == nil && (refused != "" || answer.Device == "" || answer.URL == "") {
		err = refusef(http.StatusBadGateway, "the issuer %s begins no login: %.200q", i.URL, refused)
	}
	if err != nil {
		return nil, err
	}
	const interval = 5 // if the issuer says nothing
	if answer.Interval <= 0 {
		answer.Interval = interval
	}
	return &runapi.DeviceLogin{Issuer: i.URL, Device: answer.Device, UserCode: answer.UserCode, URL: answer.URL, WholeURL: answer.Whole, Seconds: answer.Seconds, Wait: answer.Interval}, nil
}

// Grant is what an issuer has sent for a login: an identity token, and what the next one is asked for with, if it gives that.
type Grant struct {
	Token   string `json:"id_token"`
	Refresh string `json:"refresh_token"`
}

// maxRefresh bounds [Grant.Refresh], in bytes: it is kept with the token of the server.
const maxRefresh = 16 << 10

// Poll asks an issuer whether somebody has confirmed a login with a device. If not, it returns how many seconds later it is to be asked
// again.
func (i *Issuer) Poll(ctx context.Context, device string) (g Grant, wait int, err error) {
	if !i.People {
		return g, 0, refusef(http.StatusForbidden, "people do not log in at %s", i.URL)
	}
	g, refused, err := i.ask(ctx, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {device}})
	const soon, later = 5, 10
	switch {
	case err != nil:
		return g, 0, err
	case refused == "authorization_pending":
		return g, soon, nil
	case refused == "slow_down":
		return g, later, nil
	case refused != "":
		return g, 0, refusef(http.StatusForbidden, "the issuer %s ends the login: %.200q", i.URL, refused)
	case g.Token == "":
		return g, 0, refusef(http.StatusBadGateway, "the issuer %s has sent no identity token", i.URL)
	}
	return g, 0, nil
}

// Refresh asks an issuer for another identity token for a login. Only if the issuer has ended the login, it returns a [RefusedError] that
// is not for later. With another error, too, it may return what the next token is asked for with.
func (i *Issuer) Refresh(ctx context.Context, with string) (Grant, error) {
	g, refused, err := i.ask(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {with}})
	switch {
	case err != nil:
		return g, err
	case refused == "invalid_grant":
		return g, refusef(http.StatusUnauthorized, "the issuer %s has ended the login", i.URL)
	case refused != "":
		return g, i.away(fmt.Errorf("it answers %.200q", refused))
	case g.Token == "":
		return g, i.away(errors.New("it has sent no identity token"))
	}
	g.Refresh = cmp.Or(g.Refresh, with)
	return g, nil
}

// ask asks the token endpoint of an issuer. refused is the error that it has answered with.
func (i *Issuer) ask(ctx context.Context, form url.Values) (g Grant, refused string, err error) {
	ctx, found, done, err := i.begin(ctx)
	if err != nil {
		return g, "", err
	}
	defer done()
	refused, err = i.post(ctx, found.Endpoint().TokenURL, form, &g)
	if err == nil && len(g.Refresh) > maxRefresh {
		g.Refresh, err = "", i.away(errors.New("it has sent too long a refresh token"))
	}
	return g, refused, err
}

// post sends a form to an issuer, with the server's ID as a client, and its secret if it has one. refused is the error that the issuer has answered with.
func (i *Issuer) post(ctx context.Context, to string, form url.Values, into any) (refused string, err error) {
	form.Set("client_id", i.Audience)
	if i.secret != "" {
		form.Set("client_secret", i.secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := i.http.Do(req)
	if err != nil {
		return "", i.away(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", i.away(err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			return "", i.away(err)
		}
		return "", nil
	}
	var problem struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &problem) != nil || problem.Error == "" {
		return "", i.away(fmt.Errorf("it answers %s", resp.Status))
	}
	return problem.Error, nil
}
