// Package strangertest has projects of strangers, for tests of the files and secrets that such a project can find. Its table has
// a row for each text in the schema of project files, so that a new key is not forgotten.
package strangertest

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// Texts returns the places in the schema of project files where a text may stand, such as /plugins/providers/[]/path. Those of
// a definition begin with # and its name.
func Texts() []string {
	found := map[string]bool{}
	walk(projectschema.Root(), "", found)
	for name, definition := range projectschema.Root().Definitions {
		walk(definition, "#"+name, found)
	}
	return slices.Sorted(maps.Keys(found))
}

func walk(n *projectschema.Node, path string, found map[string]bool) {
	if isText(n) {
		found[path] = true
	}
	for _, alternative := range slices.Concat(n.AnyOf, n.AllOf) {
		walk(alternative, path, found)
	}
	for name, p := range n.Properties {
		walk(p, path+"/"+name, found)
	}
	if n.AdditionalProperties != nil && n.AdditionalProperties.Node != nil {
		walk(n.AdditionalProperties.Node, path+"/*", found)
	}
	if n.Items != nil {
		walk(n.Items, path+"/"+projectschema.Element, found)
	}
}

// isText reports whether a node itself, without its alternatives, is a text that its author chooses, or anything.
func isText(n *projectschema.Node) bool {
	if n.Enum != nil || n.Ref != "" {
		return false
	}
	switch t := n.Type.(type) {
	case string:
		return t == "string"
	case []any:
		return slices.Contains(t, any("string"))
	}
	return n.AnyOf == nil && n.AllOf == nil && n.Properties == nil && n.Items == nil && n.AdditionalProperties == nil
}
