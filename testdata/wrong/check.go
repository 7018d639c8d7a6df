package main

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksCheckAnswers: its Check answers a number as text.
type breaksCheckAnswers struct{ *notes.Provider }

func (p breaksCheckAnswers) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if request.Olds == nil && !request.News.Has("copies") {
		response.Inputs = response.Inputs.With("copies", property.String("1"))
	}
	return response, err
}

// breaksCheckIdempotent: its Check adds to what it has added to before.
type breaksCheckIdempotent struct{ *notes.Provider }

func (p breaksCheckIdempotent) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if text, ok := response.Inputs.Get("text").AsString(); ok {
		response.Inputs = response.Inputs.With("text", property.String(text+"."))
	}
	return response, err
}

// breaksCheckDeterministic: its Check makes up defaults that do not follow from the request.
type breaksCheckDeterministic struct {
	*notes.Provider
	checked int
}

func (p *breaksCheckDeterministic) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if request.News.Has("tags") {
		return response, err
	}
	p.checked++
	tags := property.Object(property.NewMap(property.Entry{Key: "number", Value: property.String(strconv.Itoa(p.checked))}))
	if request.Olds != nil {
		tags = request.Olds.Get("tags")
	}
	response.Inputs = response.Inputs.With("tags", tags)
	return response, err
}

// breaksCheckOlds: its Check makes up a default anew, though there is one in the old inputs.
type breaksCheckOlds struct{ *notes.Provider }

func (p breaksCheckOlds) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if !request.News.Has("tags") && len(request.RandomSeed) > 0 {
		drawn := property.String(strconv.Itoa(int(request.RandomSeed[0])))
		tags := property.NewMap(property.Entry{Key: "number", Value: drawn})
		response.Inputs = response.Inputs.With("tags", property.Object(tags))
	}
	return response, err
}

// breaksCheckDefaults: its Check does not apply a default that its schema declares.
type breaksCheckDefaults struct{ *notes.Provider }

func (p breaksCheckDefaults) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if !request.News.Has("copies") {
		response.Inputs = response.Inputs.Without("copies")
	}
	return response, err
}

// breaksCheckUnknowns: its Check takes what is not known for empty.
type breaksCheckUnknowns struct{ *notes.Provider }

func (p breaksCheckUnknowns) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if response.Inputs.Get("text").IsUnknown() {
		response.Inputs = response.Inputs.With("text", property.String(""))
	}
	return response, err
}

// breaksCheckSecrets: its Check forgets that an input is secret.
type breaksCheckSecrets struct{ *notes.Provider }

func (p breaksCheckSecrets) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if text, ok := response.Inputs.Lookup("text"); ok {
		response.Inputs = response.Inputs.With("text", text.Plain())
	}
	return response, err
}

// breaksCheckUnknownProperty: its Check drops properties that it does not know.
type breaksCheckUnknownProperty struct{ *notes.Provider }

func (p breaksCheckUnknownProperty) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if r, err := p.Resource(request.Type); err == nil {
		for _, name := range request.News.Keys() {
			if r.Inputs.Property(name) == nil {
				request.News = request.News.Without(name)
			}
		}
	}
	return p.Provider.Check(ctx, request)
}

// breaksCheckWrongType: its Check drops lines that are none.
type breaksCheckWrongType struct{ *notes.Provider }

func (p breaksCheckWrongType) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	switch request.News.Get("lines").Plain().Kind() {
	case property.KindArray, property.KindUnknown:
	default:
		request.News = request.News.Without("lines")
	}
	return p.Provider.Check(ctx, request)
}

// breaksCheckRange: its Check puts a number into its bounds that is outside of them.
type breaksCheckRange struct{ *notes.Provider }

func (p breaksCheckRange) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if copies, ok := request.News.Get("copies").AsNumber(); ok && copies > 9 {
		request.News = request.News.With("copies", property.Number(9))
	}
	return p.Provider.Check(ctx, request)
}

// breaksCheckMissing: its Check makes up what is required.
type breaksCheckMissing struct{ *notes.Provider }

func (p breaksCheckMissing) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if !request.News.Has("title") {
		request.News = request.News.With("title", property.String("untitled"))
	}
	return p.Provider.Check(ctx, request)
}
