// Package remotecmd has the commands of servers and workers, and of the runs that they do.
package remotecmd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	c := commands{a}
	remote := cli.Group(&cobra.Command{
		Use: "remote", Short: "See, cancel, approve, and retry the runs of a server, and repeat them",
	}, nil, c.ls(), c.show(), c.log(), c.decision("cancel", "Cancel a run: once to let running steps finish, twice to stop them"),
		c.decision("approve", "Approve the plan of a run, which its log shows"), c.decision("reject", "Reject the plan of a run"), c.retry(),
		c.schedules(), c.tokens(), c.audit())
	return []*cobra.Command{c.server(), c.worker(), remote}
}

// Client returns the client of the server that keeps the stacks.
func Client(ctx context.Context, a *cli.App) (*runapi.Client, error) {
	root, err := a.Root()
	if err != nil {
		root = a.RootOf(".")
	}
	at, err := workspace.ServerURL(ctx, root)
	if err != nil {
		return nil, err
	}
	return runapi.NewClient(at.Text(), at.Getenv(remote.TokenVariable))
}

// program is the server's. It has a database and its queue, which are larger than husk.
const program = "husk-server"

func (a commands) server() *cobra.Command {
	cmd := &cobra.Command{
		Use: "server [FLAG]...", Short: "Keep stacks, and run operations on them with workers",
		Long: "Keep the stacks of a team, and queue runs for husk worker: see docs/runners.md. The server is a separate\n" +
			"program, husk-server, beside husk or in PATH; husk server --help shows its flags.\n\n" +
			"husk server status shows the queue and the workers of the server that you are logged in to.",
		DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "status" {
				return a.status(cmd.Context(), args[1:])
			}
			path, err := find()
			if err != nil {
				return err
			}
			return a.start(path, args)
		},
	}
	return cmd
}

// find returns the path of the server's program.
func find() (string, error) {
	name := program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the program %s is neither beside husk nor in PATH\n"+
			"build it with go install . in the directory cmd/husk-server of a clone of Husk", program)
	}
	return path, nil
}

func (a commands) status(ctx context.Context, args []string) error {
	for _, arg := range args {
		if arg != "--json" {
			return cli.Usagef("husk server status has no argument %s", arg)
		}
		a.JSON = true
	}
	client, err := Client(ctx, a.App)
	if err != nil {
		return err
	}
	var s runapi.Status
	if _, err := client.Call(ctx, http.MethodGet, "/v1/status", nil, &s); err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(s)
	}
	seconds := func(s float64) string {
		return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
	}
	err = a.Printf("%s, husk server %s on %s\n\nRuns\n  queued   %6d", client.URL(), s.Version, s.Database, s.Runs[runapi.Queued])
	if s.Oldest > 0 && err == nil {
		err = a.Printf("  the oldest for %s", seconds(s.Oldest))
	}
	last := s.Last
	err = errors.Join(err, a.Printf("\n  running  %6d\n  waiting  %6d  for approval\n  waiting  %6d  for attention\n\nThe last hour\n  %d succeeded, %d failed, %d cancelled or rejected\n"+
		"  waited for a worker  median %8s, p99 %8s\n  took                 median %8s, p99 %8s\n\nWorkers\n",
		s.Runs[runapi.Running], s.Runs[runapi.Waiting], s.Runs[runapi.Attention], last[runapi.Succeeded], last[runapi.Failed], last[runapi.Cancelled]+last[runapi.Rejected],
		seconds(s.Waits["queued"].Median), seconds(s.Waits["queued"].P99), seconds(s.Waits["running"].Median), seconds(s.Waits["running"].P99)))
	if len(s.Workers) == 0 {
		return errors.Join(err, a.Printf("  none: husk worker begins one\n"))
	}
	for _, w := range s.Workers {
		err = errors.Join(err, a.Printf("  %-24s %d of %d  %s  last seen %v ago\n", w.Name, w.Running, w.Slots, labelsOf(w.Labels), time.Since(w.Seen).Round(time.Second)))
	}
	return err
}

func labelsOf(labels map[string]string) string {
	var b strings.Builder
	for line := range strings.Lines(runapi.Selector(labels)) {
		b.WriteString(strings.TrimSuffix(line, "\n") + " ")
	}
	return strings.TrimSpace(b.String())
}

