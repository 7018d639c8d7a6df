package deploycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/importfile"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/port/tfstate"
)

// fromTerraform is the tool whose states husk import reads.
const fromTerraform = "tfstate"

// readState reads the state of another tool.
func (i *importRun) readState(args []string) error {
	switch {
	case len(args) != 1:
		return cli.Usagef("--from %s needs one FILE, which terraform state pull > FILE writes", i.from)
	case i.file != "" || i.parent != "" || i.provider != "" || len(i.properties) > 0:
		return cli.Usagef("--from excludes --file, --parent, --provider, and --properties")
	}
	file, name := i.app.In, "standard input"
	if args[0] != "-" {
		name = args[0]
		opened, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("reading the state: %w", err)
		}
		defer opened.Close()
		file = opened
	}
	data, err := io.ReadAll(io.LimitReader(file, tfstate.MaxSize+1))
	if err == nil {
		i.state, err = tfstate.Parse(data)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	i.stateName = name
	if len(i.state.Resources) == 0 {
		return fmt.Errorf("%s has no resources", name)
	}
	return nil
}

// takeOver returns the resources that the stack takes over from the state.
func (i *importRun) takeOver(ctx context.Context, o *openRun) (targets []engine.ImportTarget, err error) {
	known, err := i.knownProviders(ctx, o)
	if err != nil {
		return nil, err
	}
	taken, err := tfstate.Take(i.state, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.stateName, err)
	}
	for _, text := range taken.Left {
		i.app.Say("%s", text)
	}
	d, aliases := &o.Deployment, providersByAlias(o)
	root := urn.New(d.Stack, d.Project, "", urn.RootType, d.Project+"-"+d.Stack)
	urnOf := func(of *tfstate.Object) urn.URN { return urn.New(d.Stack, d.Project, root, of.Token, of.Name) }
	left := make(map[*tfstate.Object]bool)
	unknown := make(map[string][]string)
	for _, object := range taken.Objects {
		if alias := object.Provider.Alias; alias != "" && aliases[object.By][alias] == "" {
			left[object] = true
			key := object.By + "." + alias
			unknown[key] = append(unknown[key], object.Address)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		pkg, alias, _ := strings.Cut(key, ".")
		i.app.Say("Not taken over, because the stack has no provider for %s: %s", key, strings.Join(unknown[key], ", "))
		i.app.Say("Declare a resource %s of the type pulumi:providers:%s, run husk up, then import again.", alias, pkg)
	}
	i.list = &importfile.File{}
	for _, object := range taken.Objects {
		if left[object] {
			continue
		}
		target := engine.ImportTarget{
			Type: object.Token, Name: object.Name, ID: object.ID, Protect: i.protect, State: &object.State, Inputs: &object.Inputs,
			Provider: aliases[object.By][object.Provider.Alias],
		}
		for _, on := range object.After {
			if !left[on] {
				target.Dependencies = append(target.Dependencies, urnOf(on))
			}
		}
		targets = append(targets, target)
		i.list.Resources = append(i.list.Resources, importfile.Resource{Type: object.Token, Name: object.Name, ID: object.ID})
		i.groups = append(i.groups, object.Block())
	}
	withPackages(o.Workspace.Project, targets)
	if len(targets) == 0 {
		return nil, fmt.Errorf("the stack can take over nothing that %s has", i.stateName)
	}
	return targets, nil
}

// knownProviders returns the providers that the state may need: the ones with its names, or, if there are none, all.
func (i *importRun) knownProviders(ctx context.Context, o *openRun) (known []*tfstate.Known, err error) {
	project := o.Workspace.Project
	var packages []program.Package
	add := func(pkg program.Package) {
		if !slices.ContainsFunc(packages, func(other program.Package) bool { return other.Name == pkg.Name }) {
			packages = append(packages, pkg)
		}
	}
	for _, p := range project.Providers {
		add(project.Package(p.Name))
	}
	for _, pkg := range project.Packages {
		if pkg.Parameterized() {
			add(pkg)
		}
	}
	wanted, missing := make(map[string]bool), false
	for _, r := range i.state.Resources {
		wanted[r.Provider.Name()] = true
	}
	for name := range wanted {
		missing = missing || !slices.ContainsFunc(packages, func(p program.Package) bool { return p.Name == name })
	}
	for _, pkg := range packages {
		if !missing && !wanted[pkg.Name] {
			continue
		}
		one, err := i.known(ctx, o, pkg)
		if err != nil {
			return nil, fmt.Errorf("asking the provider %s for its names in Terraform: %w", pkg.Name, err)
		}
		known = append(known, one)
	}
	return known, nil
}

func (i *importRun) known(ctx context.Context, o *openRun, pkg program.Package) (known *tfstate.Known, err error) {
	known = &tfstate.Known{Name: pkg.Name}
	if known.Schema, err = o.Plugins.Package(ctx, pkg); err != nil {
		return nil, err
	}
	if pkg.Extension != nil {
		return known, nil // its provider answers for its own package
	}
	provider, err := o.Plugins.Load(ctx, engine.PackageSpec{Name: pkg.Source, Version: pkg.Version})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, abi.Close(provider)) }()
	if parameters := pkg.Parameters.Parameters(); parameters != nil {
		if _, err := provider.Parameterize(ctx, abi.ParameterizeRequest{Parameters: *parameters}); err != nil {
			return nil, err
		}
	}
	answer, err := provider.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
	switch {
	case errors.Is(err, abi.ErrUnimplemented) || errors.Is(err, abi.ErrNotFound):
		return known, nil
	case err == nil && len(answer.Data) > 0:
		known.Mapping, err = tfstate.ParseMapping(answer.Data)
	}
	return known, err
}

// providersByAlias returns the stack's own providers by their packages and names.
func providersByAlias(o *openRun) map[string]map[string]urn.URN {
	out := make(map[string]map[string]urn.URN)
	for _, res := range o.Deployment.State.Snapshot().Resources() {
		pkg, ok := strings.CutPrefix(res.Type, "pulumi:providers:")
		if !ok || res.Delete {
			continue
		}
		if out[pkg] == nil {
			out[pkg] = make(map[string]urn.URN)
		}
		out[pkg][res.URN.Name()] = res.URN
	}
	return out
}
