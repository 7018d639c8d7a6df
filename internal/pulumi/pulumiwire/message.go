// Package pulumiwire reads and writes messages of Pulumi's protocol by the names of their fields. The
// adapter for providers in modules uses it, with the messages of the provider's own SDK, and the host
// of programs, with messages of the published description. It needs protobuf, and nothing of Pulumi.
package pulumiwire

import (
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Message is a message of the protocol, whose fields are named as in its description. A field that the
// version of the protocol lacks is left out when it is set, and empty when it is read. So one source
// fits all versions.
type Message struct{ Reflect protoreflect.Message }

// UnknownField is called with the name of a field that a message lacks. Tests set it, because the newest
// version has all fields.
var UnknownField = func(protoreflect.FullName) {}

// Field returns the description of a field, nil if the version of the protocol lacks it.
func (m Message) Field(name string) protoreflect.FieldDescriptor {
	d := m.Reflect.Descriptor().Fields().ByName(protoreflect.Name(name))
	if d == nil {
		UnknownField(m.Reflect.Descriptor().FullName().Append(protoreflect.Name(name)))
	}
	return d
}

// Set sets a field to a value of the Go type that the description gives it.
func (m Message) Set(name string, v any) {
	if d := m.Field(name); d != nil {
		m.Reflect.Set(d, protoreflect.ValueOf(v))
	}
}

// SetEnum sets a field to the case of an enumeration with a number.
func (m Message) SetEnum(name string, number protoreflect.EnumNumber) {
	if d := m.Field(name); d != nil {
		m.Reflect.Set(d, protoreflect.ValueOfEnum(number))
	}
}

func (m Message) SetTexts(name string, texts []string) {
	d := m.Field(name)
	if d == nil || len(texts) == 0 {
		return
	}
	list := m.Reflect.Mutable(d).List()
	for _, text := range texts {
		list.Append(protoreflect.ValueOfString(text))
	}
}

// SetBool sets a field that may be absent.
func (m Message) SetBool(name string, b *bool) {
	if b != nil {
		m.Set(name, *b)
	}
}

// SetText sets an entry of a field that is a map of texts.
func (m Message) SetText(name, key, text string) {
	if d := m.Field(name); d != nil {
		m.Reflect.Mutable(d).Map().Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(text))
	}
}

func (m Message) SetProperties(name string, p property.Map) { m.setEncoded(name, ToStruct(p)) }

func (m Message) SetValue(name string, v property.Value) { m.setEncoded(name, ToValue(v)) }

// setEncoded sets a field to a message, or to the bytes of it: [Describe] makes fields with properties into such fields.
func (m Message) setEncoded(name string, v proto.Message) {
	d := m.Field(name)
	switch {
	case d == nil:
	case d.Kind() == protoreflect.BytesKind:
		encoded, err := proto.Marshal(v)
		if err != nil { // a text that is not UTF-8, which property values never hold
			encoded = nil
		}
		m.Reflect.Set(d, protoreflect.ValueOfBytes(encoded))
	default:
		m.Reflect.Set(d, protoreflect.ValueOfMessage(v.ProtoReflect()))
	}
}

// Make sets a field to an empty message and returns it. It is a message of no use if the version of
// the protocol lacks the field.
func (m Message) Make(name string) Message {
	d := m.Field(name)
	if d == nil {
		return Message{(&structpb.Struct{}).ProtoReflect()}
	}
	return Message{m.Reflect.Mutable(d).Message()}
}

// Add appends an empty message to a field and returns it, as make does.
func (m Message) Add(name string) Message {
	d := m.Field(name)
	if d == nil {
		return Message{(&structpb.Struct{}).ProtoReflect()}
	}
	return Message{m.Reflect.Mutable(d).List().AppendMutable().Message()}
}

// MakeEntry sets an entry of a field that is a map of messages to an empty message, and returns it.
func (m Message) MakeEntry(name, key string) Message {
	d := m.Field(name)
	if d == nil {
		return Message{(&structpb.Struct{}).ProtoReflect()}
	}
	return Message{m.Reflect.Mutable(d).Map().Mutable(protoreflect.ValueOfString(key).MapKey()).Message()}
}

// SetDependencies sets a field that is a map of messages with a list of URNs.
func (m Message) SetDependencies(name string, dependencies []abi.PropertyDependency) {
	d := m.Field(name)
	if d == nil || len(dependencies) == 0 {
		return
	}
	entries := m.Reflect.Mutable(d).Map()
	for _, p := range dependencies {
		v := entries.NewValue()
		Message{v.Message()}.SetTexts("urns", TextsOf(p.URNs))
		entries.Set(protoreflect.ValueOfString(p.Key).MapKey(), v)
	}
}

// Has reports whether a field is there.
func (m Message) Has(name string) bool {
	d := m.Field(name)
	return d != nil && m.Reflect.Has(d)
}

func (m Message) Text(name string) string {
	if d := m.Field(name); d != nil {
		return m.Reflect.Get(d).String()
	}
	return ""
}

func (m Message) Bool(name string) bool {
	d := m.Field(name)
	return d != nil && m.Reflect.Get(d).Bool()
}

