// Package providers holds sessions with providers, references to them, and their schemas.
package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/redact"
)

// Session is a provider after its handshake. It passes only values that the provider understands, and marks
// secrets again that were passed as plain values.
type Session struct {
	abi.Provider
	// Name and Version are the provider's own, from its handshake; empty without one.
	Name, Version string
	features      abi.Features
	negotiated    bool // false for a provider without a handshake, which is taken to understand all
	secrets       *redact.Secrets
	withheld      *ephemeral.Values
	// foreign are the kinds of values that the provider does not understand.
	foreign []property.Kind

	// config is the schema of the configuration once it was needed; see ConfigSchema.
	readConfig sync.Once
	config     *schema.Object
	// comparesBySchema belongs to config.
	comparesBySchema bool
	// schemas are the schemas that write-only inputs were looked up in, and extensions are the versions of packages by which the
	// provider was extended.
	schemas    locked.Once[string, *schema.Package]
	extensions locked.Map[string, string]
}

// Open shakes hands with p, which must be the package named. Secrets learns what p gets, and withheld has
// the inputs that only p gets.
func Open(ctx context.Context, p abi.Provider, pkg string, secrets *redact.Secrets, withheld *ephemeral.Values) (*Session, error) {
	resp, err := p.Handshake(ctx, abi.HandshakeRequest{
		Engine: "husk", Features: abi.AllFeatures,
	})
	negotiated := !errors.Is(err, abi.ErrUnimplemented)
	if err != nil && negotiated {
		return nil, err
	}
	if resp.Name != "" && resp.Name != pkg {
		return nil, fmt.Errorf("the module given for provider %q implements %q: correct its path under plugins.providers", pkg, resp.Name)
	}
	s := &Session{Name: resp.Name, Version: resp.Version, features: resp.Features, negotiated: negotiated, secrets: secrets, withheld: withheld}
	if !s.Understands(abi.FeaturesSecrets) {
		s.foreign = append(s.foreign, property.KindSecret)
	}
	if !s.Understands(abi.FeaturesResourceReferences) {
		s.foreign = append(s.foreign, property.KindResourceReference)
	}
	s.Provider = abi.Intercept(p, s.intercept)
	return s, nil
}

// Understands reports whether the provider has a feature.
func (s *Session) Understands(f abi.Features) bool {
	return !s.negotiated || s.features&f != 0
}

// Parameterize makes the provider into another package, or extends it by one.
func (s *Session) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	response, err := s.Provider.Parameterize(ctx, request)
	if err == nil && request.Extension {
		s.extensions.Set(response.Name, response.Version)
	}
	return response, err
}

// Close cancels and releases the provider.
func (s *Session) Close(ctx context.Context) error {
	err := s.Provider.Cancel(ctx)
	if errors.Is(err, abi.ErrUnimplemented) {
		err = nil
	}
	return errors.Join(err, abi.Close(s.Provider))
}

// intercept passes on requests as the provider understands them, and marks the secrets of responses. A preview
// that the provider cannot do has no known outputs.
func (s *Session) intercept(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
	about := c.Method.About()
	if about == abi.AboutResource && c.Method.Kind() == abi.KindChanges && c.Subject().Preview && !s.Understands(abi.FeaturesPreview) {
		c.Skip()
		return ctx, nil, nil
	}
	var typ *schema.Resource
	if about == abi.AboutResource && c.Method != abi.MethodDelete { // which returns nothing to record
		var err error
		if typ, err = s.withWriteOnly(ctx, c.Subject().Token); err != nil {
			return ctx, nil, err
		}
	}
	var request [abi.RoleOldState + 1]property.Map
	for _, p := range c.RequestProperties() {
		m := p.Get()
		switch about {
		case abi.AboutComponent:
			p.Set(s.lowerDependent(m, c.Dependencies()))
			continue
		case abi.AboutConfiguration:
			m = s.nested(ctx, m)
		}
		// The old values of a configuration are not known, and another value is not a change of it.
		if p.Role == abi.RoleNew || about == abi.AboutConfiguration {
			m = s.withheld.Restore(c.Subject().URN, m)
		}
		request[p.Role] = m
		s.secrets.LearnComputed(m)
		p.Set(m.Lower(s.foreign...))
	}
	return ctx, func(err error) error {
		if failures := c.Failures(); failures != nil {
			*failures = Cited(*failures)
		}
		if about == abi.AboutComponent {
			return err
		}
		response, err := c.AnswerProperties(err)
		for _, p := range response {
			m := p.Get()
			if !s.Understands(abi.FeaturesSecrets) {
				m = markAgain(m, p.Role, c.Method.Kind(), request)
				p.Set(m)
			}
			if p.Role == abi.RoleChecked || p.Role == abi.RoleResult {
				s.secrets.LearnFrom(m)
			}
			if p.Role != abi.RoleResult {
				p.Set(s.recordable(c.Subject(), typ, m))
			}
		}
		return err
	}, nil
}

