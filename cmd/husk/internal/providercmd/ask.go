package providercmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

// askFlags are the flags of commands that call one provider: its grants, configuration, and parameters.
type askFlags struct {
	grants, config, parameters []string
	extension                  bool
	// events gets the messages of the provider, nil for the user.
	events func(engine.Event)
}

func (f *askFlags) add(flags *pflag.FlagSet) {
	flags.Var(cli.Repeated(&f.grants), "grant", "grant "+grant.Flags("")+"; can be repeated")
	flags.Var(cli.Repeated(&f.config), "config", "configure the provider with NAME=VALUE; lists and objects are JSON; can be repeated")
	flags.Var(cli.Repeated(&f.parameters), "parameter", "parameterize the provider with this argument; can be repeated")
	flags.BoolVar(&f.extension, "extension", false, "add the parameterized package as an extension, beside the provider's own")
}

// parse reads the flags. parameters are nil without --parameter.
func (f *askFlags) parse() (grants host.Grants, config property.Map, parameters *abi.Parameters, err error) {
	if len(f.parameters) > 0 {
		parameters = &abi.Parameters{Case: abi.ParametersCaseArgs, Args: f.parameters}
	} else if f.extension {
		return grants, config, nil, cli.Usagef("--extension requires --parameter")
	}
	if grants, err = cli.ParseGrants(".", false, f.grants); err == nil {
		config, err = parsePairs("config", f.config)
	}
	return grants, config, parameters, err
}

// WithContents lets a provider get the contents of assets with URLs.
func WithContents(p abi.Provider) abi.Provider {
	return engine.WithContents(p, contents.Source{Fetch: contents.HTTP(http.ProxyFromEnvironment)})
}

// calledProvider is an opened provider.
type calledProvider struct {
	abi.Provider
	// name is of the provider, or of the package that parameters make of it.
	name       string
	config     property.Map
	parameters []abi.ParameterizeRequest
	// atConfig places an error about a setting that no flag gives in the stack's file. It is nil without a project.
	atConfig func(key string, below property.Path, secret bool, err error) error
	// given are the settings that flags give.
	given property.Map
}

// askProvider opens, parameterizes, and configures a provider. name is the path of a module, or a provider or package of the
// project, which has the project's grants and the stack's configuration beside the flags'.
func (a commands) askProvider(ctx context.Context, name string, f *askFlags, ask func(abi.Provider) error) error {
	return a.openProvider(ctx, name, f, func(p *calledProvider) error {
		if err := p.introduce(ctx); err != nil {
			return err
		}
		if err := p.configure(ctx); err != nil {
			return err
		}
		return ask(p)
	})
}

// openProvider opens a provider before any call.
func (a commands) openProvider(ctx context.Context, name string, f *askFlags, ask func(*calledProvider) error) error {
	grants, config, parameters, err := f.parse()
	if err != nil {
		return err
	}
	p := &calledProvider{config: config, given: config}
	if parameters != nil {
		p.parameters = append(p.parameters, abi.ParameterizeRequest{Parameters: *parameters, Extension: f.extension})
	}
	project, err := a.projectOf(ctx, name)
	if err != nil {
		return err
	}
	opened := func(provider abi.Provider, err error) error {
		if err != nil {
			return err
		}
		p.Provider = WithContents(provider)
		return errors.Join(ask(p), abi.Close(provider))
	}
	if project == nil {
		return a.WithPlugins(ctx, nil, func(loader *plugins.Plugins) error {
			m, err := loader.Module(ctx, "", name)
			if err != nil {
				return err
			}
			return opened(loader.Granted(ctx, m, grants, true))
		})
	}
	return a.withListed(ctx, name, grants, p, f.events, func(loader *plugins.Plugins, spec engine.PackageSpec) error {
		return opened(loader.Load(ctx, spec))
	})
}

