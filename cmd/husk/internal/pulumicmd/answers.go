package pulumicmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/pulumi"
	"github.com/husk-dev/husk/internal/workspace"
)

// timeLayout is the layout of times in Pulumi's JSON.
const timeLayout = "2006-01-02T15:04:05.000Z"

// change has commands of Husk answer as Pulumi's.
func (a *answers) change() {
	a.find("version").RunE = a.version
	a.find("whoami").RunE = a.whoami
	a.orJSON("stack ls", a.OnStack(a.stacks))
	outputs := a.find("stack output")
	list := outputs.RunE
	outputs.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("shell") || len(args) == 0 && !a.JSON {
			return list(cmd, args)
		}
		return a.OnStack(a.output)(cmd, args)
	}
	a.orJSON("config", a.OnConfig(a.config))
	a.orJSON("config get", a.OnConfig(a.getConfig))
	history := a.orJSON("stack history", a.OnStack(a.history))
	history.Flags().Int("page-size", 0, "")
	history.Flags().Int("page", 0, "")
	ignore(history.Flags(), true, "show-secrets", "full-dates") // there are no secrets in it

	init := a.find("stack init")
	init.Flags().String("secrets-provider", "", "")
	copied := init.Flags().String("copy-config-from", "", "")
	before(init, func(cmd *cobra.Command, args []string) error {
		if a.Stack == "" { // so that it names the project where there is none
			a.Stack = args[0]
		}
		w, err := a.Workspace(cmd.Context())
		if err != nil {
			return err
		}
		return inTemporary(w)
	})
	a.encrypted(init)
	made := init.RunE
	init.RunE = func(cmd *cobra.Command, args []string) error {
		if err := made(cmd, args); err != nil || *copied == "" {
			return err
		}
		a.Stack = *copied
		return a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
			return copyAll(ctx, w, c, args[0])
		})(cmd, nil)
	}
	before(a.find("stack change-secrets-provider"), a.readPassphrase)
	for _, cmd := range []*cobra.Command{a.find("stack rm"), a.find("destroy")} {
		cmd.Flags().Bool("preserve-config", false, "")
		a.removed(cmd)
	}
	name := a.find("stack").Flags().Bool("show-name", false, "")
	ignore(a.find("stack").Flags(), true, "show-ids", "show-secrets")
	show := a.find("stack").RunE
	a.find("stack").RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 || !*name {
			return show(cmd, args)
		}
		_, stack, err := a.CurrentStack(cmd.Context())
		if err != nil {
			return err
		}
		return a.Printf("%s\n", stack)
	}
	forget := a.find("state delete")
	forget.Use = "delete [URN...]"
	every := forget.Flags().Bool("all", false, "")
	delete := forget.RunE
	forget.RunE = func(cmd *cobra.Command, args []string) error {
		if *every == (len(args) > 0) {
			return cli.Usagef("name the resources, or give --all: see \"%s --help\"", cmd.CommandPath())
		}
		if *every {
			args = []string{"**::**"}
		}
		return delete(cmd, args)
	}
	create := a.find("new")
	dir := create.Flags().String("dir", ".", "")
	var settings []string
	create.Flags().VarP(cli.Repeated(&settings), "config", "c", "")
	isPath := create.Flags().Bool("config-path", false, "")
	begin := create.RunE
	create.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			args = append(args, *dir)
		}
		if err := begin(cmd, args); err != nil || len(args) == 0 {
			return err
		}
		return a.begun(cmd, args[1], settings, *isPath)
	}
	login := a.find("login")
	url := login.Flags().String("cloud-url", "", "")
	enter := login.RunE
	login.RunE = func(cmd *cobra.Command, args []string) error {
		if *url == "" && len(args) == 0 && !cmd.Flags().Changed("local") {
			*url = os.Getenv(pulumiBackend)
		}
		if *url != "" {
			args = append(args, *url)
		}
		return enter(cmd, args)
	}
	cancel := a.find("cancel")
	cancel.Use = "cancel [NAME]"
	before(cancel, func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			a.Stack = args[0]
		}
		return nil
	})
	install := a.find("install")
	ignore(install.Flags(), true, "use-language-version-tools", "reinstall")
	without := install.Flags().Bool("no-plugins", false, "")
	alone := install.Flags().Bool("no-dependencies", false, "")
	run := install.RunE
	install.RunE = func(cmd *cobra.Command, args []string) error {
		project, err := a.Project(cmd.Context())
		if err != nil {
			return err
		}
		if !*without {
			if err := run(cmd, args); err != nil {
				return err
			}
		}
		if *alone || a.Untrusted {
			return nil
		}
		a.Say("Installing the packages of the program.")
		return pulumi.Host{}.Install(cmd.Context(), project)
	}
	all := a.find("config set-all")
	text := all.Flags().String("json", "", "")
	set := all.RunE
	all.RunE = func(cmd *cobra.Command, args []string) error {
		if *text == "" {
			return set(cmd, args)
		}
		return a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
			return setJSON(ctx, w, c, *text)
		})(cmd, args)
	}
}

