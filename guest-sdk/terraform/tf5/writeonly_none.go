//go:build plugingo_before_0_26

package tf5

import "github.com/hashicorp/terraform-plugin-go/tfprotov5"

func isWriteOnly(*tfprotov5.SchemaAttribute) bool { return false }

func allowWriteOnly(*tfprotov5.ValidateResourceTypeConfigRequest) {}