// withListed opens the plugins of the project, and adds configuration and parameters from project and stack.
func (a commands) withListed(ctx context.Context, name string, grants host.Grants, p *calledProvider, events func(engine.Event), do func(*plugins.Plugins, engine.PackageSpec) error) error {
	w, stack, err := a.CurrentStack(ctx)
	if err != nil {
		return err
	}
	pkg := w.Project.Package(name)
	if !pkg.Parameterized() && w.Project.Provider(name) == nil {
		return a.unlistedError(name, w.Project)
	}
	stackConfig, err := w.Config(stack)
	if err != nil {
		return err
	}
	entries, err := stackConfig.Entries(ctx)
	if err != nil {
		return err
	}
	p.config = engine.PackageConfig(entries, name)
	for key, v := range p.given.All() {
		p.config = p.config.With(key, v)
	}
	at := stackrun.AtConfig(stackConfig)
	p.atConfig = func(key string, below property.Path, secret bool, err error) error {
		return at(engine.ConfigValue{Key: name + ":" + key, Path: below, Secret: secret}, fmt.Errorf("%s:%w", name, err))
	}
	var listed []abi.ParameterizeRequest
	if pkg.Parameters != nil {
		listed = append(listed, abi.ParameterizeRequest{Parameters: *pkg.Parameters.Parameters()})
	}
	if pkg.Extension != nil {
		listed = append(listed, abi.ParameterizeRequest{Parameters: *pkg.Extension.Parameters(), Extension: true})
	}
	p.parameters = append(listed, p.parameters...)
	o, err := a.PluginOptions()
	if err != nil {
		return err
	}
	o.Grants, o.Config, o.Stores = map[string]host.Grants{pkg.Source: grants}, entries, w.Stores(ctx, stack)
	o.Withheld = stackrun.Withheld(w)
	if events != nil {
		o.Events = events
	}
	return cli.WithPluginsBy(ctx, w.Project, o, func(loader *plugins.Plugins) error {
		return do(loader, engine.PackageSpec{Name: pkg.Source, Version: pkg.Version})
	})
}

// introduce makes the handshake, and parameterizes the provider.
func (p *calledProvider) introduce(ctx context.Context) error {
	who, err := p.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs})
	if err != nil {
		return err
	}
	p.name = who.Name
	for _, request := range p.parameters {
		became, err := p.Parameterize(ctx, request)
		if err != nil {
			return err
		}
		if !request.Extension {
			p.name = became.Name
		}
	}
	return nil
}

// configure gives the provider its configuration.
func (p *calledProvider) configure(ctx context.Context) error {
	typ, config := "pulumi:providers:"+p.name, p.config
	if _, nested := property.Object(config).Find(schemajson.LooksNested); nested {
		pkg, err := schemaFor(ctx, p, p.name)
		if err != nil {
			return err
		}
		if pkg != nil {
			config = schemajson.Nested(&pkg.Config, config)
		}
	}
	checked, err := p.CheckConfig(ctx, abi.CheckRequest{Name: "default", Type: typ, News: config})
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		checked.Inputs = config
	case err != nil:
		return err
	case len(checked.Failures) > 0:
		return p.refused(ctx, checked.Failures)
	}
	err = p.Configure(ctx, abi.ConfigureRequest{Name: "default", Type: typ, ID: "husk", Inputs: checked.Inputs})
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil
	}
	return err
}

// refused returns why a configuration was refused: what the stack's file has, at its line of that.
func (p *calledProvider) refused(ctx context.Context, failures []abi.CheckFailure) error {
	config := &schema.Object{}
	if pkg, err := schemaFor(ctx, p, p.name); err == nil && pkg != nil {
		config = &pkg.Config
	}
	var all []error
	for _, f := range failures {
		path, err := property.ParsePath(f.Path)
		if err == nil && len(path) > 0 && p.atConfig != nil {
			if key, ok := path[0].Key(); ok && !p.given.Has(key) {
				setting := config.Property(key)
				all = append(all, p.atConfig(key, path[1:], setting != nil && setting.Secret, fmt.Errorf("%s: %s", f.Path, abi.Cite(f.Reason))))
				continue
			}
		}
		all = append(all, failed("the configuration of "+p.name, []abi.CheckFailure{f}))
	}
	return errors.Join(all...)
}

