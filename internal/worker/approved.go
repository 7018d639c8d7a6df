package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/atomicfile"
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/workspace"
)

// refuse ends a run that does not begin.
func (j *journal) refuse(err error) done {
	j.write(runapi.Server, "The run could not begin: "+err.Error())
	return done{End: runapi.End{Outcome: runapi.Failed, Reason: err.Error()}}
}

// base is where the state was that the preview of a destruction or a refresh has read. It takes the place of a plan, which
// these have not: the server, which has no state of an edge worker, keeps it for the approved run.
type base struct {
	// Position is how many steps the state has had.
	Position uint64 `json:"position"`
}

// approved does a run. One that destroys or refreshes and was approved is done only if the stack is as its preview saw it, or
// if it has begun before.
func (e *edge) approved(stop, kill context.Context, claim *runapi.Claim, j *journal) done {
	if claim.Operation == "up" || !claim.Previewing && claim.ApprovedBy == "" {
		return e.attempt(stop, kill, claim, j)
	}
	at, err := e.position(stop, &claim.Run)
	if claim.Previewing {
		if err != nil {
			return j.refuse(fmt.Errorf("the state of the stack, which its approval is for: %w", err))
		}
		done := e.attempt(stop, kill, claim, j)
		if done.Outcome == runapi.Succeeded {
			done.Plan, err = json.Marshal(base{at})
			if err != nil {
				return j.refuse(err)
			}
		}
		return done
	}
	var seen base
	begun := filepath.Join(e.dir("approved"), claim.ID)
	_, missing := os.Stat(begun)
	switch {
	case missing == nil: // it changes the stack itself
	case err != nil:
		return j.refuse(err)
	case len(claim.Plan) == 0:
		return j.refuse(errors.New("its preview was made by an older version of husk, and has not noted the state that it saw: ask for the run again"))
	case json.Unmarshal(claim.Plan, &seen) != nil || seen.Position != at:
		return j.refuse(fmt.Errorf("the stack %s was changed after the preview that %s has approved: ask for the run %s again", claim.Stack, claim.ApprovedBy, claim.Operation))
	default:
		if err := atomicfile.Write(begun, nil, 0o600); err != nil {
			return j.refuse(err)
		}
	}
	claim.Plan = nil
	return e.attempt(stop, kill, claim, j)
}

// position returns how many steps the state of a run's stack has had, 0 if there is none.
func (e *edge) position(ctx context.Context, run *runapi.Run) (uint64, error) {
	b, err := workspace.OpenURL(ctx, e.stacksURL(), workspace.Options{})
	if err != nil {
		return 0, err
	}
	if b.Close != nil {
		defer b.Close()
	}
	c, err := b.State.Load(ctx, state.StackName{Project: run.Project, Name: run.Stack})
	if errors.Is(err, state.ErrStackNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return c.Sequence + uint64(len(c.Records)), nil
}
