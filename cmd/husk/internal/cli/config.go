package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a *app) configCommand() *cobra.Command {
	var show bool
	cmd := &cobra.Command{Use: "config", Short: "List and change the stack's configuration"}
	cmd.Flags().BoolVar(&show, "show-secrets", false, "show secrets in plain text")
	return group(cmd, func(cmd *cobra.Command) error { return a.configList(cmd, show) },
		a.configSet(), a.configGet(), a.configRemove())
}

// openConfig opens the configuration of the stack to work on.
func (a *app) openConfig(ctx context.Context) (*workspace.Workspace, *workspace.Config, string, error) {
	w, stack, err := a.currentStack(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	c, err := w.Config(stack)
	return w, c, stack, err
}

// masked stands for secrets.
const masked = "[secret]"

// configValue is a value in lists for programs.
type configValue struct {
	Value  *string `json:"value,omitempty"`
	Secret bool    `json:"secret"`
}

func (a *app) configList(cmd *cobra.Command, show bool) error {
	w, c, stack, err := a.openConfig(cmd.Context())
	if err != nil {
		return err
	}
	decrypt := func(string) (string, error) { return masked, nil }
	if show {
		a.secrets.Show()
		decrypt = c.Decrypt(cmd.Context())
	}
	entries, err := w.Project.ConfigEntries(c.StackConfig, decrypt)
	if err != nil {
		return err
	}
	if a.json {
		values := make(map[string]configValue, len(entries))
		for _, e := range entries {
			v := configValue{Secret: e.Secret}
			if show || !e.Secret {
				v.Value = &e.Value
			}
			values[e.Key] = v
		}
		return a.writeJSON(values)
	}
	if len(entries) == 0 {
		a.say("The stack %s has no configuration.", stack)
		return nil
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		value := e.Value
		if e.Secret && !show {
			value = masked
		}
		fmt.Fprintf(t, "%s\t%s\n", display.Escape(shortKey(w.Project, e.Key)), display.Escape(value))
	}
	return writing(t.Flush())
}

// shortKey leaves out the project's own namespace, as people write keys.
func shortKey(p *program.Project, key string) string { return strings.TrimPrefix(key, p.Name+":") }

func (a *app) configSet() *cobra.Command {
	var secret, path bool
	cmd := &cobra.Command{
		Use:   "set KEY [VALUE]",
		Short: "Set a configuration key",
		Long: "Set a configuration key. Without VALUE, the value is read from standard input.\n" +
			"KEY belongs to the project, or to another namespace, as in aws:region. Values of declared keys are\n" +
			"checked against their type; lists and objects are written as JSON, or part by part with\n" +
			"--path, as in aws:tags.owner or data.servers[0].port. Put two dashes before a value\n" +
			"that begins with a dash: husk config set offset -- -5",
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, stack, err := a.openConfig(cmd.Context())
			if err != nil {
				return err
			}
			key, part, err := configKey(w.Project, args[0], path)
			if err != nil {
				return &usageError{err}
			}
			declared := declaration(w.Project, key)
			secret := secret || declared != nil && declared.Secret
			var value string
			if len(args) == 2 {
				value = args[1]
			} else if value, err = a.readValue(args[0], secret); err != nil {
				return err
			}
			if secret {
				a.secrets.Learn(value)
			}
			if declared != nil && len(part) == 0 {
				if _, err := declared.Type.Parse(value); err != nil {
					return fmt.Errorf("%s does not fit its declaration in %s: %w", args[0], w.Project.File.Name, err)
				}
			}
			if err := a.ensureStack(cmd, w, stack); err != nil {
				return err
			}
			set := func() error { return c.SetAt(key, part, value, false) }
			if secret {
				set = func() error { return c.SetSecret(cmd.Context(), key, part, value) }
			}
			if err := set(); err != nil {
				return err
			}
			return c.Save()
		},
	}
	cmd.Flags().BoolVar(&secret, "secret", false, "encrypt the value")
	cmd.Flags().BoolVar(&path, "path", false, "KEY is a path into a list or object")
	return cmd
}

