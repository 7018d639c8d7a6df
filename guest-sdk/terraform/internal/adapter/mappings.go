package adapter

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// mappingKeys are the names of the ecosystem that mappings are for.
var mappingKeys = []string{"terraform", "tf"}

func (p *provider) GetMappings(_ context.Context, request abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	if !slices.Contains(mappingKeys, request.Key) {
		return abi.GetMappingsResponse{}, nil
	}
	return abi.GetMappingsResponse{Providers: []string{p.name}}, nil
}

// GetMapping returns the names of resources, data sources, and attributes in the format of Pulumi's
// bridge, which its converter of Terraform programs reads.
func (p *provider) GetMapping(ctx context.Context, request abi.GetMappingRequest) (abi.GetMappingResponse, error) {
	if !slices.Contains(mappingKeys, request.Key) || request.Provider != "" && request.Provider != p.name {
		return abi.GetMappingResponse{}, abi.NewError(abi.ErrorKindNotFound, strings.TrimSpace(p.name+" has no mapping for "+request.Key+" "+request.Provider))
	}
	pkg, err := p.describe(ctx)
	if err != nil {
		return abi.GetMappingResponse{}, err
	}
	info := mappingInfo{
		Name: p.name, Version: p.version, Config: mappingFields(pkg.schemas.Provider.Attributes),
		Provider: mappingProvider{
			Schema: mappingSchemas(pkg.schemas.Provider.Attributes), Resources: map[string]map[string]*mappingSchema{},
			DataSources: map[string]map[string]*mappingSchema{},
		},
		Resources: map[string]mappingToken{}, DataSources: map[string]mappingToken{},
	}
	for token, r := range pkg.resources {
		info.Provider.Resources[r.name] = mappingSchemas(r.Attributes)
		info.Resources[r.name] = mappingToken{Token: token, Fields: mappingFields(r.Attributes), ID: r.id}
	}
	for token, f := range pkg.functions {
		if f.kind == isDataSource {
			info.Provider.DataSources[f.name] = mappingSchemas(f.source.Attributes)
			info.DataSources[f.name] = mappingToken{Token: token, Fields: mappingFields(f.source.Attributes)}
		}
	}
	data, err := json.Marshal(info)
	if err != nil {
		return abi.GetMappingResponse{}, abi.AsError(err)
	}
	return abi.GetMappingResponse{Provider: p.name, Data: data}, nil
}

// mappingInfo and the types below are the parts of the bridge's format that converters read.
type mappingInfo struct {
	Provider    mappingProvider          `json:"provider"`
	Name        string                   `json:"name"`
	Version     string                   `json:"version"`
	Config      map[string]*mappingField `json:"config,omitempty"`
	Resources   map[string]mappingToken  `json:"resources,omitempty"`
	DataSources map[string]mappingToken  `json:"dataSources,omitempty"`
}

type mappingProvider struct {
	Schema      map[string]*mappingSchema            `json:"schema,omitempty"`
	Resources   map[string]map[string]*mappingSchema `json:"resources,omitempty"`
	DataSources map[string]map[string]*mappingSchema `json:"dataSources,omitempty"`
}

type mappingToken struct {
	Token  string                   `json:"tok"`
	Fields map[string]*mappingField `json:"fields,omitempty"`
	// ID names the attributes that make the ID, see terraform.Resource. Pulumi's bridge does not have it.
	ID []string `json:"id,omitempty"`
}

type mappingField struct {
	Name        string                   `json:"name,omitempty"`
	MaxItemsOne *bool                    `json:"maxItemsOne,omitempty"`
	Element     *mappingField            `json:"element,omitempty"`
	Fields      map[string]*mappingField `json:"fields,omitempty"`
}

type mappingSchema struct {
	Type     int             `json:"type"`
	Optional bool            `json:"optional,omitempty"`
	Required bool            `json:"required,omitempty"`
	Computed bool            `json:"computed,omitempty"`
	Element  *mappingElement `json:"element,omitempty"`
	MaxItems int64           `json:"maxItems,omitempty"`
	MinItems int64           `json:"minItems,omitempty"`
}

type mappingElement struct {
	Schema   *mappingSchema            `json:"schema,omitempty"`
	Resource map[string]*mappingSchema `json:"resource,omitempty"`
}

// mappingTypes are the bridge's numbers of types. An object is a map of attributes.
var mappingTypes = [...]int{
	tf.Bool: 1, tf.Number: 3, tf.String: 4, tf.List: 5, tf.Map: 6, tf.Set: 7, tf.Object: 6, tf.Tuple: 5, tf.Dynamic: 8,
}

func mappingFields(s *tf.Attributes) map[string]*mappingField {
	fields := map[string]*mappingField{}
	for _, a := range s.List {
		if a.Hidden {
			continue
		}
		f := &mappingField{Name: a.Property}
		if a.Type.Kind == tf.List || a.Type.Kind == tf.Set {
			f.MaxItemsOne = &a.Flat
		}
		if nested := objectIn(a.Type); nested != nil {
			f.Element = &mappingField{Fields: mappingFields(nested)}
			if a.Type.Kind == tf.Object {
				f.Element, f.Fields = nil, mappingFields(nested)
			}
		}
		fields[a.Name] = f
	}
	return fields
}

func mappingSchemas(s *tf.Attributes) map[string]*mappingSchema {
	all := map[string]*mappingSchema{}
	for _, a := range s.List {
		one := mappingType(a.Type)
		one.Optional, one.Required, one.Computed = a.Optional, a.Required, a.Computed
		one.MaxItems, one.MinItems = a.MaxItems, a.MinItems
		all[a.Name] = one
	}
	return all
}

func mappingType(t *tf.Type) *mappingSchema {
	s := &mappingSchema{Type: mappingTypes[t.Kind]}
	switch {
	case t.Kind == tf.Object:
		s.Element = &mappingElement{Resource: mappingSchemas(t.Object)}
	case t.Element != nil && t.Element.Kind == tf.Object && t.Kind != tf.Map:
		s.Element = &mappingElement{Resource: mappingSchemas(t.Element.Object)}
	case t.Element != nil:
		s.Element = &mappingElement{Schema: mappingType(t.Element)}
	}
	return s
}
