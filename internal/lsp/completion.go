package lsp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// completion returns the completions at a position.
func (s *server) completion(ctx context.Context, p positionParams) (completionList, error) {
	none := completionList{Items: []completionItem{}}
	path := uriToPath(p.TextDocument.URI)
	d, v := s.document(path), s.view(ctx, path)
	if d == nil || v == nil {
		return none, nil
	}
	c := &completer{view: v, cursor: newCursor(d, p.Position)}
	switch {
	case isStackFile(path):
		c.stackConfig(ctx)
	case path != v.file.path && path != v.program.path:
		return none, nil
	default:
		if written, ok := c.cursor.reference(); ok {
			c.reference(ctx, written)
		} else if at := c.cursor.place(); at != nil {
			c.at(ctx, at)
		}
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	return completionList{Items: append(none.Items, c.items...)}, nil
}

// completer collects the proposals for a cursor.
type completer struct {
	*view
	cursor *cursor
	// present are the keys that the mapping at the cursor has already.
	present []string
	// isData says that the document has no functions.
	isData bool
	items  []completionItem
}

// add adds a proposal for the word at the cursor.
func (c *completer) add(kind int, label, insert, detail, documentation string, deprecated bool) {
	if c.cursor.spaceless {
		insert = " " + insert
	}
	item := completionItem{
		Label: label, Kind: kind, Detail: detail, Documentation: markdown(escape(documentation)),
		FilterText: label, SortText: fmt.Sprintf("%d%04d", kind, len(c.items)),
		TextEdit: textEdit{Range: c.cursor.document.span(c.cursor.line, c.cursor.from, c.cursor.to), NewText: insert},
	}
	if deprecated {
		item.Tags = []int{tagDeprecated}
		item.SortText = "~" + item.SortText
	}
	c.items = append(c.items, item)
}

// key adds a key, unless the mapping has it already. nested says that its value is a mapping or a list.
func (c *completer) key(name, detail, documentation string, nested, deprecated bool) {
	if slices.Contains(c.present, name) {
		return
	}
	insert := name
	switch {
	case c.cursor.hasColon || c.cursor.quoted:
	case nested:
		insert += ":"
	default:
		insert += ": "
	}
	c.add(kindProperty, name, insert, detail, documentation, deprecated)
}

// value adds a value of text, in quotes if YAML would read something else.
func (c *completer) value(kind int, text, detail, documentation string) {
	c.add(kind, text, c.quote(text), detail, documentation, false)
}

func (c *completer) quote(text string) string {
	var n yaml.Node
	if c.cursor.quoted || yaml.Unmarshal([]byte(text), &n) == nil && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Value == text && !strings.ContainsAny(text, ",[]{}#") {
		return text
	}
	return fmt.Sprintf("%q", text)
}

// at adds what can stand at a place of a project or program.
func (c *completer) at(ctx context.Context, at *place) {
	path := at.path
	if at.isKey {
		path = path[:len(path)-1]
		c.siblings(at)
		if last := len(path) - 1; last >= 0 && path[last] == projectschema.Element && strings.HasSuffix(strings.TrimRight(c.cursor.before(), " "), "-") {
			c.at(ctx, &place{at.node, false, path, at.around[:last+1]}) // which may be all of the element
		}
	}
	if !at.isKey && c.files(path) || c.inProgram(ctx, at, path) {
		return
	}
	n := projectschema.Root().At(path...)
	if n == nil {
		return
	}
	if at.isKey && c.keys(n) {
		return
	}
	for _, text := range n.Values() {
		c.add(kindEnum, text, text, "", "", false)
	}
}

// siblings notes the keys of the mapping that a key is in.
func (c *completer) siblings(at *place) {
	for i, n := 0, at.around[len(at.around)-1].Content; i < len(n); i += 2 {
		c.present = append(c.present, n[i].Value)
	}
}

// keys adds the keys of a part of the project file, and reports whether it has any.
func (c *completer) keys(n *projectschema.Node) bool {
	keys := n.Keys()
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if k := keys[name]; !k.IsDeprecated() {
			c.key(name, "", k.Text(), len(k.Keys()) > 0 || k.At(projectschema.Element) != nil, false)
		}
	}
	return len(keys) > 0
}

