package sealed

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/state"
)

const (
	// format is the version of the encryption. It rises when an older version of Husk would misread it.
	format = 1
	// keySize is the key size of AES-256, in bytes.
	keySize = 32
	// idSize is the length of the ID of a key.
	idSize = 16
	// member is the one of a checkpoint's document that has the encrypted state, and the name of the feature by which
	// older versions of Husk, and Pulumi, refuse the document.
	member = "huskSealed"
	// documentVersion is the first one with features.
	documentVersion = 4
	// blobMark begins encrypted data beside a state.
	blobMark = "\x00husk-sealed-1\x00"
)

// document is the JSON of an encrypted checkpoint.
type document struct {
	Version    int      `json:"version"`
	Features   []string `json:"features"`
	Checkpoint struct {
		Stack string `json:"stack"`
	} `json:"checkpoint"`
	Sealed *envelope `json:"huskSealed"`
}

// envelope is an encrypted checkpoint, with the data to decrypt it.
type envelope struct {
	Format   int   `json:"format"`
	Provider named `json:"provider"`
	// Key is the ID of the key of the checkpoint and its records, and Keys are all that the stack has, encrypted by the
	// provider, by their IDs.
	Key  string            `json:"key"`
	Keys map[string]string `json:"keys"`
	// Mark is random, and tells the checkpoint from all others.
	Mark string `json:"mark"`
	// Sequence is the checkpoint's, nil if it was not known.
	Sequence *uint64 `json:"sequence,omitempty"`
	// Partly says that what belongs to the stack may be in clear still.
	Partly bool   `json:"partly,omitempty"`
	Text   []byte `json:"text,omitempty"`
}

// data returns the additional data that a checkpoint is bound to: its stack, and the envelope around it.
func (e envelope) data(name state.StackName) ([]byte, error) {
	e.Text = nil
	around, err := json.Marshal(e)
	return append([]byte("husk checkpoint\x00"+name.String()+"\x00"), around...), err
}

func (e envelope) seal(name state.StackName, k key, text []byte) ([]byte, error) {
	data, err := e.data(name)
	if err != nil {
		return nil, err
	}
	e.Text = k.seal(text, data)
	d := document{Version: documentVersion, Features: []string{member}, Sealed: &e}
	d.Checkpoint.Stack = name.Qualified()
	return json.Marshal(d)
}

func (e envelope) open(name state.StackName, k key) ([]byte, error) {
	data, err := e.data(name)
	if err != nil {
		return nil, err
	}
	return k.open(e.Text, data)
}

// parse returns the envelope of an encrypted checkpoint, nil if it is another one, or none.
func parse(checkpoint []byte) *envelope {
	if !bytes.Contains(checkpoint, []byte(`"`+member+`"`)) {
		return nil
	}
	var d document
	if json.Unmarshal(checkpoint, &d) != nil {
		return nil
	}
	return d.Sealed
}

// recordData returns the additional data that a record is bound to.
func recordData(name state.StackName, mark string, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte("husk record\x00"+name.String()+"\x00"+mark+"\x00"), sequence)
}

// blobData returns the additional data for data beside a state. The key belongs to one stack, which may be renamed.
func blobData(what string) []byte { return []byte("husk blob\x00" + what) }

var errAltered = errors.New("altered")

// key encrypts with AES-256-GCM and random nonces.
type key struct {
	id   string
	raw  []byte
	aead cipher.AEAD
}

func newKey() key {
	raw := make([]byte, keySize)
	rand.Read(raw)
	return keyOf(raw)
}

// keyOf returns a key of keySize bytes. Its ID tells nothing about it.
func keyOf(raw []byte) key {
	sum := sha256.Sum256(append([]byte("husk key\x00"), raw...))
	block, err := aes.NewCipher(raw)
	if err != nil {
		panic(err) // the size is right
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the cipher is AES
	}
	return key{hex.EncodeToString(sum[:idSize/2]), raw, aead}
}

func (k key) seal(text, data []byte) []byte { return k.aead.Seal(nil, nil, text, data) }

func (k key) open(sealed, data []byte) ([]byte, error) {
	text, err := k.aead.Open(nil, nil, sealed, data)
	if err != nil {
		return nil, errAltered
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}

func newMark() string { return rand.Text() }

// ring has the keys of a stack.
type ring struct {
	sealed, partly bool
	provider       named
	mark           string
	// current is the ID of the key that encrypts.
	current string
	keys    map[string]key
	wrapped map[string]string
}

// copy returns a ring of its own with the same keys; without any for nil.
func (r *ring) copy() *ring {
	if r == nil {
		r = &ring{}
	}
	next := *r
	next.keys, next.wrapped = maps.Clone(r.keys), maps.Clone(r.wrapped)
	if next.keys == nil {
		next.keys = make(map[string]key)
	}
	return &next
}

func (r *ring) add(k key) {
	r.keys[k.id] = k
	r.current = k.id
}

// providerOf returns the secrets provider that a checkpoint names.
func providerOf(checkpoint []byte) (n named, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(checkpoint))
	for _, name := range []string{"checkpoint", "latest", "secrets_providers"} {
		if !find(d, name) {
			return named{}, false
		}
	}
	value, err := d.ReadValue()
	if err != nil || json.Unmarshal(value, &n) != nil {
		return named{}, false
	}
	var state bytes.Buffer
	if len(n.State) > 0 && json.Compact(&state, n.State) == nil {
		n.State = state.Bytes()
	}
	return n, n.Type != ""
}

// find reads an object up to a member, and reports whether there is one.
func find(d *jsontext.Decoder, name string) bool {
	if d.PeekKind() != '{' {
		return false
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		is, err := d.ReadToken()
		if err != nil {
			return false
		}
		if is.String() == name {
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}
