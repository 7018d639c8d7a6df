package adapter

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// answering is a server that reads and applies with the same answer.
type answering struct {
	tf.Server
	schema *tf.Schema
	value  *tf.Value
	found  tf.Diagnostics
	err    error
}

func (s answering) Schemas(context.Context) (*tf.Schemas, tf.Diagnostics, error) {
	return &tf.Schemas{Provider: &tf.Schema{Attributes: tf.NewAttributes(nil)}, Resources: map[string]*tf.Schema{"shop_thing": s.schema}}, nil, nil
}

func (s answering) UpgradeState(_ context.Context, _ string, _ int64, json []byte) (*tf.Value, tf.Diagnostics, error) {
	return &tf.Value{JSON: json}, nil, nil
}

func (s answering) Read(context.Context, string, tf.State) (tf.State, tf.Diagnostics, error) {
	return tf.State{Value: s.value}, s.found, s.err
}

func (s answering) Apply(context.Context, tf.ApplyRequest) (tf.State, tf.Diagnostics, error) {
	return tf.State{Value: s.value}, s.found, s.err
}

// A state that is null says that an object is gone, in Read, and that it was deleted. No error says so.
func TestGone(t *testing.T) {
	schema := &tf.Schema{Attributes: tf.NewAttributes([]*tf.Attribute{textAttribute("id", computed), textAttribute("name", optional)})}
	wire := schema.Attributes.Wire()
	value := func(of any) *tf.Value {
		v, err := encoded(tftypes.NewValue(wire, of))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	there := value(map[string]tftypes.Value{"id": tftypes.NewValue(tftypes.String, "i"), "name": tftypes.NewValue(tftypes.String, "n")})
	for name, c := range map[string]struct {
		answer              answering
		gone, read, deleted bool
	}{
		"null":       {answer: answering{value: value(nil)}, gone: true, read: true, deleted: true},
		"no state":   {answer: answering{}, gone: true, read: true, deleted: true},
		"a state":    {answer: answering{value: there}, read: true},
		"a failure":  {answer: answering{value: value(nil), found: tf.Diagnostics{{Summary: "404 Not Found"}}}},
		"no answer":  {answer: answering{err: errors.New("not found")}},
		"not found":  {answer: answering{err: abi.NewError(abi.ErrorKindNotFound, "no project")}},
		"no method":  {answer: answering{err: abi.NewError(abi.ErrorKindUnimplemented, "x")}},
		"a warning":  {answer: answering{value: value(nil), found: tf.Diagnostics{{Warning: true, Summary: "x"}}}, gone: true, read: true, deleted: true},
		"half there": {answer: answering{value: there, found: tf.Diagnostics{{Summary: "x"}}}},
	} {
		c.answer.schema = schema
		p := New("shop", "1.0.0", c.answer, terraform.Mapping{})
		state := property.NewMap(property.Entry{Key: "id", Value: property.String("i")}, property.Entry{Key: "name", Value: property.String("n")})
		read, err := p.Read(t.Context(), abi.ReadRequest{Type: "shop:index/thing:Thing", ID: "i", State: &state, Inputs: &state})
		if (err == nil) != c.read || err == nil && (read.ID == "") != c.gone {
			t.Errorf("%s: read %q, %v", name, read.ID, err)
		}
		if err := p.Delete(t.Context(), abi.DeleteRequest{Type: "shop:index/thing:Thing", ID: "i", State: state}); (err == nil) != c.deleted {
			t.Errorf("%s: delete: %v", name, err)
		}
	}
}