// inProgram adds what depends on the program, and reports whether that is all.
func (c *completer) inProgram(ctx context.Context, at *place, path []string) bool {
	if len(path) == 0 {
		return false
	}
	switch section := path[0]; {
	case section == resources && len(path) == 3 && path[2] == "type" && !at.isKey:
		c.types(ctx)
		return true
	case section == resources && len(path) >= 3 && path[2] == "properties":
		c.object(ctx, at, path, 3, c.inputs(ctx, at), nil)
		return true
	case section == resources && len(path) >= 4 && path[2] == "get" && path[3] == "state":
		_, _, out := c.resourceSchema(ctx, resourceType(at))
		c.object(ctx, at, path, 4, out, nil)
		return true
	case section == resources && len(path) >= 4 && path[2] == "get":
		c.object(ctx, at, path, 4, nil, &schema.Type{})
		return true
	case section == resources && len(path) > 3 && path[2] == "options" && !at.isKey:
		switch c.option(path[3]); {
		case path[3] == "ignoreChanges" || path[3] == "replaceOnChanges" || path[3] == "hideDiffs":
			c.propertyNames(c.inputs(ctx, at))
		case path[3] == "additionalSecretOutputs":
			_, _, out := c.resourceSchema(ctx, resourceType(at))
			c.propertyNames(out)
		}
		return false
	case section == actions && len(path) == 3 && path[2] == "function" && !at.isKey:
		c.functions(ctx, "", true)
		return true
	case section == actions && len(path) >= 3 && path[2] == "arguments":
		c.object(ctx, at, path, 3, c.arguments(ctx, text(fieldAt(at.around[2], "function"))), nil)
		return true
	case section == variables && len(path) >= 2, section == outputs && len(path) >= 2:
		c.object(ctx, at, path, 2, nil, &schema.Type{})
		return true
	case section == "packages" && len(path) == 3 && path[2] == "source":
		for _, p := range c.packageNames() {
			c.value(kindModule, p, "", "")
		}
		return true
	}
	return false
}

func resourceType(at *place) string {
	if len(at.around) < 3 {
		return ""
	}
	return text(fieldAt(at.around[2], "type"))
}

// inputs returns the inputs of the resource that a place is in, or nil.
func (c *completer) inputs(ctx context.Context, at *place) *schema.Object {
	_, inputs, _ := c.resourceSchema(ctx, resourceType(at))
	return inputs
}

func (c *completer) arguments(ctx context.Context, token string) *schema.Object {
	if f := c.function(ctx, token); f != nil {
		return &f.Args
	}
	return nil
}

// option adds the resources that an option may name.
func (c *completer) option(name string) {
	switch name {
	case "dependsOn", "parent", "provider", "providers", "replaceWith", "deletedWith":
		for _, d := range c.names.all {
			isProvider := strings.HasPrefix(d.typeToken(), providerPrefix)
			if d.section == resources && (isProvider || !strings.HasPrefix(name, "provider")) {
				c.whole(d)
			}
		}
	case "actions":
		for _, d := range c.names.all {
			if d.section == actions {
				c.whole(d)
			}
		}
	}
}

// whole adds a reference to a whole declaration.
func (c *completer) whole(d *declaration) {
	reference := "${" + d.name + "}"
	insert := reference
	if !c.cursor.quoted && len(c.cursor.openBrackets(c.cursor.before())) > 0 {
		insert = `"` + reference + `"`
	}
	c.add(kindReference, reference, insert, d.typeToken(), "", false)
}

// propertyNames adds the names of the properties of an object, which may be nil.
func (c *completer) propertyNames(o *schema.Object) {
	if o == nil {
		return
	}
	for i := range o.Properties {
		p := &o.Properties[i]
		c.value(kindProperty, p.Name, typeText(p.Type), p.Description)
	}
}