func (a commands) ls() *cobra.Command {
	var project, stack string
	var open bool
	var limit int
	cmd := &cobra.Command{
		Use: "ls", Short: "List the runs of the server, the newest first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			query := url.Values{"limit": {fmt.Sprint(limit)}}
			for name, value := range map[string]string{"project": project, "stack": stack} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if open {
				query.Set("open", "")
			}
			var runs []runapi.Run
			if _, err := client.Call(cmd.Context(), http.MethodGet, "/v1/runs?"+query.Encode(), nil, &runs); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(runs)
			}
			if len(runs) == 0 {
				a.Say("There are no such runs.")
			}
			for _, r := range runs {
				if err := a.Printf("%s  %-9s  %-7s  %s/%s  by %s  %s\n", r.ID, r.State, r.Operation, r.Project, r.Stack, r.By, r.Made.Local().Format(time.DateTime)); err != nil {
					return err
				}
				for _, line := range [][2]string{{"", r.Message}, {"waits for ", r.Causes()}} {
					if line[1] == "" {
						continue
					}
					if err := a.Printf("    %s%s\n", line[0], line[1]); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "only runs of this project")
	cmd.Flags().StringVar(&stack, "of", "", "only runs of the stack with this name")
	cmd.Flags().BoolVar(&open, "open", false, "only runs that have not ended")
	cmd.Flags().IntVar(&limit, "limit", 20, "how many")
	return cmd
}

func (a commands) show() *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show the progress of a run, and what it waits for",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			var r runapi.Run
			if _, err := client.Call(cmd.Context(), http.MethodGet, "/v1/runs/"+url.PathEscape(args[0]), nil, &r); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(r)
			}
			at := func(t time.Time) string {
				if t.IsZero() {
					return ""
				}
				return t.Local().Format(time.DateTime)
			}
			variables := ""
			if len(r.Variables) > 0 {
				variables = "given by " + r.By + ", encrypted"
			}
			for _, fact := range [][2]string{
				{"run", r.ID}, {"state", string(r.State)}, {"waits for", r.Causes()}, {"reason", r.Reason}, {"operation", r.Operation}, {"stack", r.Project + "/" + r.Stack},
				{"labels", labelsOf(r.Labels)}, {"variables", variables}, {"asked for", at(r.Made) + " by " + r.By}, {"message", r.Message}, {"approved by", r.ApprovedBy},
				{"worker", r.Worker}, {"began", at(r.Began)}, {"ended", at(r.Ended)},
			} {
				if fact[1] == "" {
					continue
				}
				if err := a.Printf("%-11s  %s\n", fact[0], fact[1]); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// SayCauses says what a run waits for, unless it said the same last, and returns the text.
func SayCauses(a *cli.App, r *runapi.Run, last string) string {
	causes := r.Causes()
	if causes != "" && causes != last {
		a.Say("The run waits for %s.", causes)
	}
	return causes
}

func (a commands) log() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "log RUN", Short: "Show the log of a run",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			var run runapi.Run
			if _, err := client.Call(cmd.Context(), http.MethodGet, "/v1/runs/"+url.PathEscape(args[0]), nil, &run); err != nil {
				return err
			}
			causes := ""
			return client.Follow(cmd.Context(), run.ID, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
				if r != nil {
					if follow {
						causes = SayCauses(a.App, r, causes)
					}
					return follow && !r.State.IsFinal(), nil
				}
				return true, Show(a.App, l)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run ends")
	return cmd
}

// Show shows a line of a log, which begins with the speaker: texts of other machines cannot control the terminal, and pass
// neither for this command's own nor for the server's. Lines of JSON, which programs read, are as they were.
func Show(a *cli.App, l *runapi.Line) error {
	if a.JSON && l.Stream == runapi.Out {
		var line bytes.Buffer
		if json.Compact(&line, []byte(l.Text)) == nil {
			return cli.Writing(a.Out.WriteData(display.EscapeJSON(append(line.Bytes(), '\n'))))
		}
	}
	to := a.Errs
	if l.Stream == runapi.Out && !a.JSON {
		to = a.Out
	}
	_, err := fmt.Fprintf(to, "%s | %s\n", l.Who(), display.EscapeButColour(l.Text, to.Style().Colour))
	return cli.Writing(err)
}

// decision returns the command that posts a decision about a run.
func (a commands) decision(name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name + " RUN", Short: short,
		RunE: func(cmd *cobra.Command, args []string) error { return a.decide(cmd.Context(), args[0], name) },
	}
}

// retry has a run go on that needs attention.
func (a commands) retry() *cobra.Command {
	pending := false
	cmd := &cobra.Command{
		Use: "retry RUN", Short: "Have a run go on that needs attention",
		Long: "Have a run go on that needs attention: its worker was lost while it created an object, which may or may\n" +
			"not exist. Look for it, and have husk refresh take it over with --adopt-pending-creates, or forget it\n" +
			"with --clear-pending-creates.\n\n" +
			"--retry-pending has the run create unrecorded objects again, even if they exist.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if pending {
				return a.decide(cmd.Context(), args[0], "retry?pending")
			}
			return a.decide(cmd.Context(), args[0], "retry")
		},
	}
	cmd.Flags().BoolVar(&pending, "retry-pending", false, "create again objects that an earlier worker may have created")
	return cmd
}

