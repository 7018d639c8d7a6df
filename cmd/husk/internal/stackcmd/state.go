package stackcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/display/stackgraph"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a commands) stateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "state", Short: "Inspect the state of a stack, and correct it by hand",
		Long: "These commands change the state, and never a resource. husk stack restore undoes the last\n" +
			"change.\n\n" +
			"They take a resource's URN, name, or TYPE::NAME. Commands that take several resources also take\n" +
			"patterns: * matches text without a colon, ** any text. A pattern of names, such as 'web-*', matches\n" +
			"neither providers nor the stack.",
	}
	return cli.Group(cmd, nil,
		a.stateList(), a.stateShow(), a.stateDelete(), a.stateRename(), a.stateMove(),
		a.stateMark("protect", "Refuse to delete resources", "Protected", edit.Protect, true),
		a.stateMark("unprotect", "Allow resources to be deleted", "Unprotected", edit.Protect, false),
		a.stateMark("taint", "Mark resources for replacement by the next update", "Tainted", edit.Taint, true),
		a.stateMark("untaint", "Unmark resources for replacement", "Untainted", edit.Taint, false),
		a.stateModule(), a.stateRepair(), a.stateEdit())
}

type resourceInfo struct {
	URN      urn.URN  `json:"urn"`
	Type     string   `json:"type"`
	ID       string   `json:"id,omitempty"`
	Parent   urn.URN  `json:"parent,omitempty"`
	Provider string   `json:"provider,omitempty"`
	Marks    []string `json:"marks,omitempty"`
}

func resourceInfoOf(r *state.Resource) resourceInfo {
	return resourceInfo{URN: r.URN, Type: r.Type, ID: r.ID, Parent: r.Parent, Provider: r.Provider, Marks: stackgraph.Marks(r)}
}

func (a commands) stateList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the resources of the state by URN",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			snapshot, _, err := w.Read(ctx, stack, true)
			if err != nil {
				return err
			}
			var infos []resourceInfo
			for _, r := range snapshot.Resources() {
				infos = append(infos, resourceInfoOf(r))
			}
			err = cli.WriteList(a.App, infos, "", nil, func(info resourceInfo) []string {
				if len(info.Marks) > 0 {
					return []string{string(info.URN) + "  (" + strings.Join(info.Marks, ", ") + ")"}
				}
				return []string{string(info.URN)}
			})
			if err != nil || a.JSON {
				return err
			}
			for _, pending := range snapshot.Operations() {
				a.Say("%s was cut off while %s", pending.Resource.URN, pending.Type)
			}
			return nil
		}),
	}
}

type resourceDetails struct {
	resourceInfo
	Module       string         `json:"module,omitempty"`
	Dependencies []urn.URN      `json:"dependencies,omitempty"`
	Dependents   []urn.URN      `json:"dependents,omitempty"`
	Aliases      []urn.URN      `json:"aliases,omitempty"`
	Created      *time.Time     `json:"created,omitempty"`
	Modified     *time.Time     `json:"modified,omitempty"`
	InitErrors   []string       `json:"initErrors,omitempty"`
	Inputs       map[string]any `json:"inputs"`
	Outputs      map[string]any `json:"outputs"`
}

func (a commands) stateShow() *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use: "show URN", Short: "Show one resource of the state",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			snapshot, _, err := w.Read(ctx, stack, !show)
			if err != nil {
				return err
			}
			u, err := edit.ResolveOne(snapshot, args[0])
			if err != nil {
				return err
			}
			r, err := edit.Find(snapshot, u)
			if err != nil {
				return err
			}
			inputs, outputs := r.Inputs, r.Outputs
			if show {
				a.Secrets.Show()
				inputs, outputs = inputs.Unwrap(), outputs.Unwrap()
			}
			details := resourceDetails{
				resourceInfo: resourceInfoOf(r), Module: engine.ModuleOf(r),
				Dependencies: r.Dependencies, Dependents: dependents(snapshot, r), Aliases: r.Aliases, InitErrors: r.InitErrors,
				Inputs: engine.DisplayOutputs(inputs), Outputs: engine.DisplayOutputs(outputs),
			}
			if !r.Created.IsZero() {
				details.Created = &r.Created
			}
			if !r.Modified.IsZero() {
				details.Modified = &r.Modified
			}
			if a.JSON {
				return a.WriteJSON(details)
			}
			return a.writeResource(details)
		}),
	}
	cli.AddShowSecrets(cmd, &show)
	return cmd
}

func dependents(s *state.Snapshot, r *state.Resource) []urn.URN {
	g := s.Graph()
	var out []urn.URN
	if serial, ok := g.Find(r.URN); ok {
		for _, d := range g.Dependents(serial) {
			dependent, _ := s.Resource(d)
			out = append(out, dependent.URN)
		}
	}
	return out
}

func (a commands) writeResource(d resourceDetails) error {
	var rows cli.Rows
	moment := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Local().Format(time.DateTime)
	}
	rows.Add("urn", string(d.URN))
	rows.Add("id", d.ID)
	rows.Add("parent", string(d.Parent))
	rows.Add("provider", d.Provider)
	rows.Add("module", d.Module)
	rows.Add("depends on", convert[string](d.Dependencies)...)
	rows.Add("needed by", convert[string](d.Dependents)...)
	rows.Add("aliases", convert[string](d.Aliases)...)
	rows.Add("created", moment(d.Created))
	rows.Add("modified", moment(d.Modified))
	rows.Add("marks", strings.Join(d.Marks, ", "))
	rows.Add("errors", d.InitErrors...)
	if err := a.Table(rows); err != nil {
		return err
	}
	for _, p := range []struct {
		title  string
		values map[string]any
	}{{"Inputs", d.Inputs}, {"Outputs", d.Outputs}} {
		if len(p.values) == 0 {
			continue
		}
		if err := display.WriteProperties(a.Out, p.title, p.values); err != nil {
			return cli.Writing(err)
		}
	}
	return nil
}

func convert[To, From ~string](texts []From) []To {
	out := make([]To, len(texts))
	for i, text := range texts {
		out[i] = To(text)
	}
	return out
}
