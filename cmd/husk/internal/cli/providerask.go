package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/cmd/husk/internal/display"
	"github.com/husk-dev/husk/cmd/husk/internal/plugins"
)

// askFlags say what a provider that is asked something may do, and what it is.
type askFlags struct {
	grants, config, parameters []string
	extension                  bool
}

func (f *askFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.grants, "grant", nil, "grant "+grant.Flags("")+"; can be repeated")
	flags.StringArrayVar(&f.config, "config", nil, "configure the provider with NAME=VALUE, where lists and objects are JSON; can be repeated")
	flags.StringArrayVar(&f.parameters, "parameter", nil, "parameterize the provider with this word first; can be repeated")
	flags.BoolVar(&f.extension, "extension", false, "have the provider serve the package of the parameters beside its own")
}

// askProvider opens the provider at a path, makes it what the flags say, and configures it.
func (a *app) askProvider(ctx context.Context, path string, f *askFlags, ask func(abi.Provider) error) error {
	grants, err := parseGrants(".", f.grants)
	if err != nil {
		return err
	}
	config, err := parsePairs("config", f.config)
	if err != nil {
		return err
	}
	if f.extension && len(f.parameters) == 0 {
		return usagef("--extension: say with --parameter what the extension is made of")
	}
	return a.withPlugins(ctx, nil, func(p *plugins.Plugins) error {
		m, err := p.Module(ctx, "", path)
		if err != nil {
			return err
		}
		provider, err := p.Granted(ctx, m, grants, false)
		if err != nil {
			return err
		}
		err = f.introduce(ctx, provider, config)
		if err == nil {
			err = ask(provider)
		}
		if c, ok := provider.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
		return err
	})
}

func (f *askFlags) introduce(ctx context.Context, p abi.Provider, config property.Map) error {
	who, err := p.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs})
	if err != nil {
		return err
	}
	if len(f.parameters) > 0 {
		became, err := p.Parameterize(ctx, abi.ParameterizeRequest{
			Parameters: abi.Parameters{Case: abi.ParametersCaseArgs, Args: f.parameters}, Extension: f.extension,
		})
		if err != nil {
			return err
		}
		if !f.extension {
			who.Name = became.Name
		}
	}
	typ := "pulumi:providers:" + who.Name
	checked, err := p.CheckConfig(ctx, abi.CheckRequest{Name: "default", Type: typ, News: config})
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		checked.Inputs = config
	case err != nil:
		return err
	case len(checked.Failures) > 0:
		var failures []error
		for _, failure := range checked.Failures {
			failures = append(failures, fmt.Errorf("the configuration of %s: %s: %s", who.Name, failure.Path, abi.Cite(failure.Reason)))
		}
		return errors.Join(failures...)
	}
	err = p.Configure(ctx, abi.ConfigureRequest{Name: "default", Type: typ, ID: "husk", Inputs: checked.Inputs})
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil
	}
	return err
}

