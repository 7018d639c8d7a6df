package main

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksRead: its Read finds another state than Create answered.
type breaksRead struct{ *notes.Provider }

func (p breaksRead) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := p.Provider.Read(ctx, request)
	if response.ID != "" {
		response.State = response.State.With("words", property.Number(1000))
	}
	return response, err
}

// breaksReadImport: its Read tells no inputs to an import.
type breaksReadImport struct{ *notes.Provider }

func (p breaksReadImport) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := p.Provider.Read(ctx, request)
	if request.State == nil {
		response.Inputs = nil
	}
	return response, err
}

// breaksStateless: it knows only of notes that it has made itself.
type breaksStateless struct {
	*notes.Provider
	known []string
}

func (p *breaksStateless) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	p.known = append(p.known, response.ID)
	return response, err
}

func (p *breaksStateless) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if _, err := p.Resource(request.Type); err == nil && !slices.Contains(p.known, request.ID) {
		return abi.ReadResponse{}, nil
	}
	return p.Provider.Read(ctx, request)
}

// breaksUpdate: its Update makes another note, with another ID.
type breaksUpdate struct{ *notes.Provider }

func (p breaksUpdate) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if request.Preview {
		return p.Provider.Update(ctx, request)
	}
	err := p.Delete(ctx, abi.DeleteRequest{Type: request.Type, ID: request.ID})
	if err != nil {
		return abi.UpdateResponse{}, err
	}
	request.ID += "-updated"
	return p.Provider.Update(ctx, request)
}

// breaksUpdateRead: its Update answers what it does not do.
type breaksUpdateRead struct{ *notes.Provider }

func (p breaksUpdateRead) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	request.Preview = true
	return p.Provider.Update(ctx, request)
}

// breaksUpdateSettles: its Update does not change the text.
type breaksUpdateSettles struct{ *notes.Provider }

func (p breaksUpdateSettles) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if request.Preview {
		return p.Provider.Update(ctx, request)
	}
	if _, err := p.Resource(request.Type); err != nil {
		return abi.UpdateResponse{}, err
	}
	state := notes.State(request.News.With("text", request.Olds.Get("text")))
	return abi.UpdateResponse{State: state}, p.Write(request.ID, request.News, state)
}

// breaksList: its List is empty.
type breaksList struct{ *notes.Provider }

func (breaksList) List(context.Context, abi.ListRequest) (abi.ListResponse, error) {
	return abi.ListResponse{}, nil
}

// breaksDelete: its Delete deletes nothing.
type breaksDelete struct{ *notes.Provider }

func (p breaksDelete) Delete(_ context.Context, request abi.DeleteRequest) error {
	_, err := p.Resource(request.Type)
	return err
}

// breaksDeleteUnseen: its Delete does nothing, and its Read takes nothing to import.
type breaksDeleteUnseen struct{ breaksDelete }

func (p breaksDeleteUnseen) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if _, err := p.Resource(request.Type); err == nil && request.State == nil {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "notes cannot be imported")
	}
	return p.Provider.Read(ctx, request)
}

// breaksDeleteTwice: its Delete fails where there is nothing to delete.
type breaksDeleteTwice struct{ *notes.Provider }

func (p breaksDeleteTwice) Delete(ctx context.Context, request abi.DeleteRequest) error {
	found, err := p.Read(ctx, abi.ReadRequest{Type: request.Type, ID: request.ID})
	if err == nil && found.ID == "" {
		return abi.NewError(abi.ErrorKindInternal, "there is no note "+request.ID)
	}
	if err != nil {
		return err
	}
	return p.Provider.Delete(ctx, request)
}
