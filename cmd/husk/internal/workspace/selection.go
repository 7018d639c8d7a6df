package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
)

// selection is the file that remembers the selected stack.
type selection struct {
	Stack string `json:"stack"`
}

const selectionFile = "selection.json"

// Stack returns the stack to work on: the one given, as [[organization/]project/]stack,
// else the selected one, else the default. Whether it exists is for the caller to find
// out.
func (w *Workspace) Stack(given string) (string, error) {
	if given != "" {
		project, stack := splitStack(given)
		if project != "" && project != w.Project.Name {
			return "", fmt.Errorf("the stack %s is of another project: this is %s", given, w.Project.Name)
		}
		return stack, program.CheckStackName(stack)
	}
	path := w.dataPath(selectionFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return DefaultStack, nil
	}
	var s selection
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil {
		err = program.CheckStackName(s.Stack)
	}
	if err != nil {
		return "", fmt.Errorf("cannot tell which stack is selected: %w; select one with husk stack select, or name it with --stack", err)
	}
	return s.Stack, nil
}

// Select makes a stack the selected one.
func (w *Workspace) Select(ctx context.Context, stack string) error {
	if err := program.CheckStackName(stack); err != nil {
		return err
	}
	stacks, err := w.Stacks(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(stacks, stack) {
		return &NoStackError{Stack: stack, Place: w.Place, Err: state.ErrStackNotFound}
	}
	return w.remember(stack)
}

func (w *Workspace) remember(stack string) error {
	data, err := json.Marshal(selection{Stack: stack})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.dataPath(""), 0o755); err != nil {
		return fmt.Errorf("remembering the selected stack: %w", err)
	}
	if err := os.WriteFile(w.dataPath(selectionFile), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("remembering the selected stack: %w", err)
	}
	return nil
}

// Forget makes the default stack the selected one again, if the given one is.
func (w *Workspace) Forget(stack string) error {
	if selected, err := w.Stack(""); err != nil || selected != stack {
		return nil
	}
	if err := os.Remove(w.dataPath(selectionFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the selected stack: %w", err)
	}
	return nil
}
