package walktest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// entry is a resource as it is recorded.
type entry struct {
	URN                urn.URN
	ID, Type           string
	Custom, Delete     bool
	Protect, External  bool
	RetainOnDelete     bool
	PendingReplacement bool
	Parent             urn.URN
	DeletedWith        urn.URN
	Dependencies       []urn.URN
	ReplaceWith        []urn.URN
	Provider           string // URN::ID
	fingerprint        string
	Inputs, Outputs    json.RawMessage
}

// isObject reports whether the entry is an object that the stack has made, and that should exist.
func (e entry) isObject() bool {
	return e.Custom && strings.HasPrefix(e.Type, "world:") && !e.External && !e.PendingReplacement
}

// recorded is the state of the stack.
type recorded struct {
	entries []entry
	// creating are the creations that were begun and have not ended.
	creating []urn.URN
}

// object returns the entry with an ID.
func (r recorded) object(id string) (entry, bool) {
	for _, e := range r.entries {
		if e.ID == id && e.isObject() {
			return e, true
		}
	}
	return entry{}, false
}

// needs are the resources that a resource depends on, is deleted with, is replaced with, or has as its provider, by way of others or
// not.
func (r recorded) needs(e entry) map[urn.URN]bool {
	out := map[urn.URN]bool{}
	var add func(entry)
	add = func(e entry) {
		provider := urn.URN(e.Provider[:max(0, strings.LastIndex(e.Provider, "::"))])
		for _, u := range slices.Concat(e.Dependencies, e.ReplaceWith, []urn.URN{e.DeletedWith, provider}) {
			if u == "" || out[u] {
				continue
			}
			out[u] = true
			for _, other := range r.entries {
				if other.URN == u {
					add(other)
				}
			}
		}
	}
	add(e)
	return out
}

func (r recorded) String() string {
	var lines []string
	for _, e := range r.entries {
		lines = append(lines, e.fingerprint)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + fmt.Sprint("\ncreating ", r.creating)
}

// recorded reads the state, which is whole. It is empty if there is no stack.
func (w *walker) recorded() (out recorded) {
	if w.place.url != "" {
		return w.exported()
	}
	store := filestore.New(filepath.Join(w.dir, ".husk"))
	stacks, err := store.List(w.t.Context())
	w.must(err)
	for _, name := range stacks {
		snapshot, _, err := state.Load(w.t.Context(), store, name, nil)
		w.must(err)
		w.must(snapshot.Verify())
		for _, r := range snapshot.Resources() {
			out.entries = append(out.entries, entry{
				URN: r.URN, ID: r.ID, Type: r.Type, Custom: r.Custom, Delete: r.Delete, Protect: r.Protect, External: r.External,
				RetainOnDelete: r.RetainOnDelete, PendingReplacement: r.PendingReplacement,
				Parent: r.Parent, DeletedWith: r.DeletedWith, Dependencies: r.Dependencies, ReplaceWith: r.ReplaceWith, Provider: r.Provider,
				fingerprint: fmt.Sprintf("%s %s %v %v delete=%v pending=%v protect=%v", r.URN, r.ID, r.Inputs, r.Outputs, r.Delete, r.PendingReplacement, r.Protect),
			})
		}
		for _, op := range snapshot.Operations() {
			if op.Type == state.OperationCreating && strings.HasPrefix(op.Resource.Type, "world:") {
				out.creating = append(out.creating, op.Resource.URN)
			}
		}
	}
	return out
}

// exported is the state as husk stack export writes it, from whichever backend.
func (w *walker) exported() (out recorded) {
	o := w.run(act{}, "stack", "export")
	if o.code != 0 && strings.Contains(o.text, "there is no stack") {
		return out
	}
	if o.code != 0 {
		w.failf("%v", o)
	}
	var export struct {
		Deployment struct {
			Resources         []entry
			PendingOperations []struct {
				Type     string
				Resource entry
			} `json:"pending_operations"`
		}
	}
	w.must(json.Unmarshal([]byte(o.text), &export))
	for _, e := range export.Deployment.Resources {
		e.fingerprint = fmt.Sprintf("%s %s %s %s delete=%v pending=%v protect=%v", e.URN, e.ID, e.Inputs, e.Outputs, e.Delete, e.PendingReplacement, e.Protect)
		out.entries = append(out.entries, e)
	}
	for _, op := range export.Deployment.PendingOperations {
		if op.Type == "creating" && strings.HasPrefix(op.Resource.Type, "world:") {
			out.creating = append(out.creating, op.Resource.URN)
		}
	}
	return out
}
