//go:build !plugingo_before_0_27

package tf5

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// identityServer is a server of resources with identities. Not all versions of terraform-plugin-go ask for
// its methods.
type identityServer interface {
	GetResourceIdentitySchemas(context.Context, *tfprotov5.GetResourceIdentitySchemasRequest) (*tfprotov5.GetResourceIdentitySchemasResponse, error)
	UpgradeResourceIdentity(context.Context, *tfprotov5.UpgradeResourceIdentityRequest) (*tfprotov5.UpgradeResourceIdentityResponse, error)
}

// addIdentities adds the types of identities to the schemas of resources.
func (s *server) addIdentities(ctx context.Context, schemas *tf.Schemas) (tf.Diagnostics, error) {
	with, ok := s.ProviderServer.(identityServer)
	if !ok {
		return nil, nil
	}
	response, err := with.GetResourceIdentitySchemas(ctx, &tfprotov5.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, err
	}
	for name, identity := range response.IdentitySchemas {
		if r := schemas.Resources[name]; r != nil && identity != nil {
			types := make(map[string]tftypes.Type, len(identity.IdentityAttributes))
			for _, a := range identity.IdentityAttributes {
				types[a.Name] = a.Type
			}
			r.Identity, r.IdentityVersion = tftypes.Object{AttributeTypes: types}, identity.Version
		}
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (*tf.Value, tf.Diagnostics, error) {
	with, ok := s.ProviderServer.(identityServer)
	if !ok {
		return nil, nil, errors.New("the provider knows no identities")
	}
	response, err := with.UpgradeResourceIdentity(ctx, &tfprotov5.UpgradeResourceIdentityRequest{TypeName: typ, Version: version, RawIdentity: raw(json)})
	if err != nil {
		return nil, nil, err
	}
	return identity(response.UpgradedIdentity), diagnostics(response.Diagnostics), nil
}

func identity(data *tfprotov5.ResourceIdentityData) *tf.Value {
	if data == nil {
		return nil
	}
	return value(data.IdentityData)
}

func identityData(v *tf.Value) *tfprotov5.ResourceIdentityData {
	if v == nil {
		return nil
	}
	return &tfprotov5.ResourceIdentityData{IdentityData: wire(v)}
}

func setReadIdentity(r *tfprotov5.ReadResourceRequest, v *tf.Value) {
	r.CurrentIdentity = identityData(v)
}
func setPlanIdentity(r *tfprotov5.PlanResourceChangeRequest, v *tf.Value) {
	r.PriorIdentity = identityData(v)
}
func setApplyIdentity(r *tfprotov5.ApplyResourceChangeRequest, v *tf.Value) {
	r.PlannedIdentity = identityData(v)
}

func readIdentity(r *tfprotov5.ReadResourceResponse) *tf.Value { return identity(r.NewIdentity) }
func planIdentity(r *tfprotov5.PlanResourceChangeResponse) *tf.Value {
	return identity(r.PlannedIdentity)
}
func applyIdentity(r *tfprotov5.ApplyResourceChangeResponse) *tf.Value {
	return identity(r.NewIdentity)
}
func importIdentity(r *tfprotov5.ImportedResource) *tf.Value { return identity(r.Identity) }
