package root

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace/doctor"
)

func (a commands) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Look for what keeps Husk from working here, and say what to do",
		Long: "Checks this machine and the project: compiler, Go, cache, keys and their permissions, project file, providers,\n" +
			"backend, stacks, clock, and terminal. It changes nothing. The exit code is 1 if there is an error.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := doctor.ThisMachine()
			m.Project, m.Workspace, m.Terminal = a.Project, a.Workspace, a.terminalInWords()
			findings := m.Check(cmd.Context())
			findings = append([]doctor.Finding{{Check: "husk", Level: doctor.Good, Found: thisBuild().String()}}, findings...)
			if a.JSON {
				if err := a.WriteJSON(findings); err != nil {
					return err
				}
			} else if err := a.showFindings(findings); err != nil {
				return err
			}
			for _, f := range findings {
				if f.Level == doctor.Bad {
					return cli.Shown(errors.New("there are errors"))
				}
			}
			return nil
		},
	}
}

func (a commands) showFindings(findings []doctor.Finding) error {
	style := a.Out.Style()
	var b strings.Builder
	for _, f := range findings {
		mark := "  "
		switch f.Level {
		case doctor.Warning:
			mark = style.Warning("! ")
		case doctor.Bad:
			mark = style.Bad("x ")
		}
		fmt.Fprintf(&b, "%s%-12s %s\n", mark, display.Escape(f.Check), display.Escape(f.Found))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%-15s%s\n", "", style.Strong(display.Escape(f.Remedy)))
		}
	}
	_, err := a.Out.Write([]byte(b.String()))
	return cli.Writing(err)
}

// terminalInWords describes the terminal, and is empty if there is none.
func (a commands) terminalInWords() string {
	f := a.Out.File()
	if f == nil || !a.Out.IsTerminal() {
		return ""
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return ""
	}
	colour := "without colours"
	if a.Out.Style().Colour {
		colour = "with colours"
	}
	return fmt.Sprintf("%s, %d columns and %d rows, %s", os.Getenv("TERM"), columns, rows, colour)
}
