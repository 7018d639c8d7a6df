package state

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/husk-dev/husk/engine/secrets"
)

// EncodeCheckpoint returns the JSON of the snapshot as a stack's file holds it:
// {"version", "checkpoint": {"stack", "latest"}}, one resource a line, in
// topological order.
func (c *Codec) EncodeCheckpoint(ctx context.Context, s *Snapshot) ([]byte, error) {
	p, err := c.parts(ctx, s, false)
	if err != nil {
		return nil, err
	}
	e := p.begin(s)
	e.name("checkpoint")
	e.open('{')
	e.name("stack")
	e.string(s.Stack)
	e.members(s.checkpointUnknown)
	e.name("latest")
	p.deployment(e, s, c.secrets)
	e.close('}')
	return e.end()
}

// EncodeExport returns the JSON of the snapshot as `stack export` prints it: {"version",
// "deployment"}. With showSecrets, secrets are plain text. A secrets provider that Pulumi would
// refuse is named only if there are secrets.
func (c *Codec) EncodeExport(ctx context.Context, s *Snapshot, showSecrets bool) ([]byte, error) {
	p, err := c.parts(ctx, s, showSecrets)
	if err != nil {
		return nil, err
	}
	named := c.secrets
	if secrets.OnlyHusk(named.Type) && !s.HasSecrets() {
		named = SecretsProvider{}
	}
	e := p.begin(s)
	e.name("deployment")
	p.deployment(e, s, named)
	return e.end()
}

// parts are the parts of a document. Their size is known before the document is written.
type parts struct {
	// resources are in topological order, operations in the order of their numbers.
	resources, operations []string
	// features are the features that the state uses, and the ones that it named when it was read, sorted.
	features []string
	// size is the total size of the texts and their separators, in bytes.
	size int
}

func (c *Codec) parts(ctx context.Context, s *Snapshot, showSecrets bool) (p parts, err error) {
	used := make(map[string]bool)
	add := func(feature string, uses bool) {
		if uses {
			used[feature] = true
		}
	}
	for _, feature := range s.Features {
		add(feature, true)
	}
	add(featureSnippets, s.Snippets != nil)
	add(featureExtensions, s.Extensions != nil)
	e := c.encoder(ctx, showSecrets)
	text := func(v slot) (string, error) {
		for i := range resourceJSON.fields {
			if f := &resourceJSON.fields[i]; f.feature != "" {
				add(f.feature, f.present(v.resource))
			}
		}
		json := v.json
		if !json.usableBy(c.identity) || showSecrets && json.provider != "" {
			e.builder = builder{buf: e.buf[:0]}
			if json, err = e.resource(v.resource); err != nil {
				return "", err
			}
		}
		add(featureByteString, json.byteStrings)
		const between = len(`{"resource":,"type":"importing"},`) + len("\n")
		p.size += len(json.text) + between
		return json.text, ctx.Err()
	}
	resources := s.ordered()
	p.resources = make([]string, len(resources))
	for i, v := range resources {
		if p.resources[i], err = text(v); err != nil {
			return p, err
		}
	}
	for _, op := range slices.Sorted(maps.Keys(s.operations)) {
		json, err := text(s.operations[op])
		if err != nil {
			return p, err
		}
		p.operations = append(p.operations, json)
	}
	p.features = slices.Sorted(maps.Keys(used))
	return p, nil
}

func (p *parts) begin(s *Snapshot) *encoder {
	const rest = 4096 // bytes; a guess of all that is not counted here
	size := p.size + len(s.Metadata) + len(s.Snippets) + len(s.Extensions) + rest
	e := &encoder{builder: builder{buf: make([]byte, 0, size)}}
	e.open('{')
	e.name("version")
	if len(p.features) == 0 {
		e.uint(version3)
	} else {
		e.uint(version4)
		e.name("features")
		stringArray(&e.builder, p.features)
	}
	e.members(s.documentUnknown)
	return e
}

func (b *builder) members(members []member) {
	for _, m := range members {
		b.name(m.name)
		b.raw(m.value)
	}
}

func (b *builder) end() ([]byte, error) {
	b.close('}')
	return append(b.buf, '\n'), b.err
}

func (p *parts) deployment(e *encoder, s *Snapshot, named SecretsProvider) {
	e.open('{')
	e.line()
	e.name("manifest")
	e.manifest(s.Manifest)
	if named.Type != "" {
		e.line()
		e.name("secrets_providers")
		secretsJSON.encode(e, &named)
	}
	lines := func(name string, n int, element func(i int)) {
		if n == 0 {
			return
		}
		e.line()
		e.name(name)
		e.open('[')
		for i := range n {
			e.line()
			element(i)
		}
		e.buf = append(e.buf, '\n')
		e.close(']')
	}
	lines("resources", len(p.resources), func(i int) { e.text(p.resources[i]) })
	operations := slices.Sorted(maps.Keys(s.operations))
	lines("pending_operations", len(operations), func(i int) {
		e.open('{')
		e.name("resource")
		e.text(p.operations[i])
		e.name("type")
		e.string(string(s.operations[operations[i]].operation))
		e.close('}')
	})
	for _, m := range []member{{"metadata", s.Metadata}, {"snippets", s.Snippets}, {"extensions", s.Extensions}} {
		if m.value != nil {
			e.members([]member{m})
		}
	}
	e.members(s.deploymentUnknown)
	e.close('}')
}

var manifestJSON = newObject(func(m *Manifest) *[]member { return &m.unknown },
	newField("time", func(m *Manifest) *time.Time { return &m.Time }, always(moment)),
	newField("magic", func(m *Manifest) *string { return &m.Magic }, always(text[string]())),
	newField("version", func(m *Manifest) *string { return &m.Version }, always(text[string]())),
	newField("plugins", func(m *Manifest) *[]Plugin { return &m.Plugins }, list(pluginJSON)),
)

var pluginJSON = newObject(nil,
	newField("name", func(p *Plugin) *string { return &p.Name }, always(text[string]())),
	newField("path", func(p *Plugin) *string { return &p.Path }, always(text[string]())),
	newField("type", func(p *Plugin) *string { return &p.Type }, always(text[string]())),
	newField("version", func(p *Plugin) *string { return &p.Version }, always(text[string]())),
)

var secretsJSON = newObject(nil,
	newField("type", func(p *SecretsProvider) *string { return &p.Type }, text[string]()),
	newField("state", func(p *SecretsProvider) *json.RawMessage { return &p.State }, raw),
)

func (e *encoder) manifest(m Manifest) {
	m.Magic = cmp.Or(m.Magic, magic(m.Version))
	manifestJSON.encode(e, &m)
}
