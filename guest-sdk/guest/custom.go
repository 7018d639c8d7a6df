package guest

import (
	"context"
	"errors"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/autoname"
)

// The methods of resources: the part that is the same for all of them, around the author's code.

func (s *server) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return abi.CheckResponse{}, err
	}
	inputs, failures := r.Inputs.Check(request.News)
	if len(failures) > 0 || s.undecided.Load() {
		return abi.CheckResponse{Inputs: inputs, Failures: failures}, nil
	}
	if inputs, failures = r.autoname(&request, inputs); len(failures) > 0 {
		return abi.CheckResponse{Inputs: inputs, Failures: failures}, nil
	}
	ctx, leave := s.within(ctx, request.URN, 0)
	defer leave.End()
	inputs, failures, err = r.check(ctx, &request, inputs)
	return abi.CheckResponse{Inputs: inputs, Failures: failures}, answerError(err)
}

func (s *server) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return abi.DiffResponse{}, err
	}
	found, err := r.Resource.Diff(request)
	if err != nil || s.undecided.Load() || r.SchemaDiff {
		return found, err
	}
	ctx, leave := s.within(ctx, request.URN, 0)
	defer leave.End()
	response, err := r.diff(ctx, &request, found)
	if err != nil {
		return abi.DiffResponse{}, answerError(err)
	}
	response.DeleteBeforeReplace = response.DeleteBeforeReplace || len(r.Identity) > 0 && found.DeleteBeforeReplace
	return summarize(response, request.IgnoreChanges)
}

// summarize computes the keys of a diff from its details, without changes that the user ignores.
func summarize(d abi.DiffResponse, ignore []string) (abi.DiffResponse, error) {
	d.HasDetailedDiff = true
	d.Changes = abi.DiffChangesNone
	d.ChangedKeys, d.ReplaceKeys = nil, nil
	details := d.DetailedDiff
	if len(details) == 0 {
		d.DetailedDiff = nil
		return d, nil // stable properties stay so
	}
	d.DetailedDiff = nil
	for _, change := range details {
		path, err := property.ParsePath(change.Path)
		if err != nil || len(path) == 0 {
			return d, abi.NewError(abi.ErrorKindInternal, "the provider's Diff answered a path that is none: "+change.Path)
		}
		if ignored(ignore, path) {
			continue
		}
		d.DetailedDiff = append(d.DetailedDiff, change)
		d.Changes = abi.DiffChangesSome
		key, _ := path[0].Key()
		if !slices.Contains(d.ChangedKeys, key) {
			d.ChangedKeys = append(d.ChangedKeys, key)
		}
		switch change.Kind {
		case abi.DiffKindAddReplace, abi.DiffKindDeleteReplace, abi.DiffKindUpdateReplace:
			if !slices.Contains(d.ReplaceKeys, key) {
				d.ReplaceKeys = append(d.ReplaceKeys, key)
			}
		}
	}
	d.StableKeys = slices.DeleteFunc(slices.Clone(d.StableKeys), func(key string) bool {
		return len(d.ReplaceKeys) > 0 || slices.Contains(d.ChangedKeys, key)
	})
	return d, nil
}

// ignored reports whether one of the patterns contains the path. The schema's diff has refused wrong
// patterns.
func ignored(patterns []string, path property.Path) bool {
	return slices.ContainsFunc(patterns, func(text string) bool {
		pattern, err := property.ParsePath(text)
		return err == nil && pattern.Contains(path)
	})
}

func (s *server) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return abi.CreateResponse{}, err
	}
	if request.Preview {
		state, err := s.preview(ctx, r, &abi.UpdateRequest{
			URN: request.URN, Name: request.Name, Type: request.Type, News: request.Inputs,
		})
		return abi.CreateResponse{State: state}, err
	}
	if err := s.ready(ctx, request.Inputs); err != nil {
		return abi.CreateResponse{}, err
	}
	ctx, leave := s.within(ctx, request.URN, request.Timeout)
	defer leave.End()
	response, err := r.create(ctx, &request)
	if response.ID == "" {
		if err == nil { // nobody knows whether there is an object
			err = abi.NewError(abi.ErrorKindCrashed, "the provider's Create returned no ID")
		}
		return abi.CreateResponse{}, answerError(err)
	}
	response.State = inheritSecrets(response.State, request.Inputs, r.asState(request.Inputs))
	if err != nil {
		return abi.CreateResponse{}, unhealthy(err, response.ID, response.State)
	}
	return response, nil
}

func (s *server) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return abi.UpdateResponse{}, err
	}
	if request.Preview {
		state, err := s.preview(ctx, r, &request)
		return abi.UpdateResponse{State: state}, err
	}
	if err := s.ready(ctx, request.News); err != nil {
		return abi.UpdateResponse{}, err
	}
	ctx, leave := s.within(ctx, request.URN, request.Timeout)
	defer leave.End()
	state, err := r.update(ctx, &request)
	state = inheritSecrets(state, request.News, r.asState(request.News))
	switch {
	case err == nil:
		return abi.UpdateResponse{State: state}, nil
	case errors.Is(err, abi.ErrInitFailed):
		return abi.UpdateResponse{}, unhealthy(err, request.ID, state)
	}
	return abi.UpdateResponse{}, answerError(err)
}

