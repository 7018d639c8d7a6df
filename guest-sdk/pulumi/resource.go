package pulumi

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

func (p *provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if p.undecided.Load() {
		return abi.CheckResponse{Inputs: request.News}, nil
	}
	return p.check(ctx, "Check", request)
}

func (p *provider) check(ctx context.Context, method string, request abi.CheckRequest) (response abi.CheckResponse, err error) {
	var olds property.Map
	if request.Olds != nil {
		olds = *request.Olds
	}
	err = p.call(ctx, request.URN, method, func(q message) {
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.setProperties("olds", p.lower(olds))
		q.setProperties("news", p.lower(request.News))
		q.set("randomSeed", request.RandomSeed)
		if a := request.Autonaming; a != nil && p.accepted.Load().autonaming {
			options := q.make("autonaming")
			options.set("proposed_name", a.ProposedName)
			options.setEnum("mode", protoreflect.EnumNumber(a.Mode))
		}
	}, func(r message) (err error) {
		response.Failures = failuresOf(r)
		response.Inputs, err = r.properties("inputs")
		response.Inputs = p.mark(response.Inputs, request.News)
		return err
	})
	return response, err
}

func (p *provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	if p.undecided.Load() {
		return abi.DiffResponse{}, nil
	}
	return p.diff(ctx, "Diff", request)
}

func (p *provider) diff(ctx context.Context, method string, request abi.DiffRequest) (response abi.DiffResponse, err error) {
	err = p.call(ctx, request.URN, method, func(q message) {
		q.set("id", request.ID)
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.setProperties("olds", p.lower(request.Olds))
		q.setProperties("news", p.lower(request.News))
		q.setProperties("old_inputs", p.lower(request.OldInputs))
		q.setTexts("ignoreChanges", request.IgnoreChanges)
	}, func(r message) error {
		response.Changes = abi.DiffChanges(r.enum("changes"))
		response.DeleteBeforeReplace = r.bool("deleteBeforeReplace")
		response.ReplaceKeys = keysOf(r.texts("replaces"))
		response.StableKeys = keysOf(r.texts("stables"))
		response.ChangedKeys = keysOf(r.texts("diffs"))
		response.HasDetailedDiff = r.bool("hasDetailedDiff")
		r.eachEntry("detailedDiff", func(path string, v protoreflect.Value) {
			d := message{Message: v.Message()}
			response.DetailedDiff = append(response.DetailedDiff, abi.PropertyDiff{
				Path: pathOf(path), Kind: abi.DiffKind(d.enum("kind")), InputDiff: d.bool("inputDiff"),
			})
		})
		sortByKey(response.DetailedDiff, func(d abi.PropertyDiff) string { return d.Path })
		return nil
	})
	return response, err
}

