package display

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
)

func TestReviewListsLossesLast(t *testing.T) {
	preview, execution := engine.Started{DryRun: true, Operation: "update", Project: "demo", Stack: "dev"}, engine.Started{Operation: "update"}
	done := func(op engine.Op, name string) engine.Event { return engine.StepDone{Step: step(op, name)} }
	losses := func(events ...engine.Event) string {
		var r Review
		for _, e := range events {
			r.Event(e)
		}
		return r.Losses(Style{})
	}
	require.Empty(t, losses(preview, done(engine.OpCreate, "one"), done(engine.OpUpdate, "two")))
	require.Empty(t, losses(preview, done(engine.OpDelete, "one")), "the preview itself shows it last")
	require.Equal(t, "Will be deleted or replaced:\n"+
		"  -  lab:Thing old                            delete\n"+
		"  +- lab:Thing two                            replace\n",
		losses(preview, done(engine.OpDelete, "old"), done(engine.OpCreate, "one"), done(engine.OpSame, "same"),
			done(engine.OpCreateReplacement, "two"), done(engine.OpReplace, "two"), done(engine.OpDeleteReplaced, "two"),
			execution, done(engine.OpDelete, "later")))
	require.Contains(t, func() string {
		var r Review
		for _, e := range []engine.Event{preview, done(engine.OpCreate, "one"), done(engine.OpDelete, "old")} {
			r.Event(e)
		}
		return r.Losses(Style{Colour: true})
	}(), Style{Colour: true}.bad("-  lab:Thing old                            delete"))
}

func TestReviewShowsDetails(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	out := NewOutput(file, &redact.Secrets{})
	var r Review
	changed := step(engine.OpUpdate, "one")
	changed.Diff = []engine.PropertyChange{{Path: "size", Kind: "update", Old: "1", New: "2"}}
	for _, e := range []engine.Event{
		engine.Started{DryRun: true, Operation: "update", Project: "demo", Stack: "dev"},
		engine.StepDone{Step: changed},
		engine.Summary{Changes: engine.Changes{Update: 1}},
	} {
		r.Event(e)
	}
	r.Details(out, out)
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Contains(t, string(text), "  ~  lab:Thing one                            update [size]\n        ~ size: 1 => 2\n")
	require.Contains(t, string(text), "Preview done in 0.0s: 1 to update.\n")
}
