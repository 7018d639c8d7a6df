package test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf6"
	"github.com/husk-dev/husk/internal/port/known"
	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/port/mapping/facts"
)

// named is a provider with the types and attributes that the facts of a package name. It requires what the package requires, and what
// the package makes up names for.
type named struct {
	tfprotov6.ProviderServer
	facts *facts.Package
}

func (n named) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	of := func(types map[string]facts.Type) map[string]*tfprotov6.Schema {
		all := map[string]*tfprotov6.Schema{}
		for name, t := range types {
			attributes := map[string]*tfprotov6.SchemaAttribute{}
			has := func(name string, of tftypes.Type, required bool) {
				if attributes[name] == nil {
					attributes[name] = &tfprotov6.SchemaAttribute{Name: name, Type: of, Required: required, Optional: !required, Computed: !required}
				}
			}
			required := attributesOf(t)
			for attribute := range t.Lists {
				has(attribute, tftypes.List{ElementType: tftypes.String}, required[attribute])
			}
			for attribute := range required {
				has(attribute, tftypes.String, true)
			}
			for attribute := range t.Properties {
				has(attribute, tftypes.String, false)
			}
			delete(attributes, "id")
			all[name] = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: slices.Collect(maps.Values(attributes))}}
		}
		return all
	}
	return &tfprotov6.GetProviderSchemaResponse{
		Provider: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}, ResourceSchemas: of(n.facts.Resources), DataSourceSchemas: of(n.facts.DataSources),
	}, nil
}

// attributesOf returns the attributes of a type that a provider requires at worst.
func attributesOf(t facts.Type) map[string]bool {
	all, byProperty := map[string]bool{}, map[string]string{}
	for attribute, property := range t.Properties {
		byProperty[property] = attribute
	}
	for _, property := range t.Required {
		snake := strings.ToLower(capital.ReplaceAllString(property, "_$0"))
		all[cmp.Or(byProperty[property], snake)] = true
	}
	for _, attribute := range t.Named {
		all[attribute] = true
	}
	return all
}

var capital = regexp.MustCompile(`[A-Z]`)

func (n named) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

// packageOf returns the package that the adapter makes of the facts with a mapping.
func packageOf(t *testing.T, of *facts.Package, m terraform.Mapping) *schema.Package {
	t.Helper()
	p, err := tf6.Provider(of.Name, "1.0.0", named{facts: of}, m)
	require.NoError(t, err)
	described, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	pkg, err := schemajson.Parse([]byte(described.Schema))
	require.NoError(t, err)
	return pkg
}

// tally counts types and properties, and how many of them a package names as the published one. known are the resources whose required
// inputs are known, and required those that require the same.
type tally struct{ types, tokens, properties, equal, known, required int }

func count(of *facts.Package, pkg *schema.Package) (n tally) {
	one := func(t facts.Type, found bool, properties *schema.Object) {
		if n.types++; found {
			n.tokens++
		}
		for attribute, property := range t.Properties {
			if attribute == "id" {
				continue
			}
			if n.properties++; found && properties.Property(property) != nil {
				n.equal++
			}
		}
	}
	for _, t := range of.Resources {
		r := pkg.Resource(t.Token) // perhaps by an alias
		if r == nil || r.Token != t.Token {
			one(t, false, nil)
			continue
		}
		one(t, true, &r.Outputs)
		if t.Required == nil {
			continue
		}
		required := []string{}
		for _, p := range r.Inputs.Properties {
			if p.Required {
				required = append(required, p.Name)
			}
		}
		slices.Sort(required)
		if n.known++; slices.Equal(required, t.Required) {
			n.required++
		}
	}
	for _, t := range of.DataSources {
		f := pkg.Function(t.Token)
		if f == nil {
			one(t, false, nil)
			continue
		}
		one(t, true, &f.Result)
	}
	return n
}

// A port of a provider names its types and properties as the package that Pulumi publishes, and its resources require the same inputs: the
// built-in mapping has what does not follow from the rules.
func TestPortsHaveTheNamesOfPublishedPackages(t *testing.T) {
	names, err := facts.Names()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 30)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			of, err := facts.Read(name)
			require.NoError(t, err)
			published, err := mapping.Published(known.Module(name))
			require.NoError(t, err)
			var m terraform.Mapping
			if published != nil {
				data, err := json.Marshal(published)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(data, &m))
			}
			n, derived := count(of, packageOf(t, of, m)), count(of, packageOf(t, of, terraform.Mapping{Optional: true}))
			t.Logf("| %s | %d | %d | %d | %d | %d | %d | %d |", name, n.types, derived.tokens, n.tokens, n.properties, n.equal, n.known, n.required)
			require.GreaterOrEqual(t, 100*n.tokens, 99*n.types, "%d of %d tokens", n.tokens, n.types)
			require.GreaterOrEqual(t, 100*n.equal, 99*n.properties, "%d of %d properties", n.equal, n.properties)
			require.Positive(t, n.known)
			require.GreaterOrEqual(t, 100*n.required, 99*n.known, "required inputs of %d of %d resources", n.required, n.known)
		})
	}
}
