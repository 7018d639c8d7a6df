// Package consolecmd has the command of the console.
package consolecmd

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
)

type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command { return []*cobra.Command{commands{a}.console()} }

const (
	// leastToken is the least length of a token of the user, in bytes: 128 bits in base 32 have 26.
	leastToken = 26
	// mostToken bounds the file of a token.
	mostToken = 4096
)

func (a commands) console() *cobra.Command {
	var port int
	var writes bool
	var tokenFile string
	cmd := &cobra.Command{
		Use: "console", Short: "Serve a local page about the stacks and their runs",
		Long: "Serve a page about the project's stacks: resources and their graph, runs while they go on and\n" +
			"afterwards, differences, history, and the cost and capabilities of providers. Metrics for Prometheus are\n" +
			"at /metrics. Only this machine can reach the page, with the token in the address that is shown. Press\n" +
			"Ctrl-C to end.\n\n" +
			"The page changes nothing. With --allow-writes, it can preview, update, refresh, and\n" +
			"destroy a stack; it shows the plan first, and asks. It can also decide about the runs\n" +
			"of a server.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return cli.Usagef("--port %d: must be between 0 and 65535", port)
			}
			if err := a.WithWhole("the console"); err != nil {
				return err
			}
			token, err := tokenOf(tokenFile)
			if err != nil {
				return err
			}
			return a.Parts.ServeConsole(cmd.Context(), a.App, port, token, writes)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&port, "port", 0, "serve on this port of 127.0.0.1 (default: a free one)")
	flags.BoolVar(&writes, "allow-writes", false, "let the page preview, update, refresh, and destroy stacks, and decide about the runs of a server")
	flags.StringVar(&tokenFile, "token-file", "", "use the token in this file, such as for Prometheus (default: a new one)")
	a.AddLimits(flags)
	return cmd
}

// tokenOf returns the token in a file, or a new one if there is no name of a file.
func tokenOf(file string) (string, error) {
	if file == "" {
		return rand.Text(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	switch {
	case len(token) < leastToken:
		return "", cli.Usagef("--token-file %s: the token has %s, and must have at least %d: openssl rand -hex 16 makes one",
			file, cli.Plural(len(token), "character"), leastToken)
	case len(token) > mostToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\&=#%+`, r) }):
		return "", cli.Usagef("--token-file %s: the token must be one word of letters, digits, and -._~", file)
	}
	return token, nil
}
