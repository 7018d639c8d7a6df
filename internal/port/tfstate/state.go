// Package tfstate reads states of Terraform and OpenTofu, and says what a stack takes over of them. It reads what
// their command writes: a state of version 4, or the output of show -json. It calls no provider, and changes nothing.
package tfstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// State is the contents of a Terraform state, in the order of its file.
type State struct {
	Resources []*Resource
}

// Resource is one object of a state.
type Resource struct {
	// Address is how Terraform names it, such as module.net["a"].aws_subnet.main[0].
	Address string
	Module  []Step
	// Managed is unset for a data source.
	Managed    bool
	Type, Name string
	// Key is an int or a string if the resource has count or for_each, and else nil.
	Key      any
	Provider Provider
	// Deposed marks an object that Terraform has replaced, and not deleted yet.
	Deposed bool
	// Tainted marks an object that Terraform would replace.
	Tainted       bool
	SchemaVersion int64
	// Attributes are decoded JSON, with numbers as [json.Number].
	Attributes map[string]any
	// Sensitive are the paths of secrets in the attributes: strings and ints.
	Sensitive [][]any
	// Dependencies are addresses without keys, such as module.net.aws_vpc.main.
	Dependencies []string
	// Private is the provider's data beside the attributes, in base64.
	Private         string
	Identity        json.RawMessage
	IdentityVersion int64
}

// Step is one module on the way to a resource.
type Step struct {
	Name string
	Key  any
}

// Provider is the provider configuration of a resource.
type Provider struct {
	// Source is an address such as registry.terraform.io/hashicorp/aws, or only a name in old states.
	Source string
	// Alias is empty for the default configuration. The output of show -json does not have it.
	Alias string
}

// Name returns the last part of the source, such as aws.
func (p Provider) Name() string { return p.Source[strings.LastIndexByte(p.Source, '/')+1:] }

// Limits of a state. Those that people keep have some thousand objects and some ten MB.
const (
	// MaxSize is in bytes.
	MaxSize = 256 << 20
	// allowance is the memory that a state may take besides a multiple of its size, in bytes: the output of terraform show has
	// many empty objects.
	allowance = 256 << 20
	// maxResources bounds objects, which become resources of one stack.
	maxResources = 100_000
	// maxDepth bounds the nesting of attributes and modules. It is under what property values allow.
	maxDepth = 100
)

// Parse reads a state.
func Parse(data []byte) (*State, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it has more than %d MB", MaxSize>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // PowerShell writes this mark
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] != '{' {
		return nil, errors.New("it is not JSON, as a Terraform state is: write one with terraform state pull > FILE")
	}
	var kind struct {
		Version       *int64          `json:"version"`
		FormatVersion string          `json:"format_version"`
		Encrypted     json.RawMessage `json:"encrypted_data"`
		Planned       json.RawMessage `json:"planned_values"`
		Deployment    json.RawMessage `json:"deployment"`
		Backend       json.RawMessage `json:"backend"`
	}
	if err := decode(data, &kind, allowance); err != nil {
		return nil, fmt.Errorf("it is not a Terraform state: %w", err)
	}
	switch {
	case kind.Encrypted != nil:
		return nil, errors.New("it is encrypted: tofu state pull > FILE writes it decrypted")
	case kind.Deployment != nil:
		return nil, errors.New("it is a stack that Pulumi or husk has exported: husk stack import --file FILE reads that")
	case kind.Planned != nil:
		return nil, errors.New("it is a plan of Terraform: write the state with terraform state pull > FILE")
	case kind.Version != nil && *kind.Version < 4 && kind.Backend != nil:
		return nil, errors.New("it only says where Terraform keeps the state: write the state with terraform state pull > FILE")
	case kind.Version != nil && *kind.Version < 4:
		return nil, fmt.Errorf("it is a state of version %d, which Terraform before 0.12 wrote: "+
			"run terraform apply -refresh-only with a newer one, then terraform state pull > FILE", *kind.Version)
	case kind.Version != nil && *kind.Version > 4:
		return nil, fmt.Errorf("it is a state of version %d, and husk reads version 4: write one with an earlier Terraform, or use a newer husk", *kind.Version)
	case kind.Version != nil:
		return parseState(data)
	case kind.FormatVersion != "":
		return parseShown(data)
	}
	return nil, errors.New("it is not a Terraform state, which has a version: write one with terraform state pull > FILE")
}

func decode(data []byte, v any, allowance int64) error {
	if err := intake.CheckJSON(data, v, allowance); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return jsonerror.Explain(data, err)
	}
	if len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		return errors.New("there is more after the end of the JSON")
	}
	return nil
}

// stored is a state of version 4.
type stored struct {
	Resources []struct {
		Module    string     `json:"module"`
		Mode      string     `json:"mode"`
		Type      string     `json:"type"`
		Name      string     `json:"name"`
		Provider  string     `json:"provider"`
		Instances []instance `json:"instances"`
	} `json:"resources"`
}

