package engine

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/autonaming"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/callbacks"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/selection"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// runState is what one run holds. The generator, which decides steps, and the deployment, which
// takes them, share it; it knows neither of them.
type runState struct {
	Deployment
	dryRun        bool
	mode          mode
	recorder      *record.Recorder
	registrations registrations
	selection     *selection.Selection
	failures      *failures
	planning      *planning
	registry      *registry
	assets        *asset.Assets
	schemas       schemas
	hooks         callbacks.Hooks
	// policies is nil if there are none.
	policies *analysis.Panel
	// naming is nil if the stack has no policy for names.
	naming *autonaming.Policy

	eventMu      sync.Mutex
	changes      Changes
	policyCounts *PolicyCounts // nil if there are no policies
}

// mode is what the registrations of the program are for.
type mode int

const (
	// updating drives resources to their goals.
	updating mode = iota
	// refreshing reads them, destroying lets them be. In both, the program runs
	// since it configures providers anew, for example with a token that is no longer
	// the one that the state holds; nothing but providers is created or changed, and
	// what a resource that does not exist would have is not known.
	refreshing
	destroying
)

// unknowns reports whether values may be unknown in this run.
func (r *runState) unknowns() bool { return r.dryRun || r.mode != updating }

// learn tells Secrets what is secret in the configuration and in the state. A part of a list or
// object of the configuration is told when it is used: the rest of it may be none.
func (r *runState) learn(snapshot *state.Snapshot) {
	for _, e := range r.Config {
		if e.Secret && !strings.HasPrefix(e.Value, "{") && !strings.HasPrefix(e.Value, "[") {
			r.Secrets.Learn(e.Value)
		}
	}
	for _, res := range snapshot.Resources() {
		r.Secrets.LearnComputed(res.Inputs)
		r.Secrets.LearnFrom(res.Outputs)
	}
	for _, op := range snapshot.Operations() {
		r.Secrets.LearnComputed(op.Resource.Inputs)
		r.Secrets.LearnFrom(op.Resource.Outputs)
	}
}

// stackOutputs returns the outputs of the stack's root.
func (r *runState) stackOutputs() property.Map {
	if root := r.root(); root != nil {
		return root.Outputs
	}
	return property.Map{}
}

// root returns the resource that is the stack itself, nil before it is registered.
func (r *runState) root() *state.Resource {
	for _, res := range r.recorder.Resources() {
		if res.Type == urn.RootType && !res.Delete {
			return res
		}
	}
	return nil
}

func (r *runState) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now().UTC()
}

func (r *runState) warn(u urn.URN, format string, args ...any) {
	r.diagnose("warning", u, format, args...)
}

func (r *runState) diagnose(severity string, u urn.URN, format string, args ...any) {
	r.emit(Diagnostic{Severity: severity, URN: u, Message: fmt.Sprintf(format, args...)})
}

// emit hands an event to the one who watches, and counts finished steps.
func (r *runState) emit(e Event) {
	r.eventMu.Lock()
	defer r.eventMu.Unlock()
	if done, ok := e.(StepDone); ok && (!done.Step.DefaultProvider || done.Step.Op == OpUpdate) {
		r.changes.count(done.Step.Op)
	}
	r.policyCounts = r.policyCounts.count(e)
	if r.Events != nil {
		r.Events(redact.Copy(r.Secrets, e))
	}
}
