//go:build !plugingo_before_0_26

package tf6

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

func isWriteOnly(a *tfprotov6.SchemaAttribute) bool { return a.WriteOnly }

func allowWriteOnly(r *tfprotov6.ValidateResourceConfigRequest) {
	r.ClientCapabilities = &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}
}
