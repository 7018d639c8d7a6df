//go:build plugingo_before_0_25

package tf6

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

var errNoEphemerals = errors.New("the terraform-plugin-go of the provider knows no ephemeral resources")

// ephemerals returns nil: there are no ephemeral resources.
func ephemerals(*tfprotov6.GetProviderSchemaResponse) map[string]*tf.Schema { return nil }

func (s *server) ValidateEphemeral(context.Context, string, *tf.Value) (tf.Diagnostics, error) {
	return nil, errNoEphemerals
}

func (s *server) OpenEphemeral(context.Context, string, *tf.Value) (tf.Opened, tf.Diagnostics, error) {
	return tf.Opened{}, nil, errNoEphemerals
}

func (s *server) RenewEphemeral(context.Context, string, []byte) (tf.Opened, tf.Diagnostics, error) {
	return tf.Opened{}, nil, errNoEphemerals
}

func (s *server) CloseEphemeral(context.Context, string, []byte) (tf.Diagnostics, error) {
	return nil, errNoEphemerals
}
