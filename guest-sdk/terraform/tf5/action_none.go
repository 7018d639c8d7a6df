//go:build plugingo_before_0_29

package tf5

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

var errNoActions = errors.New("the terraform-plugin-go of the provider knows no actions")

// actions returns nil: there are no actions.
func actions(*tfprotov5.GetProviderSchemaResponse) map[string]*tf.Schema { return nil }

func (s *server) ValidateAction(context.Context, string, *tf.Value) (tf.Diagnostics, error) {
	return nil, errNoActions
}

func (s *server) PlanAction(context.Context, string, *tf.Value) (tf.Diagnostics, error) {
	return nil, errNoActions
}

func (s *server) InvokeAction(context.Context, string, *tf.Value, func(string)) (tf.Diagnostics, error) {
	return nil, errNoActions
}
