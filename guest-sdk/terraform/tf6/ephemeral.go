//go:build !plugingo_before_0_25

package tf6

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

func ephemerals(response *tfprotov6.GetProviderSchemaResponse) map[string]*tf.Schema {
	return schemasOf(response.EphemeralResourceSchemas)
}

// opener returns the part of the server for ephemeral resources, which one with such resources has.
func (s *server) opener() tfprotov6.EphemeralResourceServer {
	return s.ProviderServer.(tfprotov6.EphemeralResourceServer)
}

func (s *server) ValidateEphemeral(ctx context.Context, typ string, config *tf.Value) (tf.Diagnostics, error) {
	response, err := s.opener().ValidateEphemeralResourceConfig(ctx, &tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: typ, Config: wire(config)})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) OpenEphemeral(ctx context.Context, typ string, config *tf.Value) (tf.Opened, tf.Diagnostics, error) {
	response, err := s.opener().OpenEphemeralResource(ctx, &tfprotov6.OpenEphemeralResourceRequest{TypeName: typ, Config: wire(config)})
	if err != nil {
		return tf.Opened{}, nil, err
	}
	return tf.Opened{Result: value(response.Result), Private: response.Private, RenewAt: response.RenewAt}, diagnostics(response.Diagnostics), nil
}

func (s *server) RenewEphemeral(ctx context.Context, typ string, private []byte) (tf.Opened, tf.Diagnostics, error) {
	response, err := s.opener().RenewEphemeralResource(ctx, &tfprotov6.RenewEphemeralResourceRequest{TypeName: typ, Private: private})
	if err != nil {
		return tf.Opened{}, nil, err
	}
	return tf.Opened{Private: response.Private, RenewAt: response.RenewAt}, diagnostics(response.Diagnostics), nil
}

func (s *server) CloseEphemeral(ctx context.Context, typ string, private []byte) (tf.Diagnostics, error) {
	response, err := s.opener().CloseEphemeralResource(ctx, &tfprotov6.CloseEphemeralResourceRequest{TypeName: typ, Private: private})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}
