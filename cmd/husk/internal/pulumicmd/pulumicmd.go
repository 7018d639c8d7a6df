// Package pulumicmd has Husk's commands answer a command line of Pulumi: they take its flags, and write the JSON, events, and
// sentences that its Automation API and scripts read. docs/pulumi-cli.md lists what is answered and what is refused.
package pulumicmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/workspace"
)

// answers are the commands that answer as Pulumi's.
type answers struct {
	*cli.App
	root *cobra.Command
	// debug is the flag --debug.
	debug bool
}

// Answer has the commands below root answer a command line of Pulumi.
func Answer(app *cli.App, root *cobra.Command) {
	a, ofHusk := &answers{App: app, root: root}, own(root)
	app.Pulumi.ExitCode = exitCode
	flags := root.PersistentFlags()
	flags.BoolVar(&a.debug, "debug", false, "")
	ignore(flags, true, "logflow", "logtostderr", "emoji", "e", "disable-integrity-checking", "fully-qualify-stack-names", "Q")
	ignore(flags, false, "tracing", "tracing-header", "profiling", "memprofilerate", "otel-traces")
	flags.VarP(new(ignored), "verbose", "v", "")
	flags.Lookup("color").Value = colour{flags.Lookup("color").Value}
	for _, name := range []string{"debug", "verbose"} {
		_ = flags.MarkHidden(name) // it exists
	}
	a.add()
	a.change()
	a.deployments()
	a.flags()
	withhold(root, ofHusk)
	begin := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := a.keep(); err != nil { // before the command confines itself to the place of the stacks
			return err
		}
		return begin(cmd, args)
	}
	each(root, func(cmd *cobra.Command) {
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				err := a.adopt(cmd.Context())
				if err == nil {
					err = run(cmd, args)
				}
				if none := (*program.NoProjectError)(nil); errors.As(err, &none) && temporary(none.Dir) != "" {
					return fmt.Errorf("the workspace has no project settings. A RemoteWorkspace needs none, but a server for its stacks: "+
						"log in to it with pulumi login URL, or set %s", pulumiBackend)
				}
				if words := inWords(err); words != "" {
					a.Say("error: %s", words)
				}
				return err
			}
		}
	})
}

// each calls do with a command and all below it.
func each(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, do)
	}
}

// find returns a command below the root.
func (a *answers) find(path string) *cobra.Command {
	cmd, _, err := a.root.Find(strings.Fields(path))
	if err != nil || cmd.Name() != path[strings.LastIndex(path, " ")+1:] {
		panic("there is no command " + path)
	}
	return cmd
}

// before has a command call do first.
func before(cmd *cobra.Command, do cli.Run) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := do(cmd, args); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// inWords returns the sentence that Pulumi's SDKs look for in an error. It is empty for other errors.
func inWords(err error) string {
	missing, locked := (*workspace.NoStackError)(nil), (*state.LockedError)(nil)
	switch {
	case errors.As(err, &missing):
		return "no stack named '" + missing.Stack + "' found"
	case errors.Is(err, state.ErrStackExists):
		return "the stack already exists"
	case errors.As(err, &locked):
		return "the stack is currently locked by another run"
	}
	return ""
}

// exitCode returns the exit code that Pulumi's command has for an error.
func exitCode(err error) int {
	missing := (*workspace.NoStackError)(nil)
	switch {
	case err == nil:
		return cli.ExitDone
	case cli.IsUsage(err):
		return cli.ExitUsage
	case errors.As(err, &missing):
		return 6
	case errors.Is(err, cli.ErrUnexpected):
		return 7
	}
	return cli.ExitFailed
}

// pulumiBackend is the variable of Pulumi that says where stacks are.
const pulumiBackend = "PULUMI_BACKEND_URL"

// keep keeps stacks where Pulumi's variable says. It returns an error for a directory in which Pulumi keeps its own stacks.
func (a *answers) keep() error {
	if os.Getenv(workspace.BackendVariable) != "" {
		return nil
	}
	url := os.Getenv(pulumiBackend)
	if dir, is := strings.CutPrefix(url, "file://"); is {
		if strings.HasPrefix(dir, "~") {
			home, err := os.UserHomeDir()
			if err != nil {
				return err
			}
			dir = home + strings.TrimPrefix(dir, "~")
		}
		if _, err := os.Stat(filepath.Join(dir, ".pulumi")); err == nil {
			return fmt.Errorf("%s is %q, where Pulumi keeps stacks, which husk does not read: it would create everything again. "+
				"Name another directory, and import a stack there with husk stack import", pulumiBackend, url)
		}
	}
	if url != "" {
		return os.Setenv(workspace.BackendVariable, url)
	}
	return nil
}

// temporary returns the directory that the Automation API has made for a program without one, or to clone its repository to, if dir is that
// directory or, in a clone, below it. It is empty for others.
func temporary(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	below, err := filepath.Rel(os.TempDir(), dir)
	name, rest, _ := strings.Cut(below, string(filepath.Separator))
	if err != nil || !(strings.HasPrefix(name, "pulumi_auto") || strings.HasPrefix(name, "automation-") && rest == "") {
		return ""
	}
	return filepath.Join(os.TempDir(), name)
}

