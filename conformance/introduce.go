package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
)

// Package is the subject of checks of the whole package. Configuration is the subject of checks of
// the provider's configuration.
const (
	Package       = "package"
	Configuration = "configuration"
)

type run struct {
	options Options
	open    Open
	opened  []*session
	report  *Report

	// who is the package under test. base is the name of the package whose provider is
	// configured. They differ for an extension.
	who    abi.HandshakeResponse
	base   string
	schema *schema.Package
	// first and second serve calls that need no configuration.
	first, second *session
	// config is the configuration of main and other.
	config      property.Map
	configured  bool
	main, other *session
}

func (r *run) takes(f abi.Features) bool { return r.who.Features&f != 0 }

// start opens a provider, without a handshake.
func (r *run) start(ctx context.Context) (*session, error) {
	p, err := r.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the provider: %w", err)
	}
	s := newSession(p, r.options.Timeout, abandonAfter*r.options.Promptness)
	r.opened = append(r.opened, s)
	return s, nil
}

func shake(ctx context.Context, s *session) (abi.HandshakeResponse, error) {
	return s.Handshake(ctx, abi.HandshakeRequest{Engine: "husk provider test", Features: abi.AllFeatures})
}

// introduce tests the handshake and the schema. ready reports whether there is a schema, which
// every other test needs.
func (r *run) introduce(ctx context.Context) (ready bool, err error) {
	f := newFindings(Package, KindPackage, nil) // whatever is asked for needs these two
	f.begin(nil)
	if r.first, err = r.start(ctx); err != nil {
		return false, err
	}
	if r.second, err = r.start(ctx); err != nil {
		return false, err
	}
	r.who, err = shake(ctx, r.first)
	if err == nil {
		r.report.Name, r.report.Version, r.report.SDK = r.who.Name, r.who.Version, r.who.SDK
		r.base = r.who.Name
	}
	outcome := r.handshakeOutcome(ctx, err)
	f.report(ruleHandshake, outcome)
	if outcome == nil {
		if outcome = r.parameterize(ctx, r.first); outcome == nil {
			outcome = r.parameterize(ctx, r.second)
		}
		if outcome == nil {
			r.schema, outcome = r.readSchemas(ctx, r.first)
		}
		f.report(ruleSchema, outcome)
	}
	f.rest(errors.New("the provider could not be introduced"), ruleSchema)
	r.keep(f)
	return outcome == nil, nil
}

// keep adds findings about the package that were asked for, or that explain missing ones.
func (r *run) keep(f *findings) {
	for name, result := range f.results {
		if only := r.options.Only; len(only) > 0 && !slices.Contains(only, name) && result.Status == OK {
			delete(f.results, name)
		}
	}
	r.add(f)
}

func (r *run) handshakeOutcome(ctx context.Context, err error) error {
	if err != nil {
		return fmt.Errorf("handshake: %s", reason(err))
	}
	if r.who.Name == "" {
		return errors.New("it returns no name")
	}
	if _, err := semver.Parse(r.who.Version); err != nil {
		return fmt.Errorf("its version %q is not a semantic version: %w", r.who.Version, err)
	}
	if extra := r.who.Features &^ abi.AllFeatures; extra != 0 {
		return fmt.Errorf("it returns features that were not offered (bits %#x)", uint32(extra))
	}
	second, err := shake(ctx, r.second)
	if err != nil {
		return fmt.Errorf("handshake of a second instance: %s", reason(err))
	}
	if !reflect.DeepEqual(second, r.who) {
		return fmt.Errorf("two instances return different handshakes: %s %s (features %#x), and %s %s (features %#x)",
			r.who.Name, r.who.Version, uint32(r.who.Features), second.Name, second.Version, uint32(second.Features))
	}
	return nil
}

// parameterize sends the parameters of the options, if there are any.
func (r *run) parameterize(ctx context.Context, s *session) error {
	if r.options.Parameters == nil {
		return nil
	}
	response, err := s.Parameterize(ctx, abi.ParameterizeRequest{
		Parameters: *r.options.Parameters, Extension: r.options.Extension,
	})
	if err != nil {
		return fmt.Errorf("parameterize: %s", reason(err))
	}
	r.who.Name, r.who.Version = response.Name, response.Version
	r.report.Name, r.report.Version = response.Name, response.Version
	if !r.options.Extension {
		r.base = response.Name
	}
	return nil
}

// readSchemas reads the package's schema. An extension has the configuration of the provider that it extends.
func (r *run) readSchemas(ctx context.Context, s *session) (*schema.Package, error) {
	if !r.options.Extension {
		return r.readSchema(ctx, s, abi.GetSchemaRequest{})
	}
	pkg, err := r.readSchema(ctx, s, abi.GetSchemaRequest{SubpackageName: r.who.Name, SubpackageVersion: r.who.Version})
	if err != nil {
		return nil, err
	}
	if len(pkg.Config.Properties) > 0 {
		return nil, errors.New("the schema of the extension has a configuration, and it is the provider that is configured")
	}
	response, err := s.GetSchema(ctx, abi.GetSchemaRequest{})
	if errors.Is(err, abi.ErrUnimplemented) {
		return pkg, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get-schema of %s: %s", r.base, reason(err))
	}
	own, err := schemajson.Parse([]byte(response.Schema))
	if err != nil {
		return nil, fmt.Errorf("of %s: %w", r.base, err)
	}
	pkg.Config = own.Config
	return pkg, nil
}

