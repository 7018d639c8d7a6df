package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/autonaming"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/internal/selection"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// run is the state of a run that is fixed when it begins, except the mode. All parts of the run share it.
type run struct {
	settings
	preview *preview
	mode    mode
	// began is when the run began.
	began time.Time
	// naming is nil if the stack has no policy for names.
	naming    *autonaming.Policy
	selection *selection.Selection
}

// preview says whether a run is a preview, and whether any code asked, because an update does something else there. If no code asked
// and the preview would record nothing, it has done all that the update would do.
type preview struct {
	is   bool
	told atomic.Bool
}

// previews reports whether the run is a preview, for code that does something else in an update. It is the last of several conditions,
// because asking is noted.
func (r *run) previews() bool {
	r.preview.told.Store(true)
	return r.preview.is
}

// events hands events to the caller of a run, and counts what they tell of.
type events struct {
	to      func(Event)                         // nil for nobody
	steps   func(before, after *state.Resource) // likewise
	secrets *redact.Secrets

	mu           sync.Mutex
	changes      Changes
	actions      int
	policyCounts *PolicyCounts // nil if there are no policies
}

// mode is the purpose of the program's registrations.
type mode int

const (
	// updating drives resources to their goals.
	updating mode = iota
	// refreshing reads them, destroying and acting leave them alone. There the program runs to configure providers
	// anew, for example with a token that has changed. Nothing but providers is created or changed.
	refreshing
	destroying
	acting
)

// mayHaveUnknowns reports whether values may be unknown in this run.
func (r *run) mayHaveUnknowns() bool { return r.mode != updating || r.previews() }

