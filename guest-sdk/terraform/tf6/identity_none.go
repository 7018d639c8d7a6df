//go:build plugingo_before_0_27

package tf6

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// addIdentities does nothing: resources have no identities.
func (s *server) addIdentities(context.Context, *tf.Schemas) (tf.Diagnostics, error) { return nil, nil }

func (s *server) UpgradeIdentity(context.Context, string, int64, []byte) (*tf.Value, tf.Diagnostics, error) {
	return nil, nil, errors.New("the terraform-plugin-go of the provider knows no identities")
}

func setReadIdentity(*tfprotov6.ReadResourceRequest, *tf.Value)         {}
func setPlanIdentity(*tfprotov6.PlanResourceChangeRequest, *tf.Value)   {}
func setApplyIdentity(*tfprotov6.ApplyResourceChangeRequest, *tf.Value) {}

func readIdentity(*tfprotov6.ReadResourceResponse) *tf.Value         { return nil }
func planIdentity(*tfprotov6.PlanResourceChangeResponse) *tf.Value   { return nil }
func applyIdentity(*tfprotov6.ApplyResourceChangeResponse) *tf.Value { return nil }
func importIdentity(*tfprotov6.ImportedResource) *tf.Value           { return nil }
