package test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// core is Terraform with a provider that was built for this machine.
type core struct {
	t       *testing.T
	command string
	env     []string
	dir     string
	// block is the schema of the resource under test, as Terraform describes it.
	block tfBlock
}

// tfBlock is a schema in the output of terraform providers schema.
type tfBlock struct {
	Attributes map[string]struct {
		Type   any `json:"type"`
		Nested *struct {
			tfBlock
			Mode string `json:"nesting_mode"`
		} `json:"nested_type"`
	} `json:"attributes"`
	Blocks map[string]struct {
		Block tfBlock `json:"block"`
		Mode  string  `json:"nesting_mode"`
	} `json:"block_types"`
}

// newCore returns Terraform with the program of a provider, which is in a directory, and its configuration.
// The test is skipped if Terraform is not installed.
func newCore(t *testing.T, name, program string, config map[string]any) *core {
	t.Helper()
	command, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed: it compares the module with the provider in Terraform itself")
	}
	c := &core{t: t, command: command, dir: t.TempDir()}
	settings := filepath.Join(t.TempDir(), "terraformrc")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, "provider_installation {\n dev_overrides {\n  \"example/%s\" = %q\n }\n direct {}\n}\n", name, filepath.Dir(program)), 0o600))
	c.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+settings, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+t.TempDir())
	c.write("provider", map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{name: map[string]any{"source": "example/" + name}}},
		"provider":  map[string]any{name: config},
	})
	return c
}

func (c *core) write(name string, document any) {
	c.t.Helper()
	text, err := json.Marshal(document)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, name+".tf.json"), text, 0o600))
}

func (c *core) remove(name string) {
	require.NoError(c.t, os.Remove(filepath.Join(c.dir, name+".tf.json")))
}

// run runs Terraform, which may report errors about resources.
func (c *core) run(args ...string) []byte {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.command, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = c.dir, c.env, &stderr
	out, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(c.t, err)
	}
	require.NotEmpty(c.t, out, "%v: %v\n%s", args, err, stderr.String())
	return out
}

func (c *core) decode(to any, args ...string) {
	c.t.Helper()
	out := c.run(args...)
	require.NoError(c.t, json.Unmarshal(out, to), "%v: %.2000s", args, out)
}

// diagnostic is an error or a warning of Terraform.
type diagnostic struct {
	Severity, Summary, Detail, Address string
	Range                              struct{ Filename string }
}

// of returns the file that the diagnostic is about, without its extension.
func (d diagnostic) of() string {
	if name := strings.TrimSuffix(d.Range.Filename, ".tf.json"); name != "" {
		return name
	}
	return d.Address[strings.LastIndex(d.Address, ".")+1:]
}

// failed returns the errors by the resources that they are about.
func (c *core) failed(all []diagnostic) map[string]string {
	c.t.Helper()
	found := map[string]string{}
	for _, d := range all {
		if d.Severity == "error" {
			require.NotEmpty(c.t, d.of(), "%s: %s", d.Summary, d.Detail)
			found[d.of()] += d.Summary + ": " + d.Detail + "\n"
		}
	}
	return found
}

func (c *core) validate() map[string]string {
	c.t.Helper()
	var result struct{ Diagnostics []diagnostic }
	c.decode(&result, "validate", "-json")
	return c.failed(result.Diagnostics)
}

// events runs a command whose output is one JSON object a line, and returns its errors.
func (c *core) events(args ...string) map[string]string {
	c.t.Helper()
	var all []diagnostic
	lines := bufio.NewScanner(bytes.NewReader(c.run(args...)))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var event struct{ Diagnostic *diagnostic }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Diagnostic != nil {
			all = append(all, *event.Diagnostic)
		}
	}
	return c.failed(all)
}

// planned is a change that Terraform plans.
type planned struct {
	Actions      []string
	After        any
	AfterUnknown any `json:"after_unknown"`
}

// plan returns the planned changes by the names of resources. Those that cannot be planned are removed, and
// returned with their errors.
func (c *core) plan() (changes map[string]planned, refused map[string]string) {
	c.t.Helper()
	refused = map[string]string{}
	for {
		found := c.events("plan", "-json", "-refresh=false", "-out=plan")
		if len(found) == 0 {
			break
		}
		for name, err := range found {
			refused[name] = err
			c.remove(name)
		}
	}
	var result struct {
		Changes []struct {
			Name   string
			Change planned
		} `json:"resource_changes"`
	}
	c.decode(&result, "show", "-json", "plan")
	changes = map[string]planned{}
	for _, r := range result.Changes {
		changes[r.Name] = r.Change
	}
	return changes, refused
}

