package providercmd

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

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/property/propertyliteral"
)

type providerTestFlags struct {
	askFlags
	cases, rerun, seed, failures string
	generated                    int
	only, untested               []string
	readOnly, all, list, logs    bool
}

func (a commands) providerTest() *cobra.Command {
	var f providerTestFlags
	cmd := &cobra.Command{
		Use: "test [FILE|DIR]", Short: "Test whether a provider keeps to the contract",
		Long: "Test whether a provider, a module or a directory of Go source, keeps to the contract: for example,\n" +
			"that previews change nothing and that secrets stay secret. Inputs are generated from the provider's\n" +
			"schema, or come from a file of cases.\n\n" +
			"The test creates, changes, and deletes resources, within what --grant allows the provider.\n" +
			"If the provider refuses every input of a type (a generated text is not a PEM file, for example), the type\n" +
			"is untested, and the test fails. Supply better inputs in a file of cases, or skip the type with\n" +
			"--allow-untested TYPE. A file of cases is YAML or JSON:\n\n" +
			"  resources:\n" +
			"    random:RandomInteger:\n" +
			"      - inputs: {min: 1, max: 9}\n" +
			"        updates:\n" +
			"          - {inputs: {min: 1, max: 8}, expect: replace}   # or none, or update\n" +
			"        expect: {outputs: {max: 9}}                       # or refused: [max], or error: not-found\n" +
			"  functions:\n" +
			"    tls:getPublicKey:\n" +
			"      - args: {privateKeyPem: {fn::secret: \"-----BEGIN ...\"}}\n\n" +
			"Assets are {fn::asset: {text: TEXT}}, or path or uri, and archives {fn::archive: {path: PATH}}, or uri\n" +
			"or assets. Paths are relative to the working directory.\n",
		Example: "  husk provider test random.wasm\n" +
			"  husk provider test ./local --grant fs=scratch:rw\n" +
			"  husk provider test tls.wasm --cases tls.yaml --only secrets",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.listChecks()
			}
			if f.generated < 0 {
				return cli.Usagef("--generated %d: must be at least 1", f.generated)
			}
			if len(args) == 0 {
				return cli.Usagef("missing argument FILE|DIR: %s", cmd.UseLine())
			}
			return a.testProvider(cmd.Context(), args[0], &f)
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.cases, "cases", "", "use the cases in this file in place of generated inputs")
	flags.StringVar(&f.rerun, "case", "", "run only the case in this file, which an earlier test wrote")
	flags.StringVar(&f.seed, "seed", "", "generate the same inputs as the test that reported this seed")
	flags.IntVar(&f.generated, "generated", 0, "number of inputs to generate for each resource type and function (default "+strconv.Itoa(conformance.DefaultGenerated)+")")
	flags.StringArrayVar(&f.only, "only", nil, "run only this check; can be repeated")
	flags.StringArrayVar(&f.untested, "allow-untested", nil, "do not fail if this type, function, package, or configuration refused every input; can be repeated")
	flags.BoolVar(&f.readOnly, "read-only", false, "skip checks that create, change, or delete resources")
	flags.BoolVar(&f.all, "all", false, "also show checks that pass and checks that do not apply")
	flags.BoolVar(&f.logs, "logs", false, "show what the provider logs and prints")
	flags.BoolVar(&f.list, "list", false, "list all checks without running them")
	flags.StringVar(&f.failures, "failures", "husk-provider-test", "write failing cases to this directory")
	return cmd
}

func (a commands) listChecks() error {
	var list []map[string]string
	for _, c := range conformance.Checks() {
		list = append(list, map[string]string{"name": c.Name, "rule": c.Rule})
	}
	return cli.WriteList(a.App, list, "", nil, func(c map[string]string) []string { return []string{c["name"], c["rule"]} })
}

func (a commands) testProvider(ctx context.Context, path string, f *providerTestFlags) error {
	options, grants, err := f.options()
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
		report, err := runConformance(ctx, p, m, grants, options, f.logs)
		if err != nil {
			return fmt.Errorf("testing %s: %w", path, err)
		}
		return a.reportTest(report, path, f)
	})
}

// reportTest writes the report, and a file for each failure.
func (a commands) reportTest(report *conformance.Report, path string, f *providerTestFlags) error {
	files, err := writeFailures(report, f.failures)
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.WriteJSON(report)
	} else {
		err = display.WriteReport(a.Out, report, f.all, func(r conformance.Result) string {
			return fmt.Sprintf("husk provider test %s --case %s%s", shellWord(path), shellWord(files[[2]string{r.Subject, r.Check}]), f.repeated())
		}, func(r conformance.Result) string {
			return "--allow-untested " + shellWord(r.Subject)
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

// repeated returns the flags that a rerun needs, too.
func (f *providerTestFlags) repeated() string {
	var b strings.Builder
	for _, flag := range []struct {
		name   string
		values []string
	}{{"grant", f.grants}, {"config", f.config}, {"parameter", f.parameters}, {"allow-untested", f.untested}} {
		for _, v := range flag.values {
			fmt.Fprintf(&b, " --%s %s", flag.name, shellWord(v))
		}
	}
	if f.extension {
		b.WriteString(" --extension")
	}
	return b.String()
}

// shellWord quotes a word if a shell would not take it literally.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("=:/._-+,@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
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

func (f *providerTestFlags) options() (o conformance.Options, grants host.Grants, err error) {
	o = conformance.Options{
		Generated: f.generated, Only: f.only, AllowUntested: f.untested, ReadOnly: f.readOnly, Extension: f.extension,
	}
	if grants, o.Config, o.Parameters, err = f.parse(); err != nil {
		return o, grants, err
	}
	o.Observe = observerOf(grants)
	file := f.cases
	if f.rerun != "" {
		if f.cases != "" {
			return o, grants, cli.Usagef("--cases and --case exclude each other")
		}
		file, o.CasesOnly = f.rerun, true
	}
	if file != "" {
		if o.Cases, err = readCases(file); err != nil {
			return o, grants, err
		}
	}
	switch {
	case f.seed != "":
		if o.Seed, err = strconv.ParseUint(f.seed, 10, 32); err != nil {
			return o, grants, cli.Usagef("--seed %s: must be a number of at most %d", f.seed, uint32(1<<32-1))
		}
	case o.Cases == nil || o.Cases.Seed == nil:
		o.Seed = uint64(rand.Uint32())
	}
	for _, name := range f.only {
		if !slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return c.Name == name }) {
			return o, grants, cli.Usagef("%w: --list shows them", &conformance.UnknownCheckError{Name: name})
		}
	}
	return o, grants, nil
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

// parsePairs reads the NAME=VALUE of a flag. Providers make numbers and booleans of text themselves, as
// they do with a stack's configuration.
func parsePairs(flag string, pairs []string) (property.Map, error) {
	var m property.Map
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return m, cli.Usagef("--%s %s: must be NAME=VALUE", flag, pair)
		}
		value := property.String(text)
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			var err error
			if value, err = propertyliteral.Decode(jsonOf(text)); err != nil {
				return m, cli.Usagef("--%s %s: %w", flag, pair, err)
			}
		}
		m = m.With(name, value)
	}
	return m, nil
}

// jsonOf decodes JSON. Other text stays text.
func jsonOf(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
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
