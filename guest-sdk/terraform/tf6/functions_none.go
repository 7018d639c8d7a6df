//go:build plugingo_before_0_22

package tf6

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// functions returns nil: providers have no functions.
func functions(*tfprotov6.GetProviderSchemaResponse) map[string]*tf.Function { return nil }

func (s *server) CallFunction(context.Context, string, []*tf.Value) (*tf.Value, *tf.FunctionError, error) {
	return nil, nil, errors.New("the terraform-plugin-go of the provider knows no functions")
}
