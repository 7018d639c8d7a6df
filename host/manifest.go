package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/husk-dev/husk/internal/jsonerror"
	"github.com/husk-dev/husk/internal/printable"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// ManifestSection is the custom section that holds a module's manifest, as JSON.
const ManifestSection = "husk:provider"

// maxManifest bounds a manifest in bytes.
const maxManifest = 64 << 10

// Manifest is what a module says of itself, to be read without running it. It is a
// claim: what counts is the module's handshake, which must agree with it.
type Manifest struct {
	// Name is the package's name, for example random.
	Name string `json:"name"`
	// Version is the package's semantic version, for example 4.16.0.
	Version string `json:"version"`
	// SDK is the SDK and its version, for messages only.
	SDK string `json:"sdk,omitempty"`
	// Requests are the capabilities that the provider asks for.
	Requests []CapabilityRequest `json:"requests,omitempty"`
}

// CapabilityRequest is a capability that a provider asks its operator for.
type CapabilityRequest struct {
	// Capability is its name, see [grant.All].
	Capability string `json:"capability"`
	// Scope is what of it, as a grant has it: a directory, a variable, a URL, a host and
	// port. Empty where the configuration or the program decides.
	Scope string `json:"scope,omitempty"`
	// Reason is for people.
	Reason string `json:"reason,omitempty"`
	// Optional says that the provider is of use without it.
	Optional bool `json:"optional,omitempty"`
}

// AddManifest answers the module with the manifest, in place of one that it may have.
func AddManifest(wasm []byte, manifest Manifest) ([]byte, error) {
	if err := manifest.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("the manifest takes %d bytes, at most %d are possible", len(data), maxManifest)
	}
	return wasmfile.WithCustom(wasm, ManifestSection, data)
}

func (m Manifest) check() error {
	switch {
	case m.Name == "":
		return errors.New("the manifest has no name")
	case m.Version == "":
		return errors.New("the manifest has no version")
	case !isWord(m.Name):
		return fmt.Errorf("the manifest's name is %q: a name has letters, digits, and the characters . _ and -", m.Name)
	case strings.ContainsFunc(m.Version, unicode.IsSpace):
		return fmt.Errorf("the manifest's version is %q, with white space", m.Version)
	}
	return nil
}

// isWord reports whether a name can stand in a line of other words, and be taken for nothing else.
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
}

// manifestOf reads the manifest of a module, nil where it has none.
func manifestOf(module *wasmfile.Module) (*Manifest, error) {
	var found *Manifest
	for _, custom := range module.Customs {
		if custom.Name != ManifestSection {
			continue
		}
		if found != nil {
			return nil, errors.New("the module has two manifests")
		}
		found = &Manifest{}
		if err := parseManifest(custom.Data, found); err != nil {
			return nil, fmt.Errorf("reading the module's manifest: %w", err)
		}
	}
	return found, nil
}

func parseManifest(data []byte, m *Manifest) error {
	if len(data) > maxManifest {
		return fmt.Errorf("it takes %d bytes, at most %d are possible", len(data), maxManifest)
	}
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(m); err != nil {
		return jsonerror.Explain(data, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	m.Name, m.Version, m.SDK = printable.Line(m.Name), printable.Line(m.Version), printable.Line(m.SDK)
	for i := range m.Requests {
		r := &m.Requests[i]
		r.Capability, r.Scope, r.Reason = printable.Line(r.Capability), printable.Line(r.Scope), printable.Line(r.Reason)
	}
	return m.check()
}
