// Command husk-server keeps stacks and runs operations on them with workers. "husk server" starts it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/base/trace"
)

const usage = `Keep stacks, and run operations on them with workers.

Usage:
  husk server [flags]                      serve
  husk server token TEAM NAME ROLE [flags] issue a token, also while it serves
  husk server export FILE [flags]          write all that a server keeps, but for its key
  husk server import FILE [flags]          read it into another database, which is empty
  husk server rotate-key [TEAM] [flags]    replace the server's key, or a team's
  husk server end-team TEAM [flags]        end a team, and revoke its tokens
  husk server audit TEAM [flags]           print a team's audit log, also of one that has ended
  husk server status                       show what the server that you are logged in to does

Roles: read, preview, request (runs that change something), approve (the runs of
others), admin (tokens and schedules), and work (for husk worker; the team * is
for a worker of all teams).

Flags:
`

type flags struct {
	dir, database, listen, metrics, pprof, trace, cert, key string
	quota                                                   int64
	approval, secrets, retryPending, plain, withStacks      bool
	lease, keep, keepAudit, expires                         time.Duration
	projects, maxRuns, weights, proxies                     []string
	person, identity, webhooks                              string
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string, out, errs io.Writer) error {
	var f flags
	set := pflag.NewFlagSet("husk server", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.dir, "dir", "", "the server's `DIR`, with its key and its files of SQLite (default: husk/server in your configuration)")
	set.StringVar(&f.database, "database", os.Getenv("HUSK_SERVER_DATABASE"), "the `URL` of a PostgreSQL database instead, which several servers can share (default: $HUSK_SERVER_DATABASE)")
	set.StringVar(&f.listen, "listen", "127.0.0.1:8470", "the `ADDRESS` to listen at; others than of this machine need --tls-cert or --plain-http")
	set.StringVar(&f.cert, "tls-cert", "", "the `FILE` of a certificate, for https; it is loaded again when it changes")
	set.StringVar(&f.key, "tls-key", "", "the `FILE` of its private key")
	set.BoolVar(&f.plain, "plain-http", false, "listen without encryption for other machines, too: what is between encrypts, such as a mesh")
	set.StringSliceVar(&f.proxies, "behind-proxy", nil, "the `ADDRESS` or network of a proxy whose X-Forwarded-For says whom a request comes from; can be repeated")
	set.StringVar(&f.metrics, "metrics", "", "the `ADDRESS` for Prometheus, at /metrics without a token (OTEL_EXPORTER_OTLP_ENDPOINT names a collector instead, or as well)")
	set.StringVar(&f.pprof, "pprof", "", "the `ADDRESS` of this machine for profiles of Go, at /debug/pprof/ without a token")
	set.StringVar(&f.trace, "trace", "", "record a span of each run in this `FILE`, or send it to a collector with otlp")
	set.BoolVar(&f.approval, "require-approval", false, "have each run that changes something wait for the approval of another person")
	set.BoolVar(&f.retryPending, "retry-pending", false, "have a run that has lost its worker create again what that may have created, which may then exist twice")
	set.BoolVar(&f.secrets, "preview-secrets", false, "let previews decrypt secrets also for tokens of the role preview, whose projects can then send them anywhere")
	set.DurationVar(&f.lease, "lease", server.DefaultLease, "the `TIME` that a worker may be silent before its run goes on elsewhere")
	set.DurationVar(&f.keep, "keep", server.DefaultKeep, "the `TIME` that ended runs and their logs are kept")
	set.DurationVar(&f.keepAudit, "keep-audit", server.DefaultKeepAudit, "the `TIME` that the audit log keeps what was done")
	set.Int64Var(&f.quota, "quota", 0, "the `MIB` of states, modules, bundles, runs, logs, and entries of the audit log each team may keep (default: any)")
	set.StringArrayVar(&f.maxRuns, "max-runs", nil, "how many runs of a team go at once, `TEAM=N`, of each other team, *=N, or of those with a label, NAME=VALUE=N; can be repeated (default: any)")
	set.StringArrayVar(&f.weights, "weight", nil, "how many turns a team has for each of another one, `TEAM=N`; can be repeated (default: one)")
	set.StringVar(&f.identity, "identity", "", "the `FILE` that says who logs in with OpenID Connect, people and workloads, and which tokens they get")
	set.StringVar(&f.webhooks, "webhooks", "", "the `FILE` that says which repositories begin runs of which stacks, by webhooks of GitHub, Gitea, or GitLab")
	set.StringSliceVar(&f.projects, "project", nil, "with token: only for this `PROJECT`, in which * stands for any text; can be repeated")
	set.StringVar(&f.person, "person", "", "with token: the `NAME` of who uses it, for somebody who has several: nobody approves what they have asked for (default: NAME)")
	set.DurationVar(&f.expires, "expires", 0, "with token: the `TIME` that it is valid (default: until it is revoked)")
	set.BoolVar(&f.withStacks, "with-stacks", false, "with end-team: remove the team's stacks, whose objects stay where they are, and cancel its runs")
	for name, after := range map[string]time.Duration{"keep": server.DefaultKeep, "keep-audit": server.DefaultKeepAudit} {
		set.Lookup(name).DefValue = fmt.Sprintf("%d days", after/(24*time.Hour))
	}
	shown := set.Bool("version", false, "print the version")
	if err := set.Parse(args); errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(out, usage+set.FlagUsagesWrapped(80))
		return nil
	} else if err != nil {
		return fmt.Errorf("%w: see \"husk server --help\"", err)
	}
	if *shown {
		fmt.Fprintln(out, "husk server", version())
		return nil
	}
	if f.dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return errors.New("there is no directory for your configuration: say with --dir where the server keeps its files")
		}
		f.dir = filepath.Join(config, "husk", "server")
	}
	if f.lease < time.Second {
		return fmt.Errorf("--lease %v: it is at least 1s", f.lease)
	}
	if f.quota < 0 {
		return fmt.Errorf("--quota %d: must not be negative", f.quota)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch rest := set.Args(); {
	case len(rest) == 0:
		return serve(ctx, f, errs)
	case rest[0] == "token" && len(rest) == 4:
		return f.token(ctx, rest[1:], out)
	case rest[0] == "export" && len(rest) == 2:
		return f.export(ctx, rest[1], out)
	case rest[0] == "import" && len(rest) == 2:
		return f.importFrom(ctx, rest[1], out)
	case rest[0] == "rotate-key" && len(rest) <= 2:
		return f.rotateKey(ctx, rest[1:], out)
	case rest[0] == "end-team" && len(rest) == 2:
		return f.with(ctx, func(s *server.Server) error { return s.EndTeam(ctx, rest[1], f.withStacks) })
	case rest[0] == "audit" && len(rest) == 2:
		return f.with(ctx, func(s *server.Server) error { return s.AuditLog(ctx, out, rest[1]) })
	default:
		return fmt.Errorf("unexpected argument %q: see \"husk server --help\"", rest[0])
	}
}

