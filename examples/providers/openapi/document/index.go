package document

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// index is a document in parts, which are trimmed to the provider's needs. It holds no more of a large document than that.
type index struct {
	// head has the members of the document that are neither paths nor components, as they stand in it.
	head []named
	// operations are in the document's order.
	operations []*operation
	// items are the parts that the operations of a path share, by path.
	items map[string]part
	// components are by their reference: #/components/schemas/Pet.
	components map[string]part
	// references are the components' references, in the document's order.
	references []string
	// external says that the document refers to others.
	external bool
	// skipped are operations that cannot be understood.
	skipped []Skipped
}

type named struct {
	name string
	text []byte
}

type operation struct {
	path, method string
	part
}

// part is a trimmed object and the places that it refers to.
type part struct {
	text []byte
	refs []string
}

func newIndex() *index { return &index{items: map[string]part{}, components: map[string]part{}} }

// node selects the used parts of an object or a list in a document. Other members are left out.
type node struct {
	// members select the used parts of members by name, others the used parts of all other members; nil for none.
	members map[string]*node
	others  *node
	// named restricts others; nil for all names.
	named func(name string) bool
	// elements select the used parts of the elements of a list; nil for none.
	elements *node
}

// whole is used as it stands.
var whole = &node{}

func mapOf(n *node) *node  { return &node{others: n} }
func listOf(n *node) *node { return &node{elements: n} }

func members(nodes map[string]*node, names ...string) *node {
	n := &node{members: nodes}
	for _, name := range names {
		n.members[name] = whole
	}
	return n
}

// The grammar of documents, of OpenAPI 3 and Swagger 2.
var (
	schemaNode    = &node{}
	encodingNode  = members(map[string]*node{}, "style", "explode", "contentType")
	mediaNode     = members(map[string]*node{"schema": schemaNode, "encoding": mapOf(encodingNode)})
	contentNode   = &node{others: mediaNode, named: func(name string) bool { return preference(name) < unknownMedia }}
	parameterNode = members(map[string]*node{"schema": schemaNode, "items": schemaNode, "content": contentNode},
		"$ref", "name", "in", "description", "required", "deprecated", "style", "explode", "type", "format", "enum", "default", "minimum", "maximum",
		"collectionFormat", "allowEmptyValue")
	bodyNode       = members(map[string]*node{"content": contentNode}, "$ref", "required")
	responseNode   = members(map[string]*node{"content": contentNode, "schema": schemaNode}, "$ref", "description")
	responsesNode  = &node{others: responseNode, named: isSuccess}
	parametersNode = listOf(parameterNode)
	operationNode  = members(map[string]*node{"parameters": parametersNode, "requestBody": bodyNode, "responses": responsesNode},
		"operationId", "summary", "description", "security", "deprecated", "consumes", "produces", KubernetesKind)
	sharedNode = members(map[string]*node{"parameters": parametersNode}, "$ref")
	// sections are the collections of components, by the path to them.
	sections = map[string]*node{
		"components/schemas": schemaNode, "components/parameters": parameterNode, "components/requestBodies": bodyNode,
		"components/responses": responseNode, "components/securitySchemes": whole,
		"definitions": schemaNode, "parameters": parameterNode, "responses": responseNode,
	}
	headNode = members(map[string]*node{"info": members(map[string]*node{}, "title", "description", "version")},
		"openapi", "swagger", "servers", "security", "host", "basePath", "schemes", "consumes", "produces", "securityDefinitions", Extension)
)

// KubernetesKind is the extension that says which resource an operation of Kubernetes is about.
const KubernetesKind = "x-kubernetes-group-version-kind"

func init() {
	schemaNode.members = members(map[string]*node{
		"properties": mapOf(schemaNode), "items": schemaNode, "additionalProperties": schemaNode,
		"allOf": listOf(schemaNode), "oneOf": listOf(schemaNode), "anyOf": listOf(schemaNode),
	}, "$ref", "type", "format", "description", "required", "enum", "const", "default", "minimum", "maximum", "readOnly", "writeOnly", "nullable", "deprecated").members
}

// methods are the methods of the operations that the provider uses.
var methods = []string{"get", "put", "post", "patch", "delete"}

func isSuccess(status string) bool { return strings.HasPrefix(status, "2") || status == "default" }

func (n *node) member(name string) *node {
	if m := n.members[name]; m != nil {
		return m
	}
	if n.named != nil && !n.named(name) {
		return nil
	}
	return n.others
}

