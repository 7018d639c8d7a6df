package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

func (p *provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	r, err := p.resource(ctx, typeOf(request.Type, request.URN))
	if err != nil {
		return abi.CheckResponse{}, err
	}
	ctx, end := begin(ctx, request.URN, 0)
	defer end()
	inputs, failed := r.Inputs.Check(request.News)
	if len(failed) == 0 {
		inputs, failed = r.autoname(&request, inputs)
	}
	if len(failed) > 0 {
		return abi.CheckResponse{Inputs: request.News, Failures: failed}, nil
	}
	failed, err = validate(ctx, r.Attributes, inputs, func(config *tf.Value) (tf.Diagnostics, error) {
		return p.server.ValidateResource(ctx, r.name, config)
	})
	return abi.CheckResponse{Inputs: inputs, Failures: failed}, err
}

// validate lets the provider validate a configuration.
func validate(ctx context.Context, s *tf.Attributes, inputs property.Map, by func(*tf.Value) (tf.Diagnostics, error)) ([]abi.CheckFailure, error) {
	if err := ctx.Err(); err != nil {
		return nil, abi.AsError(err)
	}
	config, err := (&encoder{config: true}).object(s, inputs)
	if err != nil {
		e := abi.AsError(err)
		return []abi.CheckFailure{{Path: e.Path, Reason: e.Message}}, nil
	}
	v, err := encoded(config)
	if err != nil {
		return nil, abi.AsError(err)
	}
	found, err := by(v)
	if err != nil {
		return nil, abi.AsError(err)
	}
	return failures(ctx, found, &located{s, config}), nil
}

// typeOf returns the type of a resource that a request is about.
func typeOf(token string, u urn.URN) string { return cmp.Or(token, u.Type()) }

// plan is the planned change of a resource.
type plan struct {
	prior   recorded
	config  tftypes.Value
	sent    *tf.Value
	planned tftypes.Value
	state   tf.State
	// replace are the attributes whose changes replace the resource, if they change.
	replace []*tftypes.AttributePath
}

// nothing is the state of a resource that does not exist.
func (r *resource) nothing() recorded {
	value := tftypes.NewValue(r.Attributes.Wire(), nil)
	sent, _ := encoded(value) // null is always encoded
	return recorded{State: tf.State{Value: sent}, value: value}
}

// config returns the configuration of inputs, with the timeout in seconds of an operation.
func (r *resource) config(inputs property.Map, operation string, timeout float64) (tftypes.Value, error) {
	config, err := (&encoder{config: true}).object(r.Attributes, inputs)
	if err != nil || timeout <= 0 {
		return config, err
	}
	return r.withTimeout(config, operation, timeout), nil
}

// withTimeout returns an object of the resource with the timeout in seconds of an operation, if it takes
// one and has none.
func (r *resource) withTimeout(v tftypes.Value, operation string, timeout float64) tftypes.Value {
	a := r.Attributes.Get("timeouts")
	if a == nil || timeout <= 0 || a.Type.Kind != tf.Object {
		return v
	}
	of := a.Type.Object.Get(operation)
	parts := fields(v)
	if of == nil || of.Type.Kind != tf.String || parts == nil || isUnknown(parts[a.Name]) {
		return v
	}
	given, values := fields(parts[a.Name]), map[string]tftypes.Value{}
	for _, of := range a.Type.Object.List {
		values[of.Name] = tftypes.NewValue(of.Type.Wire, nil)
		if part, ok := given[of.Name]; ok {
			values[of.Name] = part
		}
	}
	if isNull(values[operation]) {
		values[operation] = tftypes.NewValue(tftypes.String, (time.Duration(timeout * float64(time.Second))).String())
	}
	parts[a.Name] = tftypes.NewValue(a.Type.Wire, values)
	return tftypes.NewValue(v.Type(), parts)
}

