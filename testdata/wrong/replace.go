package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/testdata/notes"
)

// over creates a note in place of one that is there already.
func over(ctx context.Context, p *notes.Provider, request abi.CreateRequest) (abi.CreateResponse, error) {
	title, _ := request.Inputs.Get("title").Plain().AsString()
	if !request.Preview && ctx.Err() == nil {
		if err := p.Delete(ctx, abi.DeleteRequest{Type: request.Type, ID: "note-" + title}); err != nil {
			return abi.CreateResponse{}, err
		}
	}
	return p.Create(ctx, request)
}

// breaksReplace: its Create writes over the note that it is to replace.
type breaksReplace struct{ *notes.Provider }

func (p breaksReplace) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	return over(ctx, p.Provider, request)
}

// breaksReplaceChanged: there is one note, whatever its title is.
type breaksReplaceChanged struct{ *notes.Provider }

func (p breaksReplaceChanged) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	const only = "note-1"
	response, err := p.Provider.Create(ctx, preview(request))
	if err != nil || request.Preview || ctx.Err() != nil {
		return response, cmpErr(err, ctx.Err())
	}
	found, err := p.Read(ctx, abi.ReadRequest{Type: request.Type, ID: only})
	if err != nil {
		return abi.CreateResponse{}, err
	}
	if found.ID != "" && found.State.Get("title").EqualContents(request.Inputs.Get("title")) {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "there is a note of that title already")
	}
	response.ID = only
	return response, p.Write(only, request.Inputs, response.State)
}

func preview(request abi.CreateRequest) abi.CreateRequest {
	request.Preview = true
	return request
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// breaksReplaceGone: its Delete deletes all notes of the same text.
type breaksReplaceGone struct{ *notes.Provider }

func (p breaksReplaceGone) Delete(ctx context.Context, request abi.DeleteRequest) error {
	all, err := p.List(ctx, abi.ListRequest{Token: request.Type})
	if err != nil {
		return err
	}
	for _, listed := range all.Resources {
		note, err := p.Read(ctx, abi.ReadRequest{Type: request.Type, ID: listed.ID})
		if err != nil {
			return err
		}
		if listed.ID != request.ID && !note.State.Get("text").EqualContents(request.State.Get("text")) {
			continue
		}
		if err := p.Provider.Delete(ctx, abi.DeleteRequest{Type: request.Type, ID: listed.ID}); err != nil {
			return err
		}
	}
	return nil
}

// breaksReplaceUnread: its Create writes over the note, and its Read does not look.
type breaksReplaceUnread struct{ *notes.Provider }

func (p breaksReplaceUnread) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	return over(ctx, p.Provider, request)
}

func (p breaksReplaceUnread) Read(_ context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if _, err := p.Resource(request.Type); err != nil {
		return abi.ReadResponse{}, err
	}
	if request.State == nil {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "notes cannot be imported")
	}
	return abi.ReadResponse{ID: request.ID, State: *request.State, Inputs: request.Inputs}, nil
}

// refuses is a provider that fails in one method, whatever it is asked.
type refuses struct {
	*notes.Provider
	method string
}

// refusing returns a provider that refuses calls of a method.
func refusing(method string) func(*notes.Provider) abi.Provider {
	return func(p *notes.Provider) abi.Provider { return refuses{p, method} }
}

// refused is the error of a method, nil for those that work.
func (p refuses) refused(method string) error {
	if method != p.method {
		return nil
	}
	return abi.NewError(abi.ErrorKindUnavailable, "no quota")
}

func (p refuses) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	return cmpErr(p.refused("configure"), p.Provider.Configure(ctx, request))
}

func (p refuses) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if err == nil && p.refused("check") != nil {
		return abi.CheckResponse{Failures: []abi.CheckFailure{{Path: "text", Reason: "no quota"}}}, nil
	}
	return response, err
}

func (p refuses) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	switch _, err := p.Resource(request.Type); {
	case err != nil || request.Preview || ctx.Err() != nil:
	case p.method == "create-unimplemented":
		return abi.CreateResponse{}, abi.ErrUnimplemented
	case p.refused("create") != nil:
		return abi.CreateResponse{}, p.refused("create")
	}
	return p.Provider.Create(ctx, request)
}

func (p refuses) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if _, err := p.Resource(request.Type); err == nil && p.refused("read") != nil {
		return abi.ReadResponse{}, p.refused("read")
	}
	return p.Provider.Read(ctx, request)
}

func (p refuses) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if _, err := p.Resource(request.Type); err == nil && !request.Preview {
		switch {
		case p.method == "update-unimplemented":
			return abi.UpdateResponse{}, abi.ErrUnimplemented
		case p.refused("update") != nil:
			return abi.UpdateResponse{}, p.refused("update")
		}
	}
	return p.Provider.Update(ctx, request)
}

func (p refuses) Delete(ctx context.Context, request abi.DeleteRequest) error {
	if _, err := p.Resource(request.Type); err == nil && p.refused("delete") != nil {
		return p.refused("delete")
	}
	return p.Provider.Delete(ctx, request)
}

func (p refuses) List(ctx context.Context, request abi.ListRequest) (abi.ListResponse, error) {
	response, err := p.Provider.List(ctx, request)
	return response, cmpErr(p.refused("list"), err)
}

func (p refuses) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	response, err := p.Provider.Invoke(ctx, request)
	if err == nil && len(response.Failures) == 0 {
		err = p.refused("invoke")
	}
	return response, err
}

func (p refuses) StreamNext(ctx context.Context, handle abi.StreamHandle) (abi.StreamItem, error) {
	item, err := p.Provider.StreamNext(ctx, handle)
	return item, cmpErr(p.refused("stream"), err)
}

func (p refuses) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	response, err := p.Provider.Construct(ctx, request)
	return response, cmpErr(err, p.refused("construct"))
}

// breaksUpdateChecks: its Check takes no other inputs than those that there were.
type breaksUpdateChecks struct{ *notes.Provider }

func (p breaksUpdateChecks) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if err != nil || len(response.Failures) > 0 || request.Olds == nil {
		return response, err
	}
	for name := range response.Inputs.All() {
		if name != "title" && !response.Inputs.Get(name).EqualContents(request.Olds.Get(name)) {
			return abi.CheckResponse{Failures: []abi.CheckFailure{{Path: property.Path{property.Key(name)}.String(), Reason: "it stays"}}}, nil
		}
	}
	return response, nil
}