// learn has Secrets learn the secrets of the configuration and of the state. It leaves out lists and objects of
// the configuration, whose parts may be no secrets; they are learned when they are used.
func (r *run) learn(snapshot *state.Snapshot) {
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

// stackOutputs returns the outputs of the stack, as they are now.
func (d *deployment) stackOutputs() property.Map { return outputsOf(d.root()) }

func outputsOf(root *state.Resource) property.Map {
	if root == nil {
		return property.Map{}
	}
	return root.Outputs
}

// root returns the resource that is the stack itself, nil before it is registered.
func (d *deployment) root() *state.Resource { return rootOf(slices.All(d.recorder.Resources())) }

func rootOf[K any](resources iter.Seq2[K, *state.Resource]) *state.Resource {
	for _, res := range resources {
		if res.Type == urn.RootType && !res.Delete {
			return res
		}
	}
	return nil
}

// begin sets the start time of the run: after all recorded times, even of another machine whose clock is ahead. Times decide
// which of two objects was made first.
func (r *run) begin(snapshot *state.Snapshot) {
	r.began = r.now()
	follow := func(res *state.Resource) {
		for _, recorded := range []time.Time{res.Created, res.Modified} {
			if !recorded.Before(r.began) {
				r.began = recorded.Add(1)
			}
		}
	}
	for _, res := range snapshot.Resources() {
		follow(res)
	}
	for _, op := range snapshot.Operations() {
		follow(op.Resource)
	}
}

// now returns the time, which is never before the run began.
func (r *run) now() time.Time {
	now := time.Now().UTC()
	if r.Now != nil {
		now = r.Now()
	}
	if now.Before(r.began) {
		return r.began
	}
	return now
}

func (e *events) warn(u urn.URN, format string, args ...any) {
	e.diagnose("warning", u, format, args...)
}

func (e *events) diagnose(severity string, u urn.URN, format string, args ...any) {
	e.emit(Diagnostic{Severity: severity, URN: u, Message: fmt.Sprintf(format, args...)})
}

// emit hands an event to the caller, and counts finished steps.
func (e *events) emit(event Event) { e.emitStep(nil, event) }

// emitStep emits an event, which is one of a step unless that is nil.
func (e *events) emitStep(s *step, event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if done, ok := event.(StepDone); ok && (!done.Step.DefaultProvider || done.Step.Op == OpUpdate) {
		e.changes.count(done.Step.Op)
	}
	if _, ok := event.(ActionDone); ok {
		e.actions++
	}
	e.policyCounts = e.policyCounts.count(event)
	if s != nil && e.steps != nil {
		e.steps(s.old, s.new)
	}
	if e.to != nil {
		e.to(redact.Copy(e.secrets, event))
	}
}

// readNaming reads the policy for names from the stack's configuration.
func (r *run) readNaming() error {
	policy, ok := r.configEntry(autonaming.Key)
	if !ok {
		return nil
	}
	var err error
	r.naming, err = autonaming.Parse(policy.Value, autonaming.Names{
		Organization: r.Organization, Project: r.Project, Stack: r.Stack, Config: r.configEntry,
	})
	return err
}

func (r *run) configEntry(key string) (abi.ConfigEntry, bool) {
	i := slices.IndexFunc(r.Config, func(c abi.ConfigEntry) bool { return c.Key == key })
	if i < 0 {
		return abi.ConfigEntry{}, false
	}
	return r.Config[i], true
}

// migrate gives resources of old states without a provider the default one of their package.
func (d *deployment) migrate(ctx context.Context) (*state.Snapshot, error) {
	before := d.State.Snapshot()
	snapshot, migrated, err := edit.AddDefaultProviders(before, d.packageConfig)
	if err != nil || len(migrated) == 0 || d.previews() {
		return snapshot, err
	}
	if err := d.State.Replace(ctx, snapshot); err != nil {
		return before, fmt.Errorf("saving the providers of resources that named none: %w", err)
	}
	return d.State.Snapshot(), nil
}

// defaultsAllowed enforces the configuration pulumi:disable-default-providers, a JSON list of package names or
// "*". The engine's own package is always allowed.
func (r *run) defaultsAllowed(pkg string) error {
	c, ok := r.configEntry("pulumi:disable-default-providers")
	if pkg == builtin.Package || !ok {
		return nil
	}
	var packages []string
	err := intake.CheckJSON([]byte(c.Value), &packages, intake.Allowance)
	if err == nil {
		err = json.Unmarshal([]byte(c.Value), &packages)
	}
	if err != nil {
		return fmt.Errorf("configuration pulumi:disable-default-providers must be a JSON list of package names: %w", jsonerror.Explain([]byte(c.Value), err))
	}
	if slices.Contains(packages, pkg) || slices.Contains(packages, "*") {
		return fmt.Errorf("the default provider of package %q is disabled by configuration: "+
			"give the resource an explicit provider", pkg)
	}
	return nil
}

func (r *run) packageConfig(pkg string) property.Map { return PackageConfig(r.Config, pkg) }

// DynamicPackage is the package of the dynamic resources of Pulumi's SDK for Node.js.
const DynamicPackage = "pulumi-nodejs"

// PackageConfig returns a stack's configuration of a package, by the names that its provider knows. The code of
// dynamic resources is the program's own, so that their provider gets all of it, with namespaces.
func PackageConfig(config []abi.ConfigEntry, pkg string) property.Map {
	var entries []property.Entry
	for _, c := range config {
		key, ok := strings.CutPrefix(c.Key, pkg+":")
		if pkg == DynamicPackage {
			key, ok = c.Key, true
		}
		if !ok {
			continue
		}
		v := property.String(c.Value)
		if c.Secret {
			v = property.Secret(v)
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	return property.NewMap(entries...)
}

func (r *run) runContext() abi.RunContext {
	c := r.pureContext()
	c.DryRun = r.mayHaveUnknowns()
	return c
}

// pureContext is runContext for a [Pure] program, which goes by unknown values alone.
func (r *run) pureContext() abi.RunContext {
	return abi.RunContext{
		Project: r.Project, Stack: r.Stack, Organization: r.Organization,
		Config: r.Config, DryRun: r.preview.is || r.mode != updating, Parallel: uint32(r.Parallel),
	}
}

// packageContext returns the context of a component or method of a package. Of the secrets in the configuration
// it has the package's alone.
func (r *run) packageContext(pkg string) abi.RunContext {
	c := r.runContext()
	c.Config = nil
	for _, entry := range r.Config {
		if namespace, _, _ := strings.Cut(entry.Key, ":"); !entry.Secret || namespace == pkg {
			c.Config = append(c.Config, entry)
		}
	}
	return c
}