// resourceState is the state of a resource in Terraform.
type resourceState struct {
	Name    string
	Values  map[string]any
	Tainted bool
}

// apply applies the last plan, and returns the state of all resources.
func (c *core) apply() (map[string]resourceState, map[string]string) {
	c.t.Helper()
	found := c.events("apply", "-json", "-auto-approve", "-refresh=false", "plan")
	var result struct {
		Values struct {
			Root struct{ Resources []resourceState } `json:"root_module"`
		}
	}
	c.decode(&result, "show", "-json")
	all := map[string]resourceState{}
	for _, r := range result.Values.Root.Resources {
		all[r.Name] = r
	}
	return all, found
}

// describe reads the schema of a resource.
func (c *core) describe(resource string) {
	c.t.Helper()
	var result struct {
		Providers map[string]struct {
			Resources map[string]struct{ Block tfBlock } `json:"resource_schemas"`
		} `json:"provider_schemas"`
	}
	c.decode(&result, "providers", "schema", "-json")
	for _, p := range result.Providers {
		if r, ok := p.Resources[resource]; ok {
			c.block = r.Block
			return
		}
	}
	require.Fail(c.t, "Terraform does not know "+resource)
}

// unknownText stands for what is not known.
const unknownText = "(known after apply)"

// canonical returns a value of a resource without what has no meaning: nulls, absent blocks, and the order of
// sets.
func (b tfBlock) canonical(values map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range values {
		a, isAttribute := b.Attributes[name]
		block := b.Blocks[name]
		switch {
		case v == nil:
			continue
		case isAttribute && a.Nested != nil:
			v = a.Nested.nested(a.Nested.Mode, v)
		case isAttribute:
			v = canonicalType(a.Type, v)
		default:
			if v = block.Block.nested(block.Mode, v); fmt.Sprint(v) == "[]" || fmt.Sprint(v) == "map[]" {
				continue
			}
		}
		out[name] = v
	}
	return out
}

func (b tfBlock) nested(mode string, v any) any {
	switch v := v.(type) {
	case []any:
		var all []any
		for _, element := range v {
			all = append(all, b.nested("single", element))
		}
		return inOrder(mode == "set", all)
	case map[string]any:
		if mode != "map" {
			return b.canonical(v)
		}
		out := map[string]any{}
		for key, element := range v {
			out[key] = b.nested("single", element)
		}
		return out
	}
	return v
}

func canonicalType(t, v any) any {
	parts, ok := t.([]any)
	if list, isList := v.([]any); ok && isList && parts[0] != "tuple" {
		all := []any{}
		for _, element := range list {
			all = append(all, canonicalType(parts[1], element))
		}
		return inOrder(parts[0] == "set", all)
	}
	return v
}

func inOrder(isSet bool, all []any) []any {
	if isSet {
		slices.SortFunc(all, func(a, b any) int { return cmp.Compare(asJSON(a), asJSON(b)) })
	}
	return all
}

func asJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// withUnknowns returns a planned value in which a text stands for what is not known.
func withUnknowns(v, unknown any) any {
	switch u := unknown.(type) {
	case bool:
		if u {
			return unknownText
		}
	case []any:
		list, _ := v.([]any)
		for i := range u {
			if i < len(list) {
				list[i] = withUnknowns(list[i], u[i])
			} else {
				list = append(list, withUnknowns(nil, u[i]))
			}
		}
		return list
	case map[string]any:
		object, _ := v.(map[string]any)
		for key := range u {
			if object == nil {
				object = map[string]any{}
			}
			object[key] = withUnknowns(object[key], u[key])
		}
		if len(u) > 0 {
			return object
		}
	}
	return v
}

// mappedField and mappedFields are the names of properties by those of attributes, in the provider's
// mapping for converters.
type mappedField struct {
	Name        string
	MaxItemsOne bool
	Element     *mappedField
	Fields      mappedFields
}

type mappedFields map[string]mappedField

// terraform returns the properties as JSON with the names of Terraform. Unknown ones become the value of
// unknown.
func (f mappedFields) terraform(m property.Map, unknown any) map[string]any {
	out := map[string]any{}
	for name, field := range f {
		v, ok := m.Lookup(field.Name)
		if !ok || v.Plain().IsNull() {
			continue
		}
		inner := field.Fields
		if field.Element != nil {
			inner = field.Element.Fields
		}
		value := inner.value(v.Plain(), unknown, field.Fields == nil && !field.MaxItemsOne)
		if field.MaxItemsOne && value != unknown {
			value = []any{value}
		}
		out[name] = value
	}
	return out
}

