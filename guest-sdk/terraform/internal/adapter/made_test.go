package adapter

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// making is a server that plans what is proposed, applies with one answer, and keeps what it is asked to read
// and to upgrade.
type making struct {
	answering
	identity  *tf.Value
	read      tf.State
	upgrading string
}

func (s *making) Plan(_ context.Context, request tf.PlanRequest) (tf.PlanResponse, tf.Diagnostics, error) {
	return tf.PlanResponse{Planned: tf.State{Value: request.Proposed}}, nil, nil
}

func (s *making) Apply(context.Context, tf.ApplyRequest) (tf.State, tf.Diagnostics, error) {
	return tf.State{Value: s.value, Private: []byte("p"), Identity: s.identity}, s.found, s.err
}

func (s *making) Read(_ context.Context, _ string, current tf.State) (tf.State, tf.Diagnostics, error) {
	s.read = current
	return current, nil, nil
}

func (s *making) UpgradeState(_ context.Context, _ string, version int64, json []byte) (*tf.Value, tf.Diagnostics, error) {
	s.upgrading = string(json)
	if version != s.schema.Version {
		return nil, nil, errors.New("no")
	}
	return &tf.Value{JSON: json}, nil, nil
}

// madeSchema has a block rule of which there is one, in which there is one block part.
func madeSchema() *tf.Schema {
	part := &tf.Attribute{Name: "part_of", Property: "partOf", Optional: true, Block: true, MaxItems: 1, Type: blocks(textAttribute("key", optional))}
	rule := &tf.Attribute{Name: "rule", Property: "rule", Optional: true, Block: true, MaxItems: 1, Type: blocks(textAttribute("key", optional), part)}
	attributes := tf.NewAttributes([]*tf.Attribute{textAttribute("id", computed), textAttribute("name", optional), rule})
	return &tf.Schema{Attributes: attributes, Identity: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"arn": tftypes.String}}}
}

func blocks(of ...*tf.Attribute) *tf.Type {
	element := tf.ObjectType(tf.NewAttributes(of))
	return &tf.Type{Kind: tf.List, Element: element, Wire: tftypes.List{ElementType: element.Wire}}
}

