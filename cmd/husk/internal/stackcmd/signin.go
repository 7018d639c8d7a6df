package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/printable"
)

// signIn are the flags of a login to a server with an identity of an identity provider.
type signIn struct {
	sso                bool
	file, team, issuer string
}

// maxIdentityToken bounds the file of a token, in bytes.
const maxIdentityToken = 1 << 20

// do returns the URL of a server with a token that it has issued.
func (o signIn) do(ctx context.Context, a commands, server string) (string, error) {
	client, err := runapi.NewClient(server, "")
	if err != nil {
		return "", err
	}
	var issued *runapi.Token
	if o.sso {
		issued, err = o.browser(ctx, a, client)
	} else {
		issued, err = o.exchange(ctx, a, client)
	}
	if err != nil {
		return "", err
	}
	a.Say("You are %s in the team %s, with the role %s, until %s.", printable.Line(issued.Name), printable.Line(issued.Tenant), printable.Line(string(issued.Role)), issued.Expires.Local().Format(time.DateTime))
	u, err := url.Parse(client.URL())
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword("", issued.Secret)
	return u.String(), nil
}

// exchange exchanges the token in a file.
func (o signIn) exchange(ctx context.Context, a commands, client *runapi.Client) (*runapi.Token, error) {
	var from io.Reader = a.In
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return nil, fmt.Errorf("--identity-token: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxIdentityToken))
	if err != nil {
		return nil, fmt.Errorf("--identity-token: %w", err)
	}
	answer, err := ask(ctx, client, runapi.Login{IdentityToken: strings.TrimSpace(string(text)), Team: o.team})
	if err == nil && answer.Token == nil {
		err = errors.New("the server has sent no token: it is of another version of husk")
	}
	return answer.Token, err
}

// browser has somebody log in with a browser, on this machine or another one, and waits until that is done.
func (o signIn) browser(ctx context.Context, a commands, client *runapi.Client) (*runapi.Token, error) {
	var begun runapi.DeviceLogin
	if _, err := client.Call(ctx, http.MethodPost, "/v1/login/device", runapi.DeviceLogin{Issuer: o.issuer}, &begun); err != nil {
		return nil, err
	}
	if begun.WholeURL != "" {
		a.Say("Open %s in a browser, and check that it shows the code %s.", printable.Line(begun.WholeURL), printable.Line(begun.UserCode))
	} else {
		a.Say("Open %s in a browser, and enter the code %s.", printable.Line(begun.URL), printable.Line(begun.UserCode))
	}
	const longest = time.Hour
	end := time.After(min(time.Duration(begun.Seconds)*time.Second, longest))
	for wait := begun.Wait; ; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end:
			return nil, errors.New("nobody has confirmed the login in time: run the command again")
		case <-time.After(time.Duration(max(wait, 1)) * time.Second):
		}
		answer, err := ask(ctx, client, runapi.Login{Issuer: begun.Issuer, Device: begun.Device, Team: o.team})
		if err != nil || answer.Token != nil {
			return answer.Token, err
		}
		wait = answer.Wait
	}
}

func ask(ctx context.Context, client *runapi.Client, login runapi.Login) (answer runapi.LoggedIn, err error) {
	_, err = client.Call(ctx, http.MethodPost, "/v1/login", login, &answer)
	return answer, err
}
