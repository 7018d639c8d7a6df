// Package pulumi connects stacks with processes that speak Pulumi's protocol: programs and native plugins on this machine. It is
// apart from package stackrun, because the protocol is an eighth of the code that a program with it links.
package pulumi

import (
	"context"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/pulumi/pulumiplugin"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

// Host implements [stackrun.Pulumi].
type Host struct {
	// Client is the address of a process of this machine that runs the program itself, as Pulumi's Automation API does. It is
	// empty if Husk starts the program.
	Client string
}

var _ stackrun.Pulumi = Host{}

// FindRuntime implements [stackrun.Pulumi].
func (h Host) FindRuntime(runtime string) error {
	if h.Client != "" {
		return nil
	}
	return pulumiprogram.Find(runtime)
}

// Runtimes implements [stackrun.Pulumi].
func (Host) Runtimes() []string { return pulumiprogram.Runtimes() }

// Program implements [stackrun.Pulumi].
func (h Host) Program(p *program.Project, report func(engine.Diagnostic), stop func() <-chan struct{}) engine.Program {
	return pulumiprogram.New(p, pulumiprogram.Options{Report: report, Stop: stop, Client: h.Client})
}

// Install implements [stackrun.Pulumi].
func (h Host) Install(ctx context.Context, p *program.Project) error {
	if h.Client != "" {
		return nil
	}
	return pulumiprogram.Install(ctx, p)
}

// OpenPolicy implements [stackrun.Pulumi].
func (Host) OpenPolicy(ctx context.Context, o plugins.PolicyOptions) (plugins.PolicyProcess, error) {
	command, err := pulumiprogram.PolicyCommand(ctx, o.Source.Program)
	if err != nil {
		return nil, err
	}
	return pulumiplugin.OpenPolicy(pulumiplugin.PolicyOptions{
		Dir: o.Source.Program.Dir, ProgramDir: o.Source.Program.ProgramDir, Version: o.Source.Version, Run: o.Run, Command: command, Log: o.Log,
	}), nil
}

// StartNative implements [stackrun.Pulumi].
func (Host) StartNative(ctx context.Context, o plugins.NativeOptions) (plugins.NativePlugin, error) {
	run := pulumiplugin.Options{
		Name: o.Name, Program: o.Program, Dir: o.Dir, EnvVarMappings: o.EnvVarMappings, Log: o.Log, WantedVersion: o.WantedVersion,
	}
	if o.Source != nil {
		run.Dir = o.Source.ProgramDir
		var err error
		if run.Command, err = pulumiprogram.ComponentsCommand(ctx, o.Source); err != nil {
			return nil, err
		}
	}
	started, err := pulumiplugin.Start(ctx, run)
	if err != nil {
		return nil, err
	}
	return started, nil
}
