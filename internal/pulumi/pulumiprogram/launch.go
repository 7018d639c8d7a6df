package pulumiprogram

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// Runtimes are the runtimes of programs that husk starts itself. Others need a language host, see [Find].
func Runtimes() []string { return []string{"nodejs", "python", "go"} }

func isOwn(runtime string) bool { return slices.Contains(Runtimes(), runtime) }

// command runs a program.
type command struct {
	// Cmd is nil for a program that another process runs.
	*exec.Cmd
	// drive has a language host run the program, given the first line that it prints, and returns how the
	// program has ended, as in [process.how]. An error is one of the connection to the host. It is nil if the
	// command is the program.
	drive func(ctx context.Context, line string) (how string, err error)
}

// launch returns the command that runs a program, for the address of its services.
type launch func(address string) command

// command returns the command that runs the program, and a function that removes the files made for it.
func (p *Program) command(ctx context.Context, run abi.RunContext) (_ launch, cleanUp func(), err error) {
	if p.options.Client != "" {
		l, err := p.joined(run)
		return l, func() {}, err
	}
	if info, err := p.project.Root.Stat(p.project.ProgramDir); err != nil {
		return nil, nil, p.problem("main names no program: %v", err)
	} else if !info.IsDir() && p.project.Runtime == "go" {
		return nil, nil, p.problem("main of a Go program is a directory, not %s", p.project.ProgramDir)
	}
	var l launch
	switch p.project.Runtime {
	case "nodejs":
		l, cleanUp, err = p.node(run)
	case "python":
		l, err = p.python(ctx, run)
	case "go":
		l, cleanUp, err = p.golang(ctx, run)
	default:
		l, err = p.hosted(ctx, run)
	}
	if cleanUp == nil {
		cleanUp = func() {}
	}
	return l, cleanUp, err
}

// problem returns an error about the project file.
func (p *Program) problem(format string, args ...any) error {
	return source.Diagnostics{p.project.File.Errorf(source.Position{}, format, args...)}
}

// refuse returns an error about an option of the runtime.
func (p *Program) refuse(o program.RuntimeOption, format string, args ...any) error {
	return source.Diagnostics{p.project.File.Errorf(o.Position, format, args...)}
}

func (p *Program) unsupported(o program.RuntimeOption) error {
	return p.refuse(o, "husk does not support the option %q of the runtime %s", o.Name, p.project.Runtime)
}

// dir returns the directory that the program runs in, and its file; "." if the runtime finds that.
func (p *Program) dir() (dir, file string) {
	if info, err := p.project.Root.Stat(p.project.ProgramDir); err == nil && !info.IsDir() {
		return filepath.Dir(p.project.ProgramDir), filepath.Base(p.project.ProgramDir)
	}
	return p.project.ProgramDir, "."
}

// absolute returns a path that an option names. As in Pulumi, it begins at the program.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// nodeRunner prepares the process of a program.
//
//go:embed run.cjs
var nodeRunner []byte

// node returns the command for a program in JavaScript or TypeScript, which the SDK in its node_modules runs.
func (p *Program) node(run abi.RunContext) (_ launch, cleanUp func(), err error) {
	dir, file := p.dir()
	r, err := p.nodeRuntime(dir)
	if err != nil {
		return nil, nil, err
	}
	temporary, err := os.MkdirTemp("", "husk-program-")
	if err != nil {
		return nil, nil, err
	}
	cleanUp = func() { _ = os.RemoveAll(temporary) } // leftovers are in the directory for temporary files
	prepares := filepath.Join(temporary, "run.cjs")
	if err := os.WriteFile(prepares, nodeRunner, 0o600); err != nil {
		cleanUp()
		return nil, nil, err
	}
	args := append([]string{"--require=" + prepares}, r.args...)
	args = append(args, r.runner("run"))
	environment := append(p.environment(run), r.variables...)
	return func(address string) command {
		all := append(args[:len(args):len(args)],
			"--monitor", address, "--engine", address, "--project", run.Project, "--stack", run.Stack,
			"--organization", run.Organization, "--root-directory", p.project.Dir, "--pwd", dir, "--parallel", parallel(run))
		if run.DryRun {
			all = append(all, "--dry-run")
		}
		cmd := exec.Command(r.node, append(all, file)...)
		cmd.Dir, cmd.Env = dir, environment
		return command{Cmd: cmd}
	}, cleanUp, nil
}

// nodeRuntime is what runs programs in JavaScript or TypeScript: Node.js, and the SDK in the node_modules of the program.
type nodeRuntime struct {
	node, sdk       string
	args, variables []string
}

// runner returns the SDK's runner for programs of a kind.
func (r *nodeRuntime) runner(name string) string { return filepath.Join(r.sdk, "cmd", name) }

