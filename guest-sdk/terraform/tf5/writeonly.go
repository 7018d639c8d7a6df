//go:build !plugingo_before_0_26

package tf5

import "github.com/hashicorp/terraform-plugin-go/tfprotov5"

func isWriteOnly(a *tfprotov5.SchemaAttribute) bool { return a.WriteOnly }

func allowWriteOnly(r *tfprotov5.ValidateResourceTypeConfigRequest) {
	r.ClientCapabilities = &tfprotov5.ValidateResourceTypeConfigClientCapabilities{WriteOnlyAttributesAllowed: true}
}