// options are lenient where others that read documents are.
var options = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// read adds what a JSON object has of a document. Parts of a document may come one after the other.
func (x *index) read(text []byte) error {
	return x.object(jsontext.NewDecoder(bytes.NewBuffer(text), options...), func(d *jsontext.Decoder, name string) error {
		switch name {
		case "paths":
			return x.object(d, x.path)
		case "components":
			return x.object(d, func(d *jsontext.Decoder, kind string) error { return x.section(d, name+"/"+kind) })
		case "definitions", "parameters", "responses":
			return x.section(d, name)
		}
		n := headNode.member(name)
		if n == nil {
			return d.SkipValue()
		}
		p, err := x.trimmed(d, n)
		x.head = append(x.head, named{name, p.text})
		return err
	})
}

// object calls a function for the members of an object, whose value it must read. Anything else is an error.
func (x *index) object(d *jsontext.Decoder, member func(d *jsontext.Decoder, name string) error) error {
	if d.PeekKind() != '{' {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		if at := place(d); at != "" {
			return errors.New("there is nothing at " + at + ", where an object must be")
		}
		return errors.New("it is not an OpenAPI document: it is not an object")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(d, name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// place returns where a decoder is: paths./pets.get.
func place(d *jsontext.Decoder) string {
	var names []string
	for name := range d.StackPointer().Tokens() {
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

func (x *index) section(d *jsontext.Decoder, path string) error {
	n := sections[path]
	if n == nil {
		return d.SkipValue()
	}
	return x.object(d, func(d *jsontext.Decoder, name string) error {
		reference := "#/" + path + "/" + escape(name)
		if _, twice := x.components[reference]; twice {
			return errors.New(place(d) + " is there twice")
		}
		p, err := x.trimmed(d, n)
		x.components[reference] = p
		x.references = append(x.references, reference)
		return err
	})
}

func (x *index) path(d *jsontext.Decoder, path string) error {
	if strings.HasPrefix(path, "x-") {
		return d.SkipValue()
	}
	if _, twice := x.items[path]; twice {
		return errors.New(place(d) + " is there twice")
	}
	shared := part{text: []byte("{}")}
	var list []named
	err := x.object(d, func(d *jsontext.Decoder, name string) error {
		if slices.Contains(methods, name) {
			p, err := x.trimmed(d, operationNode)
			x.operations = append(x.operations, &operation{path, name, p})
			return err
		}
		n := sharedNode.member(name)
		if n == nil {
			return d.SkipValue()
		}
		p, err := x.trimmed(d, n)
		list = append(list, named{name, p.text})
		shared.refs = append(shared.refs, p.refs...)
		if name == "$ref" {
			// The operations are elsewhere.
			shared.refs = append(shared.refs, unquoted(p.text))
			x.operations = append(x.operations, &operation{path: path})
			x.external = x.external || !strings.HasPrefix(unquoted(p.text), "#")
		}
		return err
	})
	shared.text = join(list)
	x.items[path] = shared
	return err
}

func unquoted(text []byte) string {
	quoted, err := jsontext.AppendUnquote(nil, text)
	if err != nil {
		return ""
	}
	return string(quoted)
}

// trimmed reads a value, and returns its used parts.
func (x *index) trimmed(d *jsontext.Decoder, n *node) (part, error) {
	var to bytes.Buffer
	t := trimmer{from: d, to: jsontext.NewEncoder(&to, options...)}
	err := t.value(n)
	for _, ref := range t.refs {
		x.external = x.external || !strings.HasPrefix(ref, "#")
	}
	return part{bytes.TrimSuffix(to.Bytes(), []byte("\n")), t.refs}, err
}

type trimmer struct {
	from *jsontext.Decoder
	to   *jsontext.Encoder
	refs []string
}

func (t *trimmer) value(n *node) error {
	switch t.from.PeekKind() {
	case '{':
		if n == whole {
			break
		}
		return t.object(n)
	case '[':
		if n.elements == nil {
			break
		}
		if err := t.token(); err != nil {
			return err
		}
		for t.from.PeekKind() != ']' {
			if err := t.value(n.elements); err != nil {
				return err
			}
		}
		return t.token()
	}
	value, err := t.from.ReadValue()
	if err != nil {
		return err
	}
	return t.to.WriteValue(value)
}

func (t *trimmer) token() error {
	token, err := t.from.ReadToken()
	if err != nil {
		return err
	}
	return t.to.WriteToken(token)
}

func (t *trimmer) object(n *node) error {
	if err := t.token(); err != nil {
		return err
	}
	for t.from.PeekKind() != '}' {
		token, err := t.from.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		inner := n.member(name)
		if inner == nil {
			if err := t.from.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := t.to.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if name == "$ref" && inner == whole && t.from.PeekKind() == '"' {
			text, err := t.from.ReadToken()
			if err != nil {
				return err
			}
			t.refs = append(t.refs, text.String())
			if err := t.to.WriteToken(jsontext.String(t.refs[len(t.refs)-1])); err != nil {
				return err
			}
			continue
		}
		if err := t.value(inner); err != nil {
			return err
		}
	}
	return t.token()
}

// join returns the object with the members.
func join(list []named) []byte {
	text := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, m.name)
		text = append(append(text, ':'), m.text...)
	}
	return append(text, '}')
}

// escape returns a name as it stands in a reference.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescape(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
}

// component returns the component that a reference leads into: #/components/schemas/Pet for
// #/components/schemas/Pet/properties/name.
func component(ref string) string {
	segments := strings.Split(ref, "/")
	n := 3
	if len(segments) > 1 && segments[1] == "components" {
		n = 4
	}
	return strings.Join(segments[:min(n, len(segments))], "/")
}

// missing is a reference that leads nowhere.
type missing struct{ ref string }

func (m *missing) Error() string { return "it refers to " + m.ref + ", which is not there" }

// write returns the document with some operations, and the components that they use. The error is a reference of
// theirs that leads nowhere.
func (x *index) write(operations []*operation, more ...named) ([]byte, error) {
	used := map[string]bool{}
	var todo []string
	byPath := map[string][]named{}
	var paths []string
	add := func(path string) {
		if _, ok := byPath[path]; !ok {
			paths = append(paths, path)
			byPath[path] = nil
			todo = append(todo, x.items[path].refs...)
		}
	}
	addOperation := func(o *operation) {
		add(o.path)
		if o.method != "" {
			byPath[o.path] = append(byPath[o.path], named{o.method, o.text})
			todo = append(todo, o.refs...)
		}
	}
	kept := map[*operation]bool{}
	for _, o := range operations {
		addOperation(o)
		kept[o] = true
	}
	external := false
	for len(todo) > 0 {
		ref := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !strings.HasPrefix(ref, "#") && !external {
			external = true
			todo = append(todo, x.references...) // the other document may refer to any of them
		}
		at := component(ref)
		if used[at] || !strings.HasPrefix(ref, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(ref, "#/paths/"); ok {
			path, _, _ := strings.Cut(rest, "/")
			for _, o := range x.operations {
				if o.path == unescape(path) && !kept[o] {
					kept[o] = true
					addOperation(o)
				}
			}
			continue
		}
		p, ok := x.components[at]
		if !ok {
			return nil, &missing{ref}
		}
		used[at] = true
		todo = append(todo, p.refs...)
	}
	members := slices.Concat(x.head, more)
	list := make([]named, 0, len(paths))
	for _, path := range paths {
		item := x.items[path].text
		if operations := join(byPath[path]); len(item) > 2 && len(operations) > 2 {
			item = slices.Concat(item[:len(item)-1], []byte{','}, operations[1:])
		} else if len(operations) > 2 {
			item = operations
		}
		list = append(list, named{path, item})
	}
	members = append(members, named{"paths", join(list)})
	return join(append(members, x.collections(used)...)), nil
}

// collections returns the used components, and the ones that security refers to.
func (x *index) collections(used map[string]bool) []named {
	bySection := map[string][]named{}
	for _, ref := range x.references {
		at := strings.LastIndexByte(ref, '/')
		if section := ref[2:at]; used[ref] || section == "components/securitySchemes" {
			bySection[section] = append(bySection[section], named{unescape(ref[at+1:]), x.components[ref].text})
		}
	}
	var list, components []named
	for _, section := range []string{"components/schemas", "components/parameters", "components/requestBodies", "components/responses",
		"components/securitySchemes", "definitions", "parameters", "responses"} {
		entries := bySection[section]
		if len(entries) == 0 {
			continue
		}
		if kind, ok := strings.CutPrefix(section, "components/"); ok {
			components = append(components, named{kind, join(entries)})
		} else {
			list = append(list, named{section, join(entries)})
		}
	}
	if len(components) > 0 {
		list = append(list, named{"components", join(components)})
	}
	return list
}
