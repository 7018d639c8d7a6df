package stackrun

import (
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
)

// maxTold bounds the warnings that are remembered: a provider may write any number of them.
const maxTold = 1000

// warnings are the warnings of providers that were shown.
type warnings struct {
	mu   sync.Mutex
	told map[warning]bool
	// yaml is the program, nil if it is none in YAML.
	yaml *yamlprogram.Program
}

type warning struct {
	provider string
	urn      urn.URN
	message  string
}

func (w *warnings) of(p *yamlprogram.Program) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.yaml = p
}

// once makes the warning of a provider a message for debugging if it was told before, by the provider or with the line of the
// program: a preview asks what the update after it asks, and so does each instance of a provider.
func (w *warnings) once(e engine.Event) engine.Event {
	d, ok := e.(engine.Diagnostic)
	if !ok || !d.Guest || d.Ephemeral || d.Severity != "warning" {
		return e
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := warning{d.Provider, d.URN, d.Message}
	if w.told[key] || d.URN != "" && w.yaml != nil && w.yaml.Repeats(d.URN.Type(), d.Message) {
		d.Severity = "debug"
		return d
	}
	if w.told == nil {
		w.told = map[warning]bool{}
	}
	if len(w.told) < maxTold {
		w.told[key] = true
	}
	return d
}
