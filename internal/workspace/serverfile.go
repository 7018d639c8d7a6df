package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/named"
)

// chosenFile has the server that keeps the stacks of a project because a run was sent to it. Other commands would create
// everything again beside the project file.
const chosenFile = "server.json"

// chosenOrigin says where the URL of that server comes from.
const chosenOrigin = dataDir + "/" + chosenFile

// chosen is the content of the file. The token is not in it.
type chosen struct {
	URL string `json:"url"`
}

// KeepChoice has all commands use the server of this machine for the stacks of the project in the directory of a root, if this one
// does so only because nothing else was chosen. It returns the URL of the server, empty if that was known.
func KeepChoice(ctx context.Context, root *projectroot.Root) (at string, err error) {
	if assumedLogin.Load() == nil {
		return "", nil
	}
	local, err := runapi.FindLocal()
	if err != nil || local == nil {
		return "", err
	}
	project, err := program.LoadProject(ctx, root)
	if err != nil {
		return "", err
	}
	w := &Workspace{Project: project}
	var known chosen
	if _, err := w.readData(chosenFile, &known); err == nil && known.URL == local.URL {
		return "", nil
	}
	if err := w.writeData(chosenFile, chosen{local.URL}); err != nil {
		return "", fmt.Errorf("noting that the stacks of this project are at %s: %w; husk login %[1]s has other commands find them", local.URL, err)
	}
	return local.URL, nil
}

// chosenPlace returns the URL that [KeepChoice] has noted for a project, with the token of this machine's server, and nil if
// there is none.
func chosenPlace(project *program.Project) (*named.URL, error) {
	var c chosen
	_, err := (&Workspace{Project: project}).readData(chosenFile, &c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading where the stacks of this project are: %w; name the place with backend.url in %s, or run husk logout", err, project.File.Name)
	}
	local, err := runapi.FindLocal()
	if err != nil {
		return nil, err
	}
	operators := func(url string) *named.URL {
		at := named.ByOperator(url, chosenOrigin)
		return &at
	}
	if local != nil && local.Is(c.URL) {
		return operators(local.With(local.Token)), nil
	}
	if login, err := loginURL(); err != nil || (&runapi.Local{URL: c.URL}).Is(withoutToken(login)) {
		return operators(login), err
	}
	// The file may have come with the project, from somebody who has no say in where states go.
	if u, err := url.Parse(c.URL); err != nil || !hostname.IsThisMachine(u.Hostname()) {
		return nil, fmt.Errorf("%s names a server on another machine, which husk has not written there: remove the file, or set backend.url in %s",
			(&Workspace{Project: project}).dataPath(chosenFile), project.File.Name)
	}
	at := named.ByProject(c.URL, chosenOrigin)
	return &at, nil
}

// withoutToken returns a URL without its user and token.
func withoutToken(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.User = nil
	return u.String()
}

// forgetChoice forgets what [KeepChoice] has noted, and reports whether there was something.
func forgetChoice(ctx context.Context, root *projectroot.Root) (bool, error) {
	project, err := program.LoadProject(ctx, root)
	var none *program.NoProjectError
	if errors.As(err, &none) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = project.Root.WithState().Remove((&Workspace{Project: project}).dataPath(chosenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
