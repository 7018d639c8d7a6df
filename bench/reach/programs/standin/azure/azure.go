// Package azure has a provider that stands in for Pulumi's packages azure and azure-native in public programs. It keeps what it is told of
// resources, with names, subnets, and a public address of nothing.
package azure

import (
	"context"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/reach/programs/standin"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Serve serves the provider of a package, whose function publicIP returns a public address.
func Serve(name, version, publicIP string) {
	guest.ServeProvider(provider{standin.Provider{Name: name, Version: version}, publicIP})
}

type provider struct {
	standin.Provider
	publicIP string
}

func (provider) Create(_ context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	id := "/subscriptions/0/" + strings.ToLower(r.URN.Stack()+"-"+r.Name)
	return abi.CreateResponse{ID: id, State: made(r.Name, id, r.Inputs)}, nil
}

func (provider) Update(_ context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	return abi.UpdateResponse{State: made(r.Name, r.ID, r.News)}, nil
}

func (provider) Delete(context.Context, abi.DeleteRequest) error { return nil }

func (p provider) Invoke(_ context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	if r.Token != p.publicIP {
		return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "the stand-in does not have the function "+r.Token)
	}
	return abi.InvokeResponse{Result: r.Args.With("id", property.String("/subscriptions/0/ip")).With("ipAddress", property.String("192.0.2.1"))}, nil
}

// made returns the state of a resource: its inputs, and what programs read.
func made(name, id string, inputs property.Map) property.Map {
	state := inputs
	if standin.Text(inputs, "name") == "" {
		state = state.With("name", property.String(name))
	}
	if subnets, is := inputs.Get("subnets").AsArray(); is {
		all := make([]property.Value, 0, len(subnets))
		for i, subnet := range subnets {
			of, _ := subnet.AsObject()
			all = append(all, property.Object(of.With("id", property.String(id+"/subnets/"+strconv.Itoa(i)))))
		}
		state = state.With("subnets", property.Array(all...))
	}
	return state
}
