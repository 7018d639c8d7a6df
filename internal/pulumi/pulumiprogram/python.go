package pulumiprogram

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/named"
)

// pythonRunner runs a program with the SDK that is installed.
//
//go:embed run.py
var pythonRunner string

// python returns the command for a program in Python.
func (p *Program) python(ctx context.Context, run abi.RunContext) (launch, error) {
	dir, file := p.dir()
	interpreter, err := p.interpreter(ctx, dir)
	if err != nil {
		return nil, err
	}
	variables := append(p.environment(run), "PYTHONUNBUFFERED=1")
	return func(address string) command {
		cmd := exec.Command(interpreter, "-c", pythonRunner, address, run.Project, run.Stack, run.Organization,
			p.project.Dir, parallel(run), strconv.FormatBool(run.DryRun), file)
		cmd.Dir, cmd.Env = dir, variables
		return command{Cmd: cmd}
	}, nil
}

// interpreter returns the interpreter of a program in a directory, with the options of the project. A type checker has checked the
// program.
func (p *Program) interpreter(ctx context.Context, dir string) (string, error) {
	virtualenv, toolchain, typechecker, err := p.pythonOptions()
	if err != nil {
		return "", err
	}
	environment, made := "", "python3 -m venv, and install the program's packages there"
	if toolchain.Value == "uv" {
		made = "uv sync, or, if the program has a requirements.txt, with uv venv and uv pip install -r requirements.txt"
	}
	switch {
	case virtualenv.Value != "":
		environment = absolute(p.project.Dir, virtualenv.Value)
	case toolchain.Value == "uv":
		environment = uvEnvironment(p.project.Dir, dir)
	case toolchain.Value == "poetry":
		if environment, err = poetryEnvironment(ctx, dir); err != nil {
			return "", err
		}
	}
	interpreter, err := pythonOf(environment, made)
	if err != nil {
		return "", err
	}
	if typechecker.Value != "" {
		if err := checkTypes(ctx, interpreter, typechecker.Value, dir); err != nil {
			return "", err
		}
	}
	return interpreter, nil
}

// pythonOptions returns the options of the project, whose names are empty if it has none.
func (p *Program) pythonOptions() (virtualenv, toolchain, typechecker program.RuntimeOption, err error) {
	for _, o := range p.project.RuntimeOptions {
		switch {
		case o.Name == "virtualenv":
			virtualenv = o
		case o.Name == "toolchain" && (o.Value == "pip" || o.Value == "uv" || o.Value == "poetry"):
			toolchain = o
		case o.Name == "toolchain":
			err = p.refuse(o, "husk does not support the toolchain %q: name the directory of its virtual environment as the option virtualenv", o.Value)
		case o.Name == "typechecker" && (o.Value == "mypy" || o.Value == "pyright"):
			typechecker = o
		case o.Name == "typechecker":
			err = p.refuse(o, "husk does not support the type checker %q, but mypy and pyright", o.Value)
		default:
			err = p.unsupported(o)
		}
		if err != nil {
			return virtualenv, toolchain, typechecker, err
		}
	}
	return virtualenv, toolchain, typechecker, nil
}

// uvEnvironment returns the virtual environment of uv for a program: the workspace's environment. The workspace's lock is beside
// the program or above.
func uvEnvironment(project, dir string) string {
	root := project
	if lock := findAbove(dir, "uv.lock"); lock != "" {
		root = filepath.Dir(lock)
	}
	return absolute(root, cmp.Or(os.Getenv("UV_PROJECT_ENVIRONMENT"), ".venv"))
}

// pythonOf returns the interpreter of a virtual environment, or the one in PATH if that is empty. made says how an environment is
// made, for the error about one that is missing.
func pythonOf(environment, made string) (string, error) {
	if environment == "" {
		interpreter, err := lookPath("python3", "python")
		if err != nil {
			return "", fmt.Errorf("the runtime python needs Python: install it, or name a virtual environment as the option virtualenv: %w", err)
		}
		return interpreter, nil
	}
	interpreter := interpreterOf(environment)
	if _, err := os.Stat(interpreter); err != nil {
		return "", fmt.Errorf("the virtual environment of the program has no %s: make it with %s", interpreter, made)
	}
	return interpreter, nil
}

// interpreterOf returns the path of the interpreter of a virtual environment.
func interpreterOf(environment string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(environment, "Scripts", "python.exe")
	}
	return filepath.Join(environment, "bin", "python")
}

// poetryEnvironment returns the virtual environment that Poetry has made for a program.
func poetryEnvironment(ctx context.Context, dir string) (string, error) {
	text, printed, err := output(ctx, dir, "poetry", "env", "info", "--path")
	environment := strings.TrimSpace(text)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the toolchain poetry needs Poetry: install it, so that poetry is in PATH: %w", err)
	case err != nil || environment == "":
		return "", fmt.Errorf("poetry env info --path names no virtual environment for %s: make it with poetry install%s", dir, indented(printed))
	}
	return environment, nil
}

// checkTypes has a type checker of the program's environment check it.
func checkTypes(ctx context.Context, interpreter, checker, dir string) error {
	_, printed, err := output(ctx, dir, interpreter, "-m", checker, dir)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(printed, "No module named "+checker):
		return fmt.Errorf("the type checker %s is not installed: add it to the packages of the program, and install them", checker)
	}
	return fmt.Errorf("the type checker %s refuses the program (%w):%s", checker, err, indented(printed))
}

// output runs a command, and returns its standard output, and all of its output.
func output(ctx context.Context, dir, name string, args ...string) (text, all string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, named.Environment(), waitDelay
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stdout.String() + stderr.String(), err
}

// indented returns a command's output as further lines of an error.
func indented(printed string) string {
	printed = strings.TrimSpace(printed)
	if printed == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(printed, "\n", "\n    ")
}

func lookPath(names ...string) (path string, err error) {
	for _, name := range names {
		var failed error
		if path, failed = exec.LookPath(name); failed == nil {
			return path, nil
		}
		err = errors.Join(err, failed)
	}
	return "", err
}
