package provider

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// candidate is a candidate for a resource: operations that belong together.
type candidate struct {
	create, read, remove *operation
	updates              []*operation
	// names are proposals for the type's name, the shortest first.
	names     []string
	overrides *document.Resource
}

// deriveResources finds the resources, and returns the operations that read them.
func (a *api) deriveResources(all *paths, overrides map[string]*document.Resource) (read map[*operation]bool, err error) {
	var list []*candidate
	for _, item := range all.sorted {
		if c := all.candidate(item); c != nil && c.usable() {
			list = append(list, c)
		}
	}
	byName := nameAll(list)
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[name]
		c := byName[name]
		if c == nil {
			if o.Create == "" || o.Read == "" || o.Delete == "" {
				return nil, guest.InvalidArgument("", "resources."+name+": there is no such resource; give its create, read, and delete, or use one of "+strings.Join(slices.Sorted(maps.Keys(byName)), ", "))
			}
			c = &candidate{names: []string{name}}
		}
		if err := c.override(all, o); err != nil {
			return nil, guest.InvalidArgument("", "resources."+name+": "+err.Error())
		}
		delete(byName, name)
		name = cmp.Or(o.Name, name)
		if byName[name] != nil && byName[name] != c {
			return nil, guest.InvalidArgument("", "resources: two would be called "+name+"; give one of them another name")
		}
		byName[name] = c
	}
	read = map[*operation]bool{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		c := byName[name]
		r := &resource{
			client: a.client, name: name, create: c.create, read: c.read, remove: c.remove, updates: c.updates,
			overrides: c.overrides, fields: map[string]string{}, sources: map[string]fieldPath{},
		}
		if r.overrides == nil {
			r.overrides = &document.Resource{}
		}
		r.envelope = envelope(r.read.response, c.names[0])
		r.beside = besideEnvelope(r.read.response, r.envelope)
		if err := a.describe(r); err != nil {
			if c.overrides != nil {
				return nil, guest.InvalidArgument("", "resources."+name+": "+err.Error())
			}
			continue // the document does not say how to find it again
		}
		read[r.read] = true
		a.resources = append(a.resources, r)
	}
	return read, nil
}

// customary are the segments that some services have in their paths behind a collection to create in it, and behind a
// member to read or change it.
var (
	creating = []string{"", "create", "new", "add"}
	reading  = []string{"", "json", "inspect"}
	updating = []string{"", "update", "edit"}
)

// candidate returns the candidate that the operations of a collection's member make, nil for other paths.
func (p *paths) candidate(item string) *candidate {
	prefix, ok := cutLast(item)
	remove := p.all[item][http.MethodDelete]
	names := namesOf(item)
	if !ok || remove == nil || len(names) == 0 {
		return nil
	}
	c := &candidate{remove: remove, names: names}
	for _, segment := range reading {
		if c.read == nil {
			c.read = p.at(item, segment)[http.MethodGet]
		}
	}
	put, patch := p.all[item][http.MethodPut], p.all[item][http.MethodPatch]
	for _, collection := range p.collections(prefix) {
		for _, segment := range creating {
			if o := p.at(collection, segment)[http.MethodPost]; c.create == nil && hasBody(o) {
				c.create = o
			}
		}
	}
	if c.create == nil && put == nil {
		c.create = p.elsewhere(prefix)
	}
	if c.create == nil {
		c.create = put
	}
	if hasBody(patch) {
		c.updates = append(c.updates, patch)
	}
	if hasBody(put) {
		c.updates = append(c.updates, put)
	}
	for _, segment := range updating {
		for _, method := range []string{http.MethodPatch, http.MethodPut, http.MethodPost} {
			if o := p.at(item, segment)[method]; len(c.updates) == 0 && hasBody(o) {
				c.updates = append(c.updates, o)
			}
		}
	}
	if kind := c.create.kind(); len(kind) > 0 {
		c.names = kind
	}
	return c
}

