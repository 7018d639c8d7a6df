package notes

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// arguments are the checked arguments of a function.
func arguments(request abi.InvokeRequest, token string) (property.Map, []abi.CheckFailure, error) {
	if request.Token != token {
		return property.Map{}, nil, abi.NewError(abi.ErrorKindNotFound, "there is no such function "+request.Token)
	}
	args, failures := Schema.Function(token).Args.Check(request.Args)
	return args, failures, nil
}

// Invoke counts words.
func (p *Provider) Invoke(_ context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	args, failures, err := arguments(request, Count)
	if err != nil || len(failures) > 0 || args.ContainsUnknowns() {
		return abi.InvokeResponse{Failures: failures}, err
	}
	return abi.InvokeResponse{Result: property.NewMap(
		property.Entry{Key: "text", Value: args.Get("text")},
		property.Entry{Key: "words", Value: words(args.Get("text"))},
	)}, nil
}

// StreamInvoke begins a stream of the words of a text, which are as secret as the text.
func (p *Provider) StreamInvoke(_ context.Context, request abi.InvokeRequest) (abi.StreamHandle, error) {
	args, failures, err := arguments(request, Words)
	if err != nil {
		return 0, err
	}
	if len(failures) > 0 {
		e := abi.NewError(abi.ErrorKindInvalidArgument, failures[0].Reason)
		e.Path = failures[0].Path
		return 0, e
	}
	text := args.Get("text")
	s, _ := text.Plain().AsString()
	var results []property.Map
	for word := range strings.FieldsSeq(s) {
		v := property.String(word)
		if text.ContainsSecrets() {
			v = property.Secret(v)
		}
		results = append(results, property.NewMap(property.Entry{Key: "word", Value: v}))
	}
	if p.streams == nil {
		p.streams = map[abi.StreamHandle][]property.Map{}
	}
	handle := abi.StreamHandle(len(p.streams) + 1)
	p.streams[handle] = results
	return handle, nil
}

// StreamNext returns the next word.
func (p *Provider) StreamNext(_ context.Context, handle abi.StreamHandle) (abi.StreamItem, error) {
	results := p.streams[handle]
	if len(results) == 0 {
		return abi.StreamItem{}, nil
	}
	p.streams[handle] = results[1:]
	return abi.StreamItem{Result: &results[0]}, nil
}

// StreamClose forgets the words that are left.
func (p *Provider) StreamClose(_ context.Context, handle abi.StreamHandle) error {
	p.streams[handle] = nil
	return nil
}

// OpenEphemeral lends a key of the drawer.
func (p *Provider) OpenEphemeral(_ context.Context, request abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error) {
	args, failures, err := arguments(abi.InvokeRequest{Token: request.Token, Args: request.Args}, Loan)
	if err != nil || len(failures) > 0 || args.ContainsUnknowns() {
		return abi.OpenEphemeralResponse{Failures: failures}, err
	}
	return abi.OpenEphemeralResponse{
		Result:  property.NewMap(property.Entry{Key: "key", Value: property.Secret(property.String("key of the drawer"))}),
		Private: []byte("lent"), RenewAfter: 60,
	}, nil
}

// RenewEphemeral lends a key for longer.
func (p *Provider) RenewEphemeral(_ context.Context, request abi.RenewEphemeralRequest) (abi.RenewEphemeralResponse, error) {
	if string(request.Private) != "lent" {
		return abi.RenewEphemeralResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "this is no key of the drawer")
	}
	return abi.RenewEphemeralResponse{Private: request.Private, RenewAfter: 60}, nil
}

// CloseEphemeral takes a key back.
func (p *Provider) CloseEphemeral(context.Context, abi.CloseEphemeralRequest) error { return nil }

// RunAction tidies the drawer.
func (p *Provider) RunAction(_ context.Context, request abi.RunActionRequest) (abi.RunActionResponse, error) {
	_, failures, err := arguments(abi.InvokeRequest{Token: request.Token, Args: request.Args}, Tidy)
	return abi.RunActionResponse{Failures: failures}, err
}
