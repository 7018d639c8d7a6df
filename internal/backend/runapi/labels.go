package runapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParseLabels reads labels as NAME=VALUE.
func ParseLabels(texts []string) (map[string]string, error) {
	labels := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--label %s: it has the form NAME=VALUE, as in region=eu", text)
		}
		labels[name] = value
	}
	return labels, nil
}

// Selector returns labels as one text, a line for each, in the order of their names.
func Selector(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%s=%s\n", name, labels[name])
	}
	return b.String()
}