// released is the version of a release, which its linker sets.
var released string

func version() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "(devel)"
}

// open opens the server with the flags, also for a command that does something with its database: passive then.
func (f flags) open(ctx context.Context, passive bool, tracer *trace.Tracer, collector *server.Collector, more func() []telemetry.Metric) (*server.Server, error) {
	maxRuns, err := numbers("--max-runs", f.maxRuns)
	if err != nil {
		return nil, err
	}
	weights, err := numbers("--weight", f.weights)
	if err != nil {
		return nil, err
	}
	var who *identity.Config
	if f.identity != "" {
		if who, err = identity.Load(f.identity); err != nil {
			return nil, fmt.Errorf("--identity: %w", err)
		}
	}
	var hooks *webhook.Config
	if f.webhooks != "" {
		if hooks, err = webhook.Load(f.webhooks); err != nil {
			return nil, fmt.Errorf("--webhooks: %w", err)
		}
	}
	return server.Open(ctx, server.Options{
		Identity: who, Webhooks: hooks, Passive: passive,
		Dir: f.dir, Database: f.database, RequireApproval: f.approval, RetryPending: f.retryPending, PreviewSecrets: f.secrets, Lease: f.lease, Keep: f.keep, KeepAudit: f.keepAudit, Version: version(), Trace: tracer, Collector: collector, Metrics: more, Quota: f.quota << 20,
		MaxRuns: maxRuns, Weights: weights,
	})
}