// nodeRuntime returns the runtime of a program in a directory, with the options of the project.
func (p *Program) nodeRuntime(dir string) (*nodeRuntime, error) {
	typescript, r := true, &nodeRuntime{}
	for _, o := range p.project.RuntimeOptions {
		switch o.Name {
		case "typescript":
			typescript = o.Value != "false"
		case "nodeargs":
			r.args = strings.Fields(o.Value)
		case "tsconfig":
			tsconfig := absolute(dir, o.Value)
			if _, err := os.Stat(tsconfig); err != nil {
				return nil, p.refuse(o, "the configuration of TypeScript cannot be read: %v", err)
			}
			r.variables = append(r.variables, "PULUMI_NODEJS_TSCONFIG_PATH="+tsconfig)
		case "packagemanager", "production": // packages are installed already
		default:
			return nil, p.unsupported(o)
		}
	}
	r.variables = append(r.variables, "PULUMI_NODEJS_TYPESCRIPT="+strconv.FormatBool(typescript))
	var err error
	if r.node, err = exec.LookPath("node"); err != nil {
		return nil, fmt.Errorf("the runtime nodejs needs Node.js: install it, so that node is in PATH: %w", err)
	}
	if r.sdk = findAbove(dir, filepath.Join("node_modules", "@pulumi", "pulumi")); r.sdk == "" {
		return nil, fmt.Errorf("%s has no node_modules with @pulumi/pulumi: run npm install there", dir)
	}
	return r, nil
}

// golang returns the command for a program in Go, which it builds, unless the project names a binary.
func (p *Program) golang(ctx context.Context, run abi.RunContext) (_ launch, cleanUp func(), err error) {
	dir, _ := p.dir()
	binary, target := "", ""
	for _, o := range p.project.RuntimeOptions {
		switch o.Name {
		case "binary":
			binary = p.project.Path(o.Value)
		case "buildTarget":
			target = absolute(dir, o.Value)
		default:
			return nil, nil, p.unsupported(o)
		}
		if binary != "" && target != "" {
			return nil, nil, p.refuse(o, "binary names a program that is built, and buildTarget where to build one: name one of them")
		}
	}
	cleanUp = func() {}
	if binary == "" {
		if target == "" {
			temporary, err := os.MkdirTemp("", "husk-program-")
			if err != nil {
				return nil, nil, err
			}
			cleanUp = func() { _ = os.RemoveAll(temporary) } // leftovers are in the directory for temporary files
			target = filepath.Join(temporary, "program")
			if runtime.GOOS == "windows" {
				target += ".exe"
			}
		}
		if err = buildGo(ctx, dir, target); err != nil {
			cleanUp()
			return nil, nil, err
		}
		binary = target
	}
	environment := append(p.environment(run), "PULUMI_PROJECT="+run.Project, "PULUMI_STACK="+run.Stack,
		"PULUMI_ORGANIZATION="+run.Organization, "PULUMI_ROOT_DIRECTORY="+p.project.Dir, "PULUMI_PARALLEL="+parallel(run),
		"PULUMI_DRY_RUN="+strconv.FormatBool(run.DryRun))
	return func(address string) command {
		cmd := exec.Command(binary)
		cmd.Dir, cmd.Env = dir, append(environment, "PULUMI_MONITOR="+address, "PULUMI_ENGINE="+address)
		return command{Cmd: cmd}
	}, cleanUp, nil
}

func buildGo(ctx context.Context, dir, target string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", target, ".")
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, named.Environment(), waitDelay
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := processgroup.Run(ctx, cmd)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case cmd.ProcessState == nil:
		return fmt.Errorf("the runtime go builds the program with the go command: %w", err)
	}
	return fmt.Errorf("the program in %s cannot be built:\n%s", dir, strings.TrimSpace(text.String()))
}

// findAbove returns a file in a directory, or in the nearest one above it that has it.
func findAbove(dir, name string) string {
	for {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// parallel returns how many operations a program may start at once. SDKs take a number of 32 bits.
func parallel(run abi.RunContext) string {
	if run.Parallel == 0 {
		return strconv.Itoa(1 << 20)
	}
	return strconv.Itoa(int(min(run.Parallel, 1<<20)))
}

// environment returns the variables of the program's process, with the configuration.
func (p *Program) environment(run abi.RunContext) []string {
	environment := named.ProgramEnvironment()
	values, secrets := map[string]string{}, []string{}
	for _, e := range run.Config {
		values[e.Key] = e.Value
		if e.Secret {
			secrets = append(secrets, e.Key)
		}
	}
	config, _ := json.Marshal(values) // texts can be encoded
	keys, _ := json.Marshal(secrets)
	return append(environment, "PULUMI_CONFIG="+string(config), "PULUMI_CONFIG_SECRET_KEYS="+string(keys))
}