// Int returns a field that is a whole number.
func (m Message) Int(name string) int64 {
	if d := m.Field(name); d != nil {
		return m.Reflect.Get(d).Int()
	}
	return 0
}

// Number returns a field that is a floating-point number.
func (m Message) Number(name string) float64 {
	if d := m.Field(name); d != nil {
		return m.Reflect.Get(d).Float()
	}
	return 0
}

// OptionalBool returns a field that may be absent.
func (m Message) OptionalBool(name string) *bool {
	if !m.Has(name) {
		return nil
	}
	b := m.Bool(name)
	return &b
}

func (m Message) Bytes(name string) []byte {
	if d := m.Field(name); d != nil {
		return m.Reflect.Get(d).Bytes()
	}
	return nil
}

func (m Message) Enum(name string) protoreflect.EnumNumber {
	if d := m.Field(name); d != nil {
		return m.Reflect.Get(d).Enum()
	}
	return 0
}

func (m Message) Texts(name string) []string {
	d := m.Field(name)
	if d == nil {
		return nil
	}
	list := m.Reflect.Get(d).List()
	var texts []string
	for i := range list.Len() {
		texts = append(texts, list.Get(i).String())
	}
	return texts
}

// Message returns the message of a field, which is empty if it is absent.
func (m Message) Message(name string) Message {
	d := m.Field(name)
	if d == nil {
		return Message{(&structpb.Struct{}).ProtoReflect()}
	}
	return Message{m.Reflect.Get(d).Message()}
}

func (m Message) Messages(name string) []Message {
	d := m.Field(name)
	if d == nil {
		return nil
	}
	list := m.Reflect.Get(d).List()
	messages := make([]Message, list.Len())
	for i := range messages {
		messages[i] = Message{list.Get(i).Message()}
	}
	return messages
}

// EachEntry calls visit for the entries of a field that is a map, in no order.
func (m Message) EachEntry(name string, visit func(key string, v protoreflect.Value)) {
	if d := m.Field(name); d != nil {
		m.Reflect.Get(d).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
			visit(key.String(), v)
			return true
		})
	}
}

// decode reads a field that setEncoded sets.
func (m Message) decode(name string, to proto.Message) error {
	d := m.Field(name)
	switch {
	case d == nil:
		return nil
	case d.Kind() == protoreflect.BytesKind:
		if err := proto.Unmarshal(m.Reflect.Get(d).Bytes(), to); err != nil {
			return errors.New("the field " + name + " cannot be read: " + err.Error())
		}
		return nil
	case d.Message() == nil || d.Message().FullName() != to.ProtoReflect().Descriptor().FullName():
		return errors.New("the field " + name + " holds no properties")
	}
	proto.Merge(to, m.Reflect.Get(d).Message().Interface())
	return nil
}

// Properties returns the properties of a field, none if it is absent. The error names the property.
func (m Message) Properties(name string) (property.Map, error) {
	p, faults := m.Readable(name)
	if len(faults) > 0 {
		return property.Map{}, faults[0]
	}
	return p, nil
}

// Readable returns the properties of a field that can be read, and the faults of the others.
func (m Message) Readable(name string) (property.Map, []Fault) {
	if !m.Has(name) {
		return property.Map{}, nil
	}
	if d := m.Field(name); d.Kind() == protoreflect.MessageKind {
		if s, ok := m.Reflect.Get(d).Message().Interface().(*structpb.Struct); ok {
			return readable(s)
		}
	}
	var s structpb.Struct
	if err := m.decode(name, &s); err != nil {
		return property.Map{}, []Fault{{name, err}}
	}
	return readable(&s)
}

// OptionalProperties returns the properties of a field, nil if it is absent.
func (m Message) OptionalProperties(name string) (*property.Map, error) {
	if !m.Has(name) {
		return nil, nil
	}
	p, err := m.Properties(name)
	return &p, err
}

// OptionalValue returns the value of a field, nil if it is absent.
func (m Message) OptionalValue(name string) (*property.Value, error) {
	if !m.Has(name) {
		return nil, nil
	}
	var v structpb.Value
	if err := m.decode(name, &v); err != nil {
		return nil, err
	}
	converted, err := FromValue(&v)
	return &converted, err
}

func (m Message) Dependencies(name string) []abi.PropertyDependency {
	var dependencies []abi.PropertyDependency
	m.EachEntry(name, func(key string, v protoreflect.Value) {
		dependencies = append(dependencies, abi.PropertyDependency{Key: key, URNs: URNsOf(Message{v.Message()}.Texts("urns"))})
	})
	slices.SortFunc(dependencies, func(a, b abi.PropertyDependency) int { return strings.Compare(a.Key, b.Key) })
	return dependencies
}

func TextsOf(urns []urn.URN) []string {
	var texts []string
	for _, u := range urns {
		texts = append(texts, string(u))
	}
	return texts
}

func URNsOf(texts []string) []urn.URN {
	var urns []urn.URN
	for _, text := range texts {
		urns = append(urns, urn.URN(text))
	}
	return urns
}
