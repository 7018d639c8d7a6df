package workspace

import (
	"path/filepath"

	"github.com/husk-dev/husk/engine/state/filestore"
)

// OwnFiles returns the paths of what the workspace keeps beside the sources of the project:
// states, modules, what providers have stored, and which stack is selected.
func (w *Workspace) OwnFiles() []string {
	all := []string{w.dataPath("")}
	if inside, err := filepath.Rel(w.Place, w.Project.Dir); err != nil || !filepath.IsLocal(inside) {
		return append(all, w.Place)
	}
	// The project is in the directory of the state, so that not all in there belongs to the state.
	for _, name := range filestore.Names() {
		all = append(all, filepath.Join(w.Place, name))
	}
	return append(all, w.ModulesDir())
}
