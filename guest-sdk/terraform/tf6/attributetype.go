package tf6

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// attributeType returns the type of an attribute, and whether it has a schema of its own.
func attributeType(a *tfprotov6.SchemaAttribute) (t *tf.Type, nested bool) {
	if a.NestedType != nil {
		return nestedType(a.NestedType), true
	}
	return tf.TypeOf(a.Type), false
}

func nestedType(o *tfprotov6.SchemaObject) *tf.Type {
	object := tf.ObjectType(tf.NewAttributes(attributes(o.Attributes)))
	switch o.Nesting {
	case tfprotov6.SchemaObjectNestingModeList:
		return tf.ListOf(object)
	case tfprotov6.SchemaObjectNestingModeSet:
		return tf.SetOf(object)
	case tfprotov6.SchemaObjectNestingModeMap:
		return tf.MapOf(object)
	}
	return object
}
