package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/plugins"
)

// policyFlags name policy packs beside those that the project lists. They are Pulumi's.
type policyFlags struct{ packs, configs []string }

func (f *policyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.packs, "policy-pack", nil,
		"check resources with this policy pack, a .wasm file or a directory of Go source; can be repeated")
	cmd.Flags().StringArrayVar(&f.configs, "policy-pack-config", nil,
		"the configuration of a policy pack, a JSON or YAML file: the first is for the first --policy-pack, and so on")
}

// open opens the policy packs of the project and of the flags.
func (f *policyFlags) open(ctx context.Context, p *plugins.Plugins) ([]analysis.Pack, error) {
	if len(f.configs) > 0 && len(f.configs) != len(f.packs) {
		return nil, usagef("%d --policy-pack and %d --policy-pack-config: give one configuration for each pack, or none",
			len(f.packs), len(f.configs))
	}
	packs := make([]program.PolicyPack, len(f.packs))
	for i, path := range f.packs {
		packs[i].Path = path
		if len(f.configs) == 0 {
			continue
		}
		settings, err := program.ReadPolicySettings(f.configs[i])
		if err != nil {
			return nil, err
		}
		packs[i].Settings = settings
	}
	return p.Policies(ctx, packs)
}
