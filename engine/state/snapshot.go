package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Serial numbers the resources of a snapshot within one run, from 0 in the order of the checkpoint.
// A URN would not do: old copies of a resource share it.
type Serial uint64

// OpID numbers the operations of a snapshot within one run, like Serial.
type OpID uint64

// maxNumber bounds serials and operation numbers: they are exact in any JSON reader.
const maxNumber = 1 << 53

// Snapshot is the state of a stack at one moment. It is not safe for concurrent use. Its resources
// are shared and must not be changed.
type Snapshot struct {
	// Stack is "organization/<project>/<name>". Exports lack it.
	Stack string
	// Manifest has the time of writing, and the version that wrote the state.
	Manifest Manifest
	// Secrets names the provider that the state's secrets are encrypted with.
	Secrets SecretsProvider
	// Metadata, Snippets, and Extensions are kept as they are, nil if absent.
	Metadata, Snippets, Extensions json.RawMessage
	// Features are the features that the JSON named when it was read; see [Codec].
	Features []string

	// These are unknown members: of the deployment, the checkpoint, and the document.
	deploymentUnknown, checkpointUnknown, documentUnknown []member

	slots      map[Serial]slot
	operations map[OpID]slot
	nextSerial Serial
	nextOp     OpID
}

type slot struct {
	operation OperationType // empty for a resource
	resource  *Resource
	json      sealedJSON
}

// sealedJSON is a resource's JSON on one line, with secrets as ciphertexts. A resource that did not
// change is written as it was read. It may be empty.
type sealedJSON struct {
	text string
	// provider identifies who made the ciphertexts, empty if there are none.
	provider string
	// byteStrings says that the resource has strings that are not UTF-8.
	byteStrings bool
}

// usableBy reports whether the JSON is right for a state of that secrets provider.
func (j sealedJSON) usableBy(provider string) bool {
	return j.text != "" && (j.provider == "" || j.provider == provider)
}

// Manifest has the time of writing, and the version that wrote a state.
type Manifest struct {
	// Time is when the deployment began.
	Time time.Time
	// Magic is the SHA-256 of Version in hex. It is filled in when it is empty.
	Magic string
	// Version is the engine's version.
	Version string
	// Plugins are the providers that were used.
	Plugins []Plugin

	unknown []member
}

// Plugin names a provider's plugin in a manifest.
type Plugin struct {
	Name, Path, Type, Version string
}

// magic returns the magic of a version. Pulumi takes any other one for damage.
func magic(v string) string {
	if v == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(v))
	return hex.EncodeToString(sum[:])
}

// SecretsProvider names the provider of a state's secrets, with the data to open it again. Zero is none.
type SecretsProvider struct {
	Type  string
	State json.RawMessage
}

// identity is equal for providers with the same key, and empty for none.
func (p SecretsProvider) identity() string {
	if p.Type == "" {
		return ""
	}
	state := jsontext.Value(slices.Clone(p.State))
	if state.Canonicalize() != nil {
		state = jsontext.Value(p.State)
	}
	return p.Type + "\n" + string(state)
}

// NewSnapshot returns a snapshot of the resources, numbered from 0.
func NewSnapshot(resources ...*Resource) *Snapshot {
	s := &Snapshot{slots: map[Serial]slot{}, operations: map[OpID]slot{}}
	for _, r := range resources {
		s.add(slot{resource: r})
	}
	return s
}

func (s *Snapshot) add(v slot) {
	s.slots[s.nextSerial] = v
	s.nextSerial++
}

func (s *Snapshot) addOperation(v slot) {
	s.operations[s.nextOp] = v
	s.nextOp++
}

// Len returns the number of resources.
func (s *Snapshot) Len() int { return len(s.slots) }

// Resource returns the resource with the serial.
func (s *Snapshot) Resource(serial Serial) (*Resource, bool) {
	v, ok := s.slots[serial]
	return v.resource, ok
}

// Resources iterates over the resources in the order of their serials.
func (s *Snapshot) Resources() iter.Seq2[Serial, *Resource] {
	return inOrder(s.slots, func(v slot) *Resource { return v.resource })
}

// Operations iterates over the pending operations in the order of their numbers.
func (s *Snapshot) Operations() iter.Seq2[OpID, PendingOperation] {
	return inOrder(s.operations, func(v slot) PendingOperation { return PendingOperation{v.operation, v.resource} })
}

func inOrder[K cmp.Ordered, V any](slots map[K]slot, value func(slot) V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(slots)) {
			if !yield(k, value(slots[k])) {
				return
			}
		}
	}
}

// HasSecrets reports whether a resource, or one of an operation, has a secret.
func (s *Snapshot) HasSecrets() bool {
	secret := func(v slot) bool {
		r := v.resource
		return r.Inputs.ContainsSecrets() || r.Outputs.ContainsSecrets() || r.ReplacementTrigger.ContainsSecrets()
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(s.slots)), secret) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.operations)), secret)
}

// Clone returns a snapshot that changes apart from s. Resources are shared.
func (s *Snapshot) Clone() *Snapshot {
	c := *s
	c.slots = maps.Clone(s.slots)
	c.operations = maps.Clone(s.operations)
	return &c
}

func (s *Snapshot) list() []slot {
	out := make([]slot, 0, len(s.slots))
	for _, serial := range slices.Sorted(maps.Keys(s.slots)) {
		out = append(out, s.slots[serial])
	}
	return out
}
