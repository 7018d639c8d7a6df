package root

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/worker"
	"github.com/husk-dev/husk/internal/worker/confine"
	"github.com/husk-dev/husk/internal/worker/start"
	"github.com/husk-dev/husk/internal/workspace"
)

// confinement says whether a command for a project that is not trusted confines itself before it opens that, as the
// process of a worker's run does.
type confinement struct {
	*cli.App
	required bool
}

func (c *confinement) add(flags *pflag.FlagSet) {
	flags.BoolVar(&c.required, "require-confinement", false, "with --untrusted-project: fail if this machine cannot confine the command, which needs Linux 6.2")
	flags.BoolVar(&c.Unconfined, "no-confinement", false, "with --untrusted-project: do not confine the command, so that only the sandbox separates the project from this machine")
}

// unconfined are the commands that do not confine themselves, and why. All others do.
var unconfined = []struct {
	// opens says that the command opens a project all the same. The user is told why it is not confined. Others get none.
	opens bool
	why   string
	names []string
}{
	{false, "it opens no project", []string{"new", "login", "server", "worker", "cache", "cache ls", "cache prune", "version", "man",
		"provider keygen", "completion bash", "completion fish", "completion powershell", "completion zsh"}},
	{false, "it is for modules that the user names", []string{"provider push", "provider pull", "provider tag", "provider sign", "provider publish", "provider changes"}},
	{false, "it begins the commands that are confined", []string{"watch"}},
	{true, "it listens at a port, and a confined command cannot", []string{"console", "provider serve", "provider shim"}},
	{true, "it runs programs of this machine, and a confined command runs none", []string{"provider build", "provider port", "provider test", "provider dev", "package gen-sdk", "state edit", "doctor"}},
	{true, "it writes stacks at a place that is not that of the project, and a confined command reaches none", []string{"stack migrate"}},
	{true, "it forgets a login, and a confined command changes none", []string{"logout"}},
}

// wholeCommands are confined commands that only the whole program has, with the parts that they need.
var wholeCommands = map[string]string{"lsp": "the language server", "provider docs": "a page of HTML"}

// The flags that name files, by the use of these. TestFlagsOfCommands looks for others.
var (
	readFlags    = []string{"plan", "policy-pack", "policy-pack-config", "file", "properties", "learned", "key", "root", "map", "shim", "sdk", "case", "cases", "bundle", "path", "token-file"}
	writtenFlags = []string{"log-file", "audit-log", "learn-grants", "save-plan", "import-file", "timeline", "trace", "output", "out", "generate-code", "event-log", "failures"}
)

// enter begins the command anew in a process that is confined, unless it is already, or nothing is to be.
func (c *confinement) enter(cmd *cobra.Command, args []string) error {
	local := cmd.LocalNonPersistentFlags()
	if local.Lookup("require-confinement") != nil { // it is a worker's, and confines its runs
		return nil
	}
	switch {
	case c.required && c.Unconfined:
		return cli.Usagef("--require-confinement and --no-confinement exclude each other")
	case (c.required || c.Unconfined) && !c.Untrusted:
		return cli.Usagef("--require-confinement and --no-confinement are for --untrusted-project: nothing confines a project that you trust")
	}
	if !c.Untrusted || c.IsRun || c.Setup.Own {
		return nil
	}
	if err := c.checkNamed(cmd, args); err != nil {
		return err
	}
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	why := ""
	for _, u := range unconfined {
		if slices.Contains(u.names, name) {
			why, c.OpensNone = u.why, !u.opens && !c.Unconfined // else watch opens it itself
		}
	}
	switch {
	case c.Unconfined, !c.Begins, c.OpensNone:
		return nil
	case why != "":
		return c.cannot(errors.New(why))
	}
	if err := c.becomeWhole(name, cmd); err != nil { // which confines itself
		return err
	}
	read, write, err := c.keeps(cmd, args)
	if err == nil {
		err = confine.Check()
	}
	if err != nil {
		return c.cannot(err)
	}
	rules, environment, err := worker.OwnCell(read, write)
	if err != nil {
		return err
	}
	if places, err := plugins.FindPlaces(); err == nil && places.Cache != "" {
		written := places.Written()
		environment = append(environment, "TMPDIR="+written[len(written)-1])
	}
	return fmt.Errorf("the command cannot be confined: %w", start.Anew(*rules, environment))
}

// cannot has the command go on without confinement, unless the user requires it.
func (c *confinement) cannot(why error) error {
	if c.required {
		return fmt.Errorf("the command cannot be confined: %w", why)
	}
	c.Remark(fmt.Sprintf("warning: the command is not confined: %v: only the sandbox is between this machine and the project", why))
	return nil
}

// becomeWhole has the whole program take the place of this one if the command needs it: a confined one cannot.
func (c *confinement) becomeWhole(name string, cmd *cobra.Command) error {
	if c.Parts != nil {
		return nil
	}
	if at, err := workspace.FindOperatorsPlace(); err == nil && slices.Contains(wholeBackends, at.Scheme) {
		return c.WithWhole("a backend " + at.Scheme + "://")
	}
	if need := wholeCommands[name]; need != "" {
		return c.WithWhole(need)
	}
	return nil
}

