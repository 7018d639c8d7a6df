package canon_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.bytecodealliance.org/wit"

	"github.com/husk-dev/husk/internal/testkit/doctest"
)

const contractDocument = "abi/canon/contract-tests.md"

// TestContractDocument holds contract-tests.md to the WIT, and to the tests that it names.
func TestContractDocument(t *testing.T) {
	root := filepath.Join("..", "..")
	doctest.Require(t, root, "docs/contract.md")
	text := doctest.Require(t, root, contractDocument)
	rows := map[string]string{} // by what is in the first cell
	for line := range strings.Lines(text) {
		if cells := strings.SplitN(line, "|", 3); len(cells) == 3 && cells[0] == "" {
			rows[strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	for _, i := range resolveContract(t).Interfaces {
		for name := range i.Functions.All() {
			require.Contains(t, rows, *i.Name+"."+name, "a function without a row in %s", contractDocument)
		}
		for name, def := range i.TypeDefs.All() {
			if _, used := def.Kind.(*wit.TypeDef); used { // a type of another interface
				continue
			}
			row, ok := rows[*i.Name+"."+name]
			require.True(t, ok, "the type %s.%s has no row in %s", *i.Name, name, contractDocument)
			for _, part := range partsOf(def) {
				require.Contains(t, row, "`"+part+"`", "%s.%s", *i.Name, name)
			}
		}
	}
}

// partsOf are the names of what a type consists of.
func partsOf(def *wit.TypeDef) []string {
	var parts []string
	switch kind := def.Kind.(type) {
	case *wit.Record:
		for _, f := range kind.Fields {
			parts = append(parts, f.Name)
		}
	case *wit.Variant:
		for _, c := range kind.Cases {
			parts = append(parts, c.Name)
		}
	case *wit.Enum:
		for _, c := range kind.Cases {
			parts = append(parts, c.Name)
		}
	case *wit.Flags:
		for _, f := range kind.Flags {
			parts = append(parts, f.Name)
		}
	}
	return parts
}