// failed returns the error for the failures of a check, nil for none.
func failed(what string, failures []abi.CheckFailure) error {
	var all []error
	for _, f := range failures {
		at := what
		if f.Path != "" {
			at += ": " + f.Path
		}
		all = append(all, fmt.Errorf("%s: %s", at, abi.Cite(f.Reason)))
	}
	return errors.Join(all...)
}

func (a commands) providerList() *cobra.Command {
	var f askFlags
	var query []string
	var first uint64
	cmd := &cobra.Command{
		Use: "list FILE|NAME TYPE", Short: "List existing objects of a type, with the IDs to import them by",
		Long: "List existing objects of a type, whether or not a stack manages them, with the IDs to import them by.\n" +
			"The provider needs the grants and the configuration with which it reaches the objects.",
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
	cmd.Flags().Var(cli.Repeated(&query), "query", "list only objects with NAME=VALUE, if the provider supports that filter; can be repeated")
	cmd.Flags().Uint64Var(&first, "first", 0, "maximum number of objects to list (default: all)")
	return cmd
}

// typeOf returns the type of a token, which may be short as in programs.
func typeOf(ctx context.Context, p abi.Provider, token string) (string, error) {
	pkg, err := schemaFor(ctx, p, token)
	if err != nil || pkg == nil {
		return token, err
	}
	if found := pkg.ResolveResource(token); found != nil {
		return found.Token, nil
	}
	return "", unknownToken(pkg, "resource type", token, pkg.NearestResource(token))
}

// functionOf returns the function of a token, nil if the provider has no schema.
func functionOf(ctx context.Context, p abi.Provider, token string) (*schema.Function, error) {
	pkg, err := schemaFor(ctx, p, token)
	if err != nil || pkg == nil {
		return nil, err
	}
	if found := pkg.ResolveFunction(token); found != nil {
		return found, nil
	}
	return nil, unknownToken(pkg, "function", token, pkg.NearestFunction(token))
}

// schemaFor returns the schema of a token's package. It is nil if the provider has none, or if the token
// is of another package, such as an extension.
func schemaFor(ctx context.Context, p abi.Provider, token string) (*schema.Package, error) {
	response, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pkg, err := schemajson.Parse([]byte(response.Schema))
	if err != nil {
		return nil, err
	}
	if name, _, _ := strings.Cut(token, ":"); name != pkg.Name {
		return nil, nil
	}
	return pkg, nil
}

func unknownToken(pkg *schema.Package, what, token, near string) error {
	if near != "" {
		near = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("the package %s has no %s %s%s", pkg.Name, what, token, near)
}

// listAll reads all pages.
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
			return nil, fmt.Errorf("the provider returned the same page twice, for the continuation token %q", page.ContinuationToken)
		}
		request.ContinuationToken = page.ContinuationToken
	}
}

func (a commands) writeListed(found []abi.ListedResource) error {
	list := make([]map[string]string, len(found))
	for i, r := range found {
		list[i] = map[string]string{"id": r.ID, "name": r.Name}
	}
	return cli.WriteList(a.App, list, "", nil, func(r map[string]string) []string { return []string{"  " + r["id"], r["name"]} })
}

func (a commands) providerMapping() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use: "mapping FILE|NAME ECOSYSTEM [PROVIDER]", Short: "Show how a provider maps another ecosystem's names to its own",
		Long: "Show how a provider maps the names of another ecosystem's provider to its own. The output is meant for\n" +
			"tools that convert programs of that ecosystem. Without PROVIDER, the command lists the providers that\n" +
			"have a mapping.",
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

func (a commands) writeMapping(ctx context.Context, p abi.Provider, args []string) error {
	if len(args) == 2 {
		mapping, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: args[0], Provider: args[1]})
		if err != nil {
			return err
		}
		if a.JSON {
			return a.WriteJSON(map[string]any{"provider": mapping.Provider, "data": mapping.Data})
		}
		return a.Write(mapping.Data)
	}
	mappings, err := p.GetMappings(ctx, abi.GetMappingsRequest{Key: args[0]})
	if err != nil {
		return err
	}
	return cli.WriteList(a.App, mappings.Providers, "", nil, func(name string) []string { return []string{"  " + name} })
}
