package state

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/engine/secrets"
)

// EncodeCheckpoint returns the JSON of the snapshot as a stack's file holds it:
// {"version", "checkpoint": {"stack", "latest"}}, one resource a line, in
// topological order.
func (c *Codec) EncodeCheckpoint(ctx context.Context, s *Snapshot) ([]byte, error) {
	t, err := c.texts(ctx, s, false)
	if err != nil {
		return nil, err
	}
	b := s.document(t)
	b.name("checkpoint")
	b.open('{')
	b.name("stack")
	b.string(s.Stack)
	b.members(s.checkpointUnknown)
	b.name("latest")
	c.deployment(b, s, t, c.secrets)
	b.close('}')
	return b.end()
}

// EncodeExport returns the JSON of the snapshot as `stack export` prints it:
// {"version", "deployment"}. With showSecrets, secrets are plain text. A secrets provider
// that Pulumi does not know is named only where there are secrets, as Pulumi refuses it.
func (c *Codec) EncodeExport(ctx context.Context, s *Snapshot, showSecrets bool) ([]byte, error) {
	t, err := c.texts(ctx, s, showSecrets)
	if err != nil {
		return nil, err
	}
	b := s.document(t)
	b.name("deployment")
	named := c.secrets
	if secrets.OnlyHusk(named.Type) && !s.HasSecrets() {
		named = SecretsProvider{}
	}
	c.deployment(b, s, t, named)
	return b.end()
}

// texts are what a document is made of: with them at hand it is written once, however
// large it is.
type texts struct {
	// resources are in topological order, operations in that of their numbers.
	resources, operations []string
	// features are those that a reader must know, sorted: those that the state uses, and
	// those that it named when it was read.
	features []string
	// size is that of the texts, in bytes, with what is between them.
	size int
}

// texts returns the texts of a snapshot.
func (c *Codec) texts(ctx context.Context, s *Snapshot, showSecrets bool) (t texts, err error) {
	used := featureSet{}
	used.addAll(s.Features)
	used.add(featureSnippets, s.Snippets != nil)
	used.add(featureExtensions, s.Extensions != nil)
	text := func(v slot) (string, error) {
		used.addResource(v.resource)
		json := v.json
		if !json.usableBy(c.identity) || showSecrets && json.provider != "" {
			var err error
			if json, err = c.encodeAlone(ctx, v.resource, showSecrets); err != nil {
				return "", err
			}
		}
		used.add(featureByteString, json.byteStrings)
		const between = len(`{"resource":,"type":"importing"},`) + len("\n")
		t.size += len(json.text) + between
		return json.text, ctx.Err()
	}
	resources := s.ordered()
	t.resources = make([]string, len(resources))
	for i, v := range resources {
		if t.resources[i], err = text(v); err != nil {
			return t, err
		}
	}
	for _, op := range slices.Sorted(maps.Keys(s.operations)) {
		json, err := text(s.operations[op])
		if err != nil {
			return t, err
		}
		t.operations = append(t.operations, json)
	}
	t.features = slices.Sorted(maps.Keys(used))
	return t, nil
}

// document begins a document of the texts.
func (s *Snapshot) document(t texts) *builder {
	around := 4096 // bytes; a guess of all that is not counted here
	for _, v := range []jsontext.Value{s.Metadata, s.Snippets, s.Extensions} {
		around += len(v)
	}
	b := &builder{buf: make([]byte, 0, t.size+around)}
	b.open('{')
	b.name("version")
	if len(t.features) == 0 {
		b.uint(3)
	} else {
		b.uint(4)
		b.name("features")
		stringArray(b, t.features)
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

// deployment appends the JSON of the deployment.
func (c *Codec) deployment(b *builder, s *Snapshot, t texts, named SecretsProvider) {
	b.open('{')
	b.line()
	b.name("manifest")
	s.Manifest.append(b)
	if named.Type != "" {
		b.line()
		b.name("secrets_providers")
		b.open('{')
		b.name("type")
		b.string(named.Type)
		if len(named.State) > 0 {
			b.name("state")
			b.text(compact(string(named.State)))
		}
		b.close('}')
	}
	if len(t.resources) > 0 {
		b.line()
		b.name("resources")
		b.open('[')
		for _, json := range t.resources {
			b.line()
			b.text(json)
		}
		b.buf = append(b.buf, '\n')
		b.close(']')
	}
	if len(t.operations) > 0 {
		b.line()
		b.name("pending_operations")
		b.open('[')
		for i, op := range slices.Sorted(maps.Keys(s.operations)) {
			b.line()
			b.open('{')
			b.name("resource")
			b.text(t.operations[i])
			b.name("type")
			b.string(string(s.operations[op].operation))
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
	f.add(featureSnippets, r.SnippetID != "")
}