// at returns the operations of a path, or of a further segment of it.
func (p *paths) at(path, segment string) map[string]*operation {
	if segment != "" {
		base, ext := cutExtension(path)
		path = base + "/" + segment + ext
	}
	if found := p.all[path]; found != nil {
		return found
	}
	return p.all[p.shapes[pathShape(path)]]
}

// collections returns the paths of the collection that members with a prefix belong to: the prefix, and paths that differ
// from it by number, as /silences from /silence.
func (p *paths) collections(prefix string) []string {
	list := []string{prefix}
	if parent, last, ok := cutSegment(prefix); ok && number(last) != "" {
		_, ext := cutExtension(prefix)
		for _, path := range p.numbered[[2]string{pathShape(parent), number(last)}] {
			if _, other := cutExtension(path); path != prefix && other == ext {
				list = append(list, path)
			}
		}
	}
	return list
}

// elsewhere returns the only operation that creates in a collection of the name, as POST /orgs/{org}/teams does for
// /teams/{id}; nil if there are none or several.
func (p *paths) elsewhere(prefix string) (create *operation) {
	_, last, _ := cutSegment(prefix)
	for _, path := range p.last[number(last)] {
		if o := p.all[path][http.MethodPost]; hasBody(o) {
			if create != nil {
				return nil
			}
			create = o
		}
	}
	return create
}

// cutSegment splits a path before its last segment, which is without an extension.
func cutSegment(path string) (above, last string, ok bool) {
	path, _ = cutExtension(path)
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", "", false
	}
	return path[:at], path[at+1:], path[at+1:] != ""
}

// number returns a segment in the singular, empty for a parameter.
func number(segment string) string {
	if strings.HasPrefix(segment, "{") {
		return ""
	}
	words := wordsOf(segment)
	if len(words) == 0 {
		return ""
	}
	words[len(words)-1] = singular(words[len(words)-1])
	return strings.Join(words, " ")
}

// usable reports whether there is all that a resource needs.
func (c *candidate) usable() bool { return c.problem() == "" }

// problem says what a resource lacks, empty for nothing.
func (c *candidate) problem() string {
	switch {
	case c.create == nil || !hasBody(c.create):
		return "its create has no body in JSON and takes no form"
	case !merge(c.create.body.Value).isObject():
		return "the body of its create, " + c.create.name() + ", is not an object"
	case c.read == nil || c.read.response == nil || c.read.response.Value == nil:
		return "its read has no answer in JSON"
	case c.remove == nil:
		return "it has no delete"
	case !merge(inEnvelope(c.read.response, envelope(c.read.response, c.names[0])).Value).isObject():
		return "the answer of its read, " + c.read.name() + ", is not an object"
	}
	return ""
}

func (o *operation) name() string { return o.method + " " + o.path }

// override applies what the user says of the operations.
func (c *candidate) override(all *paths, o *document.Resource) error {
	c.overrides = o
	for _, want := range []struct {
		key, text string
		at        **operation
	}{{"create", o.Create, &c.create}, {"read", o.Read, &c.read}, {"delete", o.Delete, &c.remove}} {
		if want.text == "" {
			continue
		}
		found, err := all.operation(want.text)
		if err != nil {
			return guest.InvalidArgument("", want.key+": "+err.Error())
		}
		*want.at = found
	}
	switch o.Update {
	case "":
	case document.None:
		c.updates = nil
	default:
		found, err := all.operation(o.Update)
		if err != nil {
			return guest.InvalidArgument("", "update: "+err.Error())
		}
		if !hasBody(found) {
			return guest.InvalidArgument("", "update: "+found.name()+" has no body in JSON and takes no form")
		}
		c.updates = []*operation{found}
	}
	if problem := c.problem(); problem != "" {
		return guest.InvalidArgument("", problem)
	}
	return nil
}