// inTemporary returns an error for a project in a temporary directory if nothing says where its stacks are.
func inTemporary(w *workspace.Workspace) error {
	if w.Origin != "" || temporary(w.Project.Dir) == "" {
		return nil
	}
	return fmt.Errorf("the project is in a temporary directory, and so would its stacks be: write %s beside the program, "+
		"which lists the providers in plugins.providers and has the stacks beside it, or set %s, for example to file://~/stacks",
		program.FileNames()[0], pulumiBackend)
}

// adopt has a project in a temporary directory be the one of the project file of Husk that is beside its program or above: there are
// the providers, their lock, and the stacks. If the file does not say where the program is, or the program is in a clone, it is where its
// process began: SDKs leave PWD as it was. What the temporary file says of the program counts, and the configuration is where that is.
func (a *answers) adopt(ctx context.Context) error {
	dir, err := a.ProjectDir()
	made := temporary(dir)
	if err != nil || a.Untrusted || a.Pulumi.Project != nil || made == "" {
		return nil // which the command says, or which is no such project
	}
	root := projectroot.New(dir, projectroot.Trusted)
	inline, err := program.LoadProject(ctx, root)
	if err != nil || len(inline.Providers) > 0 {
		return nil // likewise
	}
	_, err = os.Stat(filepath.Join(made, ".git"))
	cloned, beside := err == nil, inline.ProgramDir
	if cloned || beside == inline.Dir { // settings of the program's own, which need not say where it is
		if beside = os.Getenv("PWD"); !filepath.IsAbs(beside) {
			return nil
		}
	}
	file, ours, err := settings(beside)
	if err != nil || file == "" {
		return err
	}
	theirs, err := os.ReadFile(program.FindFile(root))
	if err != nil {
		return err
	}
	if a.Pulumi.Project, err = merged(ours, theirs, inline, cloned); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	a.Dir = filepath.Dir(file)
	a.FindProjectAnew()
	return nil
}

// settings returns the project file of Husk in a directory or above, and its text. The file is empty if there is none.
func settings(dir string) (file string, text []byte, err error) {
	at, err := workspace.Find(dir)
	if err != nil {
		return "", nil, err
	}
	file = program.FindFile(projectroot.New(at, projectroot.Trusted))
	if !strings.HasPrefix(filepath.Base(file), "Husk.") {
		return "", nil, nil
	}
	text, err = os.ReadFile(file)
	return file, text, err
}

// merged returns the text of a project file with the name, program, and configuration of an inline or cloned one, the text of which is inline.
func merged(text, inline []byte, p *program.Project, cloned bool) ([]byte, error) {
	config, err := filepath.Abs(p.StackConfigDir)
	if err != nil {
		return nil, err
	}
	main, err := filepath.Abs(p.ProgramDir)
	if err != nil {
		return nil, err
	}
	var ours, theirs map[string]any
	if err := errors.Join(yaml.Unmarshal(text, &ours), yaml.Unmarshal(inline, &theirs)); err != nil {
		return nil, err
	}
	if ours == nil {
		ours = make(map[string]any)
	}
	for _, key := range []string{"name", "runtime", "main", "description", "config", "backend"} {
		if v, ok := theirs[key]; ok {
			ours[key] = v
		}
	}
	ours["stackConfigDir"] = config
	if cloned {
		ours["main"] = main
	}
	return yaml.Marshal(ours)
}

// ignored is the value of a flag without effect.
type ignored struct{}

func (ignored) String() string   { return "" }
func (ignored) Type() string     { return "TEXT" }
func (ignored) Set(string) error { return nil }

// ignore adds flags without effect, which need no value if they are switches.
func ignore(flags *pflag.FlagSet, switches bool, names ...string) {
	for _, name := range names {
		if flags.Lookup(name) != nil {
			continue
		}
		flags.VarP(ignored{}, name, shorthand(name), "")
		if switches {
			flags.Lookup(name).NoOptDefVal = "true"
		}
		_ = flags.MarkHidden(name) // it exists
	}
}

// refused is the value of a flag that is refused for a reason.
type refused struct{ why string }

func (refused) String() string     { return "" }
func (refused) Type() string       { return "TEXT" }
func (r refused) Set(string) error { return errors.New(r.why) }

// noConfigFile is why --config-file is refused.
const noConfigFile = "husk reads the configuration of a stack from the file of its name beside the project file"

func refuse(flags *pflag.FlagSet, name, why string, isSwitch bool) {
	flags.VarP(refused{why}, name, shorthand(name), "")
	if isSwitch {
		flags.Lookup(name).NoOptDefVal = "true"
	}
	_ = flags.MarkHidden(name) // it exists
}

// colour takes Pulumi's values of --color.
type colour struct{ pflag.Value }

func (c colour) Set(when string) error {
	if when == "raw" {
		when = "never"
	}
	return c.Value.Set(when)
}

// version answers with the version of Pulumi whose programs Husk reads.
func (a *answers) version(*cobra.Command, []string) error {
	return a.Printf("v%s\n", program.PulumiVersion)
}