func (a *app) providerList() *cobra.Command {
	var f askFlags
	var query []string
	var first uint64
	cmd := &cobra.Command{
		Use: "list FILE|DIR TYPE", Short: "List the resources of a type that exist, with the IDs to import them by", Args: arguments(2, 2),
		Long: "List the resources of a type that exist, whether or not a stack manages them, with the IDs to import\n" +
			"them by. The provider needs the grants and the configuration with which it reaches them.",
		Example: "  husk provider list cloud.wasm cloud:Server --grant http=https://api.example.org --config token=...",
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := parsePairs("query", query)
			if err != nil {
				return err
			}
			return a.askProvider(cmd.Context(), args[0], &f, func(p abi.Provider) error {
				token, err := typeOf(cmd.Context(), p, args[1])
				if err != nil {
					return err
				}
				found, err := listAll(cmd.Context(), p, abi.ListRequest{Token: token, Query: wanted, Limit: first})
				if errors.Is(err, abi.ErrUnimplemented) {
					return fmt.Errorf("%s cannot list resources of the type %s", args[0], token)
				}
				if err != nil {
					return err
				}
				return a.writeListed(found)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringArrayVar(&query, "query", nil, "list those with NAME=VALUE only, as far as the provider knows how to; can be repeated")
	cmd.Flags().Uint64Var(&first, "first", 0, "list so many at most (default: all)")
	return cmd
}

// typeOf finds the type that a token means, which may be short as in programs.
func typeOf(ctx context.Context, p abi.Provider, token string) (string, error) {
	response, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	if errors.Is(err, abi.ErrUnimplemented) {
		return token, nil
	}
	if err != nil {
		return "", err
	}
	pkg, err := schemajson.Parse([]byte(response.Schema))
	if err != nil {
		return "", err
	}
	if found := pkg.ResolveResource(token); found != nil {
		return found.Token, nil
	}
	if name, _, _ := strings.Cut(token, ":"); name != pkg.Name {
		return token, nil // of an extension, perhaps: the provider knows
	}
	if near := pkg.NearestResource(token); near != "" {
		return "", fmt.Errorf("the package %s has no resource type %s; did you mean %s?", pkg.Name, token, near)
	}
	return "", fmt.Errorf("the package %s has no resource type %s", pkg.Name, token)
}

// listAll goes through all pages.
func listAll(ctx context.Context, p abi.Provider, request abi.ListRequest) ([]abi.ListedResource, error) {
	found := []abi.ListedResource{}
	for {
		page, err := p.List(ctx, request)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Resources...)
		if request.Limit > 0 && uint64(len(found)) >= request.Limit {
			return found[:request.Limit], nil
		}
		switch page.ContinuationToken {
		case "":
			return found, nil
		case request.ContinuationToken:
			return nil, fmt.Errorf("the provider answers the same page over and over, that of the continuation token %q", page.ContinuationToken)
		}
		request.ContinuationToken = page.ContinuationToken
	}
}

func (a *app) writeListed(found []abi.ListedResource) error {
	if a.json {
		list := make([]map[string]string, len(found))
		for i, r := range found {
			list[i] = map[string]string{"id": r.ID, "name": r.Name}
		}
		return a.writeJSON(list)
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, r := range found {
		fmt.Fprintf(t, "  %s\t%s\n", display.Escape(r.ID), display.Escape(r.Name))
	}
	return writing(t.Flush())
}

func (a *app) providerMapping() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use: "mapping FILE|DIR ECOSYSTEM [PROVIDER]", Short: "Show how a provider maps the names of another ecosystem's to its own", Args: arguments(2, 3),
		Long: "Show how a provider maps the names of another ecosystem's provider to its own, for programs that convert\n" +
			"that ecosystem's. What is shown is for them alone to understand. Without a provider there, it lists those\n" +
			"that it has a mapping for.",
		Example: "  husk provider mapping aws.wasm terraform\n  husk provider mapping aws.wasm terraform aws > aws.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askProvider(cmd.Context(), args[0], &f, func(p abi.Provider) error {
				err := a.writeMapping(cmd.Context(), p, args[1:])
				if errors.Is(err, abi.ErrUnimplemented) {
					return fmt.Errorf("%s has no mappings", args[0])
				}
				return err
			})
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (a *app) writeMapping(ctx context.Context, p abi.Provider, args []string) error {
	if len(args) == 2 {
		mapping, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: args[0], Provider: args[1]})
		if err != nil {
			return err
		}
		if a.json {
			return a.writeJSON(map[string]any{"provider": mapping.Provider, "data": mapping.Data})
		}
		return a.write(mapping.Data)
	}
	mappings, err := p.GetMappings(ctx, abi.GetMappingsRequest{Key: args[0]})
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(append([]string{}, mappings.Providers...))
	}
	for _, name := range mappings.Providers {
		if err := a.printf("  %s\n", name); err != nil {
			return err
		}
	}
	return nil
}
