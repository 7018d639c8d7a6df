package deploycmd

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/importfile"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/yamlcode"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/internal/port/tfstate"
)

type importRun struct {
	app                                         commands
	file, from, out, language, parent, provider string
	properties                                  []string
	protect                                     bool

	// state is the state of another tool, nil for none, and stateName the user's name of it.
	state     *tfstate.State
	stateName string
	list      *importfile.File
	// groups are the groups of the list's resources in the program, see [yamlcode.Resource]; nil for none.
	groups []string
	code   *yamlcode.Code
}

func (a commands) importCommand() *cobra.Command {
	i, f := &importRun{app: a}, &deployFlags{}
	cmd := &cobra.Command{
		Use: "import [TYPE NAME ID | FILE]", Short: "Import existing objects into the stack, and generate the program for them",
		Long: "The object TYPE with the ID becomes the resource NAME, with the inputs that its provider reads.\n" +
			"Nothing is changed at the provider. The command then prints the part of a program that declares\n" +
			"the resource. Add it to the program before the next husk up: an undeclared resource is deleted, or,\n" +
			"because imported resources are protected, the update fails.\n\n" +
			"--file imports several objects, in Pulumi's format; husk preview --import-file writes such a\n" +
			"file, in which only the IDs are missing.\n\n" +
			"--from tfstate takes over the resources of the Terraform state FILE. Write it with terraform state pull;\n" +
			"FILE is - for standard input. Providers start from the attributes in it, so objects without an ID can be\n" +
			"imported, too. The program refers to other resources where Terraform knows of a dependency. Resources\n" +
			"that the stack already has stay as they are, so you can run the command again.",
		RunE: func(cmd *cobra.Command, args []string) error { return i.run(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&i.file, "file", "f", "", "import the objects that this file lists")
	flags.Var(cli.Choice(&i.from, fromTerraform), "from", "import from the state of another tool: "+fromTerraform)
	flags.StringVarP(&i.out, "out", "o", "", "write the program to this file instead of standard output")
	i.language = "yaml"
	flags.Var(cli.Choice(&i.language, "yaml", "none"), "generate-code", "the language of the generated program: yaml, or none")
	flags.BoolVar(&i.protect, "protect", true, "protect the imported resources")
	flags.StringVar(&i.parent, "parent", "", "the parent of the resource: its URN, or NAME=URN if the program calls it NAME")
	flags.StringVar(&i.provider, "provider", "", "the provider of the resource, in the same form (default: its parent's, or the one of all parts of its component)")
	flags.StringSliceVar(&i.properties, "properties", nil, "the inputs to import (default: all)")
	f.add(cmd, shownFlags+"yes skip-preview preview-only")
	a.AddLimits(cmd.Flags())
	return cmd
}

func (i *importRun) run(ctx context.Context, f *deployFlags, args []string) error {
	if err := i.read(args); err != nil {
		return err
	}
	c := command{
		name: "import", previewOnly: f.previewOnly, program: true, question: "Import these resources?",
		operation: i.operation, result: i.generate,
	}
	if err := i.app.deploy(ctx, c, f); err != nil || i.code == nil {
		return err
	}
	return i.show()
}

// read reads the objects to import from the file or the arguments.
func (i *importRun) read(args []string) error {
	switch {
	case i.from != "":
		return i.readState(args)
	case i.file != "" && (len(args) > 0 || i.parent != "" || i.provider != "" || len(i.properties) > 0):
		return cli.Usagef("--file excludes TYPE NAME ID, --parent, --provider, and --properties")
	case i.file == "" && len(args) < 3:
		return cli.Usagef("missing %s: husk import TYPE NAME ID, or husk import --file FILE", strings.Join([]string{"TYPE", "NAME", "ID"}[len(args):], " "))
	case i.file != "":
		data, err := os.ReadFile(i.file)
		if err == nil {
			i.list, err = importfile.Parse(data)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", i.file, err)
		}
		if len(i.list.Resources) == 0 {
			return fmt.Errorf("%s lists no resources to import", i.file)
		}
		return nil
	}
	one := importfile.Resource{Type: args[0], Name: args[1], ID: args[2], Properties: i.properties}
	i.list = &importfile.File{NameTable: make(map[string]urn.URN)}
	var err error
	if one.Parent, err = i.mention("parent", i.parent); err == nil {
		one.Provider, err = i.mention("provider", i.provider)
	}
	if one.LogicalName = ""; i.list.NameTable[one.Name] != "" {
		one.Name, one.LogicalName = one.Name+"2", one.Name // the program calls its parent so
	}
	i.list.Resources = []importfile.Resource{one}
	return err
}

// mention puts the resource that a flag names into the name table.
func (i *importRun) mention(flag, given string) (name string, err error) {
	if given == "" {
		return "", nil
	}
	name, text, named := strings.Cut(given, "=")
	if !named || strings.Contains(name, ":") {
		name, text = "", given
	}
	u, err := urn.Parse(text)
	if err != nil {
		return "", cli.Usagef("--%s: %v", flag, err)
	}
	if name == "" {
		name = u.Name()
	}
	i.list.NameTable[name] = u
	return name, nil
}

func (i *importRun) operation(ctx context.Context, o *openRun) (engine.Operation, error) {
	targets, err := i.targets(ctx, o)
	if err == nil {
		err = withDefaultProviders(ctx, o, targets)
	}
	return engine.Import{Targets: targets}, err
}

// targets returns the objects to import, from the state of another tool or from the list.
func (i *importRun) targets(ctx context.Context, o *openRun) ([]engine.ImportTarget, error) {
	if i.state != nil {
		return i.takeOver(ctx, o)
	}
	for at := range i.list.Resources {
		r := &i.list.Resources[at]
		if r.PluginDownloadURL != "" {
			i.app.Say("The pluginDownloadUrl of %s is not read: providers are listed in plugins.providers.", r.Name)
		}
		if r.Component {
			continue
		}
		token, err := yamlprogram.ResourceToken(ctx, o.Workspace.Project, o.Plugins, r.Type)
		if err != nil {
			return nil, fmt.Errorf("import %q: %w", r.Name, err)
		}
		r.Type = token
	}
	d := &o.Deployment
	targets, err := i.list.Targets(urn.New(d.Stack, d.Project, "", urn.RootType, d.Project+"-"+d.Stack), i.protect)
	withPackages(o.Workspace.Project, targets)
	return targets, err
}

// withDefaultProviders has the targets use the default providers that the program declares. One with the configuration of the stack
// alone would look for the objects elsewhere.
func withDefaultProviders(ctx context.Context, o *openRun, targets []engine.ImportTarget) error {
	project := o.Workspace.Project
	declared, recorded := yamlprogram.New(project, o.Plugins).DefaultProviders(ctx), providersByAlias(o)
	for at := range targets {
		t := &targets[at]
		pkg, _, _ := strings.Cut(t.Type, ":")
		pkg = project.Package(pkg).Served()
		name := declared[pkg]
		if name == "" || t.Component || t.Provider != "" {
			continue
		}
		if t.Provider = recorded[pkg][name]; t.Provider == "" {
			return fmt.Errorf("import %q: the program has a default provider of %s, %q, which the stack does not have yet: "+
				"run husk up to make it, or name another one with --provider", t.Name, pkg, name)
		}
	}
	return nil
}

// withPackages adds the parameters that the packages of the targets are made from.
func withPackages(project *program.Project, targets []engine.ImportTarget) {
	requests := make(map[string]*abi.RegisterPackageRequest)
	for at := range targets {
		name, _, _ := strings.Cut(targets[at].Type, ":")
		pkg := project.Package(name)
		if !pkg.Parameterized() || targets[at].Component {
			continue
		}
		if requests[name] == nil {
			requests[name] = &abi.RegisterPackageRequest{
				Name: pkg.Source, Version: pkg.Version, Parameters: pkg.Parameters.Parameters(), Extension: pkg.Extension.Parameters(),
			}
		}
		targets[at].Package = requests[name]
	}
}

// generate writes the program for the imported resources.
func (i *importRun) generate(_ context.Context, o *openRun, result *engine.Result) (err error) {
	if i.language == "none" {
		return nil
	}
	var resources []yamlcode.Resource
	for at, res := range result.Imported {
		r := yamlcode.Resource{Name: i.list.Resources[at].Name, Resource: res}
		if i.groups != nil {
			r.Group = i.groups[at]
		}
		resources = append(resources, r)
	}
	if i.code, err = yamlcode.Write(resources, i.list.Names()); err == nil && i.out == "" {
		o.Deployment.Events(generated{Program: string(i.code.Text)})
	}
	return err
}

// generated is the event of a program that was written.
type generated struct {
	Program string `json:"program"`
}

// Type returns "generated".
func (generated) Type() string { return "generated" }

// show shows the program, and says what the user must still do.
func (i *importRun) show() error {
	a := i.app
	switch {
	case i.out != "":
		if err := os.WriteFile(i.out, i.code.Text, 0o644); err != nil {
			return fmt.Errorf("writing the program: %w", err)
		}
		a.Say("Wrote the declarations of the imported resources to %s: add them to your program.", i.out)
	case !a.JSON:
		a.Say("Add this to the program:\n")
		if err := a.Write(i.code.Text); err != nil {
			return err
		}
	}
	for _, secret := range i.code.Secrets {
		value := "VALUE"
		if secret.JSON {
			value = "JSON"
		}
		a.Say("The program reads a secret from the configuration, which does not have it yet: husk config set --secret %s %s", secret.Key, value)
	}
	for _, text := range i.code.Omitted {
		a.Say("Left out: %s", text)
	}
	return nil
}
