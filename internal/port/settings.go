package port

import (
	"encoding/json"
	"strings"

	"github.com/husk-dev/husk/host"
)

// settingsVariable is the variable of an adapter that the linker sets to the choices of the port, as JSON.
const settingsVariable = "/internal/settings.JSON"

// settings returns the flags of the linker that pass choices to the adapter.
func (w *build) settings(m host.Manifest) ([]string, error) {
	data, err := json.Marshal(struct {
		Name    string   `json:"name"`
		Version string   `json:"version"`
		Mapping *mapping `json:"mapping,omitempty"`
		Only    []string `json:"only,omitempty"`
	}{m.Name, m.Version, w.mapping, w.options.Only})
	if err != nil {
		return nil, err
	}
	// The Go command splits the flags at quotes and knows no escapes.
	return []string{"-X", w.kind.adapter + settingsVariable + "=" + strings.ReplaceAll(string(data), "'", `\u0027`)}, nil
}
