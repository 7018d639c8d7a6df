package root

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
)

// textFlags are the flags of confined commands whose values name no files of this machine.
var textFlags = strings.Fields(`adopt-pending-creates color config exclude exec-agent exec-kind expires first format from grant label limit log-level message of parameter parent
	plaintext project provider query replace secret stack target target-replace to trust-module`)

// leaves calls do with each command that does something, and its name.
func leaves(cmd *cobra.Command, do func(name string, cmd *cobra.Command)) {
	for _, sub := range cmd.Commands() {
		leaves(sub, do)
	}
	if name, below := strings.CutPrefix(cmd.CommandPath(), "husk "); below && cmd.Runnable() {
		do(name, cmd)
	}
}

func rootOf(t *testing.T) *cobra.Command {
	return command(cli.NewApp(os.Stdin, os.Stdout, os.Stderr))
}

// Each command confines itself, or says why not. Of each flag of one that does it is decided whether it names a file.
func TestFlagsOfConfinedCommands(t *testing.T) {
	var known []string
	leaves(rootOf(t), func(name string, cmd *cobra.Command) {
		known = append(known, name)
		for _, u := range unconfined {
			if slices.Contains(u.names, name) {
				return
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "bool" || flag.Value.Type() == "int" || flag.Name == "cwd" {
				return
			}
			if !slices.Contains(slices.Concat(readFlags, writtenFlags, textFlags), flag.Name) {
				t.Errorf("husk %s --%s: does it name a file that is read, or written, or none? %s", name, flag.Name, flag.Usage)
			}
		})
	})
	for _, u := range unconfined {
		for _, name := range u.names {
			require.Contains(t, known, name)
		}
	}
	for name := range wholeCommands {
		require.Contains(t, known, name)
	}
}
