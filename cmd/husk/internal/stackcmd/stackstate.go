package stackcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a commands) stackOutput() *cobra.Command {
	var show, shell bool
	cmd := &cobra.Command{
		Use: "output [NAME]", Short: "Show the outputs of the stack, or the plain value of one",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			if shell && a.JSON {
				return cli.Usagef("--shell and --json exclude each other")
			}
			outputs, err := ReadOutputs(ctx, a.App, w, stack, show)
			if err != nil {
				return err
			}
			shown := engine.DisplayOutputs(outputs)
			if shell {
				return a.writeShell(shown, args, stack)
			}
			if len(args) == 1 {
				return a.writeOutput(shown, args[0], stack)
			}
			if a.JSON {
				return a.WriteJSON(shown)
			}
			if len(shown) == 0 {
				a.Say("The stack %s has no outputs.", stack)
				return nil
			}
			return cli.Writing(display.WriteProperties(a.Out, "Outputs", shown))
		}),
	}
	cli.AddShowSecrets(cmd, &show)
	cmd.Flags().BoolVar(&shell, "shell", false, "write the outputs as shell variables; values other than text are JSON")
	return cmd
}

// shellName matches the name of a variable in a shell.
var shellName = lazyregexp.Regexp{Syntax: `^[A-Za-z_][A-Za-z0-9_]*$`}

// writeShell writes outputs, or the one that is named, as assignments that a shell evaluates. Nothing in a value is more than text.
func (a commands) writeShell(shown map[string]any, args []string, stack string) error {
	if len(args) == 0 {
		args = slices.Sorted(maps.Keys(shown))
	}
	var lines bytes.Buffer
	for _, name := range args {
		v, err := OutputOf(shown, name, stack)
		if err != nil {
			return err
		}
		if !shellName.Get().MatchString(name) {
			a.Say("The output %q is left out: a shell has no variable of that name. husk stack output %[1]q shows it.", name)
			continue
		}
		text, ok := v.(string)
		if !ok {
			var value bytes.Buffer
			encoder := json.NewEncoder(&value)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(v); err != nil {
				return err
			}
			text = strings.TrimSuffix(value.String(), "\n")
		}
		fmt.Fprintf(&lines, "%s='%s'\n", name, strings.ReplaceAll(text, "'", `'\''`))
	}
	return a.Write(lines.Bytes())
}

// ReadOutputs returns the outputs of a stack. Secrets are decrypted, and plain, only if show is set.
func ReadOutputs(ctx context.Context, a *cli.App, w *workspace.Workspace, stack string, show bool) (property.Map, error) {
	snapshot, _, err := w.Read(ctx, stack, !show)
	if err != nil {
		return property.Map{}, err
	}
	outputs := workspace.Outputs(snapshot)
	if show {
		a.Secrets.Show()
		outputs = outputs.Unwrap()
	}
	return outputs, nil
}

// OutputOf returns an output by its name.
func OutputOf(shown map[string]any, name, stack string) (any, error) {
	v, ok := shown[name]
	if !ok {
		known := "it has none"
		if len(shown) > 0 {
			known = "it has " + strings.Join(slices.Sorted(maps.Keys(shown)), ", ")
		}
		return nil, fmt.Errorf("the stack %s has no output %q: %s", stack, name, known)
	}
	return v, nil
}

func (a commands) writeOutput(shown map[string]any, name, stack string) error {
	v, err := OutputOf(shown, name, stack)
	if err != nil {
		return err
	}
	if text, ok := v.(string); ok && !a.JSON {
		return a.Write([]byte(text + "\n")) // as it is, for scripts
	}
	return a.WriteJSON(v)
}

func (a commands) stackExport() *cobra.Command {
	var show, passphrase bool
	var file string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the state of the stack as Pulumi's deployment JSON",
		Long: "Write the state of the stack as Pulumi's deployment JSON, which `pulumi stack import` reads.\n\n" +
			"Pulumi does not know the key that Husk generates for stacks without a passphrase. To export secrets,\n" +
			"set HUSK_CONFIG_PASSPHRASE, export with --passphrase, and set PULUMI_CONFIG_PASSPHRASE to the same\n" +
			"passphrase for the import.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			snapshot, codec, err := w.Read(ctx, stack, !show && !passphrase)
			if err != nil {
				return err
			}
			if show {
				a.Secrets.Show()
			}
			if passphrase {
				if codec, err = w.PassphraseCodec(); errors.Is(err, secrets.ErrNoKey) {
					return cli.Usagef("--passphrase: set the passphrase in HUSK_CONFIG_PASSPHRASE, or name a file that holds it in HUSK_CONFIG_PASSPHRASE_FILE")
				} else if err != nil {
					return fmt.Errorf("--passphrase: %w", err)
				}
			} else if secrets.OnlyHusk(snapshot.Secrets.Type) && snapshot.HasSecrets() {
				a.Say("Pulumi does not know the key of this stack's secrets: to import the export into Pulumi, export with --passphrase.")
			}
			data, err := codec.EncodeExport(ctx, snapshot, show)
			if err != nil {
				return err
			}
			if file == "" {
				return a.Write(display.EscapeJSON(data))
			}
			// It may hold secrets.
			if err := os.WriteFile(file, data, 0o600); err != nil {
				return fmt.Errorf("writing the export: %w", err)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&show, "show-secrets", false, "write secrets in plain text")
	cmd.Flags().BoolVar(&passphrase, "passphrase", false, "encrypt secrets with the passphrase in HUSK_CONFIG_PASSPHRASE, which Pulumi can decrypt")
	cmd.Flags().StringVar(&file, "file", "", "write to this file instead of standard output")
	return cmd
}

func (a commands) stackImport() *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use: "import", Short: "Replace the state of the stack with an export",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			data, err := a.readImport(file)
			if err != nil {
				return err
			}
			snapshot, codec, err := w.Decode(ctx, data)
			if err != nil && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
				return errors.New("this is not a state: husk stack export and pulumi stack export write one, as JSON")
			}
			if err != nil {
				return fmt.Errorf("reading the export: %w", err)
			}
			if !force {
				if err := w.CheckImport(stack, snapshot, data); err != nil {
					return fmt.Errorf("%w\nimport it anyway with --force", err)
				}
			}
			aside, err := w.Import(ctx, stack, snapshot, codec)
			a.sayAside(aside)
			if err == nil {
				a.Say("Imported the state of the stack %s: %s.", stack, cli.Plural(snapshot.Len(), "resource"))
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&file, "file", "", "read from this file instead of standard input")
	cmd.Flags().BoolVar(&force, "force", false, "import even if the state belongs to another stack, is inconsistent, or was changed by hand")
	return cmd
}

func (a commands) readImport(file string) ([]byte, error) {
	if file == "" {
		data, err := io.ReadAll(a.In)
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return data, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the export: %w", err)
	}
	return data, nil
}
