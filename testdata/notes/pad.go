package notes

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Construct makes a pad: a component of as many notes as it has pages.
func (p *Provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if request.Type != Pad {
		return abi.ConstructResponse{}, abi.NewError(abi.ErrorKindNotFound, "there is no component "+request.Type)
	}
	inputs, failures := Schema.Resource(Pad).Inputs.Check(request.Inputs)
	if len(failures) > 0 {
		e := abi.NewError(abi.ErrorKindInvalidArgument, failures[0].Reason)
		e.Path = failures[0].Path
		return abi.ConstructResponse{}, e
	}
	monitor := abi.MonitorFrom(ctx)
	pad, err := monitor.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: Pad, Name: request.Name, Parent: request.Parent, Inputs: inputs, Options: request.Options,
	})
	if err != nil {
		return abi.ConstructResponse{}, err
	}
	titles, err := pages(ctx, monitor, request.Name, pad, inputs)
	if err != nil {
		return abi.ConstructResponse{}, err
	}
	outputs := property.NewMap(
		property.Entry{Key: "pages", Value: inputs.Get("pages")},
		property.Entry{Key: "titles", Value: titles},
	)
	err = monitor.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: pad.URN, Outputs: outputs})
	return abi.ConstructResponse{URN: pad.URN, State: outputs}, err
}

// pages makes the notes of a pad and answers their titles, which are not known where
// their number is not.
func pages(ctx context.Context, monitor abi.Monitor, name string, pad abi.RegisterResourceResponse, inputs property.Map) (property.Value, error) {
	n, known := inputs.Get("pages").Plain().AsNumber()
	if !known {
		return inputs.Get("pages"), nil
	}
	titles := []property.Value{}
	for i := range int(n) {
		note, err := monitor.RegisterResource(ctx, abi.RegisterResourceRequest{
			Type: Note, Name: name + "-" + strconv.Itoa(i+1), Custom: true, Parent: pad.URN,
			Inputs: property.NewMap(
				property.Entry{Key: "text", Value: property.String("page " + strconv.Itoa(i+1))},
				property.Entry{Key: "title", Value: inputs.Get("title")},
			),
		})
		if err != nil {
			return property.Null, err
		}
		titles = append(titles, note.State.Get("title"))
	}
	if inputs.Get("pages").ContainsSecrets() {
		return property.Secret(property.Array(titles...)), nil
	}
	return property.Array(titles...), nil
}

// Call names a page of a pad.
func (p *Provider) Call(_ context.Context, request abi.CallRequest) (abi.CallResponse, error) {
	if request.Token != Page {
		return abi.CallResponse{}, abi.NewError(abi.ErrorKindNotFound, "there is no method "+request.Token)
	}
	args, failures := Schema.Function(Page).Args.Check(request.Args)
	if len(failures) > 0 {
		return abi.CallResponse{Failures: failures}, nil
	}
	n := args.Get("number")
	if n.ContainsUnknowns() {
		return abi.CallResponse{Result: property.NewMap(property.Entry{Key: "name", Value: n})}, nil
	}
	f, _ := n.Plain().AsNumber()
	name := property.String("page " + strconv.Itoa(int(f)))
	if n.ContainsSecrets() {
		name = property.Secret(name)
	}
	return abi.CallResponse{Result: property.NewMap(property.Entry{Key: "name", Value: name})}, nil
}
