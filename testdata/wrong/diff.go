package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksDiffSelf: its Diff finds changes where there are none.
type breaksDiffSelf struct{ *notes.Provider }

func (p breaksDiffSelf) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	if len(response.DetailedDiff) == 0 && request.Type == notes.Note && len(request.IgnoreChanges) == 0 {
		response.Changes = abi.DiffChangesSome
		response.DetailedDiff = []abi.PropertyDiff{{Path: "text", Kind: abi.DiffKindUpdate}}
		response.ChangedKeys = []string{"text"}
	}
	return response, err
}

// breaksDiffChange: its Diff does not look at a property.
type breaksDiffChange struct{ *notes.Provider }

func (p breaksDiffChange) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	if copies := request.News.Get("copies"); !copies.ContainsUnknowns() {
		request.News = request.News.With("copies", request.Olds.Get("copies"))
	}
	return p.Provider.Diff(ctx, request)
}

// breaksDiffReplace: its Diff updates where its schema says that it replaces.
type breaksDiffReplace struct{ *notes.Provider }

func (p breaksDiffReplace) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	for i := range response.DetailedDiff {
		if response.DetailedDiff[i].Kind == abi.DiffKindUpdateReplace {
			response.DetailedDiff[i].Kind = abi.DiffKindUpdate
		}
	}
	response.ReplaceKeys = nil
	return response, err
}

// breaksDiffConsistent: its Diff has every path twice.
type breaksDiffConsistent struct{ *notes.Provider }

func (p breaksDiffConsistent) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	response.DetailedDiff = append(response.DetailedDiff, response.DetailedDiff...)
	return response, err
}

// breaksDiffDeterministic: its Diff depends on how often it was asked.
type breaksDiffDeterministic struct {
	*notes.Provider
	asked int
}

func (p *breaksDiffDeterministic) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	p.asked++
	response.DeleteBeforeReplace = p.asked%2 == 0
	return response, err
}

// breaksDiffUnknowns: its Diff takes what is not known for unchanged.
type breaksDiffUnknowns struct{ *notes.Provider }

func (p breaksDiffUnknowns) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	for _, name := range request.News.Keys() {
		if request.News.Get(name).IsUnknown() {
			request.News = request.News.With(name, request.OldInputs.Get(name))
		}
	}
	return p.Provider.Diff(ctx, request)
}

// breaksDiffIgnoreChanges: its Diff does not ignore what it is told to.
type breaksDiffIgnoreChanges struct{ *notes.Provider }

func (p breaksDiffIgnoreChanges) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	request.IgnoreChanges = nil
	return p.Provider.Diff(ctx, request)
}

// breaksHostileInputs: its Diff crashes on a state that it has not made.
type breaksHostileInputs struct{ *notes.Provider }

func (p breaksHostileInputs) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	if copies, given := request.Olds.Lookup("copies"); given {
		f, ok := copies.Plain().AsNumber()
		if !ok {
			panic("copies is no number")
		}
		_ = make([]struct{}, int(f))
	}
	return p.Provider.Diff(ctx, request)
}
