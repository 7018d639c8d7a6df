// Command kit is a provider for the tests of the command line that is no package of
// its own: its parameter names a file with the schema of the package to become. Its
// resources are remembered in the state and nowhere else.
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
)

type kit struct {
	abi.Unimplemented
	schema []byte
}

func (*kit) Handshake(_ context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: "kit", Version: "1.0.0", Features: r.Features}, nil
}

// Parameterize reads the file, whose text is the value that makes the provider the
// same package again.
func (k *kit) Parameterize(_ context.Context, r abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	k.schema = r.Parameters.Value.Value
	if r.Parameters.Case == abi.ParametersCaseArgs {
		var err error
		if k.schema, err = os.ReadFile(r.Parameters.Args[0]); err != nil {
			return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
		}
	}
	var about struct{ Name, Version string }
	if err := json.Unmarshal(k.schema, &about); err != nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	return abi.ParameterizeResponse{Name: about.Name, Version: about.Version, Value: k.schema}, nil
}

func (k *kit) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{Schema: string(k.schema)}, nil
}

func (k *kit) Create(_ context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	if k.schema == nil {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindInternal, "the kit is no package yet")
	}
	return abi.CreateResponse{ID: "made-of-" + r.URN.Name(), State: r.Inputs}, nil
}

func (k *kit) Update(_ context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	return abi.UpdateResponse{State: r.News}, nil
}

func (k *kit) Delete(context.Context, abi.DeleteRequest) error {
	if k.schema == nil {
		return abi.NewError(abi.ErrorKindInternal, "the kit is no package")
	}
	return nil
}

func main() { guest.ServeProvider(&kit{}) }
