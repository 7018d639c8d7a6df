package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/named"
)

// loginOrigin says where the URL of husk login comes from.
const loginOrigin = "husk login"

// login is the file with the URL of husk login, which may have a password.
type login struct {
	URL string `json:"url"`
}

func loginFile() (string, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no directory for the URL of husk login: %w", err)
	}
	return filepath.Join(config, "husk", "login.json"), nil
}

// loginURL returns the URL of husk login, empty if there is none.
func loginURL() (string, error) {
	file, err := loginFile()
	if err != nil {
		return "", nil // without such a directory nobody is logged in
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if assumed := assumedLogin.Load(); assumed != nil {
			return *assumed, nil
		}
		return "", nil
	}
	var l login
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && l.URL == "" {
		err = errors.New("it has no url")
	}
	if err != nil {
		return "", fmt.Errorf("reading the backend that husk login chose: %s: %w; choose it again, or run husk logout", file, err)
	}
	return l.URL, nil
}

// assumedLogin is the URL of the server of this machine, nil if the command does not use it: see [ServerURL].
var assumedLogin atomic.Pointer[string]

// OpenURL opens the backend of a URL. Relative paths begin in the current directory.
func OpenURL(ctx context.Context, url string, o Options) (*backend.Backend, error) {
	return o.open(ctx, operators(url, givenURL))
}

// Login tries the backend of a URL, and makes it the backend of projects that name none. A server of this machine, which has
// issued a token for its user, needs none in the URL.
func Login(ctx context.Context, url string, o Options) (*backend.Backend, error) {
	if url == "" {
		return nil, errors.New("the URL is empty: name a place for stacks, such as file:///path/to/directory; husk logout keeps them beside the project file")
	}
	if scheme := backend.Scheme(url); (scheme == "http" || scheme == "https") && os.Getenv(remote.TokenVariable) == "" {
		local, err := runapi.FindLocal()
		if err != nil {
			return nil, err
		}
		if local.Is(url) {
			url = local.With(local.Token)
		}
	}
	b, err := OpenURL(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if b.Check != nil {
		if err := b.Check(ctx); err != nil {
			return nil, err
		}
	}
	if !b.Remote {
		url = "file://" + filepath.ToSlash(b.Dir) // the same wherever it is used
		if err := os.MkdirAll(b.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	file, err := loginFile()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(login{url})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return b, atomicfile.Write(file, append(text, '\n'), 0o600)
}

// ServerURL returns the URL of a server, with its token if it has one, and who named it. It is the server with the stacks of the
// project in the directory of a root. If the directory has no project, it is the server of husk login. If the user chose neither
// and started a server on this machine, it is that one, for the rest of the command.
func ServerURL(ctx context.Context, root *projectroot.Root) (named.URL, error) {
	project, err := program.LoadProject(ctx, root)
	var none *program.NoProjectError
	var at place
	switch {
	case errors.As(err, &none):
		if chosen := chosenByOperator(); chosen != nil {
			at, err = *chosen, nil
		} else {
			var url string
			url, err = loginURL()
			at = operators(url, loginOrigin)
		}
	case err == nil:
		at, err = backendOf(project)
	}
	if err != nil {
		return named.URL{}, err
	}
	if at.Text() == "" {
		local, err := runapi.FindLocal()
		if err != nil {
			return named.URL{}, err
		}
		if local != nil {
			url := local.With(local.Token)
			at = operators(url, loginOrigin)
			assumedLogin.Store(&url)
		}
	}
	if scheme := backend.Scheme(at.Text()); scheme != "https" && scheme != "http" {
		return named.URL{}, errors.New("this needs a server of husk, which keeps the stacks and runs operations on them: " +
			"log in to it with husk login https://:TOKEN@host, or begin one with husk server")
	}
	return at.URL, nil
}

// Logout forgets the backend of [Login], and that the stacks of the project in the directory of a root are on a server. It reports
// whether there was something to forget.
func Logout(ctx context.Context, root *projectroot.Root) (bool, error) {
	was, err := forgetChoice(ctx, root)
	if err != nil {
		return false, err
	}
	file, err := loginFile()
	if err != nil {
		return was, err
	}
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return was, nil
	}
	return err == nil, err
}

// Who describes the user and the backend.
type Who struct {
	User string `json:"user"`
	Host string `json:"host"`
	// Backend is the place of the stacks, and Origin what names it.
	Backend string `json:"backend"`
	Origin  string `json:"origin"`
}

// WhoAmI says who uses which backend in the directory of a root, which need not have a project.
func WhoAmI(ctx context.Context, root *projectroot.Root, o Options) (*Who, error) {
	h := holder("whoami")
	who := &Who{User: h.User, Host: h.Host, Origin: "the default"}
	var at place
	project, err := program.LoadProject(ctx, root)
	var none *program.NoProjectError
	switch {
	case errors.As(err, &none):
		at, err = detachedBackend(root, none)
		if errors.As(err, &none) {
			at, err = place{base: none.Dir}, nil
		}
	case err == nil:
		at, err = backendOf(project)
	}
	if err != nil {
		return nil, err
	}
	b, err := o.open(ctx, at)
	if err != nil {
		return nil, err
	}
	who.Backend = b.Place
	if at.Origin() != "" {
		who.Origin = at.Origin()
	}
	return who, nil
}
