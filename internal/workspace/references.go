package workspace

import "github.com/husk-dev/husk/engine/builtin"

// References returns the stacks that a program can refer to: all in the same backend.
func (w *Workspace) References() builtin.Stacks {
	return builtin.Stacks{Store: w.store, Open: w.keys.Open}
}
