package tf6

import (
	"cmp"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// deprecated is the message for a deprecation without a reason.
const deprecated = "Deprecated"

func schemasOf(all map[string]*tfprotov6.Schema) map[string]*tf.Schema {
	schemas := make(map[string]*tf.Schema, len(all))
	for name, s := range all {
		schemas[name] = schema(s)
	}
	return schemas
}

func schema(s *tfprotov6.Schema) *tf.Schema {
	if s == nil || s.Block == nil {
		return &tf.Schema{Attributes: tf.NewAttributes(nil)}
	}
	out := &tf.Schema{Version: s.Version, Attributes: block(s.Block), Description: s.Block.Description}
	if s.Block.Deprecated {
		out.Deprecation = cmp.Or(blockDeprecation(s.Block), deprecated)
	}
	return out
}

func block(b *tfprotov6.SchemaBlock) *tf.Attributes {
	list := attributes(b.Attributes)
	for _, nested := range b.BlockTypes {
		a := &tf.Attribute{
			Name: nested.TypeName, Block: true, Optional: true, MinItems: nested.MinItems, MaxItems: nested.MaxItems,
			Type: tf.ObjectType(block(nested.Block)), Description: nested.Block.Description,
		}
		if nested.Block.Deprecated {
			a.Deprecation = cmp.Or(blockDeprecation(nested.Block), deprecated)
		}
		switch nested.Nesting {
		case tfprotov6.SchemaNestedBlockNestingModeList:
			a.Type = tf.ListOf(a.Type)
		case tfprotov6.SchemaNestedBlockNestingModeSet:
			a.Type = tf.SetOf(a.Type)
		case tfprotov6.SchemaNestedBlockNestingModeMap:
			a.Type = tf.MapOf(a.Type)
		}
		if nested.MinItems > 0 {
			a.Required, a.Optional = true, false
		}
		list = append(list, a)
	}
	return tf.NewAttributes(list)
}

func attributes(all []*tfprotov6.SchemaAttribute) []*tf.Attribute {
	var list []*tf.Attribute
	for _, a := range all {
		attribute := &tf.Attribute{
			Name: a.Name, Description: a.Description, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive, WriteOnly: isWriteOnly(a),
		}
		if a.Deprecated {
			attribute.Deprecation = cmp.Or(attributeDeprecation(a), deprecated)
		}
		attribute.Type, attribute.Nested = attributeType(a)
		list = append(list, attribute)
	}
	return list
}
