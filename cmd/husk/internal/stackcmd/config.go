package stackcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a commands) configCommand() *cobra.Command {
	var show bool
	cmd := &cobra.Command{Use: "config", Short: "List and change the stack's configuration"}
	cli.AddShowSecrets(cmd, &show)
	list := a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
		return a.configList(ctx, w, c, show)
	})
	return cli.Group(cmd, list, a.configSet(), a.configSetAll(), a.configGet(), a.configRemove(), a.configRemoveAll())
}

// masked stands for secrets.
const masked = "[secret]"

// configValue is a value in lists for programs.
type configValue struct {
	Value  *string `json:"value,omitempty"`
	Secret bool    `json:"secret"`
}

func (a commands) configList(ctx context.Context, w *workspace.Workspace, c *workspace.Config, show bool) error {
	decrypt := func(string) (string, error) { return masked, nil }
	if show {
		a.Secrets.Show()
		decrypt = c.Decrypt(ctx)
	}
	entries, err := w.Project.ConfigEntries(c.StackConfig, decrypt)
	if err != nil {
		return err
	}
	if a.JSON {
		values := make(map[string]configValue, len(entries))
		for _, e := range entries {
			v := configValue{Secret: e.Secret}
			if show || !e.Secret {
				v.Value = &e.Value
			}
			values[e.Key] = v
		}
		return a.WriteJSON(values)
	}
	return cli.WriteList(a.App, entries, "The stack "+c.Stack+" has no configuration.", nil, func(e abi.ConfigEntry) []string {
		value := e.Value
		if e.Secret && !show {
			value = masked
		}
		return []string{strings.TrimPrefix(e.Key, w.Project.Name+":"), value} // as people write keys
	})
}

func (a commands) configSet() *cobra.Command {
	var secret, plain, path bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "set KEY [VALUE]",
		Short: "Set a configuration key",
		Long: "Set a configuration key. Without VALUE, the value is read from standard input. A value is encrypted if\n" +
			"the project declares it as secret, or if it replaces an encrypted value, unless --secret=false says\n" +
			"otherwise. KEY belongs to the project, or to another namespace, as in aws:region. Values of declared\n" +
			"keys are checked against their type; lists and objects are written as JSON, or part by part with --path,\n" +
			"as in aws:tags.owner or data.servers[0].port. Put two dashes before a value that begins with a dash:\n" +
			"husk config set offset -- -5",
		RunE: a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error {
			if secret && plain {
				return cli.Usagef("--secret and --plaintext exclude each other")
			}
			key, part, err := ConfigKey(w.Project, args[0], path)
			if err != nil {
				return cli.Usage(err)
			}
			asked := plain || cmd.Flags().Changed("secret")
			declared, replaces := c.IsSecret(key), c.IsEncrypted(key, part)
			secret := secret || declared || replaces && !asked
			var value string
			if len(args) == 2 {
				value = args[1]
			} else if value, err = a.readValue(args[0], secret); err != nil {
				return err
			}
			if err := c.Set(ctx, key, part, value, secret); err != nil {
				return err
			}
			switch {
			case declared:
				a.Say("Encrypted the value of %s, since %s declares it as secret.", args[0], w.Project.File.Name)
			case replaces && !asked:
				a.Say("Encrypted the value of %s, since the one that it replaces was: --secret=false keeps it as plain text.", args[0])
			}
			a.remarkUndeclared(w.Project, key)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&secret, "secret", false, "encrypt the value")
	cmd.Flags().BoolVar(&plain, "plaintext", false, "keep the value as plain text, as --secret=false does")
	addPath(cmd, &path)
	return cmd
}

func (a commands) configSetAll() *cobra.Command {
	var plain, secret []string
	var path bool
	cmd := &cobra.Command{
		Use: "set-all", Short: "Set several configuration keys",
		Long: "Set several configuration keys. If one cannot be set, none is. A value that the project declares as\n" +
			"secret is encrypted in any case.",
		RunE: a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
			for i, text := range slices.Concat(plain, secret) {
				name, value, ok := strings.Cut(text, "=")
				if !ok {
					return cli.Usagef("%s: must have the form KEY=VALUE", name)
				}
				key, part, err := ConfigKey(w.Project, name, path)
				if err != nil {
					return cli.Usage(err)
				}
				if err := c.Put(ctx, key, part, value, i >= len(plain) || c.IsSecret(key)); err != nil {
					return err
				}
				a.remarkUndeclared(w.Project, key)
			}
			return c.Save()
		}),
	}
	cmd.Flags().Var(cli.Repeated(&plain), "plaintext", "set `KEY=VALUE` as plain text; can be repeated")
	cmd.Flags().Var(cli.Repeated(&secret), "secret", "encrypt the value of `KEY=VALUE`; can be repeated")
	addPath(cmd, &path)
	return cmd
}

// remarkUndeclared says that a key is declared nowhere, if it resembles one that is.
func (a commands) remarkUndeclared(p *program.Project, key string) {
	declared := make([]string, len(p.Config))
	for i, c := range p.Config {
		declared[i] = c.Key
	}
	if near := schema.Nearest(key, declared); near != "" && !slices.Contains(declared, key) {
		a.Say("%s does not declare %s; did you mean %s?", p.File.Name, key, near)
	}
}