// decide sends a decision about a run to the server.
func (a commands) decide(ctx context.Context, id, what string) error {
	client, err := Client(ctx, a.App)
	if err != nil {
		return err
	}
	if what == "cancel" {
		what += "?call=" + rand.Text() // twice is more than once
	}
	var run runapi.Run
	if _, err := client.Call(ctx, http.MethodPost, "/v1/runs/"+url.PathEscape(id)+"/"+what, nil, &run); err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(run)
	}
	a.Say("The run %s is %s.", run.ID, run.State)
	return nil
}

func (a commands) schedules() *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Short: "List the schedules",
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			var all []runapi.Schedule
			if _, err := client.Call(cmd.Context(), http.MethodGet, "/v1/schedules", nil, &all); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(all)
			}
			if len(all) == 0 {
				a.Say("There are no schedules.")
			}
			for _, s := range all {
				next := "stopped"
				if !s.Next.IsZero() {
					next = "next " + s.Next.Format(time.RFC3339)
				}
				if s.Reason != "" {
					next += ": " + printable.Line(s.Reason)
				}
				if err := a.Printf("%-20s  %-15s  %-7s  %s/%s  %s\n", s.Name, s.Cron, s.Run.Operation, s.Run.Project, s.Run.Stack, next); err != nil {
					return err
				}
			}
			return nil
		},
	}
	rm := &cobra.Command{
		Use: "rm NAME", Short: "Remove a schedule",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.call(cmd.Context(), http.MethodDelete, "/v1/schedules/"+url.PathEscape(args[0]), "Removed the schedule %s.", args[0])
		},
	}
	var labels []string
	var driftOnly bool
	set := &cobra.Command{
		Use: "set NAME CRON OPERATION", Short: "Run an operation on the stack again and again",
		Long: "Run up, preview, refresh, or destroy on the stack at the times of a line of cron, in UTC: minute, hour,\n" +
			"day, month, day of the week. Each run uses the project's files as they are now. Set the schedule again\n" +
			"to use newer ones.",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := Client(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			n, err := NewRun(cmd.Context(), a.App, client, args[2], labels, nil)
			if err != nil {
				return err
			}
			if driftOnly {
				if args[2] != "refresh" {
					return cli.Usagef("--preview-only is for the operation refresh, which then only shows what has drifted")
				}
				n.Options = append(n.Options, "--preview-only")
			}
			var set runapi.Schedule
			if _, err := client.Call(cmd.Context(), http.MethodPut, "/v1/schedules/"+url.PathEscape(args[0]), runapi.Schedule{Name: args[0], Cron: args[1], Run: *n}, &set); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(set)
			}
			a.Say("The first run is at %s.", set.Next.Format(time.RFC3339))
			return nil
		},
	}
	set.Flags().Var(cli.Repeated(&labels), "label", "have a worker with this label do it: NAME=VALUE; can be repeated")
	set.Flags().BoolVar(&driftOnly, "preview-only", false, "with refresh: show what has drifted, and record nothing")
	return cli.Group(&cobra.Command{Use: "schedule", Short: "Repeat runs, for example to find drift"}, nil, set, ls, rm)
}

func (a commands) call(ctx context.Context, method, path, done string, args ...any) error {
	client, err := Client(ctx, a.App)
	if err != nil {
		return err
	}
	if _, err := client.Call(ctx, method, path, nil, nil); err != nil {
		return err
	}
	a.Say(done, args...)
	return nil
}

// NewRun sends the files of the project, and returns the request for a run of an operation on the current stack.
func NewRun(ctx context.Context, a *cli.App, client *runapi.Client, operation string, labels []string, variables map[string]string) (*runapi.NewRun, error) {
	w, stack, err := a.CurrentStack(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if w.Detached != nil {
		return nil, w.Detached
	}
	if err := w.CheckKey(ctx, stack); err != nil {
		return nil, err
	}
	wanted, err := runapi.ParseLabels(labels)
	if err != nil {
		return nil, cli.Usage(err)
	}
	var content bytes.Buffer
	var info *bundle.Info
	err = a.WithPlugins(ctx, w.Project, func(p *plugins.Plugins) (err error) {
		info, err = bundle.Pack(&content, w.Project, func(dir string) ([]byte, error) {
			module, err := p.Module(ctx, "", dir)
			if err != nil {
				return nil, err
			}
			return module.Bytes()
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := client.SendBundle(ctx, info.Digest, content.Bytes()); err != nil {
		return nil, err
	}
	n := &runapi.NewRun{Project: w.Project.Name, Stack: stack, Operation: operation, Bundle: info.Digest, Directory: info.Project, Labels: wanted, JSON: a.JSON}
	if _, ok := trace.ParseTraceparent(os.Getenv("TRACEPARENT")); ok {
		n.Traceparent = os.Getenv("TRACEPARENT")
	}
	if n.Directory == "." {
		n.Directory = ""
	}
	if len(variables) > 0 {
		if n.Variables, err = w.SealVariables(ctx, variables); err != nil {
			return nil, err
		}
	}
	return n, nil
}
