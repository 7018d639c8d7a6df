// Package webhook has the hosts of repositories begin runs: a preview of each change request, an update of each merge, and what people
// who may do so ask for in comments. The answers are statuses of commits and comments.
package webhook

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/hostname"
)

// Config has the hooks of a server.
type Config struct {
	Hooks []*Hook `yaml:"hooks"`
}

// Hook connects a repository with a stack.
type Hook struct {
	// Name is the end of the hook's URL.
	Name string `yaml:"name"`
	// Host is the kind of host: "github", "gitea", which Forgejo is as well, or "gitlab".
	Host string `yaml:"host"`
	// API is the URL of the host's API.
	API string `yaml:"api"`
	// Repository is the name of the repository with its owner, and Branch the branch whose changes count.
	Repository string `yaml:"repository"`
	Branch     string `yaml:"branch"`
	// SecretFile has the secret by which the host proves itself, and TokenFile the token for the host's API.
	SecretFile string `yaml:"secretFile"`
	TokenFile  string `yaml:"tokenFile"`
	// Directory is the project's directory in the repository, empty for the top.
	Directory string `yaml:"directory"`
	Team      string `yaml:"team"`
	Project   string `yaml:"project"`
	Stack     string `yaml:"stack"`
	// Labels are those of the workers that take its runs.
	Labels map[string]string `yaml:"labels"`
	// ForkLabels are those of the workers for changes from forks. Without any, such a change gets no preview.
	ForkLabels map[string]string `yaml:"forkLabels"`
	// WithoutApproval has updates not wait for approval, unless the server has each wait.
	WithoutApproval bool `yaml:"withoutApproval"`
	// People are the people who may comment and merge.
	People []Person `yaml:"people"`

	secret, token []byte
	host          host
}

// Person is somebody whom the host knows by a login.
type Person struct {
	Login string `yaml:"login"`
	// Person is the name of the person on the server, where that counts for approval.
	Person string      `yaml:"person"`
	Role   runapi.Role `yaml:"role"`
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// IsName reports whether a text can be the name of a hook.
func IsName(text string) bool { return namePattern.MatchString(text) }

// maxFile bounds the file of hooks, and those of their secrets and tokens, in bytes.
const maxFile = 1 << 20

// Load reads a file of hooks, and the files of their secrets and tokens.
func Load(file string) (*Config, error) {
	content, err := readFile(file)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, h := range c.Hooks {
		if err := h.open(); err != nil {
			return nil, fmt.Errorf("%s: the hook %q: %w", file, cmp.Or(h.Name, fmt.Sprint(i+1)), err)
		}
		if c.Hook(h.Name) != h {
			return nil, fmt.Errorf("%s: two hooks have the name %q", file, h.Name)
		}
	}
	return c, nil
}

// Hook returns the hook of a name, nil if there is none.
func (c *Config) Hook(name string) *Hook {
	if i := slices.IndexFunc(c.Hooks, func(h *Hook) bool { return h.Name == name }); i >= 0 {
		return c.Hooks[i]
	}
	return nil
}

func (h *Hook) open() (err error) {
	h.host = hosts[h.Host]
	h.API = strings.TrimSuffix(cmp.Or(h.API, h.host.api), "/")
	api, urlErr := url.Parse(h.API)
	switch {
	case !IsName(h.Name):
		return errors.New("a name has letters, digits, and \"._-\"")
	case h.host.parse == nil:
		return fmt.Errorf("the host %q: it is github, gitea, or gitlab", h.Host)
	case h.API == "":
		return errors.New("api: name the URL of the host's API")
	case urlErr != nil || api.User != nil || api.Scheme != "https" && (api.Scheme != "http" || !hostname.IsThisMachine(api.Hostname())):
		return fmt.Errorf("the api %q: it is an https URL without a password", h.API)
	case h.Branch == "" || strings.Count(h.Repository, "/") < 1 || path.Clean("/"+h.Repository) != "/"+h.Repository:
		return errors.New("it needs a repository, OWNER/NAME, and a branch")
	case !runapi.IsTeam(h.Team):
		return fmt.Errorf("the team %q is not the name of a team", h.Team)
	case h.Directory != "" && !fs.ValidPath(h.Directory):
		return fmt.Errorf("the directory %q is not one of a repository", h.Directory)
	}
	if err := (state.StackName{Project: h.Project, Name: h.Stack}).Validate(); err != nil {
		return err
	}
	for _, p := range h.People {
		if p.Login == "" || p.Person == "" || p.Role != runapi.Preview && p.Role != runapi.Request {
			return fmt.Errorf("the person %q needs a login, a person, and the role preview or request", cmp.Or(p.Login, p.Person))
		}
	}
	if h.secret, err = readFile(h.SecretFile); err == nil {
		h.token, err = readFile(h.TokenFile)
	}
	const least = 16
	if err == nil && len(h.secret) < least {
		err = fmt.Errorf("the secret in %s has fewer than %d bytes: make a random one", h.SecretFile, least)
	}
	return err
}

// readFile returns the content of a file without space around it.
func readFile(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("it needs a secretFile and a tokenFile")
	}
	content, err := os.ReadFile(name)
	content = bytes.TrimSpace(content)
	if err == nil && (len(content) == 0 || len(content) > maxFile) {
		err = fmt.Errorf("%s is empty, or has more than %d KiB", name, maxFile>>10)
	}
	return content, err
}

// person returns the person with a login, nil if the hook does not name them. Hosts do not tell logins apart by case.
func (h *Hook) person(login string) *Person {
	if i := slices.IndexFunc(h.People, func(p Person) bool { return strings.EqualFold(p.Login, login) }); i >= 0 {
		return &h.People[i]
	}
	return nil
}
