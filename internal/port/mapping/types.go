package mapping

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// index is the module of types for which a mapping names none.
const index = "index"

// nameTypes sets the prefix, the modules, and the names of types from their tokens in a package. A token of which these three do not
// tell the whole stays as it is.
func (m *Mapping) nameTypes(pkg string, resources, sources map[string]string) {
	given := map[string]parts{}
	for name, token := range sources {
		given[name] = splitToken(token, "get")
	}
	for name, token := range resources { // of the same name as a data source: the resource counts
		given[name] = splitToken(token, "")
	}
	prefix := m.choosePrefix(given)
	m.Modules = modulesOf(given)
	short := func(name string) string { return cmp.Or(strings.TrimPrefix(name, prefix), name) }
	for name, token := range resources {
		switch p := splitToken(token, ""); {
		case p.name == "" || m.module(name) != p.module:
			m.Resources[name] = Resource{Token: token}
		case p.name != pascal(short(name)):
			m.Resources[name] = Resource{Name: p.name}
		}
	}
	for name, token := range sources {
		switch p := splitToken(token, "get"); {
		case p.name == "" || m.module(name) != p.module:
			m.DataSources[name] = Function{Token: token}
		case p.name != pascal(short(name)):
			m.DataSources[name] = Function{Name: "get" + p.name}
		}
	}
}

// parts are the parts of a token that the adapter could make: the name is empty for another one.
type parts struct{ module, name string }

func splitToken(token, verb string) parts {
	all := strings.Split(token, ":")
	module, file, _ := strings.Cut(all[1], "/")
	name, ok := strings.CutPrefix(all[2], verb)
	if !ok || name == "" || name[:1] != strings.ToUpper(name[:1]) || file != strings.ToLower(all[2][:1])+all[2][1:] {
		return parts{module: module}
	}
	return parts{module, name}
}

// choosePrefix chooses what the names lose: nothing, or the first word if all have the same, as the adapter does by itself. So
// few names are exceptions.
func (m *Mapping) choosePrefix(given map[string]parts) string {
	first := ""
	for name := range given {
		word, _, _ := strings.Cut(name, "_")
		if first != "" && first != word {
			return ""
		}
		first = word
	}
	without, with := 0, 0
	for name, p := range given {
		if pascal(strings.TrimPrefix(name, first+"_")) == p.name {
			without++
		}
		if pascal(name) == p.name {
			with++
		}
	}
	if with > without {
		m.Prefix = new("")
		return ""
	}
	return first + "_"
}

// module returns the module that the adapter derives.
func (m *Mapping) module(name string) string {
	module, longest := index, ""
	for prefix, of := range m.Modules {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(longest) {
			module, longest = of, prefix
		}
	}
	return module
}

// modulesOf returns the fewest prefixes of whole words that tell the modules of all names.
func modulesOf(given map[string]parts) map[string]string {
	root, count := &words{}, map[string]int{index: 0}
	for name, p := range given {
		root.add(strings.SplitAfter(name, "_"), p.module)
		count[p.module]++
	}
	labels := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	m := &Mapping{Modules: map[string]string{}}
	root.weigh(labels)
	root.choose(m.Modules, "", index, labels)
	for again := true; again; { // a whole name may begin others that do not go on with an underscore
		again = false
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if module := given[name].module; m.module(name) != module {
				m.Modules[name], again = module, true
			}
		}
	}
	return m.Modules
}

// words is a tree of names by their words.
type words struct {
	next map[string]*words
	// module is that of the name that ends here, if there is one.
	module string
	// cost is how many prefixes the rest needs with each module from before.
	cost map[string]int
}

func (w *words) add(rest []string, module string) {
	if len(rest) == 0 {
		w.module = module
		return
	}
	if w.next == nil {
		w.next = map[string]*words{}
	}
	if w.next[rest[0]] == nil {
		w.next[rest[0]] = &words{}
	}
	w.next[rest[0]].add(rest[1:], module)
}

// never is more than any cost, and can be added up.
const never = 1 << 15

func (w *words) weigh(labels []string) {
	w.cost = map[string]int{}
	for _, next := range w.next {
		next.weigh(labels)
	}
	for _, module := range labels {
		if w.module != "" && w.module != module {
			w.cost[module] = never
			continue
		}
		for _, next := range w.next {
			w.cost[module] += min(next.cost[module], 1+next.cost[next.best(labels)])
		}
	}
}

// best returns the module of a prefix that ends here. Among equals it is the one that most names have.
func (w *words) best(labels []string) string {
	return slices.MinFunc(labels, func(a, b string) int { return cmp.Compare(w.cost[a], w.cost[b]) })
}

func (w *words) choose(modules map[string]string, prefix, module string, labels []string) {
	if best := w.best(labels); prefix != "" && w.cost[best] < w.cost[module] {
		modules[prefix], module = best, best
	}
	for word, next := range w.next {
		next.choose(modules, prefix+word, module, labels)
	}
}
