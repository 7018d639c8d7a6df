package root

import (
	_ "embed"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/parts"
)

//go:embed testdata/pulumiflags.txt
var pulumiFlags string

// By the name of Pulumi's command, husk knows each flag of Pulumi's commands that it answers, also those that it refuses.
func TestTheFlagsOfPulumi(t *testing.T) {
	a := newApp(os.Stdin, os.Stdout, os.Stderr, parts.All())
	a.Pulumi = new(cli.Pulumi)
	root := command(a)
	for line := range strings.Lines(pulumiFlags) {
		path, flags, isCommand := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, "#") || !isCommand {
			continue
		}
		cmd, rest, err := root.Find(strings.Fields(path))
		require.NoError(t, err)
		require.Empty(t, rest, "there is no command %s", path)
		for flag := range strings.FieldsSeq(flags) {
			name, letter, _ := strings.Cut(flag, "/")
			require.NotNil(t, cmd.Flag(name), "%s --%s", path, name)
			if letter != "" {
				require.NotNil(t, ofLetter(cmd, letter), "%s -%s", path, letter)
			}
		}
	}
}

// ofLetter returns the flag of a command that has a shorthand, nil if none has.
func ofLetter(cmd *cobra.Command, letter string) *pflag.Flag {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		if f := flags.ShorthandLookup(letter); f != nil {
			return f
		}
	}
	return nil
}
