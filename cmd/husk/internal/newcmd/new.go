// Package newcmd has the command that begins projects and modules.
package newcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/build/husksource"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
	"github.com/husk-dev/husk/internal/workspace/scaffold"
)

type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command { return []*cobra.Command{commands{a}.create()} }

type options struct {
	name, description, sdk, language string
	list                             bool
}

func (a commands) create() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use: "new [TEMPLATE [DIR]]", Short: "Begin a project, provider, component, or policy pack",
		Long: "Writes the files of a template to a directory, by default one with the name of the template, and shows how to go\n" +
			"on. No file is overwritten. A template of Pulumi is the path of a directory with a Pulumi.yaml.\n\n" + listed(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list || len(args) == 0 {
				return a.listTemplates()
			}
			t, err := find(args[0], o.language)
			if err != nil {
				return err
			}
			dir := t.Name
			if len(args) > 1 {
				dir = args[1]
			}
			return a.write(cmd.Context(), t, dir, o)
		},
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.list, "list", false, "list the templates")
	flags.Var(cli.Choice(&o.language, languages()...), "language", "language of a provider or program: "+cli.AnyOf(languages())+" (default go)")
	flags.StringVar(&o.name, "name", "", "name of the project or package (default: the directory's name)")
	flags.StringVar(&o.description, "description", "", "description of the project, for a template of Pulumi")
	flags.StringVar(&o.sdk, "sdk", "", "use the SDK in this checkout of Husk (default: the one that this husk was built from)")
	return cmd
}

func names() (names []string) {
	for _, t := range scaffold.All() {
		if t.Language == "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// languages returns the languages of all templates, Go first.
func languages() []string {
	known := []string{"go"}
	for _, t := range scaffold.All() {
		if t.Language != "" && !slices.Contains(known, t.Language) {
			known = append(known, t.Language)
		}
	}
	slices.Sort(known[1:])
	return known
}

func listed() string {
	var b strings.Builder
	for _, t := range scaffold.All() {
		fmt.Fprintf(&b, "  %-10s  %s\n", t.Name, titleOf(t))
	}
	return b.String()
}

// find returns the template of a name in a language. An empty language stands for its first.
func find(name, language string) (scaffold.Template, error) {
	all := scaffold.Named(name)
	if len(all) == 0 {
		if t, ok, err := scaffold.OfPulumi(name); ok || err != nil {
			return t, err
		}
		return scaffold.Template{}, noTemplate(name)
	}
	var known []string
	for _, t := range all {
		known = append(known, cmp.Or(t.Language, "go"))
		if language == "" || language == known[len(known)-1] {
			return t, nil
		}
	}
	return scaffold.Template{}, cli.Usagef("--language %s: the template %s is in %s", language, name, strings.Join(known, ", "))
}

// titleOf returns the title of a template, with the flag for its language.
func titleOf(t scaffold.Template) string {
	if t.Language == "" {
		return t.Title
	}
	return t.Title + ": --language " + t.Language
}

func noTemplate(name string) error {
	near := ""
	if known := schema.Nearest(name, names()); known != "" {
		near = fmt.Sprintf(", did you mean %q?", known)
	}
	if strings.Contains(name, "://") {
		return cli.Usagef("a template is no URL: clone %s, and name the directory of the template", name)
	}
	return cli.Usagef("there is no template %q%s: husk new --list shows them. "+
		"A template of Pulumi is a directory: clone https://github.com/pulumi/templates, and name one there, such as templates/%s", name, near, filepath.Base(name))
}

func (a commands) listTemplates() error {
	var rows [][]string
	list := []map[string]string{}
	for _, t := range scaffold.All() {
		rows = append(rows, []string{t.Name, titleOf(t)})
		one := map[string]string{"name": t.Name, "title": t.Title}
		if t.Language != "" {
			one["language"] = t.Language
		}
		list = append(list, one)
	}
	if a.JSON {
		return a.WriteJSON(list)
	}
	if err := a.Table(rows); err != nil {
		return err
	}
	a.Say("\nBegin with one: husk new quickstart DIR")
	return nil
}

func (a commands) write(ctx context.Context, t scaffold.Template, dir string, o *options) error {
	if a.Dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	if o.name == "" {
		if o.name = scaffold.NameFor(dir); o.name == "" {
			return cli.Usagef("the name of the directory %s is not a valid name of a project: give one with --name", dir)
		}
	}
	source := sync.OnceValues(func() (scaffold.Source, error) { return scaffold.FindSource(o.sdk) })
	if o.sdk != "" {
		if _, err := source(); err != nil {
			return err
		}
	}
	return a.WithPlugins(ctx, nil, func(p *plugins.Plugins) error {
		files, err := scaffold.Create(ctx, t, dir, scaffold.Options{
			Name: o.name, Description: o.description, Stack: cmp.Or(a.Stack[strings.LastIndex(a.Stack, "/")+1:], workspace.DefaultStack), Source: source, Fetch: fetch,
			Build: func(ctx context.Context, dir string) ([]byte, error) {
				built, err := p.Build(ctx, dir)
				if err != nil {
					return nil, err
				}
				return built.Bytes, nil
			},
		})
		if err != nil {
			return err
		}
		if a.JSON {
			return a.WriteJSON(map[string]any{"template": t.Name, "name": o.name, "directory": dir, "files": files})
		}
		if err := a.Printf("Wrote %s to %s:\n", o.name, dir); err != nil {
			return err
		}
		for _, name := range files {
			if err := a.Printf("  %s\n", name); err != nil {
				return err
			}
		}
		if err := a.Printf("\nGo on with:\n"); err != nil {
			return err
		}
		next := t.Next
		if filepath.Clean(dir) != "." {
			next = append([]string{"cd " + quoted(dir)}, next...)
		}
		for _, command := range next {
			if err := a.Printf("  %s\n", command); err != nil {
				return err
			}
		}
		return nil
	})
}

// quoted returns a directory as a shell takes it.
func quoted(dir string) string {
	if strings.ContainsAny(dir, " \t'\"$&;|<>()*?#~\\") {
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return dir
}

// fetch returns the directory of a version of Husk in Go's cache of modules.
func fetch(ctx context.Context, version string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", husksource.Module+"@"+version).Output()
	var downloaded struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &downloaded); err == nil {
		err = decodeErr
	}
	if downloaded.Error != "" {
		return "", fmt.Errorf("%s", downloaded.Error)
	}
	return downloaded.Dir, err
}