func (r *run) readSchema(ctx context.Context, s *session, request abi.GetSchemaRequest) (*schema.Package, error) {
	response, err := s.GetSchema(ctx, request)
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil, refused("the provider has no schema, from which the other checks are made")
	}
	if err != nil {
		return nil, fmt.Errorf("get-schema: %s", reason(err))
	}
	pkg, err := schemajson.Parse([]byte(response.Schema))
	if err != nil {
		return nil, err
	}
	if pkg.Name != r.who.Name {
		return pkg, fmt.Errorf("the schema names the package %q, and the handshake names %q", pkg.Name, r.who.Name)
	}
	if pkg.Version != "" && pkg.Version != r.who.Version {
		return pkg, fmt.Errorf("the schema is of version %s, and the handshake is of %s", pkg.Version, r.who.Version)
	}
	for _, token := range tokensOf(pkg) {
		parts := strings.Split(token, ":")
		mine := parts[0] == pkg.Name || slices.Contains(pkg.AllowedPackageNames, parts[0])
		if len(parts) != 3 || !mine || slices.Contains(parts, "") {
			return pkg, fmt.Errorf("the token %q is not of the form %s:<module>:<name>", token, pkg.Name)
		}
	}
	return pkg, nil
}

func tokensOf(pkg *schema.Package) []string {
	var tokens []string
	for _, r := range pkg.Resources {
		tokens = append(tokens, r.Token)
	}
	for _, f := range pkg.Functions {
		tokens = append(tokens, f.Token)
	}
	for _, t := range pkg.Types {
		tokens = append(tokens, t.Token)
	}
	for _, t := range pkg.Enums {
		tokens = append(tokens, t.Token)
	}
	return tokens
}

// configure opens the two providers that all further checks use, and configures them.
func (r *run) configure(ctx context.Context) error {
	f := newFindings(Package, KindPackage, nil)
	f.begin(nil)
	config, outcome := r.chooseConfig(ctx)
	if outcome == nil {
		r.config = config
		var err error
		if r.main, outcome, err = r.ready(ctx); err != nil {
			return err
		}
		if outcome == nil {
			if r.other, outcome, err = r.ready(ctx); err != nil {
				return err
			}
		}
	}
	if err, ok := errors.AsType[*configRefused](outcome); ok {
		outcome = refused("%s; give the provider a configuration that it can use", err)
	}
	f.report(ruleConfigure, outcome)
	r.configured = outcome == nil
	r.keep(f)
	return nil
}

// configRefused is the error of a configuration that check-config accepts and configure refuses:
// its values have the right types, but may name nothing that exists.
type configRefused struct{ reason string }

func (e *configRefused) Error() string { return "configure: " + e.reason }

// unknownConfigOutcome configures providers with one unknown property each, as previews do.
func (r *run) unknownConfigOutcome(ctx context.Context) (outcome, err error) {
	outcome = inapplicable("there is nothing to configure")
	for i := range r.schema.Config.Properties {
		name := r.schema.Config.Properties[i].Name
		s, found, err := r.readyWith(ctx, r.config.With(name, property.Unknown))
		if err != nil {
			return nil, err
		}
		if outcome = nil; found != nil {
			return fmt.Errorf("with %s not known: %w", name, found), nil
		}
		r.close(s)
	}
	return outcome, nil
}

// ready opens and configures a provider. outcome is a fault of the provider, err of the test.
func (r *run) ready(ctx context.Context) (s *session, outcome, err error) {
	return r.readyWith(ctx, r.config)
}

func (r *run) readyWith(ctx context.Context, config property.Map) (s *session, outcome, err error) {
	if s, err = r.start(ctx); err != nil {
		return nil, nil, err
	}
	if _, outcome = shake(ctx, s); outcome != nil {
		return nil, fmt.Errorf("handshake: %s", reason(outcome)), nil
	}
	if outcome = r.parameterize(ctx, s); outcome != nil {
		return nil, outcome, nil
	}
	outcome = s.Configure(ctx, abi.ConfigureRequest{
		URN: r.providerURN(), Name: "default", Type: r.providerType(), ID: "husk-provider-test", Inputs: config,
	})
	if errors.Is(outcome, abi.ErrUnimplemented) {
		outcome = nil
	}
	if outcome != nil {
		if isFault(outcome) {
			return nil, fmt.Errorf("configure: %w", outcome), nil
		}
		return nil, &configRefused{reason(outcome)}, nil
	}
	return s, nil, nil
}

// givenConfig returns the configuration of the options, with generated required properties.
func (r *run) givenConfig() property.Map {
	config := r.options.Config
	for key, value := range r.options.Cases.Config.All() {
		if !config.Has(key) {
			config = config.With(key, value)
		}
	}
	g := r.generator(Configuration, 0)
	for _, p := range r.schema.Config.Missing(config) {
		config = config.With(p.Name, g.Property(p))
	}
	return config
}

// givenCase returns the given configuration as a case, which hides the secrets of the schema.
func (r *run) givenCase() Case {
	config := r.givenConfig()
	for name, v := range config.All() {
		if p := r.schema.Config.Property(name); p != nil && p.Secret && !v.IsSecret() {
			config = config.With(name, property.Secret(v))
		}
	}
	return Case{Name: "given", Inputs: config}
}

func (r *run) chooseConfig(ctx context.Context) (property.Map, error) {
	config := r.givenConfig()
	response, err := r.first.CheckConfig(ctx, r.checkRequest(Configuration, r.providerType(), config, nil, seed))
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		return config, nil
	case err != nil:
		return config, mistake(err, "check-config")
	case len(response.Failures) > 0:
		return config, refused("check-config refuses the configuration: %s; give the provider one that it can use", failuresText(response.Failures))
	}
	return response.Inputs, nil
}

func (r *run) providerType() string { return "pulumi:providers:" + r.base }
