package deploycmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/worker"
	"github.com/husk-dev/husk/internal/worker/confine"
	"github.com/husk-dev/husk/internal/worker/start"
	"github.com/husk-dev/husk/internal/workspace"
)

// confinement says whether a command for a project that is not trusted confines itself before it opens that, as the
// process of a worker's run does.
type confinement struct{ required, off bool }

func (c *confinement) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&c.required, "require-confinement", false, "with --untrusted-project: fail if this machine cannot confine the command, which needs Linux 6.2")
	flags.BoolVar(&c.off, "no-confinement", false, "with --untrusted-project: do not confine the command: only the sandbox is then between the project and this machine")
}

func (c *confinement) check(a commands) error {
	switch {
	case c.required && c.off:
		return cli.Usagef("--require-confinement and --no-confinement exclude each other")
	case (c.required || c.off) && !a.Untrusted:
		return cli.Usagef("--require-confinement and --no-confinement are for --untrusted-project: nothing confines a project that you trust")
	}
	return nil
}

// enter begins the command anew in a process that is confined, unless it is already, or nothing is to be.
func (c *confinement) enter(a commands, f *deployFlags) error {
	if !a.Untrusted || a.IsRun || a.Setup.Own || c.off || !a.Begins {
		return nil
	}
	if a.Parts == nil {
		if at, err := workspace.FindOperatorsPlace(); err == nil && slices.Contains([]string{"s3", "postgres", "postgresql"}, at.Scheme) {
			if err := a.WithWhole("a backend " + at.Scheme + "://"); err != nil { // which confines itself
				return err
			}
		}
	}
	read, write, err := a.keeps(f)
	if err == nil {
		err = confine.Check()
	}
	switch {
	case err != nil && c.required:
		return fmt.Errorf("the command cannot be confined: %w", err)
	case err != nil:
		a.Remark(fmt.Sprintf("warning: the command is not confined: %v: only the sandbox is between this machine and the project", err))
		return nil
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

// keeps returns what a confined command reads and writes: the project, what the operator names, and what husk keeps of its own. The
// error says why it cannot do with that.
func (a commands) keeps(f *deployFlags) (read, write []string, err error) {
	if os.Getenv("HUSK_KEY_COMMAND") != "" {
		return nil, nil, errors.New("HUSK_KEY_COMMAND is a program, and a confined command runs none")
	}
	dir := a.Dir
	if dir == "" {
		if dir, err = workspace.Find("."); err != nil {
			return nil, nil, err
		}
	}
	write = []string{dir}
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
	if copies := os.Getenv(workspace.CopiesVariable); copies != "" {
		write = append(write, copies)
	}
	home, err := os.UserHomeDir()
	if err == nil {
		read = append(read, filepath.Join(home, ".docker", "config.json"))
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
		if host := os.Getenv("PGHOST"); stacks.Host == "" && (host == "" || strings.HasPrefix(host, "/")) {
			return nil, nil, errors.New("the database of the stacks is at a socket of this machine, and a confined command has none")
		}
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
	for _, name := range slices.Concat(f.policyPacks, f.policyConfigs, []string{f.plan}) {
		if name != "" {
			read = append(read, name)
		}
	}
	traced := f.trace
	if traced == trace.OTLP {
		traced = ""
	}
	for flag, name := range map[string]string{
		"log-file": f.logFile, "audit-log": f.auditLog, "learn-grants": f.learned, "save-plan": f.savePlan, "import-file": f.importFile, "timeline": f.timeline, "trace": traced,
	} {
		if name != "" && !slices.ContainsFunc(write, func(dir string) bool { return isIn(dir, name) }) {
			return nil, nil, fmt.Errorf("--%s names a file outside of the project, and a confined command writes none there", flag)
		}
	}
	return read, write, nil
}

// isIn reports whether a file is below a directory, with all links followed.
func isIn(dir, file string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false
	}
	above, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return false
	}
	if above, err = filepath.EvalSymlinks(above); err != nil {
		return false
	}
	rest, err := filepath.Rel(dir, above)
	return err == nil && filepath.IsLocal(rest)
}
