package tfstate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shown is the output of terraform show -json.
type shown struct {
	FormatVersion string `json:"format_version"`
	Values        struct {
		RootModule shownModule `json:"root_module"`
	} `json:"values"`
}

type shownModule struct {
	Address   string          `json:"address"`
	Resources []shownResource `json:"resources"`
	Children  []shownModule   `json:"child_modules"`
}

type shownResource struct {
	Mode            string         `json:"mode"`
	Type            string         `json:"type"`
	Name            string         `json:"name"`
	Index           any            `json:"index"`
	Provider        string         `json:"provider_name"`
	SchemaVersion   int64          `json:"schema_version"`
	Values          map[string]any `json:"values"`
	Sensitive       any            `json:"sensitive_values"`
	DependsOn       []string       `json:"depends_on"`
	Tainted         bool           `json:"tainted"`
	Deposed         string         `json:"deposed_key"`
	Identity        rawJSON        `json:"identity"`
	IdentityVersion int64          `json:"identity_schema_version"`
}

// rawJSON is JSON that is kept as it is, nil for null.
type rawJSON []byte

// UnmarshalJSON keeps the text.
func (r *rawJSON) UnmarshalJSON(text []byte) error {
	if *r = slices.Clone(text); string(text) == "null" {
		*r = nil
	}
	return nil
}

func parseShown(data []byte) (*State, error) {
	var file shown
	if err := decode(data, &file, allowance); err != nil {
		return nil, fmt.Errorf("the output of terraform show -json is damaged: %w", err)
	}
	if major, _, _ := strings.Cut(file.FormatVersion, "."); major != "0" && major != "1" {
		return nil, fmt.Errorf("it is output of terraform show -json in the format %s, and husk reads format 1: write the state with terraform state pull > FILE", file.FormatVersion)
	}
	s := &State{}
	if err := s.addModule(file.Values.RootModule, 0); err != nil {
		return nil, err
	}
	return s, s.check()
}

func (s *State) addModule(m shownModule, depth int) error {
	module, err := parseModule(m.Address)
	if err == nil && depth > maxDepth {
		err = fmt.Errorf("its modules are nested more than %d levels deep", maxDepth)
	}
	if err != nil {
		return fmt.Errorf("the output of terraform show -json is damaged: %w", err)
	}
	for _, r := range m.Resources {
		out := &Resource{
			Module: module, Managed: r.Mode == "managed", Type: r.Type, Name: r.Name, Provider: Provider{Source: r.Provider},
			Deposed: r.Deposed != "", Tainted: r.Tainted, SchemaVersion: r.SchemaVersion, Attributes: r.Values,
			Dependencies: r.DependsOn, Identity: []byte(r.Identity), IdentityVersion: r.IdentityVersion,
		}
		if out.Provider.Name() == "" {
			return fmt.Errorf("the output of terraform show -json is damaged: %s.%s has no provider_name", r.Type, r.Name)
		}
		out.Sensitive = sensitiveIn(r.Sensitive, nil, nil)
		if err := s.add(out, r.Mode, r.Index); err != nil {
			return err
		}
	}
	for _, child := range m.Children {
		if err := s.addModule(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// sensitiveIn returns the paths at which v is true.
func sensitiveIn(v any, path []any, found [][]any) [][]any {
	if len(path) > maxDepth {
		return found
	}
	switch v := v.(type) {
	case bool:
		if v {
			found = append(found, slices.Clone(path))
		}
	case []any:
		for i, part := range v {
			found = sensitiveIn(part, append(path, i), found)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = sensitiveIn(v[key], append(path, key), found)
		}
	}
	return found
}