// value returns a value whose objects have the fields, or keys of a map of such objects.
func (f mappedFields) value(v property.Value, unknown any, isMap bool) any {
	v = v.Plain()
	if v.IsUnknown() {
		return unknown
	}
	if list, ok := v.AsArray(); ok {
		all := []any{}
		for _, element := range list {
			all = append(all, f.value(element, unknown, false))
		}
		return all
	}
	if m, ok := v.AsObject(); ok {
		if f != nil && !isMap {
			return f.terraform(m, unknown)
		}
		out := map[string]any{}
		for key, element := range m.All() {
			out[key] = f.value(element, unknown, false)
		}
		return out
	}
	if b, ok := v.AsBool(); ok {
		return b
	}
	if n, ok := v.AsNumber(); ok {
		return n
	}
	if s, ok := v.AsString(); ok {
		return s
	}
	return nil
}

// instance is a resource in Terraform and in Husk.
type instance struct {
	inputs, next property.Map
	made         abi.CreateResponse
	tainted      bool
}

// compared compares what Terraform and the module make of the same generated resources: which
// configurations are valid, what is planned and created, and what a change does.
func (d *differential) compared(t *testing.T, name, program string, config property.Map) {
	response, err := d.ported.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	var mapping struct {
		Config    mappedFields
		Resources map[string]struct {
			Token  string `json:"tok"`
			Fields mappedFields
		}
	}
	require.NoError(t, json.Unmarshal(response.Data, &mapping))
	for _, tfName := range slices.Sorted(maps.Keys(mapping.Resources)) {
		t.Run(tfName, func(t *testing.T) {
			c := newCore(t, name, program, mapping.Config.terraform(config, nil))
			c.describe(tfName)
			d.compareResource(t, c, tfName, d.pkg.Resource(mapping.Resources[tfName].Token), mapping.Resources[tfName].Fields)
		})
	}
}

