package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/langbuild"
)

// Policies returns the policy packs that the project lists, and then others, whose paths are not relative
// to the project. They live as long as the plugins.
func (p *Plugins) Policies(ctx context.Context, others []program.PolicyPack) ([]analysis.Pack, error) {
	listed := p.project.Policies
	packs := make([]analysis.Pack, len(listed)+len(others))
	failures := make([]error, len(packs))
	var all sync.WaitGroup // each may have to be built and compiled
	for i := range packs {
		all.Go(func() {
			if i < len(listed) {
				declared := &listed[i]
				packs[i], failures[i] = p.policy(ctx, declared, p.project.Path(declared.Path))
				if failures[i] != nil {
					failures[i] = p.problem(entry{"policy pack", declared.Path, declared.Path, declared.Position}, failures[i])
				}
				return
			}
			other := &others[i-len(listed)]
			if packs[i], failures[i] = p.policy(ctx, other, other.Path); failures[i] != nil {
				failures[i] = fmt.Errorf("the policy pack %s cannot be used: %w", other.Path, failures[i])
			}
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err // the first one in the list
		}
	}
	return packs, nil
}

func (p *Plugins) policy(ctx context.Context, declared *program.PolicyPack, path string) (pack analysis.Pack, err error) {
	if root := p.rootOf(path); program.IsPolicyProgram(root, path) {
		return p.policyProgram(ctx, root, declared, path)
	}
	module, err := p.Module(ctx, declared.Path, path)
	if err != nil {
		return pack, err
	}
	policy, err := module.module.NewPolicy(ctx, host.PolicyOptions{
		Name: module.Name, Instances: p.options.Instances, Logger: slog.New(&records{to: p.options.Events}),
	})
	if err != nil {
		return pack, err
	}
	p.addUser(user{module: module, policy: true, stats: policy.Stats})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toClose = append(p.toClose, policy)
	return analysis.Pack{Policy: policy, Settings: declared.Settings}, nil
}

// Program returns the program of a project whose runtime is wasm, the same for all runs. It lives as long as the plugins.
func (p *Plugins) Program(ctx context.Context) (abi.Program, error) {
	p.mu.Lock()
	before := p.program
	p.mu.Unlock()
	if before != nil {
		return before, nil
	}
	const kind = "program"
	declared := entry{kind, p.project.Main, p.project.Main, p.project.MainPosition}
	if err := langbuild.NoProgram(p.project.ProgramDir); err != nil {
		return nil, p.problem(declared, err)
	}
	module, err := p.Module(ctx, kind, p.project.ProgramDir)
	if err != nil {
		return nil, p.problem(declared, err)
	}
	made, err := module.module.NewProgram(ctx, kind, slog.New(&records{to: p.options.Events}))
	if err != nil {
		return nil, p.problem(declared, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toClose, p.program = append(p.toClose, made), made
	return made, nil
}

// A policy pack may be a program of Pulumi's SDK for Node.js or Python. As a native plugin, it is a process with the rights of the
// user: the same rules are for both.

// PolicyProcess is a policy pack that is a program. It runs from the first call until it is closed.
type PolicyProcess interface {
	abi.Policy
	io.Closer
}

// PolicyOptions say which policy pack runs, and who gets what it says.
type PolicyOptions struct {
	Source *program.PolicyProgram
	// Run is what is known of the run before the engine says it.
	Run abi.RunContext
	// Log gets its messages, and what it prints with the severity debug. It may be called concurrently.
	Log func(abi.LogEntry)
}

// policyProgram makes a policy pack of a program.
func (p *Plugins) policyProgram(ctx context.Context, root *projectroot.Root, declared *program.PolicyPack, path string) (pack analysis.Pack, err error) {
	const what = "it is a program of Pulumi's SDK"
	if err := p.permitNative(what); err != nil {
		return pack, err
	}
	if p.options.OpenPolicy == nil {
		return pack, errors.New(what + ", which this process cannot run: it was started for a project without one; start it anew")
	}
	written, err := program.ReadPolicyProgram(root, path)
	if err != nil {
		return pack, err
	}
	log := &nativeLog{declared.Path, p.options.Events}
	policy, err := p.options.OpenPolicy(ctx, PolicyOptions{
		Source: written, Log: func(e abi.LogEntry) { log.Write(ctx, e) },
		Run: abi.RunContext{Project: p.project.Name, Config: p.options.Config, DryRun: p.previews()},
	})
	if err != nil {
		return pack, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toClose = append(p.toClose, policy)
	p.tellUnconfined(declared.Path, whatRuns(written.Program))
	return analysis.Pack{Policy: policy, Settings: declared.Settings}, nil
}
