package state

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/internal/jsonerror"
)

// Extension is a package that a provider serves beside its own: what the provider is
// told again before it manages resources whose ExtensionRef names the extension.
type Extension struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Value holds bytes that only the provider understands.
	Value []byte `json:"value"`
}

// DecodeExtensions returns the extensions of a snapshot, by reference, each as it is
// written, so that what this package does not know is kept.
func DecodeExtensions(value jsontext.Value) (map[string]jsontext.Value, error) {
	if value == nil {
		return nil, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(value, &raw); err != nil {
		return nil, fmt.Errorf("the extensions of the state are damaged: %w", jsonerror.Explain(value, err))
	}
	extensions := make(map[string]jsontext.Value, len(raw))
	for ref, text := range raw {
		extensions[ref] = jsontext.Value(text)
	}
	return extensions, nil
}

// EncodeExtensions is the reverse of [DecodeExtensions]; nil for no extensions.
func EncodeExtensions(extensions map[string]jsontext.Value) (jsontext.Value, error) {
	if len(extensions) == 0 {
		return nil, nil
	}
	raw := make(map[string]json.RawMessage, len(extensions))
	for ref, text := range extensions {
		raw[ref] = json.RawMessage(text)
	}
	return json.Marshal(raw)
}

// DecodeExtension reads one of the values of [DecodeExtensions].
func DecodeExtension(value jsontext.Value) (Extension, error) {
	var e Extension
	if err := json.Unmarshal(value, &e); err != nil {
		return e, fmt.Errorf("an extension of the state is damaged: %w", jsonerror.Explain(value, err))
	}
	return e, nil
}

// Encode returns the extension as it is written.
func (e Extension) Encode() (jsontext.Value, error) { return json.Marshal(e) }