// object adds what can stand in properties, at a path that enters them behind skip steps. A function on the way has
// arguments of its own.
func (c *completer) object(ctx context.Context, at *place, path []string, skip int, o *schema.Object, t *schema.Type) {
	if t == nil && o != nil {
		t = &schema.Type{Kind: schema.KindObject, Object: o}
	}
	var p *schema.Property
	for i := skip; i < len(path); i++ {
		step := path[i]
		switch token, isFunction := strings.CutPrefix(step, "fn::"); {
		case step == "fn::invoke":
			c.invoke(ctx, at, path[i+1:], fieldAt(at.around[i], step))
			return
		case step == "fn::secret":
		case isFunction && strings.Contains(token, ":"):
			t, p = &schema.Type{Kind: schema.KindObject, Object: c.arguments(ctx, token)}, nil
		case isFunction:
			t, p = nil, nil
		default:
			segment := property.Key(step)
			if step == projectschema.Element {
				segment = property.Index(0)
			}
			t, p = partOf(t, segment)
		}
	}
	if !at.isKey {
		c.values(t, p)
		return
	}
	alone := len(c.present) <= 1
	for _, o := range objects(t) {
		for i := range o.Properties {
			p := &o.Properties[i]
			c.key(p.Name, detail(p), propertyText(p), isNested(p.Type), p.Deprecation != "")
		}
	}
	if !c.isData && (alone && len(path) > skip || alone && skip == 2) { // a mapping that is a value
		c.functions(ctx, "fn::", false)
		keys := projectschema.Root().Definitions["functions"].Properties
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			c.add(kindFunction, name, c.colon(name), "", keys[name].Text(), false)
		}
	}
}

// colon adds a colon to a key that has none.
func (c *completer) colon(name string) string {
	if c.cursor.hasColon || c.cursor.quoted {
		return name
	}
	return name + ": "
}

// invoke adds what can stand in a call of a function, at a path in it.
func (c *completer) invoke(ctx context.Context, at *place, path []string, call *yaml.Node) {
	f := c.function(ctx, text(fieldAt(call, "function")))
	switch {
	case len(path) > 0 && path[0] == "function" && !at.isKey:
		c.functions(ctx, "", false)
	case len(path) > 0 && path[0] == "arguments" && f != nil:
		c.object(ctx, at, at.path[:len(at.path)-depth(at)], len(at.path)-depth(at)-len(path)+1, &f.Args, nil)
	case len(path) > 0 && path[0] == "return" && f != nil:
		c.propertyNames(&f.Result)
	case at.isKey:
		if n := projectschema.Root().Definitions["invoke"].At(path...); n != nil {
			c.keys(n)
		}
	case len(path) > 1 && path[0] == "options":
		c.option(path[1])
	}
}

// depth returns how many steps of a place's path are its own key.
func depth(at *place) int {
	if at.isKey {
		return 1
	}
	return 0
}

// values adds the values that a type has.
func (c *completer) values(t *schema.Type, p *schema.Property) {
	var known []property.Value
	if p != nil {
		known = append(known, p.OneOf...)
		if !p.Const.IsNull() {
			known = append(known, p.Const)
		}
	}
	var collect func(t *schema.Type)
	collect = func(t *schema.Type) {
		switch {
		case t == nil:
		case t.Kind == schema.KindBool:
			known = append(known, property.Bool(true), property.Bool(false))
		case t.Kind == schema.KindEnum:
			known = append(known, t.Values...)
		case t.Kind == schema.KindUnion:
			for _, alternative := range t.OneOf {
				collect(alternative)
			}
		}
	}
	collect(t)
	for _, v := range known {
		if text, ok := v.AsString(); ok {
			c.value(kindEnum, text, "", "")
		} else {
			c.add(kindEnum, v.String(), v.String(), "", "", false)
		}
	}
}

// types adds the types of all packages, and providers.
func (c *completer) types(ctx context.Context) {
	for _, name := range c.packageNames() {
		p := c.pkg(ctx, name)
		if p == nil {
			continue
		}
		for _, r := range p.Resources {
			c.add(kindClass, schema.ShortToken(r.Token), schema.ShortToken(r.Token), p.Name+" "+p.Version, r.Description, r.Deprecation != "")
		}
		if name != builtin.Package {
			c.add(kindModule, providerPrefix+name, providerPrefix+name, "provider", "A provider of the package "+name+", with a configuration of its own.", false)
		}
	}
}