// numbers returns the numbers of a flag whose values are NAME=N.
func numbers(flag string, values []string) (map[string]int, error) {
	all := make(map[string]int)
	for _, value := range values {
		i := max(strings.LastIndex(value, "="), 0)
		n, err := strconv.Atoi(strings.TrimPrefix(value[i:], "="))
		if i == 0 || err != nil || n < 1 {
			return nil, fmt.Errorf("%s %s: it has the form NAME=N, with a number from 1", flag, value)
		}
		all[value[:i]] = n
	}
	return all, nil
}

// with is begin, unless the directory has the key of a server that has its database elsewhere.
func (f flags) with(ctx context.Context, do func(*server.Server) error) error {
	if f.database == "" && exists(filepath.Join(f.dir, server.KeyFile)) && !exists(filepath.Join(f.dir, server.File)) {
		return fmt.Errorf("the server with the key in %s has its database elsewhere: name that with --database or HUSK_SERVER_DATABASE, as the server has it", f.dir)
	}
	return f.begin(ctx, do)
}

// begin opens the server for a command, beside the processes that serve, calls do with it, and closes it.
func (f flags) begin(ctx context.Context, do func(*server.Server) error) error {
	s, err := f.open(ctx, true, nil, nil, nil)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// rotateKey replaces the key of the server, or of a team.
func (f flags) rotateKey(ctx context.Context, team []string, out io.Writer) error {
	return f.with(ctx, func(s *server.Server) error {
		if len(team) > 0 {
			if err := s.RotateTeamKey(ctx, team[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(out, "New stacks of %s get the new key. For each other one: husk stack change-secrets-provider husk://default\n", team[0])
			return err
		}
		byOperator, err := s.RotateKey(ctx)
		if err != nil {
			return err
		}
		text := "The key is replaced. Back up server.key with the database.\n"
		if byOperator {
			text = "All is encrypted with the first key. Now leave only that in " + server.KeyVariable + ", at all servers.\n"
		}
		_, err = fmt.Fprint(out, text)
		return err
	})
}

// token issues a token, and prints its secret.
func (f flags) token(ctx context.Context, args []string, out io.Writer) error {
	wanted := runapi.Token{Tenant: args[0], Name: args[1], Role: runapi.Role(args[2]), Projects: f.projects, Person: f.person}
	return f.with(ctx, func(s *server.Server) error {
		if f.expires > 0 {
			wanted.Expires = s.Now().Add(f.expires)
		}
		issued, err := s.IssueToken(ctx, wanted)
		if err == nil {
			_, err = fmt.Fprintln(out, issued.Secret)
		}
		return err
	})
}

// export writes a file with all that the server keeps.
func (f flags) export(ctx context.Context, name string, out io.Writer) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	err = f.with(ctx, func(s *server.Server) error { return s.Export(ctx, file) })
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "All that the server keeps is in %s, but for its key: keep server.key, or %s, as well.\n", name, server.KeyVariable)
	return err
}

// importFrom reads a file of export into an empty database.
func (f flags) importFrom(ctx context.Context, name string, out io.Writer) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.begin(ctx, func(s *server.Server) error { return s.Import(ctx, file) }); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "All of it is there. Start the server, at the address of the one before: workers go on with their runs.")
	return err
}

