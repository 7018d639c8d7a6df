package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Decode reads a state: a checkpoint, or an export ({"version", "deployment"}). It decrypts secrets
// with the provider that open returns, and returns a codec for it. If open is nil, secrets stay
// sealed: their values are unknown. The snapshot can be written again, but with no other secrets.
//
// The snapshot refers to data, which must not be changed afterwards.
func Decode(ctx context.Context, data []byte, open OpenSecrets) (*Snapshot, *Codec, error) {
	s := NewSnapshot()
	var version uint64
	var deployment, bare section // bare is the section of a checkpoint without a document around it
	r := newReader(data, "", 0)
	err := r.object(func(name string) (err error) {
		switch name {
		case "version":
			version, err = r.uint()
		case "features":
			s.Features, err = stringList[string](r)
		case "deployment":
			deployment, err = r.section()
		case "checkpoint":
			deployment, err = s.decodeCheckpoint(r, deployment)
		case "latest":
			bare, err = r.section()
		case StoreMember:
			err = r.skip()
		default:
			err = r.keep(name, &s.documentUnknown)
		}
		return err
	})
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, nil, err
	}
	switch {
	case bare.value == nil:
	case version == 0:
		version, deployment = oldestVersion, bare
		if err := s.adoptBare(); err != nil {
			return nil, nil, err
		}
	default:
		s.documentUnknown = append(s.documentUnknown, member{"latest", bare.value})
	}
	switch {
	case version < oldestVersion:
		return nil, nil, r.fail("the document names no version: it is not a state")
	case version > version4:
		return nil, nil, errorOf(ErrUnsupported, "the state has version %d and this husk reads %d to %d: use a newer husk", version, oldestVersion, version4)
	case deployment.value == nil && s.Stack == "":
		return nil, nil, r.fail("the document has neither a checkpoint nor a deployment: it is not a state")
	}
	for _, f := range s.Features {
		if !knownFeature(f) {
			return nil, nil, errorOf(ErrUnsupported, "the state uses the feature %q, which this husk does not know: use a newer husk", f)
		}
	}
	sortMembers(s.documentUnknown)
	codec, err := s.decodeDeployment(ctx, deployment, open)
	if err != nil {
		return nil, nil, err
	}
	if version < version3 {
		s.migrate()
	}
	return s, codec, nil
}

// StoreMember is a member of a checkpoint's document that is the store's, and no part of the state.
const StoreMember = "husk"

func (r *reader) keep(name string, in *[]member) error {
	v, err := r.raw()
	*in = append(*in, member{name, json.RawMessage(compact(string(v)))})
	return err
}

// decodeCheckpoint reads a checkpoint, and returns its deployment, or other if it has none.
func (s *Snapshot) decodeCheckpoint(r *reader, other section) (section, error) {
	deployment := other
	err := r.object(func(name string) (err error) {
		switch name {
		case "stack":
			if s.Stack, err = r.optionalString(); err == nil {
				if wrong := checkQualified(s.Stack); wrong != nil {
					err = r.wrap("the stack has no name that one can have", wrong)
				}
			}
		case "latest":
			deployment, err = r.section()
		default:
			err = r.keep(name, &s.checkpointUnknown)
		}
		return err
	})
	sortMembers(s.checkpointUnknown)
	return deployment, err
}

// decodeDeployment reads a deployment, and last the resources before the secrets provider.
func (s *Snapshot) decodeDeployment(ctx context.Context, deployment section, open OpenSecrets) (*Codec, error) {
	if deployment.value == nil {
		return s.openCodec(ctx, nil, open)
	}
	var resources, operations, provider section
	var codec *Codec
	r := deployment.reader()
	whole := false // every writer of a deployment has some of these in it, also if there are no resources
	err := r.object(func(name string) (err error) {
		whole = whole || name == "manifest" || name == "secrets_providers" || (name == "resources" || name == "pending_operations") && r.kind() != 'n'
		switch name {
		case "manifest":
			err = manifestJSON.decode(&decoder{reader: r}, &s.Manifest)
		case "secrets_providers":
			if provider, err = r.section(); err == nil {
				err = secretsJSON.decode(&decoder{reader: provider.reader()}, &s.Secrets)
			}
			if err == nil {
				codec, err = s.openCodec(ctx, &provider, open)
			}
		case "resources":
			if codec != nil {
				err = s.decodeResources(ctx, codec, r)
			} else {
				resources, err = r.section()
			}
		case "pending_operations":
			operations, err = r.section()
		case "metadata":
			s.Metadata, err = r.raw()
		case "snippets":
			s.Snippets, err = r.raw()
		case "extensions":
			s.Extensions, err = r.raw()
		default:
			err = r.keep(name, &s.deploymentUnknown)
		}
		return err
	})
	if err == nil && !whole && s.Stack == "" {
		err = r.fail("the deployment has neither a manifest nor resources: it is not a state")
	}
	if err != nil {
		return nil, err
	}
	sortMembers(s.deploymentUnknown)
	if codec == nil {
		if codec, err = s.openCodec(ctx, &provider, open); err != nil {
			return nil, err
		}
	}
	if resources.value != nil {
		if err := s.decodeResources(ctx, codec, resources.reader()); err != nil {
			return nil, err
		}
	}
	if operations.value != nil {
		if err := s.decodeOperations(ctx, codec, operations.reader()); err != nil {
			return nil, err
		}
	}
	return codec, nil
}

func (s *Snapshot) openCodec(ctx context.Context, at *section, open OpenSecrets) (*Codec, error) {
	switch {
	case open == nil:
		return newSealedCodec(s.Secrets), nil
	case s.Secrets.Type == "":
		return NewCodec(nil), nil
	}
	provider, err := open(ctx, s.Secrets.Type, s.Secrets.State)
	if err != nil {
		return nil, &DecodeError{Pointer: at.pointer, Offset: at.offset, Reason: "opening the secrets provider", Cause: err}
	}
	return NewCodec(provider), nil
}

func (s *Snapshot) decodeResources(ctx context.Context, c *Codec, r *reader) error {
	return r.array(func(int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		res, text, err := c.decodeResource(ctx, r)
		if err != nil {
			return err
		}
		s.add(slot{resource: res, json: text})
		return nil
	})
}

func (s *Snapshot) decodeOperations(ctx context.Context, c *Codec, r *reader) error {
	return r.array(func(int) error {
		v, err := c.decodeOperation(ctx, r)
		if err != nil {
			return err
		}
		s.addOperation(v)
		return nil
	})
}

func (c *Codec) decodeOperation(ctx context.Context, r *reader) (v slot, err error) {
	err = r.object(func(name string) (err error) {
		switch name {
		case "resource":
			v.resource, v.json, err = c.decodeResource(ctx, r)
		case "type":
			v.operation, err = r.operationType()
		default:
			err = r.skip()
		}
		return err
	})
	if err == nil && (v.resource == nil || v.operation == "") {
		err = r.fail("a pending operation has no resource or no type")
	}
	return v, err
}

func (r *reader) operationType() (OperationType, error) {
	s, err := r.string()
	if err == nil && !OperationType(s).valid() {
		err = r.failf("%q is not a type of operation", s)
	}
	return OperationType(s), err
}

// time reads a time, or null or "", which is the zero time.
func (r *reader) time() (time.Time, error) {
	s, err := r.optionalString()
	if err != nil || s == "" {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, r.fail("expected a time such as 2006-01-02T15:04:05Z")
	}
	return t, nil
}

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
	return slot{operation: v.operation, resource: &r} // its JSON has changed
}