// Whatever a provider answers to a change, what it made is known: by its ID and by all that can be read, or as
// an outcome that nobody knows.
func TestWhatWasMadeIsKept(t *testing.T) {
	var valueOf func(of any) tftypes.Value
	valueOf = func(of any) tftypes.Value {
		switch of := of.(type) {
		case string:
			return tftypes.NewValue(tftypes.String, of)
		case int:
			return tftypes.NewValue(tftypes.Number, of)
		case []string:
			list := []tftypes.Value{}
			for _, s := range of {
				list = append(list, valueOf(s))
			}
			return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, list)
		case map[string]any:
			types, parts := map[string]tftypes.Type{}, map[string]tftypes.Value{}
			for name, v := range of {
				parts[name] = valueOf(v)
				types[name] = parts[name].Type()
			}
			return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, parts)
		}
		return tftypes.NewValue(tftypes.String, nil)
	}
	packed := func(of any) *tf.Value {
		v, err := encoded(valueOf(of))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	whole := func(change map[string]any) *tf.Value {
		out := map[string]any{"id": "i", "name": "new", "rule": []string{}}
		for name, v := range change {
			out[name] = v
		}
		return packed(out)
	}
	for name, c := range map[string]struct {
		value, identity *tf.Value
		found           tf.Diagnostics
		kind            abi.ErrorKind // 0 for none
		id, title       string        // of the created resource
		updated         string        // the title of the updated one
	}{
		"a state":            {value: whole(nil), id: "i", title: "new", updated: "new"},
		"half done":          {value: whole(nil), found: tf.Diagnostics{{Summary: "x"}}, kind: abi.ErrorKindInitFailed, id: "i", title: "new", updated: "new"},
		"a wrong attribute":  {value: whole(map[string]any{"name": []string{"x"}}), kind: abi.ErrorKindInitFailed, id: "i", updated: "old"},
		"an unknown one":     {value: whole(map[string]any{"x": 1}), kind: abi.ErrorKindInitFailed, id: "i", title: "new", updated: "new"},
		"a wrong ID":         {value: whole(map[string]any{"id": []string{"x"}}), kind: abi.ErrorKindInitFailed, id: "thing", title: "new", updated: "new"},
		"JSON":               {value: &tf.Value{JSON: []byte(`{"id":"i","name":[1]}`)}, kind: abi.ErrorKindInitFailed, id: "i", updated: "old"},
		"a damaged identity": {value: whole(nil), identity: packed(1), kind: abi.ErrorKindInitFailed, id: "i", title: "new", updated: "new"},
		"no object":          {value: packed("x"), kind: abi.ErrorKindCrashed},
		"nothing":            {value: packed(nil), kind: abi.ErrorKindCrashed},
		"a failure":          {value: packed(nil), found: tf.Diagnostics{{Summary: "x"}}, kind: abi.ErrorKindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			p := New("shop", "1.0.0", &making{answering: answering{schema: madeSchema(), value: c.value, found: c.found}, identity: c.identity}, terraform.Mapping{})
			text := func(name string) property.Map {
				return property.NewMap(property.Entry{Key: "id", Value: property.String("i")}, property.Entry{Key: "name", Value: property.String(name)})
			}
			judge := func(what string, err error, id string, state property.Map, wantID, title string) {
				t.Helper()
				if e := abi.AsError(err); (err == nil) != (c.kind == 0) || err != nil && e.Kind != c.kind {
					t.Fatalf("%s: %v", what, err)
				} else if err != nil && e.InitFailure != nil {
					id, state = e.InitFailure.ID, e.InitFailure.State
				}
				if id != wantID {
					t.Errorf("%s: the ID is %q", what, id)
				}
				if got, _ := state.Get("name").AsString(); got != title {
					t.Errorf("%s: the state is %v", what, state)
				}
				m, err := metaOf(state)
				if id != "" && (err != nil || m.PrivateState != "cA==" || m.Tainted != (what == "create" && c.kind != 0)) {
					t.Errorf("%s: the meta is %+v, %v", what, m, err)
				}
			}
			created, err := p.Create(t.Context(), abi.CreateRequest{Type: "shop:index/thing:Thing", Name: "thing", Inputs: text("new").Without("id")})
			judge("create", err, created.ID, created.State, c.id, c.title)
			if c.kind == abi.ErrorKindInternal || c.value == nil || string(c.value.MsgPack) == "\xc0" {
				return // an update that ends without a state has changed nothing
			}
			updated, err := p.Update(t.Context(), abi.UpdateRequest{
				Type: "shop:index/thing:Thing", ID: "i", Olds: text("old"), OldInputs: text("old").Without("id"), News: text("new").Without("id"),
			})
			wantID := "i"
			if c.id == "" {
				wantID = ""
			}
			id := ""
			if err == nil {
				id = "i"
			}
			judge("update", err, id, updated.State, wantID, c.updated)
		})
	}
}

// Each value of MessagePack has an end.
func TestPackedParts(t *testing.T) {
	long := strings.Repeat("x", 70000)
	values := map[string]string{
		"small": "\x07", "negative": "\xff", "null": "\xc0", "bool": "\xc3", "map": "\x81\xa1k\x92\x01\x02", "array": "\x92\xa1a\xcb12345678",
		"float": "\xca1234", "uint8": "\xcc1", "uint16": "\xcd12", "uint64": "\xcf12345678", "int16": "\xd112", "int64": "\xd312345678",
		"bytes": "\xc4\x02ab", "bytes16": "\xc5\x00\x01a", "extension": "\xc7\x02\x0cab", "fixed": "\xd4\x00\x00", "fixed16": "\xd8\x001234567812345678",
		"text8": "\xd9\x01a", "text16": "\xda\x00\x01a", "text32": "\xdb\x00\x01\x11\x70" + long, "array16": "\xdc\x00\x01\xc0", "map32": "\xdf\x00\x00\x00\x01\xa1k\xc2",
	}
	object := "\xde\x00" + string(rune(len(values)))
	for name, v := range values {
		object += string([]byte{0xa0 | byte(len(name))}) + name + v
	}
	parts, err := packedParts([]byte(object))
	if err != nil || len(parts) != len(values) {
		t.Fatal(len(parts), err)
	}
	for name, want := range values {
		if string(parts[name]) != want {
			t.Errorf("%s: got %d bytes, want %d", name, len(parts[name]), len(want))
		}
	}
	for end := range 60 {
		if _, err := packedParts([]byte(object[:end])); err == nil {
			t.Errorf("%d bytes of an object are taken for one", end)
		}
	}
	for _, wrong := range []string{"\xc1", "\xa1x", "\x81\xc1\x00", "\x81\xa1k\xc1", "\x81\xa1k\xdd\xff\xff\xff\xff", "\x81\x01\x01"} {
		if parts, err := packedParts([]byte(wrong)); err == nil {
			t.Errorf("%q: got %v", wrong, parts)
		}
	}
}