// plan asks the provider for a plan of the configuration.
func (p *provider) plan(ctx context.Context, r *resource, prior recorded, config tftypes.Value) (*plan, error) {
	if config.IsNull() {
		return p.planOf(ctx, r, prior, config, config)
	}
	do, err := p.planOf(ctx, r, prior, config, (&proposer{}).propose(r.Attributes, prior.value, config))
	if err != nil || prior.value.IsNull() || same(do.planned, prior.value) {
		return do, err
	}
	// By Terraform's rules, an element of a set that got a default stems from no element, and its computed parts change with each
	// update, for ever. It stems from the element that comes of it unchanged.
	var others []tftypes.Value
	for range maxProposals {
		by := &proposer{defaults: true, others: others}
		proposed := by.propose(r.Attributes, prior.value, config)
		if len(by.stems) == 0 {
			break
		}
		again, err := p.planOf(ctx, r, prior, config, proposed)
		if err != nil {
			break
		}
		kept := elementsOfSets(again.planned)
		wrong := slices.DeleteFunc(by.stems, func(v tftypes.Value) bool { return indexOf(kept, v) >= 0 })
		if len(wrong) == 0 {
			return again, nil
		}
		others = append(others, wrong...)
	}
	return do, nil
}

// maxProposals bounds the plans that are asked for to find out which elements of sets got defaults: each costs a call.
// A second one leaves out what the first found to be changed.
const maxProposals = 3

// elementsOfSets returns the elements of all sets in a value.
func elementsOfSets(v tftypes.Value) (all []tftypes.Value) {
	_ = tftypes.Walk(v, func(_ *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if v.Type().Is(tftypes.Set{}) {
			all = append(all, elements(v)...)
		}
		return true, nil
	})
	return all
}

// planOf asks the provider for a plan of the configuration, by a proposed state.
func (p *provider) planOf(ctx context.Context, r *resource, prior recorded, config, proposed tftypes.Value) (*plan, error) {
	sent, err := encoded(config)
	if err != nil {
		return nil, abi.AsError(err)
	}
	asked, err := encoded(proposed)
	if err != nil {
		return nil, abi.AsError(err)
	}
	response, found, err := p.server.Plan(ctx, tf.PlanRequest{Type: r.name, Prior: prior.State, Proposed: asked, Config: sent})
	if err := outcome(ctx, found, err, &located{r.Attributes, config}); err != nil {
		return nil, err
	}
	out := &plan{prior: prior, config: config, sent: sent, state: response.Planned, replace: response.Replace}
	if out.planned, err = decoded(r.Attributes.Wire(), response.Planned.Value); err != nil {
		return nil, abi.NewError(abi.ErrorKindInternal, "the provider planned a state that its schema does not have: "+err.Error())
	}
	if out.planned.IsNull() != config.IsNull() {
		return nil, abi.NewError(abi.ErrorKindInternal, "the provider planned to delete an object that was to be changed, or the reverse; this is a fault of the provider")
	}
	return out, nil
}

// apply lets the provider do what it planned. The state is null if there is no resource now. The reasons are the errors that the
// provider reported. The faults are attributes of the answer that cannot be read: they are null. If nothing can be read, the
// outcome is unknown.
func (p *provider) apply(ctx context.Context, r *resource, do *plan) (state tf.State, value tftypes.Value, reported []string, faults []fault, err error) {
	state, found, err := p.server.Apply(ctx, tf.ApplyRequest{Type: r.name, Prior: do.prior.Value, Planned: do.state, Config: do.sent})
	if err != nil {
		return state, value, nil, nil, abi.AsError(err)
	}
	where := &located{r.Attributes, do.config}
	for _, d := range found {
		if d.Warning {
			warn(ctx, d, where)
		}
	}
	reported = reasons(found, where, false)
	if value, err = decoded(r.Attributes.Wire(), state.Value); err != nil {
		why := strings.Join(append(reported, "the provider returned a state that its schema does not have: "+err.Error()), "\n")
		if value, faults, err = decodedInPart(r.Attributes, state.Value); err != nil {
			return state, value, nil, nil, abi.NewError(abi.ErrorKindCrashed, why)
		}
		if len(faults) == 0 { // it has attributes that the schema does not have
			faults = []fault{{err: abi.NewError(abi.ErrorKindInternal, why)}}
		}
	}
	if !value.IsFullyKnown() {
		if len(reported) == 0 {
			reported = []string{"the provider returned a state that is not fully known; this is a fault of the provider"}
		}
		value, err = withoutUnknowns(value)
	}
	return state, value, reported, faults, err
}

// unread returns the reasons why a state that the provider returned is recorded in part.
func unread(faults []fault) (reasons []string) {
	for _, f := range faults {
		reasons = append(reasons, "the resource exists, but its state could not be read: "+abi.AsError(f.err).Message)
	}
	return reasons
}