func addPath(cmd *cobra.Command, path *bool) {
	cmd.Flags().BoolVar(path, "path", false, "KEY is a path into a list or object")
}

// ConfigKey returns the full name of a key that a user wrote, and the path behind it.
func ConfigKey(p *program.Project, text string, isPath bool) (key string, part property.Path, err error) {
	if isPath {
		return p.ConfigPath(text)
	}
	key, err = p.ConfigKey(text)
	return key, nil, err
}

// readValue reads a value from standard input, without echo if a person types a secret.
func (a commands) readValue(key string, secret bool) (string, error) {
	if !display.IsTerminal(a.In) {
		return a.ReadAll()
	}
	if !secret {
		fmt.Fprintf(a.Errs, "%s (end with Ctrl-D): ", key)
		return a.ReadAll()
	}
	fmt.Fprintf(a.Errs, "%s: ", key)
	terminal := int(a.In.Fd())
	if state, err := term.GetState(terminal); err == nil {
		defer a.Heed(nil, cli.Stage{Do: func() {
			_ = term.Restore(terminal, state)
			os.Exit(cli.ExitFailed)
		}}, cli.Stage{})()
	}
	data, err := term.ReadPassword(terminal)
	fmt.Fprintln(a.Errs)
	if err != nil {
		return "", fmt.Errorf("reading the value of %s: %w", key, err)
	}
	return string(data), nil
}

func (a commands) configGet() *cobra.Command {
	var path bool
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Show the value of a configuration key, decrypted",
		RunE: a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error {
			entry, err := LookupConfig(ctx, a.App, w, c, args[0], path)
			switch {
			case err != nil:
				return err
			case a.JSON:
				return a.WriteJSON(configValue{Value: &entry.Value, Secret: entry.Secret})
			default:
				return a.Write([]byte(entry.Value + "\n"))
			}
		}),
	}
	addPath(cmd, &path)
	return cmd
}

// LookupConfig returns the value of a key that a user wrote, decrypted.
func LookupConfig(ctx context.Context, a *cli.App, w *workspace.Workspace, c *workspace.Config, name string, isPath bool) (entry abi.ConfigEntry, err error) {
	a.Secrets.Show()
	key, part, err := ConfigKey(w.Project, name, isPath)
	if err != nil {
		return entry, cli.Usage(err)
	}
	entry, found, err := lookupConfig(ctx, w.Project, c, key)
	if len(part) > 0 && found && err == nil {
		entry.Secret = c.IsSecret(key) || c.IsEncrypted(key, part)
		entry.Value, found, err = c.TextAt(key, part, c.Decrypt(ctx))
	}
	if err == nil && !found {
		err = fmt.Errorf("the configuration key %s is not set in the stack %s: set it with husk config set %[1]s <value>", name, c.Stack)
	}
	return entry, err
}

// lookupConfig returns the value that a deployment gets for the key. It decrypts no other key.
func lookupConfig(ctx context.Context, p *program.Project, c *workspace.Config, key string) (entry abi.ConfigEntry, found bool, err error) {
	entries, err := p.ConfigEntries(c.StackConfig, func(string) (string, error) { return "", nil })
	if err != nil {
		return entry, false, err
	}
	i, found := slices.BinarySearchFunc(entries, key, func(e abi.ConfigEntry, key string) int { return cmp.Compare(e.Key, key) })
	if !found {
		return entry, false, nil
	}
	entry = entries[i]
	if _, set := c.Get(key); set {
		entry.Value, _, err = c.Text(key, c.Decrypt(ctx))
	}
	return entry, true, err
}

func (a commands) configRemove() *cobra.Command {
	var path bool
	cmd := &cobra.Command{
		Use: "rm KEY", Short: "Remove a configuration key",
		RunE: a.OnConfig(func(_ context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error {
			return a.removeConfig(w, c, args, path)
		}),
	}
	addPath(cmd, &path)
	return cmd
}

func (a commands) configRemoveAll() *cobra.Command {
	var path bool
	cmd := &cobra.Command{
		Use: "rm-all KEY...", Short: "Remove several configuration keys",
		Long: "Remove several configuration keys, or none if one is not set.",
		RunE: a.OnConfig(func(_ context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error {
			return a.removeConfig(w, c, args, path)
		}),
	}
	addPath(cmd, &path)
	return cmd
}

// removeConfig removes keys, or parts of their values.
func (a commands) removeConfig(w *workspace.Workspace, c *workspace.Config, names []string, isPath bool) error {
	for _, name := range names {
		key, part, err := ConfigKey(w.Project, name, isPath)
		if err != nil {
			return cli.Usage(err)
		}
		if !c.RemoveAt(key, part) && a.Pulumi == nil { // Pulumi's command says nothing of it
			return fmt.Errorf("the configuration key %s is not set in the stack %s", name, c.Stack)
		}
	}
	return c.Save()
}
