package lsp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/testkit/strangertest"
)

// What a project names that is not trusted is not read for the editor either, which says so where it is named.
func TestStrangersFindNothingByTheEditor(t *testing.T) {
	place := strangertest.New(t, "127.0.0.1:1")
	e := newEditorOf(t, t.TempDir(), func(dir string) *projectroot.Root { return projectroot.New(dir, projectroot.Untrusted) })
	n, part := 0, 3
	if testing.Short() {
		part = 20
	}
	for _, row := range strangertest.Rows {
		if row.Kind == strangertest.Text {
			continue
		}
		for _, way := range place.Ways(row.Kind) {
			if n++; n%part != 0 { // each key with some of the ways, and each way with some of the keys
				continue
			}
			e.dir = place.Project(row, way)
			text, err := os.ReadFile(filepath.Join(e.dir, "Husk.yaml"))
			require.NoError(t, err)
			e.versions = map[string]int{}
			found := strings.Join(e.check("Husk.yaml", string(text)), "\n")
			require.NotContains(t, found, strangertest.Canary, "%s names %s", row.Key, way.Name)
			if way.Outside && row.Loads {
				require.Contains(t, found, "not trusted", "%s names %s", row.Key, way.Name)
			}
		}
	}
	place.RequireUntouched()
}

// The editor evaluates a program as far as a preview would.
func TestTheEditorHasTheLimitsOfTheProject(t *testing.T) {
	e := newEditorOf(t, t.TempDir(), func(dir string) *projectroot.Root { return projectroot.New(dir, projectroot.Untrusted) })
	for _, variables := range []string{"{a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}", "{a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\nconfig: {missing: {type: string}}"} {
		e.versions = map[string]int{}
		found := e.check("Husk.yaml", "name: shop\nruntime: yaml\nplugins: {limits: {evaluation-steps: 10}}\nvariables: "+variables+"\n")
		require.Contains(t, strings.Join(found, "\n"), "the program takes more than the 10 steps that its evaluation may take")
	}
}
