package stackcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a commands) stateEdit() *cobra.Command {
	return &cobra.Command{
		Use: "edit", Short: "Edit the state as JSON with $VISUAL or $EDITOR",
		Long: "The state is saved if it is valid and consistent. Secrets stay encrypted.\n" +
			"The stack is locked while you edit.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			return w.Edit(ctx, stack, "state edit", func(st *state.Stack) (*state.Snapshot, error) {
				if a.JSON || a.AsksNothing || !display.IsTerminal(a.In) {
					return nil, cli.Usagef("husk state edit needs a terminal for the editor: write the state to a file with husk stack export --file FILE, " +
						"edit that, and read it with husk stack import --file FILE")
				}
				text, err := st.Codec().EncodeExport(ctx, st.Snapshot(), false)
				if err != nil {
					return nil, err
				}
				return a.editText(ctx, w, text, stack)
			})
		}),
	}
}

// editText has the user edit a state, and returns the state to save, nil for none. If it cannot be saved,
// the file stays, because it is the user's work.
func (a commands) editText(ctx context.Context, w *workspace.Workspace, text []byte, stack string) (*state.Snapshot, error) {
	dir, err := os.MkdirTemp("", "husk-state-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, stack+".json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	if err := a.runEditor(ctx, file); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	after, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(after, text) {
		a.Say("Nothing was changed.")
		return nil, os.RemoveAll(dir)
	}
	snapshot, _, err := w.Decode(ctx, after)
	if err == nil {
		err = snapshot.Verify()
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nnothing was saved; your edit is in %s: correct it, and import it with husk stack import --file", err, file)
	}
	a.Say("Saved the state of the stack %s: %s.", stack, cli.Plural(snapshot.Len(), "resource"))
	return snapshot, os.RemoveAll(dir)
}

// runEditor has the user edit a file with the editor that the environment names, with its arguments.
func (a commands) runEditor(ctx context.Context, file string) error {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		editor = "vi"
		if runtime.GOOS == "windows" {
			editor = "notepad"
		}
	}
	words := strings.Fields(editor)
	// The first interrupt is for the editor, the second ends the editor.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer a.Heed(nil, cli.Stage{}, cli.Stage{Do: cancel})()
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out.File(), a.Errs.File()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running the editor %q ($VISUAL, or else $EDITOR): %w", editor, err)
	}
	return nil
}
