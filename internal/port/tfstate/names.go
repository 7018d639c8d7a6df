package tfstate

import (
	"fmt"
	"regexp"
	"strings"
)

// other are characters that would have to be quoted in a program.
var other = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// names returns a name in the program for each resource, which is unique: the name of Terraform's block after its modules, with
// the key at the end. Where several types share one, the type comes before it.
func names(all []*Resource) map[*Resource]string {
	short := make(map[string]map[string]bool) // types by name
	for _, r := range all {
		name := r.shortName()
		if short[name] == nil {
			short[name] = make(map[string]bool)
		}
		short[name][r.Type] = true
	}
	out, used := make(map[*Resource]string), make(map[string]bool)
	for name := range short {
		used[name] = len(short[name]) > 1 // so that no other name becomes it
	}
	taken, next := make(map[string]bool), make(map[string]int)
	for _, r := range all {
		name := r.shortName()
		if used[name] {
			_, typ, found := strings.Cut(r.Type, "_")
			if !found {
				typ = r.Type
			}
			name = typ + "_" + name
		}
		for base := name; taken[name] || used[name]; {
			next[base]++
			name = fmt.Sprintf("%s_%d", base, next[base]+1)
		}
		taken[name] = true
		out[r] = name
	}
	return out
}

func (r *Resource) shortName() string {
	var parts []string
	add := func(name string, key any) {
		parts = append(parts, name)
		if key == nil {
			return
		}
		if text := strings.Trim(other.ReplaceAllString(fmt.Sprint(key), "_"), "_"); text != "" {
			parts = append(parts, text)
		}
	}
	for _, step := range r.Module {
		add(step.Name, step.Key)
	}
	add(r.Name, r.Key)
	name := strings.Join(parts, "_")
	if r.Name == "this" && len(r.Module) > 0 { // what modules call the one thing that they make
		name = strings.TrimSuffix(strings.Replace(name+"_", "_this_", "_", 1), "_")
	}
	return other.ReplaceAllString(name, "_")
}
