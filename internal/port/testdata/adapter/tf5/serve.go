// Package tf5 stands for the adapter in tests of the builder, with an imitation of terraform-plugin-go.
package tf5

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/settings"
)

type provider struct {
	abi.Unimplemented
	name   string
	served tfprotov5.ProviderServer
	port   struct {
		Name, Version string
		Mapping       json.RawMessage
		Only          []string
	}
}

func Serve(name string, factory func() tfprotov5.ProviderServer) error {
	p := &provider{name: name, served: factory()}
	if err := json.Unmarshal([]byte(settings.JSON), &p.port); err != nil {
		return err
	}
	guest.ServeProvider(p)
	return nil
}

func (p *provider) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: p.port.Name, Version: p.port.Version}, nil
}

// GetSchema says in the description what the provider was built with.
func (p *provider) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	description := "5 " + p.name + " " + p.served.Describe() + " " + settings.Age + " " + string(p.port.Mapping) + " " + strings.Join(p.port.Only, ",")
	data, err := json.Marshal(map[string]string{"name": p.port.Name, "version": p.port.Version, "description": description})
	return abi.GetSchemaResponse{Schema: string(data)}, err
}
