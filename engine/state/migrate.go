package state

import (
	"encoding/json"
	"slices"
)

// The versions of Pulumi's state that are read. Version 4 is 3 with features. States of
// the older ones are brought up to date when they are read, and written as version 3:
//
//   - Version 1 had no version of its own at first: the document was the checkpoint.
//   - Resources of versions 1 and 2 say which inputs are defaults, which nothing uses.
//   - Provider resources of versions 1 and 2 may have no outputs: they are the inputs.
//   - Resources of version 1 name no provider. Which one manages them depends on the
//     stack's configuration, so it is the engine that gives them the default one.
const (
	oldestVersion = 1
	version3      = 3
	version4      = 4
)

// adoptBare adopts the members of a document of version 1 that is a checkpoint itself.
func (s *Snapshot) adoptBare() (err error) {
	s.documentUnknown = slices.DeleteFunc(s.documentUnknown, func(m member) bool {
		switch m.name {
		case "stack":
			_ = json.Unmarshal(m.value, &s.Stack) // nothing depends on it
			err = checkQualified(s.Stack)
		case "config":
			s.checkpointUnknown = append(s.checkpointUnknown, m)
		default:
			return false
		}
		return true
	})
	return err
}

// migrate brings the resources of a state of version 1 or 2 up to date.
func (s *Snapshot) migrate() {
	for serial, v := range s.slots {
		s.slots[serial] = v.migrated()
	}
	for op, v := range s.operations {
		s.operations[op] = v.migrated()
	}
}

func (v slot) migrated() slot {
	r := *v.resource
	r.unknown = slices.DeleteFunc(slices.Clone(r.unknown), func(m member) bool { return m.name == "defaults" })
	if r.IsProvider() && r.Outputs.Len() == 0 {
		r.Outputs = r.Inputs
	}
	return slot{operation: v.operation, resource: &r} // its JSON is not what it was
}
