package pulumiprogram

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/named"
)

// ComponentsCommand returns how to start a package of components in Node.js or Python, for the address of the engine's services. As
// with each plugin of Pulumi, the first line that it prints is its port.
func ComponentsCommand(ctx context.Context, plugin *program.Project) (func(engine string) *exec.Cmd, error) {
	p := &Program{project: plugin}
	dir := plugin.ProgramDir
	var name string
	var args []string
	if plugin.Runtime == "nodejs" {
		r, err := p.nodeRuntime(dir)
		if err != nil {
			return nil, err
		}
		name, args = r.node, append(r.args, r.runner("run-plugin"), dir)
	} else {
		var err error
		if name, err = p.interpreter(ctx, dir); err != nil {
			return nil, err
		}
		distribution, err := p.distribution()
		if err != nil {
			return nil, err
		}
		args = []string{"-u", dir}
		if distribution != "" {
			args = []string{"-u", "-m", "pulumi.run.plugin", distribution}
		}
	}
	return func(engine string) *exec.Cmd {
		cmd := exec.Command(name, append(args[:len(args):len(args)], engine)...)
		cmd.Dir, cmd.Env = dir, named.ProgramEnvironment()
		return cmd
	}, nil
}

// PolicyCommand returns how to start a policy pack in Node.js or Python for a run, as [ComponentsCommand] does. The program has the
// run's configuration in its environment.
func PolicyCommand(ctx context.Context, pack *program.Project) (func(run abi.RunContext, engine string) *exec.Cmd, error) {
	p := &Program{project: pack}
	var name string
	var args []string
	if pack.Runtime == "nodejs" {
		r, err := p.nodeRuntime(pack.Dir)
		if err != nil {
			return nil, err
		}
		name, args = r.node, append(r.args, r.runner("run-policy-pack"))
	} else {
		var err error
		if name, err = p.interpreter(ctx, pack.Dir); err != nil {
			return nil, err
		}
		args = []string{"-u", "-m", "pulumi.policy"}
	}
	return func(run abi.RunContext, engine string) *exec.Cmd {
		cmd := exec.Command(name, append(args[:len(args):len(args)], engine, pack.ProgramDir)...)
		cmd.Dir, cmd.Env = pack.Dir, p.environment(run)
		for _, prefix := range []string{"PULUMI_", "PULUMI_NODEJS_"} {
			cmd.Env = append(cmd.Env, prefix+"PROJECT="+run.Project, prefix+"STACK="+run.Stack, prefix+"ORGANIZATION="+run.Organization,
				prefix+"DRY_RUN="+strconv.FormatBool(run.DryRun))
		}
		return cmd
	}, nil
}

// distribution returns the name of the Python package that a program is, empty if it is none. Pulumi takes it for one if its
// pyproject.toml says how it is built.
func (p *Program) distribution() (name string, err error) {
	file := filepath.Join(p.project.ProgramDir, "pyproject.toml")
	text, err := p.project.Root.ReadFile(file, maxPyproject)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	table, isBuilt := "", false
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line, "[] \t")
			isBuilt = isBuilt || table == "build-system"
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && table == "project" && strings.TrimSpace(key) == "name" {
			name = strings.Trim(value, " \t\"'")
		}
	}
	switch {
	case !isBuilt:
		return "", nil
	case name == "":
		return "", fmt.Errorf("%s has a table build-system, and no name in a table project: add it, so that the package can be run", file)
	}
	return name, nil
}

// maxPyproject bounds a pyproject.toml, in bytes. They have some kilobytes.
const maxPyproject = 1 << 20
