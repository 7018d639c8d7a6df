package pulumi

import (
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// message is a message of the protocol, whose fields are named as in its description. A provider
// selects the version of the protocol. A field that its version lacks is left out of requests, and
// empty in responses. So one source fits all versions.
type message struct {
	protoreflect.Message
	// refusal is why a request cannot be made; nil in messages inside of others.
	refusal *error
}

func messageOf(m any) (message, error) {
	if m, ok := m.(proto.Message); ok {
		return message{m.ProtoReflect(), new(error)}, nil
	}
	return message{}, errors.New("it is not a message of the protocol")
}

// refuse has the request not be sent, because the version of the protocol cannot express it.
func (m message) refuse(err error) { *m.refusal = err }

// requestOf fills a request.
func requestOf(in any, fill func(message)) error {
	m, err := messageOf(in)
	if err != nil || fill == nil {
		return err
	}
	fill(m)
	return *m.refusal
}

// unknownField is called with the name of a field that the message lacks. Tests set it, because the
// newest version has all fields.
var unknownField = func(protoreflect.FullName) {}

// field returns the description of a field, nil if the version of the protocol lacks it.
func (m message) field(name string) protoreflect.FieldDescriptor {
	d := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if d == nil {
		unknownField(m.Descriptor().FullName().Append(protoreflect.Name(name)))
	}
	return d
}

// set sets a field to a value of the Go type that the description gives it.
func (m message) set(name string, v any) {
	if d := m.field(name); d != nil {
		m.Set(d, protoreflect.ValueOf(v))
	}
}

// setEnum sets a field to the case of an enumeration with a number.
func (m message) setEnum(name string, number protoreflect.EnumNumber) {
	if d := m.field(name); d != nil {
		m.Set(d, protoreflect.ValueOfEnum(number))
	}
}

func (m message) setTexts(name string, texts []string) {
	d := m.field(name)
	if d == nil || len(texts) == 0 {
		return
	}
	list := m.Mutable(d).List()
	for _, text := range texts {
		list.Append(protoreflect.ValueOfString(text))
	}
}

// setBool sets a field that may be absent.
func (m message) setBool(name string, b *bool) {
	if b != nil {
		m.set(name, *b)
	}
}

// setText sets an entry of a field that is a map of texts.
func (m message) setText(name, key, text string) {
	if d := m.field(name); d != nil {
		m.Mutable(d).Map().Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(text))
	}
}

func (m message) setProperties(name string, p property.Map) {
	if d := m.field(name); d != nil {
		m.Set(d, protoreflect.ValueOfMessage(toStruct(p).ProtoReflect()))
	}
}

func (m message) setValue(name string, v property.Value) {
	if d := m.field(name); d != nil {
		m.Set(d, protoreflect.ValueOfMessage(toValue(v).ProtoReflect()))
	}
}

// make sets a field to an empty message and returns it. It is a message of no use if the version of
// the protocol lacks the field.
func (m message) make(name string) message {
	d := m.field(name)
	if d == nil {
		return message{Message: (&structpb.Struct{}).ProtoReflect()}
	}
	return message{Message: m.Mutable(d).Message()}
}

// add appends an empty message to a field and returns it, as make does.
func (m message) add(name string) message {
	d := m.field(name)
	if d == nil {
		return message{Message: (&structpb.Struct{}).ProtoReflect()}
	}
	return message{Message: m.Mutable(d).List().AppendMutable().Message()}
}

// setDependencies sets a field that is a map of messages with a list of URNs.
func (m message) setDependencies(name string, dependencies []abi.PropertyDependency) {
	d := m.field(name)
	if d == nil || len(dependencies) == 0 {
		return
	}
	entries := m.Mutable(d).Map()
	for _, p := range dependencies {
		v := entries.NewValue()
		message{Message: v.Message()}.setTexts("urns", textsOf(p.URNs))
		entries.Set(protoreflect.ValueOfString(p.Key).MapKey(), v)
	}
}

// has reports whether a field is there.
func (m message) has(name string) bool {
	d := m.field(name)
	return d != nil && m.Has(d)
}

