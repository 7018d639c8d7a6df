package port

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// environment is added to the environment of the process. It takes away what a user has set for other builds, because the same
// source must give the same module.
var environment = []string{
	"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOWASM=", "GOEXPERIMENT=", "GODEBUG=",
}

// goCommand runs the Go command in a directory.
type goCommand struct {
	path, dir string
	// env are further variables.
	env []string
}

// findGo returns the Go command of the machine.
func findGo() (goCommand, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return goCommand{}, errors.New("porting compiles Go source, and there is no go command: install Go from https://go.dev/dl")
	}
	return goCommand{path: path}, nil
}

// in returns the command for another directory.
func (g goCommand) in(dir string) goCommand {
	g.dir = dir
	return g
}

// goError is a failure of the Go command with its output.
type goError struct {
	args   []string
	output string
}

func (e *goError) Error() string {
	return fmt.Sprintf("go %s failed:\n%s", e.args[0], e.output)
}

// run returns the standard output of the Go command.
func (g goCommand) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir = g.dir
	cmd.Env = slices.Concat(named.Environment(), environment, g.env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := processgroup.Run(ctx, cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		return out.Bytes(), nil
	case errors.As(err, &exit) && exit.Exited():
		if refused := refusal(errs.String()); refused != nil {
			return out.Bytes(), refused
		}
		return out.Bytes(), &goError{args, withoutDownloads(errs.String())}
	case errors.As(err, &exit):
		return nil, fmt.Errorf("go %s was cut off: %w", args[0], err) // a signal
	default:
		return nil, fmt.Errorf("running %s: %w", g.path, err)
	}
}

// withoutDownloads drops the Go command's reports of progress.
func withoutDownloads(output string) string {
	var kept []string
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "go: downloading ") {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, ""), "\n")
}

// goEnv returns variables of the Go command, which may belong to another toolchain in another directory.
func (g goCommand) goEnv(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := g.run(ctx, append([]string{"env", "-json"}, names...)...)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	return values, json.Unmarshal(out, &values)
}

// goModule is a module in the output of go list.
type goModule struct {
	Path    string
	Version string
	Dir     string
	Main    bool
	Replace *goModule
}

// source returns the module whose files are used: the replacement, or the module itself.
func (m *goModule) source() *goModule {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool
	Module     *goModule
	GoFiles    []string
	Imports    []string
	Deps       []string
	Error      *struct {
		ImportStack []string
		Pos         string
		Err         string
	}
}

// packageFields are the fields of a goPackage that go list reports.
const packageFields = "-json=ImportPath,Name,Dir,Standard,Module,GoFiles,Imports,Deps,Error"

// list returns the packages that go list reports, dependencies first if the arguments ask for them.
func (g goCommand) list(ctx context.Context, args ...string) ([]*goPackage, error) {
	out, err := g.run(ctx, slices.Concat([]string{"list", "-e", packageFields}, args)...)
	if err != nil {
		return nil, err
	}
	var packages []*goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &goPackage{}
		err := decoder.Decode(p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the list of packages: %w", err)
		}
		packages = append(packages, p)
	}
}

// graph is a main package with all packages that it needs.
type graph struct {
	main     *goPackage
	packages map[string]*goPackage
}

// graphOf lists the main package in a directory, named relative to the module's root.
func (g goCommand) graphOf(ctx context.Context, flags []string, main string) (*graph, error) {
	packages, err := g.list(ctx, slices.Concat([]string{"-deps"}, flags, []string{main})...)
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("go list reports no package in %s", main)
	}
	found := &graph{packages: make(map[string]*goPackage, len(packages))}
	for _, p := range packages {
		if p.Error != nil {
			if refused := refusal(p.Error.Err); refused != nil {
				return nil, refused
			}
		}
		found.packages[p.ImportPath] = p
	}
	found.main = packages[len(packages)-1] // dependencies come first
	return found, nil
}

// has reports whether the program needs a package.
func (g *graph) has(path string) bool { return g.packages[path] != nil }

// importers returns the packages that import a package directly.
func (g *graph) importers(path string) (all []string) {
	for _, p := range g.packages {
		if slices.Contains(p.Imports, path) {
			all = append(all, p.ImportPath)
		}
	}
	slices.Sort(all)
	return all
}

// chain returns the shortest chain of imports from the main package to a package, nil if there is none.
func (g *graph) chain(to string) []string {
	from := map[string]string{g.main.ImportPath: ""}
	for queue := []string{g.main.ImportPath}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			var chain []string
			for ; at != ""; at = from[at] {
				chain = append(chain, at)
			}
			slices.Reverse(chain)
			return chain
		}
		p := g.packages[at]
		if p == nil {
			continue
		}
		for _, imported := range p.Imports {
			if _, seen := from[imported]; !seen {
				from[imported] = at
				queue = append(queue, imported)
			}
		}
	}
	return nil
}
