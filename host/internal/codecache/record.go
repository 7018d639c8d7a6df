package codecache

import (
	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// Record has the facts about a module. It is a file; the module's other files lie beside it, under the same name with other
// suffixes.
type Record struct {
	// Digest and World are the module's.
	Digest string
	World  canon.World
	// Name and Version come from the module's manifest, empty without one.
	Name, Version string
	// Data is set if there is an image of the module's data, and Base if there is one of an instance.
	Data, Base bool
	// Code names the machine code in the cache, which is for Target.
	Code, Target string
	// Details are facts that the owner of the cache stores with the module.
	Details strictcbor.Raw
}

// The suffixes of a module's files, beside its code.
const (
	RecordSuffix  = ".module"
	HollowSuffix  = ".hollow"
	DataSuffix    = ".data"
	BaseSuffix    = ".base"
	AnswersSuffix = ".answers"
)

// recordSuffixes are of all that lies under the name of a record, which is the first.
var recordSuffixes = []string{RecordSuffix, HollowSuffix, DataSuffix, BaseSuffix, AnswersSuffix}

// Modules is where records are, with their images and machine code.
type Modules interface {
	// Read returns the file of a name, which is a record's name with a suffix.
	Read(name string) ([]byte, error)
	// View passes it on, for as long as the function runs.
	View(name string, use func([]byte) error) error
	// Has reports whether the files that a record names are there.
	Has(name string, r *Record) bool
	// Load compiles a hollow module, which has no code: wazero finds its machine code.
	Load(hollow []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error)
	// Spoiled is called for a record that is in use, if a part of it cannot be read. The error that
	// it returns says what to do.
	Spoiled(name string, err error) error
}

// ReadRecord reads a record and its details. It is an error if not all that the record names is there.
func ReadRecord(from Modules, name string, details any) (*Record, error) {
	r := &Record{}
	if err := readCBOR(from, name+RecordSuffix, r); err != nil {
		return nil, err
	}
	if err := strictcbor.Unmarshal(r.Details, details); err != nil {
		return nil, err
	}
	if !from.Has(name, r) {
		return nil, ErrNotCached
	}
	return r, nil
}

// WriteRecord writes a record with its details, once all that it names is there.
func (c *Cache) WriteRecord(name string, r Record, details any) (err error) {
	r.Target = c.Target
	if r.Details, err = strictcbor.Marshal(details); err != nil {
		return err
	}
	return c.writeCBOR(name+RecordSuffix, r)
}

func (c *Cache) writeCBOR(name string, value any) error {
	content, err := strictcbor.Marshal(value)
	if err != nil {
		return err
	}
	return c.Write(name, content)
}

func readCBOR(from Modules, name string, value any) error {
	content, err := from.Read(name)
	if err != nil {
		return err
	}
	return strictcbor.Unmarshal(content, value)
}
