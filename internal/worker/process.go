package worker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/worker/start"
	"github.com/husk-dev/husk/internal/workspace"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

// process is the process of one run.
type process struct {
	program string
	// project is the name of the project that the run is of.
	project string
	// dir is the directory of the run, which has its files, its home, and temporary files.
	dir, files, home string
	// cache has compiled modules.
	cache string
	// config is the directory of the user's configuration.
	config string
	// kept are further directories in which the run writes.
	kept []string
	// detailed asks for an exit code that says whether there were changes.
	detailed bool
	// url is the backend of the stacks, with the run's token if it is a server.
	url               string
	trusted, confined bool
	// withheld says that the run gets no secrets, and so nothing that --env names.
	withheld            bool
	limits, environment []string
	// trace is the file of spans, empty for none.
	trace string
	// patience is how long the run waits for its server at least.
	patience time.Duration
}

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
	case r.ApprovedBy != "" && operation == "up" && len(plan) == 0:
		return nil, "", fmt.Errorf("there is no plan of the preview that %s has approved: ask for the run again", r.ApprovedBy)
	case len(plan) > 0:
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
	// The worker's own flags come last, so that no option overrides them.
	cmd, err = p.husk(r, slices.Concat([]string{operation}, r.Options, args, own)...)
	return cmd, planFile, err
}

// husk returns a command of husk in the project of a run.
func (p *process) husk(r *runapi.Run, args ...string) (*exec.Cmd, error) {
	if !filepath.IsLocal(filepath.Join(".", filepath.FromSlash(r.Directory))) {
		return nil, errors.New("the project is outside of its bundle")
	}
	dir := filepath.Join(p.files, filepath.FromSlash(r.Directory))
	cmd := exec.Command(p.program, append(args, "--cwd", dir)...)
	cmd.Dir = dir
	temporary := filepath.Join(p.dir, "tmp")
	cmd.Env = []string{"HOME=" + p.home, "USERPROFILE=" + p.home, "XDG_CONFIG_HOME=" + p.config, "AppData=" + p.config, "LocalAppData=" + p.home,
		"TMPDIR=" + temporary, "TEMP=" + temporary, "TMP=" + temporary,
		"HUSK_CACHE_DIR=" + p.cache, workspace.CopiesVariable + "=" + filepath.Join(p.home, "copies"), remote.KnownVariable + "=" + strconv.Itoa(int(p.patience.Seconds())),
		remote.UnrecordedVariable + "=" + filepath.Join(p.home, unrecordedFile)}
	if p.trace != "" {
		id, _ := r.Span()
		cmd.Env = append(cmd.Env, "TRACEPARENT="+id.Traceparent())
	}
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	setup := start.Setup{Project: p.project, Untrusted: !p.trusted, Withheld: p.withheld, Files: p.files, Backend: p.url, Run: r.ID, By: cmp.Or(r.Person, r.By), Requested: r.Variables}
	for _, s := range settings {
		if s.early {
			cmd.Env = append(cmd.Env, s.name+"="+s.value)
		} else {
			setup.Variables = append(setup.Variables, s.name+"="+s.value)
		}
	}
	return cmd, setup.Attach(cmd, p.cell(settings))
}

// settings returns the environment of the run. The last setting of a name counts.
func (p *process) settings() ([]setting, error) {
	all, err := inherited()
	if err != nil {
		return nil, err
	}
	if !p.withheld { // they may be passphrases, and credentials of key services
		more, err := named(p.environment)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	for i := range all {
		if all[i].name == policyVariable && all[i].value != "" && !p.trusted {
			if err := all[i].addPolicy(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// readPlan reads the plan of a preview. Whoever has taken over the process of the run could have put anything in its place.
func (p *process) readPlan(file string) ([]byte, error) {
	f, err := confined.Dir{Path: p.home}.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plan, err := io.ReadAll(io.LimitReader(f, bundle.MaxBytes+1))
	if err == nil && len(plan) > bundle.MaxBytes {
		err = fmt.Errorf("the plan has more than %d MiB", bundle.MaxBytes>>20)
	}
	return plan, err
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