// operation finds an operation by "POST /pets" or by its operationId.
func (p *paths) operation(text string) (*operation, error) {
	method, path, isPath := strings.Cut(text, " ")
	var sameMethod, sameID []string
	for _, at := range p.sorted {
		for _, o := range p.all[at] {
			switch {
			case isPath && strings.EqualFold(o.method, method) && pathShape(at) == pathShape(strings.TrimSpace(path)), !isPath && o.OperationID == text:
				return o, nil
			case isPath && strings.EqualFold(o.method, method):
				sameMethod = append(sameMethod, o.name())
			case !isPath && strings.EqualFold(o.OperationID, text):
				sameID = append(sameID, o.OperationID)
			}
		}
	}
	switch {
	case !isPath && len(sameID) > 0:
		return nil, guest.InvalidArgument("", "there is no operation "+text+"; there is "+sameID[0])
	case !isPath:
		return nil, guest.InvalidArgument("", "there is no operation with the operationId "+text+"; an operation can also be given as POST /pets")
	}
	const few = 10
	hint := ""
	if len(sameMethod) > 0 {
		hint = "; there is " + strings.Join(sameMethod[:min(few, len(sameMethod))], ", ")
		if len(sameMethod) > few {
			hint += ", and " + strconv.Itoa(len(sameMethod)-few) + " others"
		}
	}
	return nil, guest.InvalidArgument("", "there is no operation "+text+hint)
}

// kind returns names from the group, version, and kind of a Kubernetes operation.
func (o *operation) kind() []string {
	if o == nil {
		return nil
	}
	about, _ := o.Extensions[document.KubernetesKind].(map[string]any)
	kind, _ := about["kind"].(string)
	group, _ := about["group"].(string)
	version, _ := about["version"].(string)
	if kind == "" {
		return nil
	}
	group, _, _ = strings.Cut(group, ".")
	groupName := upperCamel(wordsOf(cmp.Or(group, "core")))
	return []string{kind, groupName + kind, groupName + upperCamel(wordsOf(version)) + kind}
}

// namesOf returns names for the members of a collection, the shortest first: Visit, OwnerVisit for
// /v1/owners/{id}/visits/{visit}, and none if there is no word in a path.
func namesOf(path string) []string {
	var list []string
	segments := segmentsOf(path, false)
	if len(segments) == 0 {
		return nil
	}
	for i := len(segments) - 1; i >= 0; i-- {
		list = append(list, upperCamel(slices.Concat(segments[i:]...)))
	}
	return append(list, upperCamel(slices.Concat(segmentsOf(path, true)...)))
}

// segmentsOf returns the words of the segments of a path that are not parameters, each in the singular. A customary prefix of the
// path is left out unless all is true.
func segmentsOf(path string, all bool) (list [][]string) {
	path, _ = cutExtension(path)
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || strings.HasPrefix(segment, "{") {
			continue
		}
		if !all && len(list) == 0 && (segment == "api" || segment == "apis" || segment == "rest" || isVersion(segment)) {
			continue
		}
		if words := wordsOf(segment); len(words) > 0 {
			words[len(words)-1] = singular(words[len(words)-1])
			list = append(list, words)
		}
	}
	return list
}

// nameAll gives each candidate the shortest of its names that no other has. Of several with one name, that which has no
// longer one keeps it.
func nameAll(list []*candidate) map[string]*candidate {
	at := make(map[*candidate]int, len(list))
	for {
		byName := map[string][]*candidate{}
		for _, c := range list {
			name := c.names[at[c]]
			byName[name] = append(byName[name], c)
		}
		changed := false
		for _, same := range byName {
			for _, c := range same {
				if len(same) > 1 && at[c] < len(c.names)-1 {
					at[c]++
					changed = true
				}
			}
		}
		if changed {
			continue
		}
		named, taken := map[string]*candidate{}, names{}
		for _, c := range list {
			named[taken.take(c.names[at[c]])] = c
		}
		return named
	}
}
