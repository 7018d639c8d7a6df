package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/checkedjson"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// selection is the file with the selected stack.
type selection struct {
	Stack string `json:"stack"`
}

const selectionFile = "selection.json"

// Stack returns the stack that is named, as [[organization/]project/]stack, or else the selected one, or
// else the default. It need not exist.
func (w *Workspace) Stack(given string) (string, error) {
	if given != "" {
		project, stack := splitStack(given)
		if project != "" && program.CheckStackName(project) != nil { // a path cannot be the name of another project
			return "", program.CheckStackName(given)
		}
		if project != "" && project != w.Project.Name {
			return "", fmt.Errorf("the stack %s belongs to another project: this is %s", given, w.Project.Name)
		}
		w.confirmed = w.confirmed || project != ""
		return stack, program.CheckStackName(stack)
	}
	if w.untrusted() {
		return DefaultStack, nil // its author may have selected one
	}
	var s selection
	_, err := w.readData(selectionFile, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return DefaultStack, nil
	}
	if err == nil {
		err = program.CheckStackName(s.Stack)
	}
	if err != nil {
		return "", fmt.Errorf("reading the selected stack: %w; select one with husk stack select, or name it with --stack", err)
	}
	return s.Stack, nil
}

// StackOf is [Workspace.Stack] for a project whose state is not opened.
func StackOf(project *program.Project, given string) (string, error) {
	return (&Workspace{Project: project}).Stack(given)
}

// stackFile matches the names of stacks' configuration files.
var stackFile = lazyregexp.Regexp{Syntax: `^(?:Husk|Pulumi)\.(.+)\.ya?ml$`}

// StackOfFile returns the stack whose configuration a file of that name holds. ok is false for other files.
func StackOfFile(name string) (stack string, ok bool) {
	m := stackFile.Get().FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// Select makes a stack the selected one.
func (w *Workspace) Select(ctx context.Context, stack string) error {
	if err := program.CheckStackName(stack); err != nil {
		return err
	}
	if err := w.mustExist(ctx, stack); err != nil {
		return err
	}
	return w.remember(stack)
}

func (w *Workspace) remember(stack string) error {
	if err := w.writeData(selectionFile, selection{Stack: stack}); err != nil {
		return fmt.Errorf("recording the selected stack: %w", err)
	}
	return nil
}

// maxDataSize bounds a file of the project's data directory, in bytes. They have a name or a URL each.
const maxDataSize = 64 << 10

// readData reads a file of the project's data directory. checked reports whether it has a checksum.
func (w *Workspace) readData(name string, v any) (checked bool, err error) {
	data, err := w.Project.Root.WithState().ReadFile(w.dataPath(name), maxDataSize)
	if err != nil {
		return false, err
	}
	if checked, err = checkedjson.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("%s is damaged: %w", w.dataPath(name), err)
	}
	return checked, nil
}

func (w *Workspace) writeData(name string, v any) error {
	data, err := checkedjson.Marshal(v)
	if err != nil {
		return err
	}
	return w.Project.Root.WithState().WriteFile(w.dataPath(name), data, 0o644)
}

// Forget selects the default stack if the given one is selected.
func (w *Workspace) Forget(stack string) error {
	if selected, err := w.Stack(""); err != nil || selected != stack {
		return nil
	}
	if err := w.Project.Root.WithState().Remove(w.dataPath(selectionFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the selected stack: %w", err)
	}
	return nil
}
