//go:build !plugingo_before_0_31

package tf6

import "github.com/hashicorp/terraform-plugin-go/tfprotov6"

func attributeDeprecation(a *tfprotov6.SchemaAttribute) string { return a.DeprecationMessage }

func blockDeprecation(b *tfprotov6.SchemaBlock) string { return b.DeprecationMessage }
