package deploycmd

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/remotecmd"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

// remoteFlags are the flags of runs on a server.
type remoteFlags struct {
	remote, approval bool
	labels           []string
	variables        []string
	message          string
}

func (f *remoteFlags) add(cmd *cobra.Command, changes bool) {
	flags := cmd.Flags()
	flags.BoolVar(&f.remote, "remote", false, "have a worker of the server do it: see docs/runners.md")
	flags.Var(cli.Repeated(&f.labels), "label", "with --remote: by a worker with this label, NAME=VALUE; can be repeated")
	flags.Var(cli.Repeated(&f.variables), "env", "with --remote: give the run's providers and program this variable, `NAME=VALUE`, or\nNAME with its value here; can be repeated")
	flags.StringVar(&f.message, "message", "", "with --remote: the reason for the run")
	if changes {
		flags.BoolVar(&f.approval, "require-approval", false, "with --remote: after another person has approved the plan")
	}
}

// remoteOnly are the flags of [remoteFlags].
var remoteOnly = []string{"remote", "label", "env", "message", "require-approval"}

// given returns the variables of the run.
func (f *remoteFlags) given() (map[string]string, error) {
	all := make(map[string]string)
	for _, text := range f.variables {
		name, value, is := strings.Cut(text, "=")
		if err := errors.Join(grant.CheckVariable(name), named.CheckVariable(name)); err != nil {
			return nil, cli.Usagef("--env %s: %w", name, err)
		}
		if !is {
			if value, is = os.LookupEnv(name); !is {
				return nil, cli.Usagef("--env %s: there is no such variable in the environment: set it, or give the value with --env %[1]s=VALUE", name)
			}
		}
		all[name] = value
	}
	return all, nil
}

func (f *remoteFlags) check(cmd *cobra.Command) error {
	for _, name := range remoteOnly[1:] {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && !f.remote {
			return cli.Usagef("--%s requires --remote", name)
		}
	}
	return nil
}

// options returns the flags that were given, for the run on a server.
func options(cmd *cobra.Command, operation string) (all []string, err error) {
	here, ofAll := append([]string{"yes", cli.DetailedExitCode}, remoteOnly...), cmd.InheritedFlags()
	cli.Given(cmd, func(name, value string) {
		if slices.Contains(here, name) || ofAll.Lookup(name) != nil || cmd.Flag(name).Annotations[cli.NotForRuns] != nil {
			return
		}
		option := "--" + name + "=" + value
		if bad := runapi.CheckOption(operation, option); bad != nil && err == nil {
			err = cli.Usagef("--remote: %w", bad)
		}
		all = append(all, option)
	})
	return all, err
}

// deployRemotely has a worker of the server do what a command does, and shows it as if it were done here.
func (a commands) deployRemotely(cmd *cobra.Command, c command, f *deployFlags, r *remoteFlags) error {
	ctx := cmd.Context()
	if f.detailedExit {
		return cli.Usagef("--%s is not for --remote, where the run says only whether it succeeded", cli.DetailedExitCode)
	}
	if f.skipPreview && (r.approval || !f.yes) {
		return cli.Usagef("--skip-preview requires --yes, and somebody who approves a run wants to see its preview")
	}
	previewOnly := c.previewOnly || f.previewOnly
	asks := !previewOnly && !f.yes && !r.approval
	if asks && (a.JSON || !a.IsInteractive()) {
		return cli.Usagef("husk %s --remote needs a terminal to ask for confirmation: add --yes, or --require-approval to have somebody else confirm", c.name)
	}
	given, err := options(cmd, c.name)
	if err != nil {
		return err
	}
	variables, err := r.given()
	if err != nil {
		return err
	}
	client, err := remotecmd.Client(cmd.Context(), a.App)
	if err != nil {
		return err
	}
	n, err := remotecmd.NewRun(ctx, a.App, client, c.name, r.labels, variables)
	if err != nil {
		return err
	}
	n.Options, n.Message, n.Colour = given, r.message, a.Out.Style().Colour
	if asks {
		first := *n
		if first.Options = append(slices.Clone(given), "--preview-only=true"); c.name == "up" {
			first.Operation, first.Options = "preview", given
		}
		if err := a.runRemotely(ctx, client, first); err != nil {
			return err
		}
		if err := a.Ask(c.question, nil); err != nil {
			return err
		}
	}
	n.Approval = r.approval
	return a.runRemotely(ctx, client, *n)
}

// keepChoice has other commands find the stacks of a project whose first run was sent to the server of this machine.
func (a commands) keepChoice(ctx context.Context) error {
	root, err := a.Root()
	if err != nil {
		return err
	}
	at, err := workspace.KeepChoice(ctx, root)
	if err == nil && at != "" {
		a.Say("The stacks of this project are kept there from now on; husk logout forgets that.")
	}
	return err
}

