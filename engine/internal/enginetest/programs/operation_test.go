package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// What an option says must mean something together with the others: nothing is ignored.
func TestOptionsThatSayNothingAreRefused(t *testing.T) {
	p := enginetest.Program(func(*enginetest.Run) error { return nil })
	target, exclude := []engine.Pattern{"**::a"}, []engine.Pattern{"**::b"}
	for _, c := range []struct {
		operation engine.Operation
		message   string
	}{
		{engine.Up{}, "there is no program"},
		{engine.Up{Program: p, DraftPlan: true}, "DraftPlan is an option of Preview"},
		{engine.Up{Program: p, Selection: engine.Selection{ExcludeProtected: true}}, "ExcludeProtected is an option of Destroy"},
		{engine.Refresh{Selection: engine.Selection{ExcludeProtected: true}}, "ExcludeProtected is an option of Destroy"},
		{engine.Refresh{Selection: engine.Selection{Targets: target, Excludes: exclude}}, "either targets or excludes"},
		{engine.Destroy{Selection: engine.Selection{Excludes: exclude, TargetDependents: true}}, "TargetDependents adds what depends on Targets"},
		{engine.Destroy{Selection: engine.Selection{Targets: target, ExcludeDependents: true}}, "ExcludeDependents adds what depends on Excludes"},
	} {
		_, err := engine.Run(t.Context(), engine.Deployment{}, c.operation)
		require.ErrorContains(t, err, c.message)
	}
}