// welcome says who can use a server that has issued no token yet. A server that only this machine can reach issues tokens for its
// user and for workers, which the commands of that user find.
func (f flags) welcome(ctx context.Context, s *server.Server, at string, errs io.Writer) error {
	first, err := s.First(ctx)
	if err != nil {
		return err
	}
	local, err := runapi.FindLocal()
	if err != nil {
		slog.Warn("the commands of this machine do not know the server", "error", err)
	}
	dir, absErr := filepath.Abs(f.dir)
	own := err == nil && absErr == nil && f.isLocal() && f.cert == ""
	switch {
	case own && local != nil && local.Dir == dir && !first:
		if local.URL == at {
			return nil
		}
		local.URL = at
		return local.Save()
	case !first:
		return nil
	case own && (local == nil || local.Dir == dir || !exists(local.Dir)):
		local = &runapi.Local{URL: at, Dir: dir}
		user, err := s.IssueToken(ctx, runapi.Token{Tenant: localTenant, Name: userName(), Role: runapi.Admin})
		if err != nil {
			return err
		}
		worker, err := s.IssueToken(ctx, runapi.Token{Tenant: localTenant, Name: "workers of this machine", Role: runapi.Work})
		if err != nil {
			return err
		}
		local.Token, local.WorkerToken = user.Secret, worker.Secret
		if err := local.Save(); err != nil {
			return err
		}
		fmt.Fprintf(errs, "You can use it on this machine. In other terminals:\n"+
			"  husk worker --server %s  does its runs\n  husk up --remote  asks for one, in the directory of a project\n"+
			"husk server token TEAM NAME ROLE issues tokens for others, with the same flags for its place.\n", at)
		return nil
	}
	fmt.Fprintf(errs, "Nobody can use it yet. In another terminal, with the same flags for its place:\n"+
		"  husk server token TEAM YOU admin    prints a token, for husk login %s\n"+
		"  husk server token TEAM WORKER work  prints one for husk worker\n", strings.Replace(at, "://", "://:TOKEN@", 1))
	return nil
}

// localTenant is the tenant of the tokens that a server issues itself.
const localTenant = "local"

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// userName returns the name of this process's user.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "you"
}

// isLocal reports whether only this machine can reach the server.
func (f flags) isLocal() bool {
	host, _, _ := net.SplitHostPort(f.listen)
	return hostname.IsThisMachine(host)
}

// serve serves until it is interrupted.
func serve(ctx context.Context, f flags, errs io.Writer) (err error) {
	env := func(name string) string {
		if name == "OTEL_SERVICE_NAME" {
			return cmp.Or(os.Getenv(name), "husk-server")
		}
		return os.Getenv(name)
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		// The collector of garbage is to know of the limit of the machine's operator, before the system ends the process.
		const parts = 10
		if limit, err := memlimit.FromCgroup(); err == nil && limit < math.MaxInt64 {
			debug.SetMemoryLimit(int64(limit) / parts * (parts - 1))
		}
	}
	collector, err := server.OpenCollector(env, version())
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	var tracer *trace.Tracer
	if f.trace != "" {
		exporter, err := trace.Open(f.trace, env, trace.Attribute{Key: "service.version", Value: version()})
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		defer func() {
			if err := exporter.Close(); err != nil {
				slog.Warn("traces", "error", err)
			}
		}()
		tracer = trace.NewTracer(exporter)
	}
	front, err := f.listenFront()
	if err != nil {
		return err
	}
	s, err := f.open(ctx, false, tracer, collector, front.metrics)
	if err != nil {
		front.listener.Close()
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	const headerTime, idleTime, patience = 10 * time.Second, 2 * time.Minute, 10 * time.Second
	all, err := f.listenBeside(s)
	if err != nil {
		front.listener.Close()
		return err
	}
	all = append(all, listening{front.listener, front.proxies.Handler(s), ""})
	var servers []*http.Server
	ended := make(chan error, len(all))
	for _, at := range all {
		one := &http.Server{Handler: at.handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, ErrorLog: log.New(io.Discard, "", 0)}
		servers = append(servers, one)
		if at.title != "" {
			fmt.Fprintf(errs, "%s at http://%s\n", at.title, at.listener.Addr())
		}
		go func() { ended <- one.Serve(at.listener) }()
	}
	where := f.dir
	if f.database != "" {
		where = "PostgreSQL"
	}
	fmt.Fprintf(errs, "Serving at %s, with its runs and stacks in %s. Press Ctrl-C to end.\n", front.url, where)
	if err := f.welcome(ctx, s, front.url, errs); err != nil && ctx.Err() == nil { // an interrupt is not a failure
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	slog.Info("stopping: workers go on with their runs, and tell the next server")
	s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, one := range servers {
		if err := one.Shutdown(ctx); err != nil {
			_ = one.Close()
		}
	}
	return nil
}