func (s *server) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return abi.ReadResponse{}, err
	}
	if err := s.decided(ctx); err != nil {
		return abi.ReadResponse{}, err
	}
	ctx, leave := s.within(ctx, request.URN, request.Timeout)
	defer leave.End()
	response, err := r.read(ctx, &request)
	if errors.Is(err, ErrGone) {
		return abi.ReadResponse{}, nil // an empty ID says so
	}
	if err != nil {
		return abi.ReadResponse{}, answerError(err)
	}
	if request.State != nil {
		response.State = inheritSecrets(response.State, *request.State, *request.State)
	}
	if request.Inputs != nil {
		response.State = inheritSecrets(response.State, *request.Inputs, r.asState(*request.Inputs))
	}
	return response, nil
}

func (s *server) Delete(ctx context.Context, request abi.DeleteRequest) error {
	r, err := s.resource(request.Type, request.URN)
	if err != nil {
		return err
	}
	if err := s.decided(ctx); err != nil {
		return err
	}
	ctx, leave := s.within(ctx, request.URN, request.Timeout)
	defer leave.End()
	if err := r.delete(ctx, &request); err != nil && !errors.Is(err, ErrGone) {
		return answerError(err)
	}
	return nil
}

// ready refuses to run the author's code with an unknown configuration or unknown inputs.
func (s *server) ready(ctx context.Context, inputs property.Map) error {
	if err := s.decided(ctx); err != nil {
		return err
	}
	return known("input", inputs)
}

// unhealthy returns err as the failure of a resource that exists.
func unhealthy(err error, id string, state property.Map) error {
	e := *abi.AsError(err)
	failure := abi.InitFailure{Reasons: []string{e.Message}}
	if e.InitFailure != nil {
		failure = *e.InitFailure
	} else {
		e.Message = "the resource exists but is not healthy"
	}
	failure.ID, failure.State = id, state
	e.Kind, e.InitFailure = abi.ErrorKindInitFailed, &failure
	return &e
}

// preview returns the state that Create or Update would return. request.ID is empty for Create.
func (s *server) preview(ctx context.Context, r *resource, request *abi.UpdateRequest) (property.Map, error) {
	state := r.foretell(request.News, request.Olds)
	if s.undecided.Load() || request.News.ContainsUnknowns() {
		return state, nil
	}
	ctx, leave := s.within(ctx, request.URN, request.Timeout)
	defer leave.End()
	known, names, err := r.preview(ctx, request)
	if err != nil {
		return property.Map{}, answerError(err)
	}
	known = inheritSecrets(known, request.News, r.asState(request.News))
	for _, name := range names {
		if r.Outputs.Property(name) == nil {
			return property.Map{}, abi.NewError(abi.ErrorKindInternal, "the provider's Preview knows a property that the state does not have: "+name)
		}
		state = state.With(name, known.Get(name))
	}
	return state, nil
}

// foretell returns the state that follows from the inputs alone: outputs with the name and type of an
// input have its value, stable outputs keep theirs, and all others are unknown.
func (r *resource) foretell(inputs, old property.Map) property.Map {
	repeated := r.asState(inputs)
	entries := make([]property.Entry, 0, len(r.Outputs.Properties))
	for i := range r.Outputs.Properties {
		p := &r.Outputs.Properties[i]
		v := property.Unknown
		in := r.Inputs.Property(p.Name)
		if in != nil && !in.Type.Equal(p.Type) {
			in = nil
		}
		switch given := inputs.Get(p.Name); {
		case in != nil && given.ContainsUnknowns():
			v = given
		case in != nil && !(in.Computed && given.Plain().IsNull()):
			v = copyMarks(repeated.Get(p.Name), given)
		case p.Stable && old.Has(p.Name):
			v = old.Get(p.Name)
		}
		if p.Secret {
			v = property.Secret(v)
		}
		entries = append(entries, property.Entry{Key: p.Name, Value: v})
	}
	return property.NewMap(entries...)
}

// autoname gives a resource its name where the program gives none.
func (r *resource) autoname(request *abi.CheckRequest, inputs property.Map) (property.Map, []abi.CheckFailure) {
	key, longest := r.inputs.Autoname()
	if key == "" || !inputs.Get(key).Plain().IsNull() {
		return inputs, nil
	}
	if request.Olds != nil && !request.Olds.Get(key).Plain().IsNull() {
		return inputs.With(key, request.Olds.Get(key)), nil
	}
	name, refused := autoname.For(request, autoname.Form{Separator: "-", Longest: longest})
	if refused != "" {
		return inputs, []abi.CheckFailure{{Path: key, Reason: refused}}
	}
	v := property.String(name)
	if r.Inputs.Property(key).Secret {
		v = property.Secret(v)
	}
	return inputs.With(key, v), nil
}
