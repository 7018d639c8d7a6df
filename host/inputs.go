package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// checkInputs is the host's part in Check: inputs that the provider lets pass are held to
// its schema, too. Where they fail as they were given, it is the program's fault, and the
// answer has the failures. Where the provider made them so, it is the provider's.
func (p *Provider) checkInputs(check func(property.Map) (property.Map, []abi.CheckFailure), given property.Map, response *abi.CheckResponse) error {
	if len(response.Failures) > 0 {
		return nil // the inputs mean nothing then
	}
	_, failures := check(withoutReserved(response.Inputs))
	if len(failures) == 0 {
		return nil
	}
	_, ofGiven := check(withoutReserved(given))
	var broken []abi.CheckFailure
	for _, f := range failures {
		if slices.Contains(ofGiven, f) {
			response.Failures = append(response.Failures, f)
		} else {
			broken = append(broken, f)
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("the inputs that it answered do not fit its schema: %s", describe(broken))
	}
	return nil
}

// withoutReserved leaves out what providers keep in inputs for themselves.
func withoutReserved(m property.Map) property.Map {
	var reserved []string
	for _, e := range m.Entries() {
		if strings.HasPrefix(e.Key, "__") {
			reserved = append(reserved, e.Key)
		}
	}
	if reserved == nil {
		return m
	}
	return m.Without(reserved...)
}

// checkDiff holds that the properties which a provider says differ are properties, each
// once: of these inputs and outputs, if the schema says what they are.
func checkDiff(response abi.DiffResponse, d declared) error {
	declared := d.compared()
	seen := make(map[string]bool, len(response.DetailedDiff))
	for _, d := range response.DetailedDiff {
		if seen[d.Path] {
			return fmt.Errorf("its detailed diff has the path %s twice", d.Path)
		}
		seen[d.Path] = true
		if err := checkPath(d.Path, declared); err != nil {
			return fmt.Errorf("its detailed diff has %w", err)
		}
	}
	for _, list := range []struct {
		name string
		keys []string
	}{{"replace", response.ReplaceKeys}, {"stable", response.StableKeys}, {"changed", response.ChangedKeys}} {
		for _, key := range list.keys {
			if slices.ContainsFunc(declared, func(o *schema.Object) bool { return o.Property(key) != nil }) {
				continue // its name need not be a path
			}
			if err := checkPath(key, declared); err != nil {
				return fmt.Errorf("its %s keys have %w", list.name, err)
			}
		}
	}
	return nil
}

// checkPath holds that a path leads to a property, and begins with one of the schema's.
func checkPath(text string, declared []*schema.Object) error {
	path, err := property.ParsePath(text)
	if err != nil {
		return fmt.Errorf("the path %q, which is none: %w", text, err)
	}
	if len(path) == 0 || path.IsPattern() {
		return fmt.Errorf("the path %q, which leads to no property", text)
	}
	name, ok := path[0].Key()
	if !ok {
		return fmt.Errorf("the path %q, which does not begin with the name of a property", text)
	}
	if len(declared) == 0 || strings.HasPrefix(name, "__") || name == "id" || name == "urn" {
		return nil
	}
	var names []string
	for _, o := range declared {
		if o.Property(name) != nil {
			return nil
		}
		names = append(names, o.Names()...)
	}
	if near := schema.Nearest(name, names); near != "" {
		return fmt.Errorf("the path %q, whose property its schema does not have; %q is near", text, near)
	}
	return fmt.Errorf("the path %q, whose property its schema does not have", text)
}

// maxDescribed bounds how many failures a message tells.
const maxDescribed = 3

// describe lists failures of a check as part of a message.
func describe(failures []abi.CheckFailure) string {
	var parts []string
	for i, f := range failures {
		if i == maxDescribed {
			parts = append(parts, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		parts = append(parts, strings.TrimPrefix(f.Path+": "+f.Reason, ": "))
	}
	return strings.Join(parts, "; ")
}

// checkListed holds that what is listed can be read.
func checkListed(response abi.ListResponse) error {
	for _, r := range response.Resources {
		if r.ID == "" {
			return errors.New("it lists a resource without an ID")
		}
	}
	return nil
}