// keeps returns the files that a confined command reads and writes: the project, the files that the operator names, and husk's
// own. The error says why it cannot do with that.
func (c *confinement) keeps(cmd *cobra.Command, args []string) (read, write []string, err error) {
	if os.Getenv("HUSK_KEY_COMMAND") != "" {
		return nil, nil, errors.New("HUSK_KEY_COMMAND is a program, and a confined command runs none")
	}
	dir := c.dir()
	write = []string{dir}
	home, err := os.UserHomeDir()
	if err == nil {
		read = append(read, filepath.Join(home, ".docker", "config.json"))
	}
	places, err := plugins.FindPlaces()
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range places.Written() {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, err
		}
		write = append(write, dir)
	}
	config, _ := os.UserConfigDir()
	for what, own := range map[string]string{"your home directory": home, "Husk's cache": places.Cache, "the directory of your configuration": config} {
		if own != "" && isIn(dir, filepath.Join(own, "x")) {
			return nil, nil, fmt.Errorf("%s is in the directory of the project, %s, and a confined command has all of that directory", what, dir)
		}
	}
	if copies := os.Getenv(workspace.CopiesVariable); copies != "" {
		write = append(write, copies)
	}
	stacks, err := workspace.FindOperatorsPlace()
	if err != nil {
		return nil, nil, err
	}
	if stacks.Directory != "" {
		if err := os.MkdirAll(stacks.Directory, 0o700); err != nil {
			return nil, nil, err
		}
		write = append(write, stacks.Directory)
	}
	switch stacks.Scheme {
	case "postgres", "postgresql":
		if host := cmp.Or(stacks.Host, os.Getenv("PGHOST")); host == "" || strings.HasPrefix(host, "/") {
			return nil, nil, errors.New("the database of the stacks is at a socket of this machine, and a confined command has none")
		}
		read = append(read, stacks.Files...)
		read = append(read, filepath.Join(home, ".pgpass"), filepath.Join(home, ".pg_service.conf"), filepath.Join(home, ".postgresql"))
	case "s3":
		read = append(read, filepath.Join(home, ".aws"))
	}
	plugins.WitnessKey() // a confined command cannot make it
	ownRead, ownWrite, err := workspace.OwnFiles(places.Cache != "" && places.Precompiled == "")
	if err != nil {
		return nil, nil, err
	}
	read, write = append(read, ownRead...), append(write, ownWrite...)
	named, err := namedFiles(cmd, args, write)
	return append(read, named...), write, err
}

// dir returns the directory of the project.
func (c *confinement) dir() string {
	if c.Dir != "" {
		return c.Dir
	}
	dir, err := workspace.Find(".")
	if err != nil {
		return "." // for an editor, which opens projects below; other commands say it
	}
	return dir
}

// eachNamed calls do with each file that flags, by default or not, and arguments of a command name, and whether it is written.
func eachNamed(cmd *cobra.Command, args []string, do func(what, file string, writes bool)) {
	cli.Values(cmd, func(flag, value string) {
		reads, writes := slices.Contains(readFlags, flag), slices.Contains(writtenFlags, flag) || flag == "file" && cmd.Name() == "export"
		if (reads || writes) && cmd.Flag(flag).Value.Type() != "bool" && value != "" && value != "-" && (flag != "trace" || value != trace.OTLP) {
			do("--"+flag, value, writes)
		}
	})
	writes := cmd.Name() == "vendor" || cmd.Name() == "fmt"
	for i, arg := range args {
		if word := argument(cmd, i); takesFiles(word) {
			do(word+" "+arg, arg, writes)
		}
	}
}

// checkNamed refuses a name in the directory of the project that leads elsewhere: the user chose the name, and the project the link
// that is there.
func (c *confinement) checkNamed(cmd *cobra.Command, args []string) (err error) {
	root := projectroot.New(c.dir(), projectroot.Untrusted).WithState()
	eachNamed(cmd, args, func(what, file string, _ bool) {
		name, is := nameIn(root.Dir(), file)
		if !is {
			return
		}
		if _, wrong := root.Stat(name); errors.Is(wrong, projectroot.ErrOutside) {
			err = errors.Join(err, fmt.Errorf("%s: %w", what, wrong))
		}
	})
	return err
}

// namedFiles returns the files that flags and arguments of a command name for it to read. The error is of one that it writes, and
// that is in none of the directories in which it may.
func namedFiles(cmd *cobra.Command, args, write []string) (read []string, err error) {
	eachNamed(cmd, args, func(what, file string, writes bool) {
		info, missing := os.Stat(file)
		switch {
		case slices.ContainsFunc(write, func(dir string) bool { return isIn(dir, file) }):
		case writes:
			err = errors.Join(err, fmt.Errorf("%s names a file outside of the project, and a confined command writes none there", what))
		case missing == nil && info.IsDir():
			err = errors.Join(err, fmt.Errorf("%s names a directory outside of the project, which may be source to build, and a confined command runs no compiler", what))
		case missing == nil:
			read = append(read, file, file+plugins.SignatureSuffix)
		}
	})
	return read, err
}

// nameIn returns the name in a directory of a file that is named there: by its path, or by the path of the directory above it
// with all links followed.
func nameIn(dir, file string) (name string, is bool) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	if name, err = filepath.Rel(dir, abs); err == nil && filepath.IsLocal(name) {
		return name, true
	}
	return nameBelow(dir, abs)
}

// isIn reports whether a file is a directory, or below it, with all links above it followed.
func isIn(dir, file string) bool {
	_, is := nameBelow(dir, file)
	return is
}

// nameBelow returns the name in a directory of a file that is there with all links above both followed.
func nameBelow(dir, file string) (name string, is bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", false
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", false
	}
	above, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", false
	}
	name, err = filepath.Rel(dir, filepath.Join(above, filepath.Base(file)))
	return name, err == nil && filepath.IsLocal(name)
}