// functions adds the functions of all packages behind a prefix.
func (c *completer) functions(ctx context.Context, prefix string, isAction bool) {
	for _, name := range c.packageNames() {
		p := c.pkg(ctx, name)
		if p == nil {
			continue
		}
		for _, f := range p.Functions {
			if f.Action != isAction {
				continue
			}
			label := prefix + schema.ShortToken(f.Token)
			insert := label
			if prefix != "" && !c.cursor.hasColon && !c.cursor.quoted {
				insert += ":"
			}
			c.add(kindFunction, label, insert, p.Name+" "+p.Version, f.Description, f.Deprecation != "")
		}
	}
}

// reference adds completions for the written part of a ${...}.
func (c *completer) reference(ctx context.Context, written string) {
	cut := strings.LastIndexAny(written, ".[")
	c.cursor.from = c.cursor.at - len(written[cut+1:])
	line := c.cursor.document.line(c.cursor.line)
	c.cursor.to = c.cursor.at
	for c.cursor.to < len(line) && !strings.ContainsRune(".[]}\" ,", rune(line[c.cursor.to])) {
		c.cursor.to++
	}
	if cut < 0 {
		c.referable(ctx)
		return
	}
	path, err := property.ParsePath(written[:cut])
	if err != nil || len(path) == 0 {
		return
	}
	name, isKey := path[0].Key()
	if !isKey || written[cut] == '[' {
		return
	}
	if name == pulumiName {
		for _, p := range []string{"project", "stack", "organization", "cwd", "rootDirectory"} {
			c.add(kindProperty, p, p, "string", "", false)
		}
		return
	}
	for _, o := range objects(c.typeOf(ctx, name, path[1:], 0)) {
		for i := range o.Properties {
			p := &o.Properties[i]
			c.add(kindProperty, p.Name, p.Name, typeText(p.Type), propertyText(p), p.Deprecation != "")
		}
	}
}

// pulumiName is the name of the deployment in programs.
const pulumiName = "pulumi"

// referable adds the names that expressions may begin with.
func (c *completer) referable(ctx context.Context) {
	inActions := false
	if at := c.cursorPlace(); at != nil && len(at.path) > 3 && at.path[0] == resources {
		inActions = at.path[2] == "options" && at.path[3] == "actions"
	}
	for _, d := range c.names.all {
		if d.section == outputs || (d.section == actions) != inActions {
			continue
		}
		kind, detail := kindVariable, strings.TrimSuffix(d.section, "s")
		if d.section == configs {
			detail = "configuration"
		}
		if typ := d.typeToken(); typ != "" {
			kind, detail = kindReference, typ
		}
		c.add(kind, d.name, d.name, detail, "", false)
	}
	if !inActions {
		c.add(kindVariable, pulumiName, pulumiName, "the deployment", "The project, stack, organization, and directory (cwd) of the deployment.", false)
	}
}

// cursorPlace returns the place of the text that holds an unfinished reference, or nil.
func (c *completer) cursorPlace() *place {
	line := c.cursor.document.line(c.cursor.line)
	whole := *c.cursor
	whole.from = strings.LastIndex(line[:c.cursor.at], "${")
	whole.to = len(line)
	if end := strings.IndexByte(line[c.cursor.at:], '}'); end >= 0 {
		whole.to = c.cursor.at + end + 1
	}
	whole.hasColon = false
	whole.quoted = whole.from > 0 && strings.ContainsRune(`"'`, rune(line[whole.from-1]))
	return whole.place()
}

// objects returns the objects that a type can be.
func objects(t *schema.Type) (out []*schema.Object) {
	switch {
	case t == nil:
	case t.Kind == schema.KindObject && t.Object != nil:
		out = append(out, t.Object)
	case t.Kind == schema.KindUnion:
		for _, alternative := range t.OneOf {
			out = append(out, objects(alternative)...)
		}
	}
	return out
}

func isNested(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.KindArray || t.Kind == schema.KindMap || t.Kind == schema.KindObject)
}

func typeText(t *schema.Type) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// detail returns the type of an input, and whether it must be given.
func detail(p *schema.Property) string {
	text := typeText(p.Type)
	if p.Required && !p.HasDefault() && p.Const.IsNull() {
		text += ", required"
	}
	return text
}
