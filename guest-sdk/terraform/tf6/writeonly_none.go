//go:build plugingo_before_0_26

package tf6

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

func isWriteOnly(*tfprotov6.SchemaAttribute) bool { return false }

func allowWriteOnly(*tfprotov6.ValidateResourceConfigRequest) {}
