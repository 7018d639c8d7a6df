package pulumicmd

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
)

// blind is a provider of secrets that masks every secret, as Pulumi's events do.
type blind struct{}

func (blind) Encrypt(context.Context, string) (string, error) { return redact.Mask, nil }
func (blind) Decrypt(context.Context, string) (string, error) { return redact.Mask, nil }
func (blind) Type() string                                    { return "blind" }
func (blind) State() json.RawMessage                          { return json.RawMessage("{}") }

// recorded is a resource in events of Pulumi's engine: some of its form in states.
type recorded struct {
	Type           string          `json:"type"`
	URN            string          `json:"urn"`
	Custom         bool            `json:"custom,omitempty"`
	Delete         bool            `json:"delete,omitempty"`
	ID             string          `json:"id"`
	Parent         string          `json:"parent"`
	Protect        bool            `json:"protect,omitempty"`
	Taint          bool            `json:"taint,omitempty"`
	External       bool            `json:"external,omitempty"`
	RetainOnDelete bool            `json:"retainOnDelete,omitempty"`
	Inputs         json.RawMessage `json:"inputs"`
	Outputs        json.RawMessage `json:"outputs"`
	Provider       string          `json:"provider"`
	InitErrors     []string        `json:"initErrors,omitempty"`
}

// encode returns the form of a resource in states, nil for none.
func encode(r *state.Resource) (json.RawMessage, error) {
	if r == nil {
		return nil, nil
	}
	text, err := state.NewCodec(blind{}).EncodeExport(context.Background(), state.NewSnapshot(r), false)
	if err != nil {
		return nil, err
	}
	var export struct {
		Deployment struct{ Resources []json.RawMessage }
	}
	if err := json.Unmarshal(text, &export); err != nil {
		return nil, err
	}
	return export.Deployment.Resources[0], nil
}

// tell returns the form of a resource in events, nil for none.
func tell(r *state.Resource) (*recorded, error) {
	text, err := encode(r)
	if text == nil || err != nil {
		return nil, err
	}
	var told recorded
	return &told, json.Unmarshal(text, &told)
}

// difference is one of a step, which has a member for its kind: its name is diffKind in events, and kind in documents.
type difference struct {
	DiffKind  string `json:"diffKind,omitempty"`
	Kind      string `json:"kind,omitempty"`
	InputDiff bool   `json:"inputDiff"`
}

// differences are what a step changes: the inputs, those that replace the resource, and each place.
type differences struct {
	all, replacing []string
	places         map[string]string
}

func differencesOf(changes []engine.PropertyChange) (d differences) {
	for _, c := range changes {
		kind, key := c.Kind, c.Path
		if kind == "move" { // which Pulumi does not know
			kind = "update"
		}
		if path, err := property.ParsePath(c.Path); err == nil && len(path) > 0 {
			key = strings.Trim(path[:1].String(), `["]`)
		}
		if c.Replaces {
			kind += "-replace"
			d.replacing = appendNew(d.replacing, key)
		}
		d.all = appendNew(d.all, key)
		if d.places == nil {
			d.places = make(map[string]string)
		}
		d.places[c.Path] = kind
	}
	return d
}

// detailed returns the difference of each place, nil for none.
func (d differences) detailed(of func(kind string) difference) map[string]difference {
	if d.places == nil {
		return nil
	}
	detailed := make(map[string]difference, len(d.places))
	for place, kind := range d.places {
		detailed[place] = of(kind)
	}
	return detailed
}

// appendNew appends a key of sorted ones, unless it is the last.
func appendNew(keys []string, key string) []string {
	if n := len(keys); n > 0 && keys[n-1] == key {
		return keys
	}
	return append(keys, key)
}

// failures are the errors of steps that were told. The error of a deployment quotes them, perhaps with the lines of a program between
// their own.
type failures []string

// others returns the parts of the error of a deployment that were not told as those of steps.
func (f failures) others(a *cli.App, err error) []engine.Diagnostic {
	if errors.Is(err, cli.ErrChanges) {
		return nil
	}
	return slices.DeleteFunc(display.Diagnostics(a.Out, err), func(d engine.Diagnostic) bool {
		return slices.ContainsFunc(f, func(told string) bool {
			first, _, _ := strings.Cut(told, "\n")
			return strings.Contains(d.Message, first)
		})
	})
}

// counts counts steps as Pulumi does: what is shown as one, once.
type counts map[engine.Op]int

// isLogical reports whether a step is one for users. A replacement has steps of its own beside that.
func isLogical(op engine.Op) bool {
	switch op {
	case engine.OpCreateReplacement, engine.OpDeleteReplaced, engine.OpReadReplacement, engine.OpRemovePendingReplace, engine.OpExtendParameterize:
		return false
	}
	return true
}
