package providercmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display/providerdocs"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a commands) providerAudit() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "audit [NAME...]", Short: "Compare the requests of providers with the project's grants",
		Long: "Compare the capabilities that the project's providers ask for with the project's grants. The command\n" +
			"fails if a provider needs a capability that it is not granted. To record the capabilities in use, run\n" +
			"up, preview, refresh, or destroy with --audit-log or --learn-grants.",
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := a.Project(cmd.Context())
			if err != nil {
				return err
			}
			var learned []program.LearnedGrants
			if file != "" {
				if learned, err = program.LoadLearnedGrants(file); err != nil {
					return err
				}
			}
			return a.WithPlugins(cmd.Context(), project, func(p *plugins.Plugins) error {
				return a.audit(cmd.Context(), p, project, learned, args)
			})
		},
	}
	cmd.Flags().StringVar(&file, "learned", "", "compare the grants with the ones that --learn-grants wrote to this file")
	return cmd
}

func (a commands) audit(ctx context.Context, p *plugins.Plugins, project *program.Project, learned []program.LearnedGrants, names []string) error {
	chosen := project.Providers
	if len(names) > 0 {
		chosen = nil
	}
	for _, name := range names {
		declared := project.Provider(name)
		if declared == nil {
			return fmt.Errorf("there is no provider %s in %s", name, project.File.Name)
		}
		chosen = append(chosen, *declared)
	}
	audited, lacking := []*plugins.Audited{}, []string{}
	for i := range chosen {
		one, err := p.Audit(ctx, &chosen[i], learned)
		if err != nil {
			return err
		}
		audited = append(audited, one)
		if one.Lacks() {
			lacking = append(lacking, one.Name)
		}
	}
	if err := a.writeAudit(audited); err != nil {
		return err
	}
	if len(lacking) > 0 {
		return cli.Shown(errors.New("not granted what they need: " + strings.Join(lacking, ", ")))
	}
	return nil
}

func (a commands) writeAudit(audited []*plugins.Audited) error {
	if a.JSON {
		return a.WriteJSON(audited)
	}
	table := auditTable{columns: a.columns()}
	for _, one := range audited {
		table.rows = append(table.rows, []string{one.Name + " " + one.Version})
		for _, r := range one.Requests {
			state := "granted"
			switch {
			case r.Granted:
			case r.Optional:
				state = "not granted"
			default:
				state = "NOT GRANTED"
			}
			table.add("asks for", strings.TrimSpace(r.Capability+" "+r.Scope), reasonText(r.CapabilityRequest), state)
		}
		for _, g := range one.Grants {
			details := g.Details
			if g.Unused {
				details = strings.TrimPrefix(details+", not used", ", ")
			}
			table.add("has", strings.TrimSpace(g.Capability+" "+g.Scope), "", details)
		}
		for _, g := range one.Learned {
			state := "granted"
			if !g.Granted {
				state = "NOT GRANTED"
			}
			table.add("used", strings.TrimSpace(g.Capability+" "+g.Scope+" "+g.Details), "", state)
		}
		if one.Native {
			what := "a native plugin"
			if one.Runtime != "" {
				what = "a program for the runtime " + one.Runtime
			}
			table.rows = append(table.rows, []string{"  NOT SANDBOXED", what + " with all rights of the user: " + one.Path})
			continue
		}
		if len(one.Requests)+len(one.Grants)+len(one.Learned) == 0 {
			table.rows = append(table.rows, []string{"  asks for nothing, and has nothing"})
		}
	}
	return a.Table(table.rows)
}

// auditTable has the lines of an audit. What would make one wider than the terminal is below it.
type auditTable struct {
	columns int
	rows    [][]string
}

// The widths of the first and the last column, with the space between.
const labelColumns, stateColumns = len("  asks for  "), len("  NOT GRANTED")

// add adds a capability that is asked for, granted, or used, with the reason and the state. Reason and state may be empty.
func (t *auditTable) add(label, what, why, state string) {
	width := t.columns - labelColumns
	row, below := []string{"  " + label, what + why}, ""
	if len(row[1]) > width-stateColumns && why != "" {
		row[1], below = what, strings.TrimLeft(why, ": ")
	}
	switch {
	case state == "":
	case len(state) > stateColumns-2 && len(row[1])+2+len(state) > width:
		below = strings.TrimPrefix(below+" "+state, " ")
	default:
		row = append(row, state)
	}
	t.rows = append(t.rows, row)
	for _, line := range providerdocs.Wrap(below, width) {
		t.rows = append(t.rows, []string{"", line})
	}
}

// requestText returns a request on one line.
func requestText(r host.CapabilityRequest) string {
	return strings.TrimSpace(r.Capability+" "+r.Scope) + reasonText(r)
}

// reasonText returns what follows a request on its line: its reason, and whether it is optional.
func reasonText(r host.CapabilityRequest) (text string) {
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	if r.Optional {
		text += " (optional)"
	}
	return text
}
