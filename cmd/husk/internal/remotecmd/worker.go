package remotecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/worker"
	"github.com/husk-dev/husk/internal/worker/confine"
)

func (a commands) worker() *cobra.Command {
	var o worker.Options
	var server string
	var labels, variables []string
	var required, unconfined bool
	cmd := &cobra.Command{
		Use: "worker", Short: "Run operations for a server",
		Long: "Take runs from a server, and execute each in its own process. The worker connects to the server, and nothing connects to it.\n" +
			"Its token, of the role work, is the password of the URL, or in " + remote.TokenVariable + ". A server that you\nstarted on this machine has issued one for you.\n\n" +
			"A run gets no files, variables, or addresses of this machine and its network, whatever its project grants, and no\n" +
			"program or plugin that runs outside the sandbox, unless --trusted says that you trust all projects. On Linux its\n" +
			"process is confined as well: it can open no other files, and begin no other program.\n\n" +
			"With --edge it keeps the states of its stacks on this machine, and needs no connection to repeat the\n" +
			"last update of each: when it starts, and at the interval of --every. It takes the runs with --label\n" +
			"edge=NAME.\n\n" +
			"Ctrl-C, or SIGTERM: running steps finish, and another worker continues the run.",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Slots < 1 {
				return cli.Usagef("--slots %d: must be at least 1", o.Slots)
			}
			switch {
			case o.Every != 0 && !o.Edge:
				return cli.Usagef("--every requires --edge")
			case o.Every < 0:
				return cli.Usagef("--every %v: must not be negative", o.Every)
			case o.Edge && cmd.Flags().Changed("slots"):
				return cli.Usagef("--slots is not for --edge: it does one run at a time")
			case o.Edge:
				o.Slots = 1
			}
			switch {
			case required && unconfined:
				return cli.Usagef("--require-confinement and --no-confinement exclude each other")
			case required && o.Trusted:
				return cli.Usagef("--require-confinement is not for --trusted: projects that are trusted have your rights")
			case required:
				o.Confinement = worker.RequireConfinement
			case unconfined:
				o.Confinement = worker.NoConfinement
			}
			if o.Labels, err = runapi.ParseLabels(labels); err != nil {
				return cli.Usage(err)
			}
			if o.Environment, err = worker.ParseVariables(variables); err != nil {
				return cli.Usagef("--env: %w", err)
			}
			if _, err := plugins.ParseLimits(o.Limits); err != nil {
				return cli.Usagef("--limit: %w", err)
			}
			client, err := a.workersClient(cmd.Context(), server)
			if err != nil {
				return err
			}
			if o.Dir == "" {
				cache, err := os.UserCacheDir()
				if err != nil {
					return errors.New("there is no directory for caches: say with --dir where the worker keeps its files")
				}
				if o.Edge {
					return cli.Usagef("--edge needs --dir: a directory for the states of its stacks, which must outlive caches")
				}
				o.Dir = filepath.Join(cache, "husk", "worker")
			}
			if o.Dir, err = filepath.Abs(o.Dir); err != nil {
				return err
			}
			// Runs may need all of husk: the whole program begins them where it is there. Projects that are not trusted have nothing
			// that needs it, and get the smaller one.
			if o.Trusted {
				o.Program = cli.WholeBeside()
			}
			if o.Program == "" {
				if o.Program, err = os.Executable(); err != nil {
					return err
				}
			}
			if o.Trace != "" && o.Trace != trace.OTLP {
				if o.Trace, err = filepath.Abs(o.Trace); err != nil {
					return err
				}
			}
			if o.Name == "" {
				if o.Name, err = os.Hostname(); err != nil {
					return errors.New("this machine has no name: give the worker one with --name")
				}
			}
			o.Say, o.Cache = a.Say, os.Getenv("HUSK_CACHE_DIR")
			stopping, stop := context.WithCancel(cmd.Context())
			killing, kill := context.WithCancel(cmd.Context())
			defer kill()
			defer stop()
			end := a.Heed(a.Remark,
				cli.Stage{Message: "Stopping: running steps finish. Press Ctrl-C again to stop them.", Do: stop},
				cli.Stage{Message: "Stopping now.", Do: kill})
			defer end()
			confine.Hide()
			a.Say("The worker %s takes runs from %s, up to %d at once.", o.Name, client.URL(), o.Slots)
			return worker.Run(stopping, killing, client, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "the URL of the server (default: the one that you are logged in to)")
	f.StringVar(&o.Name, "name", "", "the name of the worker, which must be unique (default: the machine's)")
	f.Var(cli.Repeated(&labels), "label", "take also the runs that ask for this label: NAME=VALUE; can be repeated")
	f.IntVar(&o.Slots, "slots", 2, "how many runs it does at once")
	f.StringVar(&o.Dir, "dir", "", "the directory for files of runs, which no other worker uses (default: in your cache)")
	f.BoolVar(&o.Edge, "edge", false, "keep the states of stacks in --dir, and take only runs with --label edge=NAME")
	f.DurationVar(&o.Every, "every", 0, "with --edge: repeat the last update of each stack after this time (default: only at the start)")
	f.BoolVar(&o.Trusted, "trusted", false, "run everything that projects name, with your rights: programs of all runtimes, native plugins, any grant")
	f.BoolVar(&required, "require-confinement", false, "take no runs if this machine cannot confine their processes, which needs Linux 6.2")
	f.BoolVar(&unconfined, "no-confinement", false, "do not confine the processes of runs, so that only the sandbox separates their projects from this machine")
	f.Var(cli.Repeated(&o.Limits), "limit", "set a limit for the providers of all runs: [PROVIDER:]NAME=VALUE; can be repeated")
	f.Var(cli.Repeated(&variables), "env", "pass this environment variable on to runs, for example HUSK_CONFIG_PASSPHRASE; can be repeated")
	f.StringVar(&o.Trace, "trace", "", "record spans of runs in this file, or send them to a collector with otlp")
	return cmd
}

func (a commands) workersClient(ctx context.Context, server string) (*runapi.Client, error) {
	local, err := runapi.FindLocal()
	if err != nil {
		return nil, err
	}
	if os.Getenv(remote.TokenVariable) == "" {
		at := server
		if at == "" {
			if client, err := Client(ctx, a.App); err == nil {
				at = client.URL()
			}
		}
		if local.Is(at) {
			return runapi.NewClient(local.With(local.WorkerToken), "")
		}
	}
	if server == "" {
		return Client(ctx, a.App)
	}
	if !strings.Contains(server, "://") {
		return nil, cli.Usagef("--server %s: it has the form https://host", server)
	}
	client, err := runapi.NewClient(server, os.Getenv(remote.TokenVariable))
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	return client, nil
}
