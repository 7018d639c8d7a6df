package runapi_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// TestClaimsOfServersThatLie has a worker take no claim whose names would be those of other files, or whose options are flags
// that no run may have.
func TestClaimsOfServersThatLie(t *testing.T) {
	good := func() *runapi.Claim {
		return &runapi.Claim{
			Run:  runapi.Run{NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "p", Stack: "s", Operation: "up", Bundle: "sha256:" + strings.Repeat("0", 64), Options: []string{"--target=x"}}},
			Team: "acme", Token: "token", Next: 1, BeatSeconds: 10,
		}
	}
	require.NoError(t, good().Check())
	for what, change := range map[string]func(*runapi.Claim){
		"no ID":           func(c *runapi.Claim) { c.ID = "" },
		"an ID":           func(c *runapi.Claim) { c.ID = "../../../../../../etc/cron" },
		"a bundle":        func(c *runapi.Claim) { c.Bundle = "sha256:../../../etc/passwd" },
		"a directory":     func(c *runapi.Claim) { c.Directory = "../x" },
		"a drive":         func(c *runapi.Claim) { c.Directory = `C:\x` },
		"a project":       func(c *runapi.Claim) { c.Project = ".." },
		"a stack":         func(c *runapi.Claim) { c.Stack = "--yes" },
		"an operation":    func(c *runapi.Claim) { c.Operation = "--help" },
		"an answer":       func(c *runapi.Claim) { c.Operation, c.Options = "destroy", []string{"--preview-only=maybe"} },
		"a flag":          func(c *runapi.Claim) { c.Options = []string{"--cwd=/"} },
		"an argument":     func(c *runapi.Claim) { c.Options = []string{"/etc"} },
		"a team":          func(c *runapi.Claim) { c.Team = "../other" },
		"no token":        func(c *runapi.Claim) { c.Token = "" },
		"a place":         func(c *runapi.Claim) { c.Next = -1 },
		"no time":         func(c *runapi.Claim) { c.BeatSeconds = 0 },
		"a negative time": func(c *runapi.Claim) { c.BeatSeconds = -1 },
		"no number":       func(c *runapi.Claim) { c.BeatSeconds = math.NaN() },
		"a long message":  func(c *runapi.Claim) { c.Message = strings.Repeat("x", 5000) },
	} {
		claim := good()
		change(claim)
		require.Error(t, claim.Check(), what)
	}
}

// TestWhatChangesSomething has each way to say whether a run only previews, as its command line reads them.
func TestWhatChangesSomething(t *testing.T) {
	for options, changes := range map[string]bool{
		"": true, "--preview-only": false, "--preview-only=true": false, "--preview-only=1": false, "--preview-only=T": false,
		"--preview-only=0": true, "--preview-only=F": true, "--preview-only=False": true, "--preview-only=false": true,
		"--preview-only --preview-only=0": true, "--preview-only=f --preview-only": false, "--preview-only --parallel=2": false,
	} {
		n := runapi.NewRun{Operation: "destroy", Options: strings.Fields(options)}
		require.Equal(t, changes, n.Changes(), options)
		n.Operation = "preview"
		require.False(t, n.Changes())
	}
}
