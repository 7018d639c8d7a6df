// Package processgroup ends a process together with its children. Plugins and programs of Pulumi are often scripts that start
// another process, which would survive them, and so do compilers.
package processgroup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Signals has a signal that ends this process end the groups of [Run] before. A program that embeds Husk has none, and heeds
// signals as it likes: its groups end with their contexts.
type Signals struct {
	heeding atomic.Int32
	mu      sync.Mutex // held while a process starts, and while this one ends: none starts then
	running map[*os.Process]bool
}

type signalsKey struct{}

// With returns a context for [Run].
func (s *Signals) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, signalsKey{}, s)
}

// Heed says that somebody else heeds signals until end is called. They end the groups that run, and not this process.
func (s *Signals) Heed() (end func()) {
	s.heeding.Add(1)
	return func() { s.heeding.Add(-1) }
}

// Run runs a command that [exec.CommandContext] has made with ctx, in a group of its own. All of the group ends with ctx, and
// before a signal ends this process, if ctx has [Signals]. Processes that the group has started outside of it may keep the output
// open. It is read for the command's WaitDelay, or a second, after the group was killed.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	cmd.WaitDelay = cmp.Or(cmd.WaitDelay, time.Second)
	cmd.Cancel = func() error {
		Kill(cmd.Process)
		return nil
	}
	if s, ok := ctx.Value(signalsKey{}).(*Signals); ok {
		return s.run(cmd)
	}
	Own(cmd)
	return cmd.Run()
}

// Output is [Run] and returns the command's output. An [exec.ExitError] has its standard error.
func Output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := Run(ctx, cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		exit.Stderr = errs.Bytes()
	}
	return out.Bytes(), err
}
