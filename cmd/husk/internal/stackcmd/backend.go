package stackcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a commands) login() *cobra.Command {
	var local bool
	var o signIn
	cmd := &cobra.Command{
		Use: "login [URL]", Short: "Choose where stacks are kept",
		Long: "Projects that name no backend in their file (backend.url) keep their stacks there, unless\n" +
			"HUSK_BACKEND_URL names another. The command tests whether the place meets the needs of stacks. It saves\n" +
			"the URL in a file that only you can read.\n\n" +
			"A husk server that knows your identity provider issues you a token: with --sso you log in with a browser;\n" +
			"--identity-token takes a token of OpenID Connect, such as those of continuous integration.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case (o.team != "" || o.issuer != "") && !o.sso && o.file == "":
				return cli.Usagef("--team and --issuer are for --sso and --identity-token")
			case o.issuer != "" && !o.sso:
				return cli.Usagef("--issuer is for --sso: an identity token says who has issued it")
			case local && len(args) > 0:
				return cli.Usagef("--local and a URL exclude each other")
			case local:
				args = []string{localURL}
			case len(args) == 0:
				return cli.Usagef("missing argument URL: %s", cmd.UseLine())
			}
			if o.sso || o.file != "" {
				url, err := o.do(cmd.Context(), a, args[0])
				if err != nil {
					return err
				}
				args = []string{url}
			}
			b, err := workspace.Login(cmd.Context(), args[0], a.WorkspaceOptions())
			if err != nil {
				return err
			}
			if b.Close != nil {
				b.Close()
			}
			a.Say("Stacks are kept in %s now.", b.Place)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&local, "local", "l", false, "keep them in your home directory, as "+localURL+" does")
	cmd.Flags().BoolVar(&o.sso, "sso", false, "log in to the husk server at URL with your identity provider, in a browser on any device")
	cmd.Flags().StringVar(&o.file, "identity-token", "", "log in to the husk server at URL with the identity token in this `FILE`, - for standard input")
	cmd.Flags().StringVar(&o.team, "team", "", "with --sso or --identity-token: the `TEAM`, if you are in several")
	cmd.Flags().StringVar(&o.issuer, "issuer", "", "with --sso: the `URL` of the identity provider, if the server knows several")
	cmd.MarkFlagsMutuallyExclusive("sso", "identity-token", "local")
	return cmd
}

// localURL is the URL that --local chooses.
const localURL = "file://~/stacks"

func (a commands) logout() *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Forget the backend that husk login chose",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := a.Root()
			if err != nil {
				root = a.RootOf(".")
			}
			was, err := workspace.Logout(cmd.Context(), root)
			if err != nil {
				return err
			}
			if !was {
				a.Say("No backend was chosen with husk login.")
				return nil
			}
			a.Say("Stacks are kept beside the project file again, unless HUSK_BACKEND_URL or backend.url names another place.")
			return nil
		},
	}
}

func (a commands) whoami() *cobra.Command {
	return &cobra.Command{
		Use: "whoami", Short: "Show the user and the backend",
		RunE: func(cmd *cobra.Command, _ []string) error {
			who, err := a.WhoAmI(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(who)
			}
			return a.Printf("%s@%s, with stacks in %s (%s)\n", who.User, who.Host, who.Backend, who.Origin)
		},
	}
}

func (a commands) stackMigrate() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "migrate URL", Short: "Move the stack to another backend",
		Long: "State, history, records of runs, modules, and the values of providers move; backups stay. The stack is in\n" +
			"one backend at any moment: a copy is completed under another name, then the stack is removed here, and then\n" +
			"the copy gets its name. If the command is interrupted, run it again. A locked stack is refused.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			to, err := workspace.OpenURL(ctx, args[0], a.WorkspaceOptions())
			if err != nil {
				return err
			}
			if to.Close != nil {
				defer to.Close()
			}
			stacks := []string{stack}
			if all {
				stacks = nil
			}
			moved := 0
			err = w.Migrate(ctx, to, stacks, func(stack string) {
				moved++
				a.Say("Moved the stack %s to %s.", stack, to.Place)
			})
			if err != nil {
				return err
			}
			a.Say("Moved %s. Name the new backend in %s (backend.url), or with husk login.", cli.Plural(moved, "stack"), w.Project.File.Name)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "move all stacks of the project")
	return cmd
}
