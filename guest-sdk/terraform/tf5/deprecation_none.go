//go:build plugingo_before_0_31

package tf5

import "github.com/hashicorp/terraform-plugin-go/tfprotov5"

func attributeDeprecation(*tfprotov5.SchemaAttribute) string { return "" }

func blockDeprecation(*tfprotov5.SchemaBlock) string { return "" }
