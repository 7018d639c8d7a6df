// Package expr parses the expressions of YAML programs, in the syntax of Pulumi YAML: values with
// ${...} in their text, and functions, which are mappings with one key that begins with fn::.
package expr