// withoutUnknowns returns the value with null for all that is unknown.
func withoutUnknowns(v tftypes.Value) (tftypes.Value, error) {
	return tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsKnown() {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
}

// failed returns the error for a change that the provider did not complete.
func failed(ctx context.Context, reported []string) *abi.Error {
	e := abi.NewError(abi.ErrorKindInternal, "")
	for i, reason := range reported {
		if i > 0 {
			e.Message += "\n"
		}
		e.Message += reason
	}
	if ctx.Err() != nil {
		e.Kind = abi.ErrorKindCancelled
	}
	return e
}

// halfDone returns the error for a resource that exists, and about which the provider reported errors or
// which cannot be read whole.
func halfDone(id string, state property.Map, reported []string, readFirst bool) error {
	e := abi.NewError(abi.ErrorKindInitFailed, "the resource exists, but the provider reported errors")
	e.InitFailure = &abi.InitFailure{ID: id, State: state, Reasons: reported, RefreshBeforeUpdate: readFirst}
	return e
}

// preview returns the planned state. Only a resource that exists has meta.
func (p *provider) preview(r *resource, do *plan, from property.Map, id string) (property.Map, string, error) {
	state, id, faults := p.properties(r, tf.State{}, do.planned, id, "")
	if len(faults) > 0 {
		return property.Map{}, "", abi.AsError(faults[0].err)
	}
	return keepSecrets(state.Without(metaKey), from), id, nil
}

// guess returns the outputs of a preview that the provider cannot plan: its configuration is not known.
func (r *resource) guess(inputs property.Map) property.Map {
	state := inputs
	for i := range r.Outputs.Properties {
		if name := r.Outputs.Properties[i].Name; !inputs.Has(name) {
			state = state.With(name, property.Unknown)
		}
	}
	for i := range r.Inputs.Properties {
		if name := r.Inputs.Properties[i].Name; r.Outputs.Property(name) == nil {
			state = state.Without(name)
		}
	}
	return state
}

func (p *provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	r, err := p.resource(ctx, typeOf(request.Type, request.URN))
	if err != nil {
		return abi.CreateResponse{}, err
	}
	if request.Preview && p.undecided.Load() {
		return abi.CreateResponse{State: r.guess(request.Inputs)}, nil
	}
	if err := p.decided(ctx); err != nil {
		return abi.CreateResponse{}, err
	}
	ctx, end := begin(ctx, request.URN, request.Timeout)
	defer end()
	config, err := r.config(request.Inputs, "create", request.Timeout)
	if err != nil {
		return abi.CreateResponse{}, err
	}
	do, err := p.plan(ctx, r, r.nothing(), config)
	if err != nil {
		return abi.CreateResponse{}, err
	}
	name := cmp.Or(request.Name, request.URN.Name())
	if request.Preview {
		state, id, err := p.preview(r, do, request.Inputs, "")
		return abi.CreateResponse{ID: id, State: state}, err
	}
	made, value, reported, faults, err := p.apply(ctx, r, do)
	if err != nil {
		return abi.CreateResponse{}, err
	}
	if value.IsNull() && len(reported) == 0 {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindCrashed,
			"the provider returned no state and no error for the new resource, so nobody knows whether it exists; this is a fault of the provider")
	}
	if value.IsNull() {
		return abi.CreateResponse{}, failed(ctx, reported)
	}
	state, id, more := p.properties(r, made, value, "", name)
	state = keepSecrets(state, request.Inputs)
	reported = append(reported, unread(append(faults, more...))...)
	if len(reported) > 0 {
		return abi.CreateResponse{}, halfDone(id, taint(state), reported, false)
	}
	return abi.CreateResponse{ID: id, State: state}, nil
}

