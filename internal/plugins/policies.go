package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host"
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
	if runsElsewhere(p.rootOf(path), path) {
		return pack, errors.New("it is a policy pack for a runtime of Pulumi, which husk does not run: " +
			"a pack for husk is a .wasm file, or Go source that uses guest-sdk/policy")
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
	p.policies = append(p.policies, policy)
	return analysis.Pack{Policy: policy, Settings: declared.Settings}, nil
}

// runsElsewhere reports whether a directory holds a policy pack of Pulumi, a program in another language.
func runsElsewhere(root *projectroot.Root, dir string) bool {
	if _, err := root.Stat(filepath.Join(dir, "PulumiPolicy.yaml")); err != nil {
		return false
	}
	entries, err := root.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".go" })
}
