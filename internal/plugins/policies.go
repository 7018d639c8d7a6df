package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
)

// Policies returns the policy packs that the project lists, and after them others, whose
// paths are taken as they are. They live as long as the plugins.
func (p *Plugins) Policies(ctx context.Context, others []program.PolicyPack) ([]analysis.Pack, error) {
	listed := p.project.Policies
	packs := make([]analysis.Pack, len(listed)+len(others))
	failures := make([]error, len(packs))
	var all sync.WaitGroup // each may have to be built and compiled
	for i := range listed {
		all.Go(func() {
			declared := &listed[i]
			pack, err := p.policy(ctx, declared, p.project.Path(declared.Path))
			if err != nil {
				failures[i] = p.problem(entry{"policy pack", declared.Path, declared.Path, declared.Position}, err)
			}
			packs[i] = pack
		})
	}
	for i := range others {
		all.Go(func() {
			pack, err := p.policy(ctx, &others[i], others[i].Path)
			if err != nil {
				err = fmt.Errorf("the policy pack %s cannot be used: %w", others[i].Path, err)
			}
			packs[len(listed)+i], failures[len(listed)+i] = pack, err
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err // the first, as they are listed
		}
	}
	return packs, nil
}

func (p *Plugins) policy(ctx context.Context, declared *program.PolicyPack, path string) (pack analysis.Pack, err error) {
	if runsElsewhere(path) {
		return pack, errors.New("it is a policy pack for a runtime of Pulumi, which husk does not run: " +
			"a pack for husk is a .wasm file, or Go source that uses guest-sdk/policy")
	}
	module, err := p.Module(ctx, declared.Path, path)
	if err != nil {
		return pack, err
	}
	policy, err := module.module.NewPolicy(ctx, host.PolicyOptions{
		Name: module.Name, Instances: p.options.Instances, Logger: slog.New(&records{to: p.options.Diagnostics}),
	})
	if err != nil {
		return pack, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policies = append(p.policies, policy)
	return analysis.Pack{Policy: policy, Settings: declared.Settings}, nil
}

// runsElsewhere reports whether a directory holds a policy pack of Pulumi's, which is a
// program in another language.
func runsElsewhere(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "PulumiPolicy.yaml"))
	source, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is well formed, or there is nothing
	return err == nil && len(source) == 0
}

// where says where a project lists modules of a world.
func where(world canon.World) string {
	if world == canon.WorldPolicy {
		return "policies"
	}
	return "plugins.providers"
}
