// Package conform tests whether a provider keeps to the contract. It is a part that husk leaves out (see [cli.Parts]).
package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/providercmd"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

// ListChecks lists the checks.
func ListChecks(a *cli.App) error {
	var list []map[string]string
	for _, c := range conformance.Checks() {
		list = append(list, map[string]string{"name": c.Name, "rule": c.Rule})
	}
	return cli.WriteList(a, list, "", nil, func(c map[string]string) []string { return []string{c["name"], c["rule"]} })
}

// Test tests the provider of a module or a directory, and writes a report.
func Test(ctx context.Context, a *cli.App, path string, o cli.TestOptions) error {
	options, err := conformanceOptions(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer a.Heed(a.Remark,
		cli.Stage{Message: "Stopping: deleting what the test created. Press Ctrl-C again to stop now.", Do: cancel},
		cli.Stage{Message: "Stopping now: resources that the test created may remain.", Do: func() { os.Exit(cli.ExitFailed) }})()
	return a.WithPlugins(ctx, nil, func(p *plugins.Plugins) error {
		m, err := p.Module(ctx, "", path)
		if err != nil {
			return err
		}
		report, err := run(ctx, p, m, options, o)
		if err != nil {
			return fmt.Errorf("testing %s: %w", path, err)
		}
		return reportTest(a, report, path, o)
	})
}

// reportTest writes the report, and a file for each failure.
func reportTest(a *cli.App, report *conformance.Report, path string, o cli.TestOptions) error {
	files, err := writeFailures(report, o.Failures)
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.WriteJSON(report)
	} else {
		style := a.Out.Style()
		err = report.WriteText(a.Out, conformance.Text{
			Good: style.Good, Bad: style.Bad, Faint: style.Faint, Escape: display.Escape, All: o.All,
			Rerun: func(r conformance.Result) string {
				return fmt.Sprintf("husk provider test %s --case %s%s", providercmd.ShellWord(path), providercmd.ShellWord(files[[2]string{r.Subject, r.Check}]), o.Repeated)
			},
			Allow: func(r conformance.Result) string { return "--allow-untested " + providercmd.ShellWord(r.Subject) },
		})
	}
	if err != nil {
		return cli.Writing(err)
	}
	if n := report.Count(conformance.Failed); n > 0 {
		return cli.Shown(fmt.Errorf("%s failed", cli.Plural(n, "check")))
	}
	return nil
}

// writeFailures writes a file of cases for each failed check, and returns their paths.
func writeFailures(report *conformance.Report, dir string) (map[[2]string]string, error) {
	files := map[[2]string]string{}
	for _, r := range report.Failures() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making the directory for failing cases: %w", err)
		}
		data, err := json.MarshalIndent(report.Rerun(r).Document(), "", "  ")
		if err != nil {
			return nil, fmt.Errorf("writing a failing case: %w", err)
		}
		file := filepath.Join(dir, fileName(r.Subject+"-"+r.Check)+".json")
		// Cases may hold secrets that somebody wrote into theirs.
		if err := os.WriteFile(file, append(data, '\n'), 0o600); err != nil {
			return nil, fmt.Errorf("writing a failing case: %w", err)
		}
		files[[2]string{r.Subject, r.Check}] = file
	}
	return files, nil
}

// fileName returns a name that every file system takes.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, text)
}

func conformanceOptions(f cli.TestOptions) (o conformance.Options, err error) {
	o = conformance.Options{
		Generated: f.Generated, Only: f.Only, AllowUntested: f.Untested, ReadOnly: f.ReadOnly, Extension: f.Extension,
		Config: f.Config, Parameters: f.Parameters, Observe: observerOf(f.Grants),
	}
	file := f.Cases
	if f.Rerun != "" {
		if f.Cases != "" {
			return o, cli.Usagef("--cases and --case exclude each other")
		}
		file, o.CasesOnly = f.Rerun, true
	}
	if file != "" {
		if o.Cases, err = readCases(file); err != nil {
			return o, err
		}
	}
	switch {
	case f.Seed != "":
		if o.Seed, err = strconv.ParseUint(f.Seed, 10, 32); err != nil {
			return o, cli.Usagef("--seed %s: must be a number of at most %d", f.Seed, uint32(1<<32-1))
		}
	case o.Cases == nil || o.Cases.Seed == nil:
		o.Seed = uint64(rand.Uint32())
	}
	for _, name := range f.Only {
		if !slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return c.Name == name }) {
			return o, cli.Usagef("%w: --list shows them", &conformance.UnknownCheckError{Name: name})
		}
	}
	return o, nil
}

// readCases reads a file of cases. JSON is YAML, too.
func readCases(file string) (*conformance.Cases, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the cases: %w", err)
	}
	var document any
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("reading the cases in %s: %w", file, err)
	}
	cases, err := conformance.ReadCases(document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return cases, nil
}

// observerOf returns a function that describes the directories that a provider may write to, nil for none.
func observerOf(g host.Grants) func(context.Context) (map[string]string, error) {
	var dirs []string
	for _, grant := range g.FS {
		if grant.ReadWrite {
			dirs = append(dirs, grant.HostPath)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	return func(ctx context.Context) (map[string]string, error) {
		states := map[string]string{}
		for _, dir := range dirs {
			err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err = errors.Join(err, ctx.Err()); err != nil {
					return err
				}
				info, err := e.Info()
				if err != nil {
					return err
				}
				states[path] = info.Mode().String()
				if info.Mode().IsRegular() {
					states[path] += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
				}
				return nil
			})
			if err != nil && !errors.Is(err, os.ErrNotExist) { // not made yet, or removed meanwhile
				return nil, err
			}
		}
		return states, nil
	}
}

// TestModule tests a module, and returns a summary of one line, and a line for each failure.
func TestModule(ctx context.Context, p *plugins.Plugins, m *plugins.Module, o cli.TestOptions) (summary string, failures []string, err error) {
	options, err := conformanceOptions(o)
	if err != nil {
		return "", nil, err
	}
	report, err := run(ctx, p, m, options, o)
	if err != nil {
		return "", nil, err
	}
	summary = fmt.Sprintf("%d ok, %d failed, %d skipped", report.Count(conformance.OK), report.Count(conformance.Failed), report.Count(conformance.Skipped))
	for _, r := range report.Failures() {
		failures = append(failures, fmt.Sprintf("%s %s: %s", r.Subject, r.Check, r.Message))
	}
	return summary, failures, nil
}

func run(ctx context.Context, p *plugins.Plugins, m *plugins.Module, options conformance.Options, o cli.TestOptions) (*conformance.Report, error) {
	return conformance.Run(ctx, func(ctx context.Context) (abi.Provider, error) {
		tested, err := p.Granted(ctx, m, o.Grants, o.Logs)
		if err != nil {
			return nil, err
		}
		return providercmd.WithContents(tested), nil
	}, options)
}
