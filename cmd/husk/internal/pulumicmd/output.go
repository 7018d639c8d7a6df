package pulumicmd

import (
	"context"
	"encoding/json"

	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/workspace"
)

// output shows outputs of the stack as Pulumi does: assets and such in the form of its states, and the value of one in one line.
func (a *answers) output(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
	show, err := a.find("stack output").Flags().GetBool("show-secrets")
	if err != nil {
		return err
	}
	outputs, err := stackcmd.ReadOutputs(ctx, a.App, w, stack, show)
	if err != nil {
		return err
	}
	encoded, err := encode(withoutSecrets(&state.Resource{Outputs: outputs}))
	if err != nil {
		return err
	}
	root := struct{ Outputs map[string]any }{make(map[string]any)}
	if err := json.Unmarshal(encoded, &root); err != nil {
		return err
	}
	if len(args) == 0 {
		return a.WriteJSON(root.Outputs)
	}
	v, err := stackcmd.OutputOf(root.Outputs, args[0], stack)
	if err != nil {
		return err
	}
	if text, is := v.(string); is && !a.JSON {
		return a.Write([]byte(text + "\n"))
	}
	if a.JSON {
		return a.WriteJSON(v)
	}
	return a.WriteJSONBy(v, "")
}
