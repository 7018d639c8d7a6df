package tf5

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// attributeType returns the type of an attribute, which has no schema of its own in this version of the
// protocol.
func attributeType(a *tfprotov5.SchemaAttribute) (t *tf.Type, nested bool) {
	return tf.TypeOf(a.Type), false
}
