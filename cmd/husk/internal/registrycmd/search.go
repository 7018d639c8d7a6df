package registrycmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/registry"
)

// mostFound is how many providers a search shows of a registry.
const mostFound = 50

func (a commands) search() *cobra.Command {
	var in []string
	cmd := &cobra.Command{
		Use: "search [TEXT]", Short: "Search registries for providers",
		Long: "Search for providers with a text in their name, in the registries that plugins.registries in the project\n" +
			"file and HUSK_REGISTRIES list, or in the ones that --registry names. A registry without a catalog cannot\n" +
			"be searched. Many public ones have none.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 0 {
				text = args[0]
			}
			do := func(p *plugins.Plugins) error {
				var all []registry.Registry
				for _, name := range in {
					r, err := registry.ParseRegistry(name)
					if err != nil {
						return cli.Usage(fmt.Errorf("--registry: %w", err))
					}
					all = append(all, r)
				}
				if all == nil {
					var err error
					if all, err = p.Registries(); err != nil {
						return err
					}
				}
				if all == nil {
					return cli.Usagef("there is no registry to search: name one with --registry oci://registry.example.com, in HUSK_REGISTRIES, or under plugins.registries")
				}
				client, err := p.Registry(nil)
				if err != nil {
					return err
				}
				type row struct {
					Source      string `json:"source"`
					Name        string `json:"name"`
					Version     string `json:"version"`
					Description string `json:"description,omitempty"`
					Licences    string `json:"licences,omitempty"`
				}
				rows := []row{}
				for _, r := range all {
					found, err := client.Search(cmd.Context(), r, text, mostFound)
					if err != nil {
						return err
					}
					for _, f := range found {
						rows = append(rows, row{f.Source.String(), f.Name, f.Version, f.Labels.Description, f.Labels.Licenses})
					}
				}
				return cli.WriteList(a.App, rows, "No provider has that in its name.", nil, func(r row) []string {
					return []string{r.Name, r.Version, r.Source, r.Description}
				})
			}
			project, err := a.Project(cmd.Context())
			if err != nil { // which the search does not need
				return a.withPlugins(cmd.Context(), do)
			}
			return a.WithPlugins(cmd.Context(), project, do)
		},
	}
	cmd.Flags().Var(cli.Repeated(&in), "registry", "search this registry; can be repeated")
	return cmd
}
