package root

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/internal/run/stackrun"
)

func (a commands) man(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages",
		Long: "Writes a man page for each command to a directory, such as man1 in a directory of MANPATH.",
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := writeManPages(root, args[0])
			if err != nil {
				return fmt.Errorf("writing the man pages: %w", err)
			}
			a.Say("Wrote %d man pages to %s.", n, args[0])
			return nil
		},
	}
}

// writeManPages writes the page of a command and of those below it, and returns how many.
func writeManPages(cmd *cobra.Command, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(cmd, name)), 0o644); err != nil {
		return 0, err
	}
	n := 1
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		below, err := writeManPages(sub, dir)
		if err != nil {
			return 0, err
		}
		n += below
	}
	return n, nil
}

// manPage returns the page of a command in the macros of man(7).
func manPage(cmd *cobra.Command, name string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(".TH %q 1 \"\" %q \"Husk\"", strings.ToUpper(name), "husk "+stackrun.Version())
	line(".SH NAME\n%s \\- %s", roff(name), roff(cmd.Short))
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	line(".SH SYNOPSIS\n.B %s", roff(use))
	line(".SH DESCRIPTION")
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			line(".PP")
		}
		line("%s", roff(paragraph))
	}
	if cmd.HasAvailableSubCommands() {
		line(".SH COMMANDS")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				line(".TP\n.B %s\n%s", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	manFlags(line, "OPTIONS", cmd.LocalFlags())
	manFlags(line, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if examples := examplesOf(cmd); examples != "" {
		line(".SH EXAMPLES\n.nf\n%s\n.fi", roff(strings.TrimRight(examples, "\n")))
	}
	if parent := cmd.Parent(); parent != nil {
		line(".SH SEE ALSO\n.BR %s (1)", roff(strings.ReplaceAll(parent.CommandPath(), " ", "-")))
	}
	return b.String()
}

func manFlags(line func(string, ...any), title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	line(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names, value, text := describe(f)
		line(".TP\n\\fB%s\\fR %s\n%s", roff(names), roff(value), roff(text))
	})
}

// roff returns text that no macro or escape of roff changes.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