// runRemotely queues a run and follows it until it ends, or waits for approval.
func (a commands) runRemotely(ctx context.Context, client *runapi.Client, n runapi.NewRun) (err error) {
	n.ID = rand.Text()
	show := func(l *runapi.Line) error { return remotecmd.Show(a.App, l) }
	if f := newFollowing(a.App); f != nil {
		defer func() { err = f.close(err) }()
		n.JSON, show = true, f.show
	}
	var run runapi.Run
	if _, err := client.Call(ctx, http.MethodPost, "/v1/runs", n, &run); err != nil {
		return err
	}
	if !bytes.Equal(run.Variables, n.Variables) { // of a version without them, which would begin the run all the same
		err := fmt.Errorf("%s gives no variables to a run: update the server, or leave out --env", client.URL())
		return errors.Join(err, cancelRun(ctx, client, run.ID))
	}
	a.Say("The run %s is queued at %s.", run.ID, client.URL())
	causes := remotecmd.SayCauses(a.App, &run, "")
	if n.Operation != "preview" {
		if err := a.keepChoice(ctx); err != nil {
			a.Say("%v", err)
		}
	}
	ctx, detach := context.WithCancel(ctx)
	defer detach()
	var cancelling sync.WaitGroup
	cancel := func() {
		cancelling.Go(func() {
			if err := cancelRun(context.WithoutCancel(ctx), client, run.ID); err != nil {
				a.Say("The run could not be cancelled: %v", err)
			}
		})
	}
	end := a.Heed(a.Remark,
		cli.Stage{Message: "Cancelling: running steps finish there. Press Ctrl-C again to stop them.", Do: cancel},
		cli.Stage{Message: "Cancelling now.", Do: cancel})
	defer end()
	worker := ""
	err = client.Follow(ctx, run.ID, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
		if l != nil {
			return true, show(l)
		}
		run = *r
		if r.State == runapi.Queued {
			causes = remotecmd.SayCauses(a.App, r, causes)
		}
		if r.State == runapi.Running && r.Worker != worker {
			worker = r.Worker
			a.Say("The worker %s has begun.", worker)
		}
		return !r.State.IsFinal() && r.State != runapi.Waiting && r.State != runapi.Attention, nil
	})
	cancelling.Wait()
	switch {
	case err != nil:
		return fmt.Errorf("%w\nthe run goes on: husk remote log -f %s follows it", err, run.ID)
	case run.State == runapi.Succeeded:
		return nil
	case run.State == runapi.Waiting:
		a.Say("husk remote log -f %s follows what becomes of it.", run.ID)
		return nil
	case run.State == runapi.Attention:
		return fmt.Errorf("the run %s needs attention: %s; look for it, have husk refresh take it over with --adopt-pending-creates, and then: husk remote retry %[1]s, or cancel", run.ID, printable.Line(run.Reason))
	case run.Reason != "":
		return errors.New("the run " + run.ID + " has " + string(run.State) + ": " + printable.Line(run.Reason)) // its worker says what it likes
	case run.State == runapi.Failed:
		return cli.Shown(errors.New("the run has failed"))
	}
	return fmt.Errorf("the run %s was %s", run.ID, run.State)
}

func cancelRun(ctx context.Context, client *runapi.Client, id string) error {
	_, err := client.Call(ctx, http.MethodPost, "/v1/runs/"+id+"/cancel?call="+rand.Text(), nil, nil)
	return err
}

// following shows a run of a server as if it were done here, and tells the followers of its events. They do not have the states of its
// resources.
type following struct {
	app       *cli.App
	followers []cli.Follower
	shown     *display.Text
}

// newFollowing returns nil if there are no followers.
func newFollowing(a *cli.App) *following {
	f := &following{app: a, followers: a.Followers(), shown: display.NewText(a.Shown(), a.Errs, display.Options{})}
	if len(f.followers) == 0 {
		return nil
	}
	for _, follower := range f.followers {
		follower.Begin(nil)
	}
	return f
}

func (f *following) show(l *runapi.Line) error {
	e, err := display.ReadEvent([]byte(l.Text))
	if l.Stream != runapi.Out || err != nil {
		other := *l
		other.Stream = runapi.Err // standard output may be a follower's
		return remotecmd.Show(f.app, &other)
	}
	f.shown.Event(e)
	for _, follower := range f.followers {
		follower.Event(e)
	}
	return nil
}

// close ends the display with the error of the run, and returns that, marked as shown.
func (f *following) close(err error) error {
	f.shown.Close(err)
	for _, follower := range f.followers {
		follower.Close(err)
	}
	if err == nil {
		return nil
	}
	return cli.Shown(err)
}
