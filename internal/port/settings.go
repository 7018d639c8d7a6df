package port

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/port/prune"
)

// settingsVariable is the variable of an adapter that the linker sets to the choices of the port, as JSON.
const settingsVariable = "/internal/settings.JSON"

// maxSettings bounds the choices: Linux passes arguments of 128 KiB.
const maxSettings = 120_000

// settings returns the flags of the linker that pass choices to the adapter.
func (w *build) settings(m host.Manifest) ([]string, error) {
	w.mapping.Choose(func(name string) bool { return len(w.options.Only) == 0 || prune.Chosen(w.options.Only, name) })
	if w.published {
		w.mapping.Move(m.Name)
	}
	data, err := json.Marshal(struct {
		Name    string           `json:"name"`
		Version string           `json:"version"`
		Mapping *mapping.Mapping `json:"mapping,omitempty"`
		Only    []string         `json:"only,omitempty"`
	}{m.Name, m.Version, w.mapping, w.options.Only})
	if err != nil {
		return nil, err
	}
	// The Go command splits the flags at quotes and knows no escapes.
	text := strings.ReplaceAll(string(data), "'", `\u0027`)
	if len(text) > maxSettings {
		return nil, fmt.Errorf("the mapping of %s has %d kB, and %d kB can be passed to the linker: choose types with --only", m.Name, len(text)/1000, maxSettings/1000)
	}
	return []string{"-X", w.kind.adapter + settingsVariable + "=" + text}, nil
}
