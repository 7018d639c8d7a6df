package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

// The variables with a new passphrase.
const (
	NewPassphraseVariable = "HUSK_NEW_CONFIG_PASSPHRASE"
	NewPassphraseFile     = "HUSK_NEW_CONFIG_PASSPHRASE_FILE"
)

func (a commands) changeSecretsProvider() *cobra.Command {
	var newKey bool
	cmd := &cobra.Command{
		Use: "change-secrets-provider PROVIDER", Short: "Encrypt the stack's secrets with another key",
		Long: "PROVIDER is passphrase, key (the key file of this user), hashivault://KEY (a key of HashiCorp Vault, by VAULT_ADDR\n" +
			"and VAULT_TOKEN), awskms://KEY?region=REGION (a key of AWS, by the command aws), command://KEY (the command in\n" +
			"HUSK_KEY_COMMAND), or " + workspace.ServerKey + " (the key that husk server keeps for you, if the stack is there). The same provider again makes a new key:\n" +
			"a new passphrase is asked for, or read from " + NewPassphraseVariable + " or the file in " + NewPassphraseFile + ".\n" +
			"State and configuration are encrypted anew. Backups stay as they are, and need the former key.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			if newKey && args[0] != workspace.KeyProvider {
				return cli.Usage(errors.New("--new-key is for the provider key, whose key file it replaces"))
			}
			retired, err := w.ChangeSecrets(ctx, stack, "stack change-secrets-provider", workspace.NewSecretsProvider{
				Name: args[0], Passphrase: a.newPassphrase, NewKey: newKey,
			})
			if retired != "" {
				a.Say("The former key is in %s now. Keep it for other stacks and for backups.", retired)
			}
			if err != nil {
				return err
			}
			a.Say("The secrets of the stack %s are encrypted by %s now.", stack, args[0])
			return nil
		}),
	}
	cmd.Flags().BoolVar(&newKey, "new-key", false, "replace the key file by a new one, and keep the former under another name")
	return cmd
}

// newPassphrase returns the passphrase of a variable, or that a person types.
func (a commands) newPassphrase() (string, error) {
	if text, ok := os.LookupEnv(NewPassphraseVariable); ok {
		return text, nil
	}
	if file := os.Getenv(NewPassphraseFile); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading the file that %s names: %w", NewPassphraseFile, err)
		}
		return strings.TrimSpace(string(data)), nil
	}
	if !display.IsTerminal(a.In) {
		return "", fmt.Errorf("a new passphrase is needed: set %s, or %s to the name of a file with it", NewPassphraseVariable, NewPassphraseFile)
	}
	first, err := a.readValue("New passphrase", true)
	if err != nil {
		return "", err
	}
	second, err := a.readValue("The same again", true)
	if err == nil && first != second {
		err = errors.New("the two passphrases differ: nothing was changed")
	}
	return first, err
}
