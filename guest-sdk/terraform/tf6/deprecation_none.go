//go:build plugingo_before_0_31

package tf6

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

func attributeDeprecation(*tfprotov6.SchemaAttribute) string { return "" }

func blockDeprecation(*tfprotov6.SchemaBlock) string { return "" }
