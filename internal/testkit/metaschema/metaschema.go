// Package metaschema holds package schemas to the rules of Pulumi's metaschema, so
// that what providers here answer to get-schema is of use to Pulumi's own tools. It is
// for tests; what runs reads schemas with package schemajson.
package metaschema

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed package.json
var rules []byte

// Variable names the environment variable that may hold the path of another
// metaschema, such as pkg/codegen/schema/pulumi.json in a checkout of pulumi/pulumi.
// Documents are then held to that one.
const Variable = "PULUMI_METASCHEMA"

// Validate reports what in a package schema breaks the rules, and where.
func Validate(document []byte) error {
	rules := rules
	if path := os.Getenv(Variable); path != "" {
		var err error
		if rules, err = os.ReadFile(path); err != nil {
			return fmt.Errorf("reading the metaschema that %s names: %w", Variable, err)
		}
	}
	spec, err := jsonschema.UnmarshalJSON(bytes.NewReader(rules))
	if err != nil {
		return fmt.Errorf("reading the metaschema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.AssertContent()
	const place = "metaschema.json"
	if err := compiler.AddResource(place, spec); err != nil {
		return fmt.Errorf("reading the metaschema: %w", err)
	}
	compiled, err := compiler.Compile(place)
	if err != nil {
		return fmt.Errorf("reading the metaschema: %w", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("reading the package schema: %w", err)
	}
	return compiled.Validate(parsed)
}