func (d *differential) compareResource(t *testing.T, c *core, tfName string, r *schema.Resource, fields mappedFields) {
	ctx := t.Context()
	all := map[string]*instance{}
	write := func(name string, inputs property.Map) {
		c.write(name, map[string]any{"resource": map[string]any{tfName: map[string]any{name: fields.terraform(inputs, "${jsondecode(terraform_data.later.output)}")}}})
	}
	c.write("later", map[string]any{"resource": map[string]any{"terraform_data": map[string]any{"later": map[string]any{"input": `"x"`}}}})

	// Inputs whose types are wrong are left out, because Terraform converts values.
	fits := func(m property.Map) bool {
		_, failures := r.Inputs.Check(m)
		return len(failures) == 0 && !c.block.hasUnknownObject(fields.terraform(m, unknownText))
	}
	accepted := map[string]bool{}
	for i := range generated {
		name := "r" + strconv.Itoa(i)
		one := &instance{inputs: d.inputs(r.Token, &r.Inputs, i), next: d.inputs(r.Token, &r.Inputs, 1000+i)}
		if !fits(one.inputs) {
			continue
		}
		all[name] = one
		checked, err := d.ported.Check(ctx, abi.CheckRequest{Type: r.Token, News: one.inputs})
		require.NoError(t, err)
		if accepted[name] = len(checked.Failures) == 0; accepted[name] {
			one.inputs = checked.Inputs // with a name
		}
		write(name, one.inputs)
	}
	refused := c.validate()
	for name := range all {
		if accepted[name] != (refused[name] == "") {
			t.Errorf("%s=%d: Husk accepts %s: %v; Terraform says: %s", seedVariable, d.seed, property.Object(all[name].inputs), accepted[name], refused[name])
		}
		if !accepted[name] || refused[name] != "" {
			c.remove(name)
			delete(all, name)
		}
	}

	// What is planned, with unknowns.
	changes, refused := c.plan()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := all[name]
		preview, err := d.ported.Create(ctx, abi.CreateRequest{Type: r.Token, Name: name, Inputs: one.inputs, Preview: true})
		if (err != nil) != (refused[name] != "") {
			t.Errorf("%s=%d: the plan of %s: Husk says %v; Terraform says: %s", seedVariable, d.seed, property.Object(one.inputs), err, refused[name])
		}
		if err == nil && refused[name] == "" {
			d.same(t, c, r, fields, "planned", one.inputs, withUnknowns(changes[name].After, changes[name].AfterUnknown), preview.State)
		}
		if err != nil || refused[name] != "" || one.inputs.ContainsUnknowns() {
			delete(all, name)
			if refused[name] == "" {
				c.remove(name)
			}
		}
	}

	// What is created.
	created := map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := all[name]
		one.made, created[name] = d.ported.Create(ctx, abi.CreateRequest{Type: r.Token, Name: name, Inputs: one.inputs})
		e := abi.AsError(created[name])
		if e != nil && strings.Contains(e.Message, "panicked") { // which ends a process with all that it does
			delete(all, name)
			c.remove(name)
		} else if e != nil && e.InitFailure != nil {
			one.made, one.tainted = abi.CreateResponse{ID: e.InitFailure.ID, State: e.InitFailure.State}, true
		}
	}
	_, refused = c.plan()
	require.Empty(t, refused)
	states, refused := c.apply()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, err := all[name], created[name]
		if (err != nil) != (refused[name] != "") {
			t.Errorf("%s=%d: creating %s: Husk says %v; Terraform says: %s", seedVariable, d.seed, property.Object(one.inputs), err, refused[name])
		}
		made := one.made
		state, exists := states[name]
		if exists != (made.ID != "") || state.Tainted != one.tainted {
			t.Errorf("%s=%d: %s: exists in Terraform: %v, tainted %v; in Husk: %q, %v", seedVariable, d.seed, property.Object(one.inputs), exists, state.Tainted, made.ID, err)
		}
		if !exists || made.ID == "" {
			delete(all, name)
			c.remove(name)
			continue
		}
		d.same(t, c, r, fields, "created", one.inputs, state.Values, made.State)
	}
	require.Greater(t, len(all), generated/12, "enough of the generated inputs are valid")

	// What a change does.
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := all[name]
		checked, err := d.ported.Check(ctx, abi.CheckRequest{Type: r.Token, News: one.next, Olds: &one.inputs})
		require.NoError(t, err)
		if !fits(one.next) || len(checked.Failures) > 0 || one.next.ContainsUnknowns() {
			checked.Inputs = one.inputs
		}
		one.next = checked.Inputs
		write(name, one.next)
	}
	changes, refused = c.plan()
	kinds := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := all[name]
		diff, err := d.ported.Diff(ctx, abi.DiffRequest{Type: r.Token, ID: one.made.ID, Olds: one.made.State, OldInputs: one.inputs, News: one.next})
		if (err != nil) != (refused[name] != "") {
			t.Errorf("%s=%d: the diff of %s and %s: Husk says %v; Terraform says: %s", seedVariable, d.seed, property.Object(one.inputs), property.Object(one.next), err, refused[name])
		}
		if err != nil || refused[name] != "" {
			delete(all, name)
			continue
		}
		want, got := "update", "update"
		switch actions := changes[name].Actions; {
		case len(actions) == 2:
			want = "replace"
		case actions[0] == "no-op":
			want = "none"
		}
		if len(diff.ReplaceKeys) > 0 {
			got = "replace"
		} else if diff.Changes == abi.DiffChangesNone {
			got = "none"
		}
		kinds[want]++
		if want != got {
			t.Errorf("%s=%d: the change of\n%s to\n%s is %q in Terraform, and %q in Husk: %v", seedVariable, d.seed, property.Object(one.made.State), property.Object(one.next), want, got, diff.DetailedDiff)
			delete(all, name)
			continue
		}
		if want == "update" {
			preview, err := d.ported.Update(ctx, abi.UpdateRequest{Type: r.Token, Name: name, ID: one.made.ID, Olds: one.made.State, OldInputs: one.inputs, News: one.next, Preview: true})
			require.NoError(t, err)
			d.same(t, c, r, fields, plannedChange, one.next, withUnknowns(changes[name].After, changes[name].AfterUnknown), preview.State)
		}
	}
	t.Logf("%s: changes: %v", tfName, kinds)
	type outcome struct {
		state property.Map
		err   error
	}
	changed := map[string]outcome{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := all[name]
		state, err := d.changed(ctx, r, name, one, changes[name].Actions)
		if changed[name] = (outcome{state, err}); err != nil && strings.Contains(err.Error(), "panicked") {
			delete(all, name)
			write(name, one.inputs)
		}
	}
	_, refused = c.plan()
	require.Empty(t, refused)
	states, refused = c.apply()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, got := all[name], changed[name]
		if strings.HasPrefix(refused[name], "Missing Resource Identity After Update") {
			continue // Terraform before 1.12 keeps no identities
		}
		if (got.err != nil) != (refused[name] != "") {
			t.Errorf("%s=%d: changing %s to %s: Husk says %v; Terraform says: %s", seedVariable, d.seed, property.Object(one.inputs), property.Object(one.next), got.err, refused[name])
		}
		if exists := states[name]; exists.Values != nil && got.state.Len() > 0 {
			d.same(t, c, r, fields, "changed", one.next, exists.Values, got.state)
		}
	}
}