// begun makes the stack of a project that is new, if the command names one, and sets its configuration.
func (a *answers) begun(cmd *cobra.Command, dir string, settings []string, isPath bool) error {
	if !cmd.Flags().Changed("stack") && len(settings) == 0 {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	a.Dir = dir
	a.FindProjectAnew()
	if cmd.Flags().Changed("stack") {
		stack := a.find("stack init")
		stack.SetContext(cmd.Context())
		if err := stack.RunE(stack, []string{a.Stack}); err != nil {
			return err
		}
	}
	return a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
		return setConfig(ctx, w, c, settings, isPath)
	})(cmd, nil)
}

// orJSON has a command write another answer with --json.
func (a *answers) orJSON(path string, answer cli.Run) *cobra.Command {
	cmd := a.find(path)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.JSON && !(len(args) > 0 && cmd.HasSubCommands()) { // which no command below it is
			return answer(cmd, args)
		}
		return run(cmd, args)
	}
	return cmd
}

// add adds the commands that only Pulumi has.
func (a *answers) add() {
	plugin := &cobra.Command{Use: "plugin", Short: "List the providers of the project"}
	cli.Group(plugin, nil,
		&cobra.Command{Use: "ls", Short: "List the providers of the project", RunE: a.listPlugins},
		a.noPlugins("install KIND [NAME] [VERSION]"), a.noPlugins("rm KIND [NAME] [VERSION]"))
	about := &cobra.Command{Use: "about", Short: "Show what this husk is, and where the stacks are", RunE: a.about}
	a.root.AddCommand(plugin, about)
	tag := &cobra.Command{Use: "tag", Short: "Show and change the tags of the stack"}
	cli.Group(tag, nil,
		&cobra.Command{Use: "ls", Short: "List the tags", RunE: a.OnStack(a.listTags)},
		&cobra.Command{Use: "get NAME", Short: "Show a tag", RunE: a.OnStack(a.getTag)},
		&cobra.Command{Use: "set NAME VALUE", Short: "Set a tag", RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			value := []byte(args[1])
			return putTag(ctx, w, stack, args[0], &value)
		})},
		&cobra.Command{Use: "rm NAME", Short: "Remove a tag", RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			return putTag(ctx, w, stack, args[0], nil)
		})})
	a.find("stack").AddCommand(tag)
	a.find("config").AddCommand(a.copyConfig())
	graph := a.also("stack", "graph FILE", "graph")
	draw := graph.RunE
	graph.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Set("output", args[0]); err != nil {
			return err
		}
		return draw(cmd, nil)
	}
	a.also("package", "get-schema FILE|NAME", "provider schema")
	a.also("package", "info FILE|NAME [TYPE]", "provider show")
	a.also("state", "get URN", "state show")
}

// also adds a command below another that does what one of Husk does.
func (a *answers) also(below, use, path string) *cobra.Command {
	of := a.find(path)
	cmd := &cobra.Command{Use: use, Short: of.Short, Long: of.Long, RunE: of.RunE}
	cmd.Flags().AddFlagSet(of.Flags())
	a.find(below).AddCommand(cmd)
	return cmd
}