// keysOf returns the top-level properties of paths, each once. Some providers answer paths where the
// protocol has keys.
func keysOf(paths []string) []string {
	var keys []string
	seen := map[string]bool{}
	for _, text := range paths {
		key := text
		if path, err := property.ParsePath(text); err == nil && len(path) > 0 {
			if first, ok := path[0].Key(); ok {
				key = first
			}
		}
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// cannotPreview reports whether outputs are unknown in a preview, because the server cannot tell them.
func (p *provider) cannotPreview(preview bool) bool {
	return preview && (p.undecided.Load() || !p.accepted.Load().preview)
}

func (p *provider) Create(ctx context.Context, request abi.CreateRequest) (response abi.CreateResponse, err error) {
	if p.cannotPreview(request.Preview) {
		return response, nil
	}
	if err := p.decided(); err != nil {
		return response, err
	}
	err = p.call(ctx, request.URN, "Create", func(q message) {
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.setProperties("properties", p.lower(request.Inputs))
		q.set("timeout", request.Timeout)
		q.set("preview", request.Preview)
	}, func(r message) (err error) {
		response.ID, response.RefreshBeforeUpdate = r.text("id"), r.bool("refresh_before_update")
		state, faults := r.readable("properties")
		response.State = p.mark(state, request.Inputs)
		switch {
		case len(faults) == 0:
			return nil
		case request.Preview:
			return faults[0]
		case response.ID == "":
			return abi.NewError(abi.ErrorKindCrashed, "the provider's answer to Create has no ID and cannot be read, so nobody knows whether the resource exists: "+faults[0].Error())
		}
		return unread(response.ID, response.State, response.RefreshBeforeUpdate, faults)
	})
	if request.Preview && response.ID == unknownString {
		response.ID = ""
	}
	return response, p.markFailed(err, request.Inputs)
}

func (p *provider) Read(ctx context.Context, request abi.ReadRequest) (response abi.ReadResponse, err error) {
	if err := p.decided(); err != nil {
		return response, err
	}
	var state property.Map
	if request.State != nil {
		state = *request.State
	}
	if request.Inputs == nil {
		request.Inputs = request.State // Pulumi gives what a program knows of an object as both
	}
	err = p.call(ctx, request.URN, "Read", func(q message) {
		q.set("id", request.ID)
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.setProperties("properties", p.lower(state))
		if request.Inputs != nil {
			q.setProperties("inputs", p.lower(*request.Inputs))
		}
		q.set("timeout", request.Timeout)
	}, func(r message) (err error) {
		response.ID, response.RefreshBeforeUpdate = r.text("id"), r.bool("refresh_before_update")
		if response.State, err = r.properties("properties"); err != nil {
			return err
		}
		response.State = p.mark(response.State, state)
		response.Inputs, err = r.optionalProperties("inputs")
		if response.Inputs != nil && request.Inputs != nil {
			*response.Inputs = p.mark(*response.Inputs, *request.Inputs)
		}
		return err
	})
	return response, p.markFailed(err, state)
}

func (p *provider) Update(ctx context.Context, request abi.UpdateRequest) (response abi.UpdateResponse, err error) {
	if p.cannotPreview(request.Preview) {
		return response, nil
	}
	if err := p.decided(); err != nil {
		return response, err
	}
	err = p.call(ctx, request.URN, "Update", func(q message) {
		q.set("id", request.ID)
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.setProperties("olds", p.lower(request.Olds))
		q.setProperties("news", p.lower(request.News))
		q.setProperties("old_inputs", p.lower(request.OldInputs))
		q.setTexts("ignoreChanges", request.IgnoreChanges)
		q.set("timeout", request.Timeout)
		q.set("preview", request.Preview)
	}, func(r message) (err error) {
		response.RefreshBeforeUpdate = r.bool("refresh_before_update")
		state, faults := r.readable("properties")
		response.State = p.mark(state, request.News)
		switch {
		case len(faults) == 0:
			return nil
		case request.Preview:
			return faults[0]
		}
		for _, f := range faults {
			if old, ok := request.Olds.Lookup(f.key); ok {
				response.State = response.State.With(f.key, old)
			}
		}
		return unread(request.ID, response.State, response.RefreshBeforeUpdate, faults)
	})
	return response, p.markFailed(err, request.News)
}

// markFailed marks the secrets in the state that an error holds.
func (p *provider) markFailed(err error, request property.Map) error {
	if e, ok := err.(*abi.Error); ok && e.InitFailure != nil {
		e.InitFailure.State = p.mark(e.InitFailure.State, request)
	}
	return err
}

func (p *provider) Delete(ctx context.Context, request abi.DeleteRequest) error {
	if err := p.decided(); err != nil {
		return err
	}
	return p.call(ctx, request.URN, "Delete", func(q message) {
		q.set("id", request.ID)
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.setProperties("properties", p.lower(request.State))
		q.setProperties("old_inputs", p.lower(request.OldInputs))
		q.set("timeout", request.Timeout)
	}, nil)
}

// List collects the page that the server streams.
func (p *provider) List(ctx context.Context, request abi.ListRequest) (response abi.ListResponse, err error) {
	if err := p.decided(); err != nil {
		return response, err
	}
	ctx, end := begin(ctx, "")
	defer end()
	err = p.stream(ctx, "List", func(q message) {
		q.set("token", request.Token)
		q.setProperties("query", p.lower(request.Query))
		q.set("limit", int64(request.Limit))
		q.set("page_size", int64(request.PageSize))
		q.set("continuation_token", request.ContinuationToken)
	}, func(r message) error {
		switch {
		case r.has("result"):
			found := r.message("result")
			response.Resources = append(response.Resources, abi.ListedResource{ID: found.text("id"), Name: found.text("name")})
		case r.has("continuation"):
			response.ContinuationToken = r.message("continuation").text("continuation_token")
		case r.has("computed"):
			return abi.NewError(abi.ErrorKindUnavailable, "the query holds values that are not known yet")
		}
		return nil
	})
	return response, err
}
