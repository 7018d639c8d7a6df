package record

import (
	"context"
	"fmt"
	"sync"

	"encoding/json"

	"github.com/husk-dev/husk/engine/state"
)

// Extensions holds the recorded and the registered extensions of a deployment by reference.
type Extensions struct {
	mu       sync.Mutex
	damaged  error
	recorded map[string]json.RawMessage
	declared map[string]state.Extension
	// writing serializes what writes all that is recorded.
	writing sync.Mutex
}

func (e *Extensions) read(value json.RawMessage) {
	e.recorded, e.damaged = state.DecodeExtensions(value)
	if e.recorded == nil {
		e.recorded = make(map[string]json.RawMessage)
	}
	e.declared = make(map[string]state.Extension)
}

// Declare makes an extension of the program known.
func (e *Extensions) Declare(ref string, extension state.Extension) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.declared[ref] = extension
}

// Get returns the extension of a reference.
func (e *Extensions) Get(ref string) (state.Extension, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if extension, ok := e.declared[ref]; ok {
		return extension, nil
	}
	if e.damaged != nil {
		return state.Extension{}, e.damaged
	}
	value, ok := e.recorded[ref]
	if !ok {
		return state.Extension{}, fmt.Errorf("the extension %s of a provider is neither registered nor in the state", ref)
	}
	return state.DecodeExtension(value)
}

// with returns the record that adds an extension, nil if it is recorded already.
func (e *Extensions) with(ref string) (json.RawMessage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.recorded[ref]; ok {
		return nil, nil
	}
	extension, ok := e.declared[ref]
	if !ok {
		return nil, fmt.Errorf("the extension %s is not registered", ref)
	}
	value, err := extension.Encode()
	if err != nil {
		return nil, err
	}
	e.recorded[ref] = value
	return state.EncodeExtensions(e.recorded)
}

// keepExtension records the extension that a resource names, before the resource is.
func (r *Recorder) keepExtension(ctx context.Context, res *state.Resource) error {
	if r.stack == nil || res == nil || res.ExtensionRef == "" {
		return nil
	}
	r.Extensions.writing.Lock()
	defer r.Extensions.writing.Unlock()
	value, err := r.Extensions.with(res.ExtensionRef)
	if err != nil || value == nil {
		return err
	}
	_, err = r.append(ctx, state.Entry{state.SetExtensions{Value: value}}, nil)
	return err
}

// unusedExtensions returns the change that forgets extensions which no resource names.
func (r *Recorder) unusedExtensions() (state.Entry, error) {
	e := &r.Extensions
	if len(e.recorded) == 0 {
		return nil, nil
	}
	used := make(map[string]bool)
	for _, res := range r.Resources() {
		used[res.ExtensionRef] = true
	}
	for _, pending := range r.stack.Snapshot().Operations() {
		used[pending.Resource.ExtensionRef] = true
	}
	before := len(e.recorded)
	for ref := range e.recorded {
		if !used[ref] {
			delete(e.recorded, ref)
		}
	}
	if len(e.recorded) == before {
		return nil, nil
	}
	value, err := state.EncodeExtensions(e.recorded)
	return state.Entry{state.SetExtensions{Value: value}}, err
}