// configKey returns the full name of a key that a user wrote, and what follows it where
// that is a path.
func configKey(p *program.Project, text string, isPath bool) (key string, part property.Path, err error) {
	if isPath {
		return p.ConfigPath(text)
	}
	key, err = p.ConfigKey(text)
	return key, nil, err
}

func declaration(p *program.Project, key string) *program.ConfigDeclaration {
	i := slices.IndexFunc(p.Config, func(d program.ConfigDeclaration) bool { return d.Key == key })
	if i < 0 {
		return nil
	}
	return &p.Config[i]
}

// ensureStack makes the default stack if there is none; others must exist, lest a
// misspelt name get a configuration of its own.
func (a *app) ensureStack(cmd *cobra.Command, w *workspace.Workspace, stack string) error {
	stacks, err := w.Stacks(cmd.Context())
	if err != nil || slices.Contains(stacks, stack) {
		return err
	}
	if stack != workspace.DefaultStack {
		return &workspace.NoStackError{Stack: stack, Place: w.Place, Err: state.ErrStackNotFound}
	}
	if err := w.Init(cmd.Context(), stack); err != nil && !errors.Is(err, state.ErrStackExists) {
		return err
	}
	return nil
}

// readValue reads a value from standard input: without echo, where a person types
// a secret.
func (a *app) readValue(key string, secret bool) (string, error) {
	if !display.IsTerminal(a.in) {
		return a.readAll()
	}
	if !secret {
		fmt.Fprintf(a.errs, "%s (end with Ctrl-D): ", key)
		return a.readAll()
	}
	fmt.Fprintf(a.errs, "%s: ", key)
	terminal := int(a.in.Fd())
	if state, err := term.GetState(terminal); err == nil {
		defer a.heed(nil, stage{do: func() { // with the echo that it had
			_ = term.Restore(terminal, state)
			os.Exit(exitFailed)
		}}, stage{})()
	}
	data, err := term.ReadPassword(terminal)
	fmt.Fprintln(a.errs)
	if err != nil {
		return "", fmt.Errorf("reading the value of %s: %w", key, err)
	}
	return string(data), nil
}

func (a *app) configGet() *cobra.Command {
	var path bool
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Show the value of a configuration key, decrypted", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.secrets.Show()
			w, c, stack, err := a.openConfig(cmd.Context())
			if err != nil {
				return err
			}
			key, part, err := configKey(w.Project, args[0], path)
			if err != nil {
				return &usageError{err}
			}
			entry, found, err := lookupConfig(cmd, w.Project, c, key)
			if len(part) > 0 && found && err == nil {
				entry.Value, found, err = c.TextAt(key, part, c.Decrypt(cmd.Context()))
			}
			switch {
			case err != nil:
				return err
			case !found:
				return fmt.Errorf("the configuration key %s is not set in the stack %s: set it with husk config set %[1]s <value>", args[0], stack)
			case a.json:
				return a.writeJSON(configValue{Value: &entry.Value, Secret: entry.Secret})
			default:
				return a.write([]byte(entry.Value + "\n"))
			}
		},
	}
	cmd.Flags().BoolVar(&path, "path", false, "KEY is a path into a list or object")
	return cmd
}

// lookupConfig finds what a deployment would see under the key. Other keys are not
// decrypted, since their secrets are of no concern here.
func lookupConfig(cmd *cobra.Command, p *program.Project, c *workspace.Config, key string) (entry abi.ConfigEntry, found bool, err error) {
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
		entry.Value, _, err = c.Text(key, c.Decrypt(cmd.Context()))
	}
	return entry, true, err
}

func (a *app) configRemove() *cobra.Command {
	return &cobra.Command{
		Use: "rm KEY", Short: "Remove a configuration key", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, c, stack, err := a.openConfig(cmd.Context())
			if err != nil {
				return err
			}
			key, err := w.Project.ConfigKey(args[0])
			if err != nil {
				return &usageError{err}
			}
			if !c.Remove(key) {
				return fmt.Errorf("the configuration key %s is not set in the stack %s", args[0], stack)
			}
			return c.Save()
		},
	}
}
