package root

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
)

// groups are the commands of the root in the order of its help.
var groups = []struct {
	title    string
	commands []string
}{
	{"Deploy", []string{"new", "up", "preview", "refresh", "destroy", "import", "action", "watch", "validate", "fmt", "plan", "graph", "console"}},
	{"Stacks and their state", []string{"stack", "config", "state", "cancel", "login", "logout", "whoami"}},
	{"Servers", []string{"server", "worker", "remote"}},
	{"Providers", []string{"install", "update", "vendor", "provider", "package", "cache"}},
	{"Editors", []string{"lsp", "schema"}},
	{"Husk itself", []string{"doctor", "version", "completion", "man", "help"}},
}

// groupCommands puts the subcommands of the root in their groups, and in the order of these.
func groupCommands(root *cobra.Command) {
	all := slices.Clone(root.Commands())
	root.RemoveCommand(all...)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range g.commands {
			for _, cmd := range all {
				if cmd.Name() == name {
					cmd.GroupID = g.title
					root.AddCommand(cmd)
				}
			}
		}
	}
	for _, cmd := range all {
		if cmd.GroupID == "" {
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID(groups[len(groups)-1].title)
}

// The columns of help texts: the terminal's, within these bounds.
const (
	leastColumns, mostColumns = 60, 120
	usualColumns              = 80
)

// setHelp has a command and those below it show their help in the width of the terminal, which Cobra does not know.
func setHelp(a *cli.App, root *cobra.Command) {
	columns := func() int {
		if f := a.Out.File(); f != nil {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil {
				return min(max(width, leastColumns), mostColumns)
			}
		}
		return usualColumns
	}
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd, columns()))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = io.WriteString(cmd.OutOrStdout(), helpText(cmd, columns()))
	})
}

func helpText(cmd *cobra.Command, columns int) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			b.WriteString(paragraph + "\n\n") // lines of code
			continue
		}
		writeWrapped(&b, "", paragraph, columns)
		b.WriteByte('\n')
	}
	return b.String() + usageText(cmd, columns)
}

func usageText(cmd *cobra.Command, columns int) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if examples := examplesOf(cmd); examples != "" {
		b.WriteString("\nExamples:\n" + strings.TrimRight(examples, "\n") + "\n")
	}
	groups := cmd.Groups()
	if len(groups) == 0 && cmd.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		b.WriteString("\n" + g.Title + ":\n")
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				writeWrapped(&b, fmt.Sprintf("  %-*s ", max(sub.NamePadding(), 11), sub.Name()), sub.Short, columns)
			}
		}
	}
	writeFlags(&b, "Flags", cmd.LocalFlags(), columns)
	writeFlags(&b, "Flags of all commands", cmd.InheritedFlags(), columns)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help tells more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet, columns int) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n" + title + ":\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names, value, text := describe(f)
		if f.Shorthand == "" {
			names = "    " + names
		}
		writeWrapped(b, fmt.Sprintf("  %-*s ", flagColumns+4, strings.TrimRight(names+" "+value, " ")), text, columns)
	})
}

// describe returns the names of a flag, the name of its value, and its description.
func describe(f *pflag.Flag) (names, value, text string) {
	names = "--" + f.Name
	if f.Shorthand != "" {
		names = "-" + f.Shorthand + ", " + names
	}
	if value, text = pflag.UnquoteUsage(f); value != "" {
		value = valueOf(f, value)
	}
	if zero := []string{"", "0", "false", "[]", "0s"}; !slices.Contains(zero, f.DefValue) {
		text += " (default: " + f.DefValue + ")"
	}
	return names, value, text
}

// valueNames are the names of the values of flags that take texts, unless the usage of a flag has one in back quotes.
var valueNames = sync.OnceValue(func() map[string]string {
	return valuesOf(map[string]string{
		"FILE": `audit-log bundle case cases file import-file key learn-grants learned log-file map out output plan policy-pack-config
		root save-plan timeline token-file trace`,
		"DIR": "cwd dir failures main sdk shim", "PATH": "path policy-pack", "NAME": "allow-untested env name project stack",
		"STACK": "of to", "URN": "exclude parent replace target target-replace", "URN=ID": "adopt-pending-creates",
		"NAME=VALUE": "config label query", "NAMES": "properties", "URL": "issuer registry server", "VERSION": "version",
		"CHECK": "allow only", "DIGEST": "trust-module", "FORMAT": "format", "GRANT": "grant", "LANGUAGE": "generate-code language",
		"LIMIT": "limit", "PATTERN": "identity", "REFERENCE": "provider", "SEED": "seed", "TEXT": "description message parameter", "TOOL": "from",
	})
})

// valuesOf returns the name of the value of each flag.
func valuesOf(flags map[string]string) map[string]string {
	all := make(map[string]string)
	for name, of := range flags {
		for flag := range strings.FieldsSeq(of) {
			all[flag] = name
		}
	}
	return all
}

// valueOf returns the name of the value of a flag, empty for one that is not known.
func valueOf(f *pflag.Flag, found string) string {
	switch typ := f.Value.Type(); {
	case strings.Contains(f.Usage, "`"):
		return found
	case valueNames()[f.Name] != "":
		return valueNames()[f.Name]
	case strings.HasPrefix(typ, "string"):
		return ""
	case strings.Contains(typ, "int"):
		return "N"
	case typ == "duration":
		return "TIME"
	default:
		return strings.ToUpper(found)
	}
}

// flagColumns is the width of the column of flags.
const flagColumns = 22

// writeWrapped writes a name and a text behind it in lines of so many columns at most. The text begins in a line of its own
// if the name is longer than its column.
func writeWrapped(b *strings.Builder, name, text string, columns int) {
	indent := len(name)
	if trimmed := strings.TrimRight(name, " "); len(trimmed) >= flagColumns+6 {
		b.WriteString(trimmed + "\n")
		indent = flagColumns + 7
		name = strings.Repeat(" ", indent)
	}
	b.WriteString(name)
	at := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	b.WriteByte('\n')
}
