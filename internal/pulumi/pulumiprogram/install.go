package pulumiprogram

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// Install installs the packages of a program in Node.js or Python with the package manager that its options or its lock file name. Packages
// of Python go to the Python in PATH if the options name no virtual environment, as with Pulumi. The tools of other runtimes get packages
// when they build the program.
func Install(ctx context.Context, project *program.Project) error {
	p := New(project, Options{})
	dir, _ := p.dir()
	switch project.Runtime {
	case "nodejs":
		return p.installNode(ctx, dir)
	case "python":
		return p.installPython(ctx, dir)
	}
	return nil
}

// nodeManagers are the package managers of Node.js, the default first.
var nodeManagers = []struct {
	name string
	// locks are the names of its lock file, and production is its flag that leaves out packages for development.
	locks      []string
	production string
}{
	{"npm", []string{"package-lock.json"}, "--omit=dev"},
	{"yarn", []string{"yarn.lock"}, "--production"},
	{"pnpm", []string{"pnpm-lock.yaml"}, "--prod"},
	{"bun", []string{"bun.lock", "bun.lockb"}, "--production"},
}

func (p *Program) installNode(ctx context.Context, dir string) error {
	file := findAbove(dir, "package.json")
	if file == "" {
		return fmt.Errorf("%s has no package.json, which lists the packages to install", dir)
	}
	dir = filepath.Dir(file)
	var manager program.RuntimeOption
	production := false
	for _, o := range p.project.RuntimeOptions {
		switch o.Name {
		case "packagemanager":
			manager = o
		case "production":
			production = o.Value == "true"
		}
	}
	chosen := nodeManagers[0]
	for _, m := range nodeManagers {
		if m.name == manager.Value || manager.Value == "" && hasAny(dir, m.locks...) {
			chosen = m
			break
		}
	}
	if manager.Value != "" && chosen.name != manager.Value {
		return p.refuse(manager, "husk does not support the package manager %q, but npm, yarn, pnpm, and bun", manager.Value)
	}
	args := []string{chosen.name, "install"}
	if production {
		args = append(args, chosen.production)
	}
	return install(ctx, dir, nil, args...)
}

func (p *Program) installPython(ctx context.Context, dir string) error {
	virtualenv, toolchain, _, err := p.pythonOptions()
	if err != nil {
		return err
	}
	requirements := hasAny(dir, "requirements.txt")
	environment := ""
	if virtualenv.Value != "" {
		environment = absolute(p.project.Dir, virtualenv.Value)
	}
	switch {
	case toolchain.Value == "poetry":
		if environment != "" {
			return p.refuse(virtualenv, "poetry chooses the virtual environment itself: leave out the option virtualenv")
		}
		return install(ctx, dir, nil, "poetry", "install", "--no-interaction")
	case toolchain.Value == "uv" && requirements && !hasAny(dir, "pyproject.toml"):
		environment = cmp.Or(environment, uvEnvironment(p.project.Dir, dir))
		if !hasAny(environment, "pyvenv.cfg") {
			if err := install(ctx, dir, nil, "uv", "venv", environment); err != nil {
				return err
			}
		}
		return install(ctx, dir, nil, "uv", "pip", "install", "--python", interpreterOf(environment), "-r", "requirements.txt")
	case toolchain.Value == "uv":
		var variables []string
		if environment != "" {
			variables = []string{"UV_PROJECT_ENVIRONMENT=" + environment}
		}
		return install(ctx, dir, variables, "uv", "sync")
	case !requirements:
		return fmt.Errorf("%s has no requirements.txt, which lists the packages to install", dir)
	}
	python, err := pythonOf("", "")
	if err != nil {
		return err
	}
	if environment != "" {
		if !hasAny(environment, "pyvenv.cfg") {
			if err := install(ctx, dir, nil, python, "-m", "venv", environment); err != nil {
				return err
			}
		}
		python = interpreterOf(environment)
	}
	return install(ctx, dir, nil, python, "-m", "pip", "install", "-r", "requirements.txt")
}

// hasAny reports whether a directory has a file of one of the names.
func hasAny(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// install runs a command that installs packages, and code of packages.
func install(ctx context.Context, dir string, variables []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(named.ProgramEnvironment(), variables...), waitDelay
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := processgroup.Run(ctx, cmd)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("the packages of the program are installed with %s, which is not in PATH: install it there, or have the packages in the project", args[0])
	}
	return fmt.Errorf("%s, in %s: %w%s", strings.Join(args, " "), dir, err, indented(printed.String()))
}