// Terraform takes several elements where a schema allows one. The properties show the first, and the provider
// gets all of them again.
func TestSeveralElementsOfOne(t *testing.T) {
	schema := madeSchema()
	rule := schema.Attributes.Get("rule").Type
	part := rule.Element.Object.Get("part_of").Type
	str := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	inner := func(key string) tftypes.Value {
		return tftypes.NewValue(part.Element.Wire, map[string]tftypes.Value{"key": str(key)})
	}
	outer := func(key string, parts ...tftypes.Value) tftypes.Value {
		return tftypes.NewValue(rule.Element.Wire, map[string]tftypes.Value{"key": str(key), "part_of": tftypes.NewValue(part.Wire, parts)})
	}
	made := tftypes.NewValue(schema.Attributes.Wire(), map[string]tftypes.Value{
		"id": str("i"), "name": str("n"),
		"rule": tftypes.NewValue(rule.Wire, []tftypes.Value{outer("a", inner("x"), inner("y")), outer("b"), outer("c", inner("z"))}),
	})
	sent, err := encoded(made)
	if err != nil {
		t.Fatal(err)
	}
	s := &making{answering: answering{schema: schema, value: sent}}
	p := New("shop", "1.0.0", s, terraform.Mapping{})
	created, err := p.Create(t.Context(), abi.CreateRequest{Type: "shop:index/thing:Thing", Name: "thing", Inputs: property.NewMap()})
	if err != nil || created.ID != "i" {
		t.Fatal(created, err)
	}
	shown, ok := created.State.Get("rule").AsObject()
	if first, _ := shown.Get("partOf").AsObject(); !ok || !first.Get("key").Equal(property.String("x")) || !shown.Get("key").Equal(property.String("a")) {
		t.Errorf("the property is %v", created.State.Get("rule"))
	}

	read, err := p.Read(t.Context(), abi.ReadRequest{Type: "shop:index/thing:Thing", ID: "i", State: &created.State, Inputs: &created.State})
	if err != nil || !read.State.Equal(created.State) {
		t.Errorf("read %v, %v", read.State, err)
	}
	if got, err := decoded(schema.Attributes.Wire(), s.read.Value); err != nil || !got.Equal(made) {
		t.Errorf("the provider got %v, %v", got, err)
	}

	later := &making{answering: answering{schema: madeSchema()}}
	later.schema.Version = 1
	p = New("shop", "2.0.0", later, terraform.Mapping{})
	if _, err = p.Read(t.Context(), abi.ReadRequest{Type: "shop:index/thing:Thing", ID: "i", State: &created.State}); err == nil {
		t.Error("the state was not upgraded")
	}
	if want := `"rule":[{"key":"a","part_of":[{"key":"x"},{"key":"y"}]},{"key":"b"},{"key":"c","part_of":[{"key":"z"}]}]`; !strings.Contains(later.upgrading, want) {
		t.Errorf("the upgrade got %s", later.upgrading)
	}
}

// A resource whose state has no properties is refreshed, and not imported.
func TestReadOfAnEmptyState(t *testing.T) {
	s := &making{answering: answering{schema: madeSchema()}}
	p := New("shop", "1.0.0", s, terraform.Mapping{})
	read, err := p.Read(t.Context(), abi.ReadRequest{Type: "shop:index/thing:Thing", ID: "i", State: &property.Map{}})
	if err != nil || read.ID != "i" || s.read.Value == nil {
		t.Errorf("read %+v, %v", read, err)
	}
}
