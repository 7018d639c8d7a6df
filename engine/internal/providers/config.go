package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
)

// ConfigSchema returns the schema of the provider's configuration, an empty object if there is none.
func (s *Session) ConfigSchema(ctx context.Context) *schema.Object {
	s.readConfig.Do(func() {
		s.config = &schema.Object{}
		if pkg, err := readSchema(ctx, s, abi.GetSchemaRequest{}); err == nil {
			s.config, s.comparesBySchema = &pkg.Config, pkg.SchemaDiffConfig
		}
	})
	return s.config
}

// ComparesBySchema reports whether the schema alone decides which configurations can manage the same objects.
func (s *Session) ComparesBySchema(ctx context.Context) bool {
	s.ConfigSchema(ctx)
	return s.comparesBySchema
}

// nested parses the JSON texts of a configuration that are lists or objects by the schema: a stack's configuration holds only
// text, and Pulumi's SDKs write providers so. Texts that cannot be parsed stay as they are, for the provider to refuse.
func (s *Session) nested(ctx context.Context, config property.Map) property.Map {
	for _, v := range config.All() {
		if schemajson.LooksNested(v) {
			return schemajson.Nested(s.ConfigSchema(ctx), config)
		}
	}
	return config
}

func setCommand(pkg, key string, config *schema.Object) string {
	flag := ""
	if p := config.Property(key); p != nil && p.Secret {
		flag = "--secret "
	}
	return fmt.Sprintf("husk config set %s%s:%s <value>", flag, pkg, key)
}

// ExplainFailures adds to failures of a default provider, which is in no program, how to set the configuration.
func ExplainFailures(pkg string, config *schema.Object, failures []abi.CheckFailure) []abi.CheckFailure {
	out := slices.Clone(failures)
	for i, f := range out {
		path, err := property.ParsePath(f.Path)
		if err != nil || len(path) == 0 {
			continue
		}
		if key, ok := path[0].Key(); ok && config.Property(key) != nil {
			out[i].Reason += "\nset it with: " + setCommand(pkg, key, config)
		}
	}
	return out
}

// ExplainMissingKeys adds to an error how to set the configuration that a provider misses.
func ExplainMissingKeys(u urn.URN, config *schema.Object, err error) error {
	var e *abi.Error
	if !errors.As(err, &e) || len(e.MissingKeys) == 0 {
		return err
	}
	pkg := strings.TrimPrefix(u.Type(), TypePrefix)
	var b strings.Builder
	fmt.Fprintf(&b, "provider %s is missing required configuration:", pkg)
	for _, k := range e.MissingKeys {
		fmt.Fprintf(&b, "\n  %s:%s", pkg, k.Name)
		if k.Description != "" {
			b.WriteString("  " + abi.Cite(k.Description))
		}
		if IsDefault(u) {
			b.WriteString("\n    set it with: " + setCommand(pkg, k.Name, config))
		} else {
			fmt.Fprintf(&b, "\n    give the provider %q the property %s", u.Name(), k.Name)
		}
	}
	clone := *e
	clone.Message, clone.Origin = b.String(), abi.ErrorOriginHost // the text is not the provider's any more
	return &clone
}
