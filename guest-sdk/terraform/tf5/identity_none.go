//go:build plugingo_before_0_27

package tf5

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// addIdentities does nothing: resources have no identities.
func (s *server) addIdentities(context.Context, *tf.Schemas) (tf.Diagnostics, error) { return nil, nil }

func (s *server) UpgradeIdentity(context.Context, string, int64, []byte) (*tf.Value, tf.Diagnostics, error) {
	return nil, nil, errors.New("the terraform-plugin-go of the provider knows no identities")
}

func setReadIdentity(*tfprotov5.ReadResourceRequest, *tf.Value)         {}
func setPlanIdentity(*tfprotov5.PlanResourceChangeRequest, *tf.Value)   {}
func setApplyIdentity(*tfprotov5.ApplyResourceChangeRequest, *tf.Value) {}

func readIdentity(*tfprotov5.ReadResourceResponse) *tf.Value         { return nil }
func planIdentity(*tfprotov5.PlanResourceChangeResponse) *tf.Value   { return nil }
func applyIdentity(*tfprotov5.ApplyResourceChangeResponse) *tf.Value { return nil }
func importIdentity(*tfprotov5.ImportedResource) *tf.Value           { return nil }