func (m message) text(name string) string {
	if d := m.field(name); d != nil {
		return m.Get(d).String()
	}
	return ""
}

func (m message) bool(name string) bool {
	d := m.field(name)
	return d != nil && m.Get(d).Bool()
}

// optionalBool returns a field that may be absent.
func (m message) optionalBool(name string) *bool {
	if !m.has(name) {
		return nil
	}
	b := m.bool(name)
	return &b
}

func (m message) bytes(name string) []byte {
	if d := m.field(name); d != nil {
		return m.Get(d).Bytes()
	}
	return nil
}

func (m message) enum(name string) protoreflect.EnumNumber {
	if d := m.field(name); d != nil {
		return m.Get(d).Enum()
	}
	return 0
}

func (m message) texts(name string) []string {
	d := m.field(name)
	if d == nil {
		return nil
	}
	list := m.Get(d).List()
	var texts []string
	for i := range list.Len() {
		texts = append(texts, list.Get(i).String())
	}
	return texts
}

// message returns the message of a field, which is empty if it is absent.
func (m message) message(name string) message {
	d := m.field(name)
	if d == nil {
		return message{Message: (&structpb.Struct{}).ProtoReflect()}
	}
	return message{Message: m.Get(d).Message()}
}

func (m message) messages(name string) []message {
	d := m.field(name)
	if d == nil {
		return nil
	}
	list := m.Get(d).List()
	messages := make([]message, list.Len())
	for i := range messages {
		messages[i] = message{Message: list.Get(i).Message()}
	}
	return messages
}

// eachEntry calls visit for the entries of a field that is a map, in no order.
func (m message) eachEntry(name string, visit func(key string, v protoreflect.Value)) {
	if d := m.field(name); d != nil {
		m.Get(d).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
			visit(key.String(), v)
			return true
		})
	}
}

// properties returns the properties of a field, none if it is absent. The error names the property.
func (m message) properties(name string) (property.Map, error) {
	if !m.has(name) {
		return property.Map{}, nil
	}
	s, ok := m.message(name).Interface().(*structpb.Struct)
	if !ok {
		return property.Map{}, errors.New("the field " + name + " holds no properties")
	}
	return fromStruct(s)
}

// readable returns the properties of a field that can be read.
func (m message) readable(name string) (property.Map, []fault) {
	if !m.has(name) {
		return property.Map{}, nil
	}
	s, ok := m.message(name).Interface().(*structpb.Struct)
	if !ok {
		return property.Map{}, []fault{{name, errors.New("the field holds no properties")}}
	}
	return readable(s)
}

// optionalProperties returns the properties of a field, nil if it is absent.
func (m message) optionalProperties(name string) (*property.Map, error) {
	if !m.has(name) {
		return nil, nil
	}
	p, err := m.properties(name)
	return &p, err
}

// optionalValue returns the value of a field, nil if it is absent.
func (m message) optionalValue(name string) (*property.Value, error) {
	if !m.has(name) {
		return nil, nil
	}
	v, ok := m.message(name).Interface().(*structpb.Value)
	if !ok {
		return nil, errors.New("the field " + name + " holds no property value")
	}
	converted, err := fromValue(v)
	return &converted, err
}

func (m message) dependencies(name string) []abi.PropertyDependency {
	var dependencies []abi.PropertyDependency
	m.eachEntry(name, func(key string, v protoreflect.Value) {
		dependencies = append(dependencies, abi.PropertyDependency{Key: key, URNs: urnsOf(message{Message: v.Message()}.texts("urns"))})
	})
	sortByKey(dependencies, func(d abi.PropertyDependency) string { return d.Key })
	return dependencies
}

func textsOf(urns []urn.URN) []string {
	var texts []string
	for _, u := range urns {
		texts = append(texts, string(u))
	}
	return texts
}

func urnsOf(texts []string) []urn.URN {
	var urns []urn.URN
	for _, text := range texts {
		urns = append(urns, urn.URN(text))
	}
	return urns
}