// markAgain marks the secrets of a request in its response: properties that repeat a secret one, and all that
// a function made of secret arguments.
func markAgain(m property.Map, role abi.Role, kind abi.MethodKind, request [abi.RoleOldState + 1]property.Map) property.Map {
	switch {
	case role == abi.RoleResult:
		if request[abi.RoleNew].ContainsSecrets() {
			return eachValue(m, func(_ string, v property.Value) property.Value { return property.Secret(v) })
		}
		return m
	case role == abi.RoleInputs:
		return KeepSecrets(request[abi.RoleOldInputs], m)
	case role == abi.RoleState && kind == abi.KindReads:
		return KeepSecrets(request[abi.RoleOldState], m)
	}
	return KeepSecrets(request[abi.RoleNew], m)
}

// MarkStreamed marks the secrets of a function's arguments in one result of a stream.
func (s *Session) MarkStreamed(args, result property.Map) property.Map {
	if s.Understands(abi.FeaturesSecrets) {
		return result
	}
	var request [abi.RoleOldState + 1]property.Map
	request[abi.RoleNew] = args
	result = markAgain(result, abi.RoleResult, abi.KindReads, request)
	s.secrets.LearnFrom(result)
	return result
}

// Cited marks the lines of a provider's complaints.
func Cited(failures []abi.CheckFailure) []abi.CheckFailure {
	out := slices.Clone(failures)
	for i, f := range out {
		out[i].Reason = abi.Cite(f.Reason)
	}
	return out
}

// KeepSecrets marks the properties of got secret whose namesake in the request holds a secret.
func KeepSecrets(request, got property.Map) property.Map {
	return eachValue(got, func(key string, v property.Value) property.Value {
		if g, ok := request.Lookup(key); ok && g.ContainsSecrets() && !v.ContainsSecrets() {
			return property.Secret(v)
		}
		return v
	})
}

func eachValue(m property.Map, f func(key string, v property.Value) property.Value) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for k, v := range m.All() {
		entries = append(entries, property.Entry{Key: k, Value: f(k, v)})
	}
	return property.NewMap(entries...)
}

// Components get other values than resources: their inputs keep the dependencies of each part if the provider understands
// outputs, because they become inputs of other resources. Their secrets are never unwrapped: a component may pass them on, and
// nothing would mark the results as secret.

// lowerDependent turns inputs of a component into values that the provider understands. Without outputs, each input as a whole
// has its dependencies.
func (s *Session) lowerDependent(m property.Map, dependencies *[]abi.PropertyDependency) property.Map {
	if !s.Understands(abi.FeaturesResourceReferences) {
		m = m.Lower(property.KindResourceReference)
	}
	if s.Understands(abi.FeaturesOutputs) {
		return m
	}
	folded, byKey, _ := FoldInputs(m, *dependencies, nil)
	*dependencies = make([]abi.PropertyDependency, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		*dependencies = append(*dependencies, abi.PropertyDependency{Key: key, URNs: byKey[key]})
	}
	return folded
}
