package runapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// Local is a server of this machine that has issued tokens for its user when it first started, so that commands of the same
// user need none.
type Local struct {
	// URL is the server's URL, without a token, and Dir its directory.
	URL string `json:"url"`
	Dir string `json:"dir"`
	// Token is the token of the user, who is an admin, and WorkerToken the workers'.
	Token       string `json:"token"`
	WorkerToken string `json:"workerToken"`
}

func localFile() (string, error) {
	config, err := os.UserConfigDir()
	return filepath.Join(config, "husk", "local-server.json"), err
}

// FindLocal returns the server of this machine, nil if there is none.
func FindLocal() (*Local, error) {
	file, err := localFile()
	if err != nil {
		return nil, nil // without such a directory there is none
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	l := new(Local)
	if err == nil {
		err = json.Unmarshal(text, l)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tokens that husk server has issued for this machine: %w: remove %s, and issue others with husk server token", err, file)
	}
	return l, nil
}

// Save notes the server, in a file that only its user can read.
func (l *Local) Save() error {
	file, err := localFile()
	if err != nil {
		return err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, append(text, '\n'), 0o600)
}

// With returns the URL of the server with a token of it.
func (l *Local) With(token string) string { return strings.Replace(l.URL, "://", "://:"+token+"@", 1) }

// Is reports whether a URL, which has no token, is the server's.
func (l *Local) Is(text string) bool {
	u, err := url.Parse(text)
	if err != nil || l == nil || u.User != nil {
		return false
	}
	const loopback = "127.0.0.1"
	return strings.TrimSuffix(strings.Replace(text, "://localhost:", "://"+loopback+":", 1), "/") == strings.Replace(l.URL, "://localhost:", "://"+loopback+":", 1)
}
