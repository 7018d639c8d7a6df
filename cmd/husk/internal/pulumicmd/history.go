package pulumicmd

import (
	"context"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/workspace"
)

// kinds maps Husk's names of operations to Pulumi's, if they differ.
var kinds = map[string]string{"up": "update", "import": "resource-import", "stack rename": "rename", "stack import": "import"}

type updateSummary struct {
	Version         int               `json:"version"`
	Kind            string            `json:"kind"`
	StartTime       string            `json:"startTime"`
	Message         string            `json:"message"`
	Environment     map[string]string `json:"environment"`
	Config          map[string]string `json:"config"`
	Result          string            `json:"result"`
	EndTime         string            `json:"endTime"`
	ResourceChanges map[string]int    `json:"resourceChanges,omitempty"`
}

func (a *answers) history(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
	updates, damaged, err := w.History(ctx, stack)
	if err != nil {
		return err
	}
	if damaged > 0 {
		a.Say("The history of the stack %s is damaged: %s cannot be read.", stack, cli.Plural(damaged, "update"))
	}
	flags := a.find("stack history").Flags()
	size, _ := flags.GetInt("page-size")
	page, _ := flags.GetInt("page")
	if size > 0 {
		size, page = min(size, len(updates)), min(max(page, 1), len(updates)+1) // so that their product is a number
		from := min(len(updates), size*(page-1))
		updates = updates[from:min(len(updates), from+size)]
	}
	summaries := make([]updateSummary, len(updates))
	for i, u := range updates {
		s := updateSummary{
			Version: u.Version, Kind: u.Kind, StartTime: u.Start.UTC().Format(timeLayout), Message: u.Message, Result: u.Result,
			EndTime: u.End.UTC().Format(timeLayout), Environment: map[string]string{}, Config: map[string]string{},
		}
		if kind := kinds[u.Kind]; kind != "" {
			s.Kind = kind
		}
		if c := u.Changes; c != nil {
			s.ResourceChanges = make(map[string]int)
			for op, n := range map[string]int{"create": c.Create, "update": c.Update, "replace": c.Replace, "delete": c.Delete, "same": c.Same, "read": c.Read} {
				if n > 0 {
					s.ResourceChanges[op] = n
				}
			}
		}
		summaries[i] = s
	}
	return a.WriteJSON(summaries)
}
