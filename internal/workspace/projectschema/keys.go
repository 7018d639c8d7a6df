package projectschema

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Node is a part of the schema of project files.
type Node struct {
	Ref                  string           `json:"$ref"`
	Description          string           `json:"description"`
	Type                 any              `json:"type"`
	Properties           map[string]*Node `json:"properties"`
	AdditionalProperties *rest            `json:"additionalProperties"`
	Items                *Node            `json:"items"`
	AnyOf                []*Node          `json:"anyOf"`
	AllOf                []*Node          `json:"allOf"`
	Enum                 []any            `json:"enum"`
	Deprecated           bool             `json:"deprecated"`
	Required             []string         `json:"required"`
	Definitions          map[string]*Node `json:"definitions"`
}

// rest is the schema of further properties, nil if there are none.
type rest struct{ *Node }

// UnmarshalJSON implements [json.Unmarshaler].
func (r *rest) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '{' {
		return nil
	}
	return json.Unmarshal(text, &r.Node)
}

// Root returns the schema of project files. It must not be changed.
var Root = sync.OnceValue(func() *Node {
	var root Node
	if err := readBase(&root); err != nil {
		panic(err) // the tests read it
	}
	return &root
})

// alternatives returns the alternatives of a node: itself, and all nodes that it refers to.
func (n *Node) alternatives() []*Node {
	all := []*Node{n}
	for i := 0; i < len(all); i++ {
		add := func(more ...*Node) {
			for _, m := range more {
				if !slices.Contains(all, m) {
					all = append(all, m)
				}
			}
		}
		if name, ok := strings.CutPrefix(all[i].Ref, "#/definitions/"); ok {
			add(Root().Definitions[name])
		}
		add(all[i].AllOf...)
		add(all[i].AnyOf...)
	}
	return all
}

// Element is the step to the elements of a list.
const Element = "[]"

// At returns the part of the schema at a path of keys, nil if there is none.
func (n *Node) At(path ...string) *Node {
	for _, step := range path {
		if n = n.step(step); n == nil {
			return nil
		}
	}
	return n
}

func (n *Node) step(name string) *Node {
	var further *Node
	for _, a := range n.alternatives() {
		switch {
		case name == Element && a.Items != nil:
			return a.Items
		case a.Properties[name] != nil:
			return a.Properties[name]
		case a.AdditionalProperties != nil && a.AdditionalProperties.Node != nil && further == nil:
			further = a.AdditionalProperties.Node
		}
	}
	return further
}

// Keys returns the keys that a mapping may have, with their schemas.
func (n *Node) Keys() map[string]*Node {
	keys := map[string]*Node{}
	for _, a := range n.alternatives() {
		for name, p := range a.Properties {
			keys[name] = p
		}
	}
	return keys
}

// Values returns the texts that a value may be, none if it may be any.
func (n *Node) Values() (texts []string) {
	for _, a := range n.alternatives() {
		for _, v := range a.Enum {
			if text, ok := v.(string); ok {
				texts = append(texts, text)
			}
		}
		if a.Type == "boolean" {
			texts = append(texts, "true", "false")
		}
	}
	return texts
}

// Text returns the description of a node, or of the node that it refers to.
func (n *Node) Text() string {
	for _, a := range n.alternatives() {
		if a.Description != "" {
			return a.Description
		}
	}
	return ""
}

// IsDeprecated reports whether a key should not be used any more.
func (n *Node) IsDeprecated() bool {
	return slices.ContainsFunc(n.alternatives(), func(a *Node) bool { return a.Deprecated })
}
