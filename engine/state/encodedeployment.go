package state

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// EncodeCheckpoint returns the JSON of the snapshot as a stack's file holds it:
// {"version", "checkpoint": {"stack", "latest"}}, one resource a line, in
// topological order.
func (c *Codec) EncodeCheckpoint(ctx context.Context, s *Snapshot) ([]byte, error) {
	deployment, features, err := c.deployment(ctx, s, false)
	if err != nil {
		return nil, err
	}
	b := s.document(features, len(deployment))
	b.name("checkpoint")
	b.open('{')
	b.name("stack")
	b.string(s.Stack)
	b.members(s.checkpointUnknown)
	b.name("latest")
	b.raw(deployment)
	b.close('}')
	return b.end()
}

// EncodeExport returns the JSON of the snapshot as `stack export` prints it:
// {"version", "deployment"}. With showSecrets, secrets are plain text.
func (c *Codec) EncodeExport(ctx context.Context, s *Snapshot, showSecrets bool) ([]byte, error) {
	deployment, features, err := c.deployment(ctx, s, showSecrets)
	if err != nil {
		return nil, err
	}
	b := s.document(features, len(deployment))
	b.name("deployment")
	b.raw(deployment)
	return b.end()
}

// document begins a document around a deployment of the size, in bytes.
func (s *Snapshot) document(features []string, size int) *builder {
	const around = 256 // names and version
	b := &builder{buf: make([]byte, 0, size+around)}
	b.open('{')
	b.name("version")
	if len(features) == 0 {
		b.uint(3)
	} else {
		b.uint(4)
		b.name("features")
		stringArray(b, features)
	}
	b.members(s.documentUnknown)
	return b
}

func (b *builder) members(members []member) {
	for _, m := range members {
		b.name(m.name)
		b.raw(m.value)
	}
}

// end ends the document.
func (b *builder) end() ([]byte, error) {
	b.close('}')
	return append(b.buf, '\n'), b.err
}

// deployment returns the JSON of the deployment and the features that a reader
// must know, sorted: those that it uses, and those that the state named when it
// was read.
func (c *Codec) deployment(ctx context.Context, s *Snapshot, showSecrets bool) (json []byte, features []string, err error) {
	b := &builder{buf: make([]byte, 0, s.sizeHint())}
	used := featureSet{}
	used.addAll(s.Features)
	used.add(featureSnippets, s.Snippets != nil)
	used.add(featureExtensions, s.Extensions != nil)
	b.open('{')
	b.line()
	b.name("manifest")
	s.Manifest.append(b)
	if c.secrets.Type != "" {
		b.line()
		b.name("secrets_providers")
		b.open('{')
		b.name("type")
		b.string(c.secrets.Type)
		if len(c.secrets.State) > 0 {
			b.name("state")
			b.raw(compact(c.secrets.State))
		}
		b.close('}')
	}
	if len(s.slots) > 0 {
		b.line()
		b.name("resources")
		b.open('[')
		for _, v := range s.ordered() {
			b.line()
			if err := c.append(ctx, b, v, used, showSecrets); err != nil {
				return nil, nil, err
			}
		}
		b.buf = append(b.buf, '\n')
		b.close(']')
	}
	if len(s.operations) > 0 {
		b.line()
		b.name("pending_operations")
		b.open('[')
		for _, op := range slices.Sorted(maps.Keys(s.operations)) {
			v := s.operations[op]
			b.line()
			b.open('{')
			b.name("resource")
			if err := c.append(ctx, b, v, used, showSecrets); err != nil {
				return nil, nil, err
			}
			b.name("type")
			b.string(string(v.operation))
			b.close('}')
		}
		b.buf = append(b.buf, '\n')
		b.close(']')
	}
	b.optionalRaw("metadata", s.Metadata)
	b.optionalRaw("snippets", s.Snippets)
	b.optionalRaw("extensions", s.Extensions)
	b.members(s.deploymentUnknown)
	b.close('}')
	return b.buf, slices.Sorted(maps.Keys(used)), b.err
}

// sizeHint is about the size of the deployment's JSON, in bytes.
func (s *Snapshot) sizeHint() int {
	const other, resource = 4096, 1024 // guesses: what is not a resource, and one without JSON
	size := other
	for _, v := range s.slots {
		if v.json.text == nil {
			size += resource
		} else {
			size += len(v.json.text) + len(",\n")
		}
	}
	return size
}

// append appends the resource's JSON: that of the slot where it is right, else a
// new one.
func (c *Codec) append(ctx context.Context, b *builder, v slot, used featureSet, showSecrets bool) error {
	used.addResource(v.resource)
	text := v.json
	if !text.usableBy(c.identity) || showSecrets && text.provider != "" {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if text, err = c.encode(ctx, v.resource, showSecrets); err != nil {
			return err
		}
	}
	used.add(featureByteString, text.byteStrings)
	b.raw(compact(text.text))
	return nil
}

func (m Manifest) append(b *builder) {
	b.open('{')
	b.name("time")
	b.string(m.Time.Format(time.RFC3339Nano))
	b.name("magic")
	b.string(cmp.Or(m.Magic, magic(m.Version)))
	b.name("version")
	b.string(m.Version)
	if len(m.Plugins) > 0 {
		b.name("plugins")
		b.open('[')
		for _, p := range m.Plugins {
			b.open('{')
			b.name("name")
			b.string(p.Name)
			b.name("path")
			b.string(p.Path)
			b.name("type")
			b.string(p.Type)
			b.name("version")
			b.string(p.Version)
			b.close('}')
		}
		b.close(']')
	}
	b.members(m.unknown)
	b.close('}')
}

// featureSet is the features that a state uses.
type featureSet map[string]bool

func (f featureSet) add(name string, uses bool) {
	if uses {
		f[name] = true
	}
}

func (f featureSet) addAll(names []string) {
	for _, name := range names {
		f[name] = true
	}
}

func (f featureSet) addResource(r *Resource) {
	f.add(featureRefreshBeforeUpdate, r.RefreshBeforeUpdate)
	f.add(featureViews, r.ViewOf != "")
	f.add(featureHooks, len(r.ResourceHooks) > 0)
	f.add(featureTaint, r.Taint)
	f.add(featureReplaceWith, len(r.ReplaceWith) > 0)
	f.add(featureExtensions, r.ExtensionRef != "")
}
