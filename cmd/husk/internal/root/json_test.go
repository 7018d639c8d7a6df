package root

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
)

// A program that asks for JSON gets it from each command, also about a flag that the command does not have.
func TestJSONOfEachCommand(t *testing.T) {
	u := newUser(t, "name: demo\nruntime: yaml\n")
	visit(testCommand(), func(cmd *cobra.Command) {
		if cmd.DisableFlagParsing {
			return // the flags are those of another program
		}
		for _, asks := range []string{"--json", "--json=true"} {
			stdout, _, code := u.husk(append(strings.Fields(cmd.CommandPath())[1:], "--no-such-flag", asks)...)
			require.Equal(t, cli.ExitUsage, code, cmd.CommandPath())
			told := false
			for decoder := json.NewDecoder(strings.NewReader(stdout)); ; {
				var document struct {
					Message     string
					Diagnostics []struct{ Message string }
				}
				err := decoder.Decode(&document)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err, "%s writes %s", cmd.CommandPath(), stdout)
				for _, d := range document.Diagnostics {
					document.Message += d.Message
				}
				told = told || strings.HasPrefix(document.Message, "unknown flag: --no-such-flag")
			}
			require.True(t, told, "%s writes %q", cmd.CommandPath(), stdout)
		}
	})
}
