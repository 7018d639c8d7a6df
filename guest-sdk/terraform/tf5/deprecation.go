//go:build !plugingo_before_0_31

package tf5

import "github.com/hashicorp/terraform-plugin-go/tfprotov5"

func attributeDeprecation(a *tfprotov5.SchemaAttribute) string { return a.DeprecationMessage }

func blockDeprecation(b *tfprotov5.SchemaBlock) string { return b.DeprecationMessage }