func (p *provider) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	r, err := p.resource(ctx, typeOf(request.Type, request.URN))
	if err != nil {
		return abi.UpdateResponse{}, err
	}
	if request.Preview && p.undecided.Load() {
		return abi.UpdateResponse{State: r.guess(request.News)}, nil
	}
	if err := p.decided(ctx); err != nil {
		return abi.UpdateResponse{}, err
	}
	ctx, end := begin(ctx, request.URN, request.Timeout)
	defer end()
	do, err := p.planChange(ctx, r, change{
		id: request.ID, olds: request.Olds, news: request.News, oldInputs: request.OldInputs, ignore: request.IgnoreChanges,
		operation: "update", timeout: request.Timeout,
	})
	if err != nil {
		return abi.UpdateResponse{}, err
	}
	from := keepSecrets(request.News, request.Olds) // secrets stay secret
	if request.Preview {
		state, _, err := p.preview(r, do, from, request.ID)
		return abi.UpdateResponse{State: keepSecrets(state, request.Olds)}, err
	}
	if path := r.replacing(do); path != nil {
		e := abi.NewError(abi.ErrorKindInvalidArgument, "the provider cannot change this property in place; replace the resource")
		e.Path = path.String()
		return abi.UpdateResponse{}, e
	}
	made, value, reported, faults := tf.State{Private: do.state.Private, Identity: do.prior.Identity}, do.prior.value, []string(nil), []fault(nil)
	if !same(do.planned, do.prior.value) {
		if made, value, reported, faults, err = p.apply(ctx, r, do); err != nil {
			return abi.UpdateResponse{}, err
		}
	}
	if value.IsNull() && len(reported) == 0 {
		reported = []string{"the provider returned no state for the changed resource; this is a fault of the provider"}
	}
	if len(reported) > 0 && (value.IsNull() || same(value, do.prior.value)) {
		return abi.UpdateResponse{}, failed(ctx, reported)
	}
	state, _, more := p.properties(r, made, value, request.ID, "")
	faults = append(faults, more...)
	for _, f := range faults {
		if v := request.Olds.Get(f.property); !v.IsNull() {
			state = state.With(f.property, v)
		}
	}
	state = keepSecrets(keepSecrets(state, from), request.Olds)
	if reported = append(reported, unread(faults)...); len(reported) > 0 {
		return abi.UpdateResponse{}, halfDone(request.ID, state, reported, len(faults) > 0)
	}
	return abi.UpdateResponse{State: state}, nil
}

func (p *provider) Delete(ctx context.Context, request abi.DeleteRequest) error {
	r, err := p.resource(ctx, typeOf(request.Type, request.URN))
	if err != nil {
		return err
	}
	if err := p.decided(ctx); err != nil {
		return err
	}
	ctx, end := begin(ctx, request.URN, request.Timeout)
	defer end()
	prior, err := p.recorded(ctx, r, request.State, request.ID)
	if err != nil {
		return err
	}
	if request.Timeout > 0 {
		prior.value = r.withTimeout(prior.value, "delete", request.Timeout)
		if prior.Value, err = encoded(prior.value); err != nil {
			return abi.AsError(err)
		}
		prior.Private = withTimeout(prior.Private, "delete", request.Timeout)
	}
	gone := r.nothing()
	do := &plan{
		prior: prior, config: gone.value, sent: gone.Value, planned: gone.value,
		state: tf.State{Value: gone.Value, Private: prior.Private, Identity: prior.Identity},
	}
	if p.pkg.schemas.PlanDestroy {
		if do, err = p.plan(ctx, r, prior, gone.value); err != nil {
			return err
		}
	}
	_, value, reported, _, err := p.apply(ctx, r, do)
	if err != nil {
		return err
	}
	if len(reported) == 0 && !value.IsNull() {
		reported = []string{"the provider reports that the resource still exists after it was deleted"}
	}
	if len(reported) > 0 {
		return failed(ctx, reported)
	}
	return nil
}

// sdkTimeouts is the key of the timeouts in the private state of the plugin SDK, in nanoseconds.
const sdkTimeouts = "e2bfb730-ecaa-11e6-8f88-34363bc7c4c0"

// withTimeout returns the private state of the plugin SDK with a timeout in seconds, and any other as it is.
func withTimeout(private []byte, operation string, timeout float64) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(private, &all) != nil || all[sdkTimeouts] == nil {
		return private
	}
	timeouts := map[string]json.RawMessage{}
	if json.Unmarshal(all[sdkTimeouts], &timeouts) != nil {
		return private
	}
	timeouts[operation] = json.RawMessage(strconv.FormatInt(int64(timeout*float64(time.Second)), 10))
	changed, err := json.Marshal(timeouts)
	if err != nil {
		return private
	}
	all[sdkTimeouts] = changed
	if changed, err = json.Marshal(all); err != nil {
		return private
	}
	return changed
}