// changed does in Husk what Terraform did, and returns the state after it.
func (d *differential) changed(ctx context.Context, r *schema.Resource, name string, one *instance, actions []string) (property.Map, error) {
	var state property.Map
	var err error
	switch {
	case len(actions) == 2:
		if err = d.ported.Delete(ctx, abi.DeleteRequest{Type: r.Token, ID: one.made.ID, State: one.made.State}); err != nil {
			return one.made.State, err
		}
		var made abi.CreateResponse
		made, err = d.ported.Create(ctx, abi.CreateRequest{Type: r.Token, Name: name, Inputs: one.next})
		state = made.State
	case actions[0] == "no-op":
		return one.made.State, nil
	default:
		var updated abi.UpdateResponse
		updated, err = d.ported.Update(ctx, abi.UpdateRequest{Type: r.Token, Name: name, ID: one.made.ID, Olds: one.made.State, OldInputs: one.inputs, News: one.next})
		state = updated.State
		if err != nil {
			state = one.made.State
		}
	}
	if e := abi.AsError(err); e != nil && e.InitFailure != nil {
		state = e.InitFailure.State
	}
	return state, err
}

// hasUnknownObject reports whether whole blocks or nested objects are not known. Terraform has no unknown
// blocks, and refuses unknown objects with required attributes; to Husk these have unknown attributes.
func (b tfBlock) hasUnknownObject(values map[string]any) bool {
	for name, v := range values {
		block, isBlock := b.Blocks[name]
		inner := block.Block
		if !isBlock {
			nested := b.Attributes[name].Nested
			if nested == nil || v == unknownText {
				continue
			}
			inner = nested.tfBlock
		}
		list := []any{v}
		switch v := v.(type) {
		case []any:
			list = v
		case map[string]any:
			if !isBlock && b.Attributes[name].Nested.Mode == "map" {
				list = slices.Collect(maps.Values(v))
			}
		}
		for _, v := range list {
			object, ok := v.(map[string]any)
			if !ok || inner.hasUnknownObject(object) {
				return true
			}
		}
	}
	return false
}

// plannedChange is what is compared before an update.
const plannedChange = "planned change"

// attributeID returns the attribute id of a state if it is another than the resource's ID.
func attributeID(state property.Map) string {
	var meta struct{ ID string }
	if text, ok := state.Get("__meta").Plain().AsString(); ok {
		_ = json.Unmarshal([]byte(text), &meta)
	}
	return meta.ID
}

// same compares values of a resource in Terraform and in Husk.
func (d *differential) same(t *testing.T, c *core, r *schema.Resource, fields mappedFields, what string, inputs property.Map, want any, got property.Map) {
	t.Helper()
	values, _ := want.(map[string]any)
	x, y := c.block.canonical(values), c.block.canonical(fields.terraform(got, unknownText))
	if meta := attributeID(got); meta != "" {
		y["id"] = meta
	}
	if what == plannedChange { // which keeps the ID in Husk
		delete(x, "id")
		delete(y, "id")
	}
	if d.random != nil && d.random(r.Token, inputs) {
		given := fields.terraform(inputs, unknownText)
		for _, object := range []map[string]any{x, y} {
			for name := range object {
				if _, ok := given[name]; !ok {
					object[name] = shape(object[name])
				}
			}
		}
	}
	if asJSON(x) != asJSON(y) {
		t.Errorf("%s=%d: %s of\n%s is in Terraform\n%s\nand in Husk\n%s", seedVariable, d.seed, what, property.Object(inputs), asJSON(x), asJSON(y))
	}
}

// shape returns a value whose texts and numbers are their kinds.
func shape(v any) any {
	switch v := v.(type) {
	case string:
		if v != unknownText {
			return "text"
		}
	case float64:
		return "number"
	case []any:
		for i := range v {
			v[i] = shape(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = shape(v[key])
		}
	}
	return v
}
