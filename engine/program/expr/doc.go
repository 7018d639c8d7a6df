// Package expr holds the expressions of YAML programs, in the syntax of Pulumi
// YAML: values with ${...} inside their text, and functions written as mappings
// with a single key that begins with fn::. It parses; package yamlprogram gives
// expressions their meaning.
package expr
