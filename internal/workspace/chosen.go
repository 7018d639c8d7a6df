package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/hostname"
	"github.com/husk-dev/husk/internal/runapi"
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

// KeepChoice has all commands use the server of this machine for the stacks of the project in a directory, if this one
// does so only because nothing else was chosen. It returns the URL of the server, empty if that was known.
func KeepChoice(dir string) (at string, err error) {
	if assumedLogin.Load() == nil {
		return "", nil
	}
	local, err := runapi.FindLocal()
	if err != nil || local == nil {
		return "", err
	}
	project, err := program.LoadProject(dir)
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

// chosenURL returns the URL that [KeepChoice] has noted for a project, with the token of this machine's server, and an empty
// one if there is none.
func chosenURL(project *program.Project) (string, error) {
	var c chosen
	_, err := (&Workspace{Project: project}).readData(chosenFile, &c)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading where the stacks of this project are: %w; name the place with backend.url in %s, or run husk logout", err, project.File.Name)
	}
	local, err := runapi.FindLocal()
	if err != nil {
		return "", err
	}
	if local != nil && local.Is(c.URL) {
		return local.With(local.Token), nil
	}
	if login, err := loginURL(); err != nil || (&runapi.Local{URL: c.URL}).Is(withoutToken(login)) {
		return login, err
	}
	// The file may have come with the project, from somebody who has no say in where states go.
	if u, err := url.Parse(c.URL); err != nil || !hostname.IsThisMachine(u.Hostname()) {
		return "", fmt.Errorf("%s names a server on another machine, which husk has not written there: remove the file, or set backend.url in %s",
			(&Workspace{Project: project}).dataPath(chosenFile), project.File.Name)
	}
	return c.URL, nil
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
func forgetChoice(dir string) (bool, error) {
	project, err := program.LoadProject(dir)
	var none *program.NoProjectError
	if errors.As(err, &none) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = os.Remove((&Workspace{Project: project}).dataPath(chosenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
