package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/workspace"
)

// refuse ends a run that does not begin.
func (j *journal) refuse(err error) done {
	j.write(runapi.Worker, "The run could not begin: "+err.Error())
	return done{End: runapi.End{Outcome: runapi.Failed, Reason: err.Error()}}
}

// base is where the state was that a preview which is to be approved has read. It takes the place of the plan and has it, if
// there is one: the server, which has no state of an edge worker, keeps it for the approved run.
type base struct {
	// Position is how many steps the state has had.
	Position uint64 `json:"position"`
	// Plan is the plan of an update.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// readBase reads what a preview has left with the server. Earlier versions have left the plan of an update alone, or nothing.
func readBase(text []byte) (seen base, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&seen) != nil {
		return base{}, errors.New("its preview was made by another version of husk, and has not noted the state that it saw: ask for the run again")
	}
	return seen, nil
}

// approved does a run. An approved run executes only if the stack is as its preview saw it, or if it has begun before. The plan
// of the claim becomes the plan of the update.
func (e *edge) approved(stop, kill context.Context, claim *runapi.Claim, j *journal) done {
	if !claim.Previewing && claim.ApprovedBy == "" {
		return e.attempt(stop, kill, claim, j)
	}
	at, err := e.position(stop, &claim.Run)
	if claim.Previewing {
		if err != nil {
			return j.refuse(fmt.Errorf("the state of the stack, which its approval is for: %w", err))
		}
		done := e.attempt(stop, kill, claim, j)
		if done.Outcome == runapi.Succeeded {
			done.Plan, err = json.Marshal(base{at, done.Plan})
			if err != nil {
				return j.refuse(err)
			}
		}
		return done
	}
	seen, unread := readBase(claim.Plan)
	begun := filepath.Join(e.dir("approved"), claim.ID)
	_, missing := os.Stat(begun)
	switch {
	case unread != nil:
		return j.refuse(unread)
	case missing == nil: // it changes the stack itself
	case err != nil:
		return j.refuse(err)
	case seen.Position != at:
		return j.refuse(fmt.Errorf("the stack %s was changed after the preview that %s has approved: ask for the run %s again", claim.Stack, claim.ApprovedBy, claim.Operation))
	default:
		if err := atomicfile.Write(begun, nil, 0o600); err != nil {
			return j.refuse(err)
		}
	}
	claim.Plan = seen.Plan
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
