package scaffold_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/packedtest"
	"github.com/husk-dev/husk/internal/workspace/scaffold"
)

// The program has the templates as they are.
func TestTheTemplatesAreCurrent(t *testing.T) {
	packedtest.RequireCurrent(t, "templates.zip.gz", "templates", ".")
}

// Only a template that requires Husk's own code needs its source: the others begin with any husk.
func TestTemplatesWithoutTheSourceOfHusk(t *testing.T) {
	none := errors.New("no checkout")
	for _, template := range scaffold.All() {
		asked := false
		files, err := scaffold.Create(t.Context(), template, t.TempDir(), scaffold.Options{
			Name: "shop", Source: func() (scaffold.Source, error) { asked = true; return scaffold.Source{}, none },
		})
		switch {
		case len(template.Modules) == 0 && (template.Name == "empty" || template.Language == "c" || template.Language == "rust"):
			require.NoError(t, err, template.Title)
			require.False(t, asked, template.Title)
			require.NotEmpty(t, files, template.Title)
		default:
			require.ErrorIs(t, err, none, template.Title)
		}
	}
}
