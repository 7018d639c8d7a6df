package workspace

import (
	"path/filepath"

	"github.com/husk-dev/husk/engine/state/filestore"
)

// OwnFiles returns the files of the workspace: states, modules, values of providers, and the selected stack.
func (w *Workspace) OwnFiles() []string {
	all := []string{w.dataPath("")}
	if inside, err := filepath.Rel(w.Place, w.Project.Dir); err != nil || !filepath.IsLocal(inside) {
		return append(all, w.Place)
	}
	// The project is in the directory of the state, which has other files, too.
	for _, name := range filestore.Names() {
		all = append(all, filepath.Join(w.Place, name))
	}
	return append(all, w.ModulesDir())
}
