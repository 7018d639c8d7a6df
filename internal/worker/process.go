package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/bundle"
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/workspace"
)

// process is that of one run.
type process struct {
	program, files, home, cache string
	// config is the directory of the user's configuration.
	config string
	// detailed asks for an exit code that says whether there were changes.
	detailed bool
	// url is the backend of the stacks, and token the one for it, if it is a server.
	url, token  string
	trusted     bool
	limits      []string
	environment []string
	// trace is where spans go.
	trace string
}

// passed are the variables of the worker that each run gets.
var passed = []string{"PATH", "TMPDIR", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
	"https_proxy", "http_proxy", "no_proxy", "SYSTEMROOT", "TEMP", "TMP", "PATHEXT"}

// command returns the command of a run, and the file of its plan, if it is to make one.
func (p *process) command(r *runapi.Run, plan []byte) (cmd *exec.Cmd, planFile string, err error) {
	for _, option := range r.Options {
		if err := runapi.CheckOption(r.Operation, option); err != nil {
			return nil, "", err
		}
	}
	operation := r.Operation
	args := []string{"--stack", r.Stack}
	if p.detailed {
		args = append(args, "--detailed-exitcode")
	}
	if r.JSON {
		args = append(args, "--json")
	}
	if r.Colour && !r.JSON {
		args = append(args, "--color", "always")
	}
	var own []string
	switch {
	case r.Previewing && operation == "up":
		operation, planFile = "preview", filepath.Join(p.home, "plan.json")
		own = append(own, "--save-plan", planFile)
	case r.Previewing:
		own = append(own, "--preview-only")
	case len(plan) > 0:
		if err := os.MkdirAll(p.home, 0o700); err != nil {
			return nil, "", err
		}
		file := filepath.Join(p.home, "plan.json")
		if err := os.WriteFile(file, plan, 0o600); err != nil {
			return nil, "", err
		}
		own = append(own, "--plan", file)
	}
	if operation != "preview" && !r.Previewing {
		own = append(own, "--yes")
	}
	if !p.trusted {
		own = append(own, "--untrusted-project")
	}
	for _, limit := range p.limits {
		own = append(own, "--limit", limit)
	}
	if p.trace != "" {
		own = append(own, "--trace", p.trace)
	}
	// What is the worker's to say comes last, so that no option takes it back.
	cmd, err = p.husk(r, slices.Concat([]string{operation}, r.Options, args, own)...)
	return cmd, planFile, err
}

// husk returns a command of husk in the project of a run.
func (p *process) husk(r *runapi.Run, args ...string) (*exec.Cmd, error) {
	if !filepath.IsLocal(filepath.Join(".", filepath.FromSlash(r.Directory))) {
		return nil, errors.New("the project is outside of its bundle")
	}
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		return nil, err
	}
	dir := filepath.Join(p.files, filepath.FromSlash(r.Directory))
	cmd := exec.Command(p.program, append(args, "--cwd", dir)...)
	cmd.Dir = dir
	cmd.Env = append(p.variables(), "HUSK_BACKEND_URL="+p.url, "HOME="+p.home, "USERPROFILE="+p.home, "XDG_CONFIG_HOME="+p.config,
		"AppData="+p.config, "HUSK_CACHE_DIR="+p.cache, workspace.CopiesVariable+"="+filepath.Join(p.home, "copies"))
	if p.trace != "" {
		id, _ := r.Span()
		cmd.Env = append(cmd.Env, "TRACEPARENT="+id.Traceparent())
		for _, variable := range os.Environ() {
			if strings.HasPrefix(variable, "OTEL_") {
				cmd.Env = append(cmd.Env, variable)
			}
		}
	}
	if p.token != "" {
		cmd.Env = append(cmd.Env, remote.TokenVariable+"="+p.token, remote.KnownVariable+"=1")
	}
	return cmd, nil
}

func (p *process) variables() []string {
	var all []string
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return append(all, p.environment...)
}

// ParseVariables returns variables of this process by their names.
func ParseVariables(names []string) (all []string, err error) {
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s is not set", name)
		}
		all = append(all, name+"="+value)
	}
	return all, nil
}

func unpack(content []byte, digest, dir string) error {
	return bundle.Unpack(bytes.NewReader(content), digest, dir)
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
