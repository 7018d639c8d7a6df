package root

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// completer completes arguments of commands and values of flags from the project in the current directory. Problems
// complete nothing, because a shell shows no errors there.
type completer struct{ *cli.App }

// values returns the possible values of a kind of argument: one of [cobra.Completion].
type values func(ctx context.Context) []string

// asksForWords reports whether an argument is the command with which a shell asks what a word can be.
func asksForWords(arg string) bool {
	return arg == cobra.ShellCompRequestCmd || arg == cobra.ShellCompNoDescRequestCmd
}

// complete has the shell complete arguments by the words that stand for them in the usage of a command.
func complete(a *cli.App, root *cobra.Command) {
	c := completer{a}
	kinds := map[string]values{
		"URN": c.resources, "STACK": c.stacks, "TYPE": c.types, "KEY": c.configKeys, "PROVIDER": c.providers,
		"FILE|NAME": c.providers, "NAME": nil,
	}
	byCommand := map[string]values{
		"husk stack select": c.stacks, "husk stack rm": c.stacks, "husk stack output": c.outputs,
		"husk provider audit": c.providers, "husk action": c.actions,
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		completeWords(cmd)
		if cmd.HasSubCommands() || cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 {
			return
		}
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at := len(args)
			word := argument(cmd, at)
			if word == "" {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			find := kinds[word]
			if own := byCommand[cmd.CommandPath()]; own != nil && at == 0 {
				find = own
			}
			return c.completed(cmd, find, takesFiles(word))
		}
	}
	walk(root)
	flag := func(cmd *cobra.Command, name string, find values) {
		if cmd.Flag(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return c.completed(cmd, find, false)
			})
		}
	}
	flag(root, "stack", c.stacks)
	for _, cmd := range root.Commands() {
		for _, name := range []string{"target", "exclude", "replace", "target-replace"} {
			flag(cmd, name, c.resources)
		}
	}
}

// completeWords has the shell complete the values of the flags of a command that take one of a few words.
func completeWords(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if of, ok := f.Value.(cli.Words); ok {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(of.Words(), cobra.ShellCompDirectiveNoFileComp))
			}
		})
	}
}

// argument returns the word for an argument in the usage of a command, empty if it takes none there.
func argument(cmd *cobra.Command, at int) string {
	usage, _, _ := strings.Cut(cmd.Use, " -")
	words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(usage))[1:]
	if at >= len(words) && len(words) > 0 && strings.HasSuffix(words[len(words)-1], "...") {
		at = len(words) - 1
	}
	if at >= len(words) {
		return ""
	}
	return strings.TrimSuffix(words[at], "...")
}

// takesFiles reports whether an argument may be the name of a file.
func takesFiles(word string) bool {
	return strings.Contains(word, "FILE") || strings.Contains(word, "DIR") || word == "SOURCE" || word == "PARAMETER" || word == "REQUEST"
}

// completed returns the possible values of an argument. A project that is not trusted has no say: a shell that asks is not
// confined, and would run its modules.
func (c completer) completed(cmd *cobra.Command, find values, files bool) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if files {
		directive = cobra.ShellCompDirectiveDefault
	}
	if find == nil || c.Untrusted {
		return nil, directive
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	found := find(ctx)
	slices.Sort(found)
	return slices.Compact(found), directive
}

func (c completer) stacks(ctx context.Context) []string {
	w, err := c.Workspace(ctx)
	if err != nil {
		return nil
	}
	stacks, _ := w.Stacks(ctx)
	return stacks
}

func (c completer) resources(ctx context.Context) (urns []string) {
	w, err := c.Workspace(ctx)
	if err != nil {
		return nil
	}
	stack, err := w.Stack(c.Stack)
	if err != nil {
		return nil
	}
	snapshot, _, err := w.Read(ctx, stack, true)
	if err != nil {
		return nil
	}
	for _, r := range snapshot.Resources() {
		urns = append(urns, string(r.URN))
	}
	return urns
}

func (c completer) outputs(ctx context.Context) []string {
	w, err := c.Workspace(ctx)
	if err != nil {
		return nil
	}
	stack, err := w.Stack(c.Stack)
	if err != nil {
		return nil
	}
	snapshot, _, err := w.Read(ctx, stack, true)
	if err != nil {
		return nil
	}
	return workspace.Outputs(snapshot).Keys()
}

func (c completer) configKeys(ctx context.Context) (keys []string) {
	project, err := c.Project(ctx)
	if err != nil {
		return nil
	}
	for _, d := range project.Config {
		keys = append(keys, d.Name)
	}
	return keys
}

func (c completer) providers(ctx context.Context) (names []string) {
	project, err := c.Project(ctx)
	if err != nil {
		return nil
	}
	for _, p := range project.Providers {
		names = append(names, p.Name)
	}
	for _, p := range project.Packages {
		names = append(names, p.Name)
	}
	return names
}

func (c completer) actions(ctx context.Context) (names []string) {
	project, err := c.Project(ctx)
	if err != nil || project.Template.Actions == nil {
		return nil
	}
	for i := 0; i+1 < len(project.Template.Actions.Content); i += 2 {
		names = append(names, project.Template.Actions.Content[i].Value)
	}
	return names
}

// types returns the resource types of the project's packages that other commands have asked for their schemas: whoever presses a
// key waits for no compiler, asks no registry, and decides about no provider.
func (c completer) types(ctx context.Context) (types []string) {
	project, err := c.Project(ctx)
	if err != nil {
		return nil
	}
	_ = c.WithPlugins(ctx, project, func(p *plugins.Plugins) error {
		for _, name := range c.providers(ctx) {
			s := p.KnownSchema(project.Package(name))
			if s == nil {
				continue
			}
			for _, r := range s.Resources {
				types = append(types, schema.ShortToken(r.Token))
			}
		}
		return nil
	})
	return types
}