type instance struct {
	IndexKey      any              `json:"index_key"`
	Status        string           `json:"status"`
	Deposed       string           `json:"deposed"`
	SchemaVersion int64            `json:"schema_version"`
	Attributes    map[string]any   `json:"attributes"`
	Flat          map[string]any   `json:"attributes_flat"`
	Sensitive     [][]sensitiveKey `json:"sensitive_attributes"`
	Dependencies  []string         `json:"dependencies"`
	// DependsOn is the field that Terraform 0.12 wrote instead.
	DependsOn       []string        `json:"depends_on"`
	Private         string          `json:"private"`
	Identity        json.RawMessage `json:"identity"`
	IdentityVersion int64           `json:"identity_schema_version"`
}

type sensitiveKey struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

func parseState(data []byte) (*State, error) {
	var file stored
	if err := decode(data, &file, allowance); err != nil {
		return nil, fmt.Errorf("the state is damaged: %w", err)
	}
	s := &State{}
	for at, r := range file.Resources {
		module, err := parseModule(r.Module)
		var provider Provider
		if err == nil {
			provider, err = parseProvider(r.Provider)
		}
		if err != nil {
			return nil, fmt.Errorf("the state is damaged: resource %d, %s.%s: %w", at+1, r.Type, r.Name, err)
		}
		for _, i := range r.Instances {
			out := &Resource{
				Module: module, Managed: r.Mode == "managed", Type: r.Type, Name: r.Name, Provider: provider,
				Deposed: i.Deposed != "", Tainted: i.Status == "tainted", SchemaVersion: i.SchemaVersion, Attributes: i.Attributes,
				Dependencies: append(i.Dependencies, i.DependsOn...), Private: i.Private, IdentityVersion: i.IdentityVersion,
			}
			if string(i.Identity) != "null" {
				out.Identity = i.Identity
			}
			for _, path := range i.Sensitive {
				out.Sensitive = append(out.Sensitive, pathOf(path))
			}
			if err := s.add(out, r.Mode, i.IndexKey); err != nil {
				return nil, err
			}
			if out.Attributes == nil && i.Flat != nil {
				return nil, fmt.Errorf("%s is still as Terraform before 0.12 wrote it: run terraform apply -refresh-only, then terraform state pull > FILE", out.Address)
			}
		}
	}
	return s, s.check()
}

// pathOf returns a path up to the first step into a set, whose elements have no names.
func pathOf(keys []sensitiveKey) (path []any) {
	for _, k := range keys {
		v := k.Value
		if typed, ok := v.(map[string]any); ok {
			v = typed["value"]
		}
		v, ok := keyOf(v)
		if !ok || v == nil {
			break
		}
		path = append(path, v)
	}
	return path
}

// keyOf returns an index or key, nil for null.
func keyOf(v any) (key any, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		return v, true
	case json.Number:
		if n, err := v.Int64(); err == nil && n >= 0 && n < 1<<31 {
			return int(n), true
		}
	}
	return nil, false
}

// add checks the identity of a resource, and adds it.
func (s *State) add(r *Resource, mode string, key any) error {
	r.Address = moduleAddress(r.Module, true) + r.Type + "." + r.Name
	if !r.Managed {
		r.Address = moduleAddress(r.Module, true) + "data." + r.Type + "." + r.Name
	}
	var ok bool
	r.Key, ok = keyOf(key)
	switch {
	case mode != "managed" && mode != "data":
		return fmt.Errorf("the state is damaged: %s has the mode %q, and modes are managed and data", r.Address, mode)
	case r.Type == "" || r.Name == "":
		return fmt.Errorf("the state is damaged: resource %d has no type or no name", len(s.Resources)+1)
	case !ok:
		return fmt.Errorf("the state is damaged: %s has the index %v, and an index is a number or a string", r.Address, key)
	case len(s.Resources) == maxResources:
		return fmt.Errorf("it has more than %d resources", maxResources)
	}
	r.Address += bracket(r.Key)
	s.Resources = append(s.Resources, r)
	return nil
}

// check refuses two objects of one address, and attributes that are nested too deeply.
func (s *State) check() error {
	seen := make(map[string]bool)
	for _, r := range s.Resources {
		if seen[r.Address] && !r.Deposed {
			return fmt.Errorf("the state is damaged: it has %s twice", r.Address)
		}
		seen[r.Address] = seen[r.Address] || !r.Deposed
		if deeperThan(maxDepth, r.Attributes) {
			return fmt.Errorf("%s has attributes that are nested more than %d levels deep", r.Address, maxDepth)
		}
	}
	return nil
}

func deeperThan(depth int, v any) bool {
	if depth == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			if deeperThan(depth-1, part) {
				return true
			}
		}
	case []any:
		for _, part := range v {
			if deeperThan(depth-1, part) {
				return true
			}
		}
	}
	return false
}
