package test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	fdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	fprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	fresource "github.com/hashicorp/terraform-plugin-framework/resource"
	fschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf6"
)

// rules is a service with one object, whose provider has versions.
type rules struct {
	api   string // what the object is, empty if the provider cannot read it
	reads int
	gone  bool
}

// plugin returns a version of the provider on the plugin SDK.
func (w *rules) plugin(t *testing.T, version string, later bool) *under {
	t.Helper()
	text := func(s schema.Schema) *schema.Schema { s.Type = schema.TypeString; return &s }
	hop := map[string]*schema.Schema{"to": text(schema.Schema{Required: true})}
	rule := map[string]*schema.Schema{"path": text(schema.Schema{Required: true}), "tag": text(schema.Schema{Optional: true, Computed: true})}
	blocks := func(of map[string]*schema.Schema, kind schema.ValueType, most int) *schema.Schema {
		return &schema.Schema{Type: kind, Optional: true, MaxItems: most, Elem: &schema.Resource{Schema: of}}
	}
	r := &schema.Resource{Schema: map[string]*schema.Schema{
		"name":  text(schema.Schema{Required: true}),
		"cidr":  text(schema.Schema{Optional: true, ForceNew: true}),
		"limit": blocks(map[string]*schema.Schema{"cpu": {Type: schema.TypeInt, Optional: true}, "hop": blocks(hop, schema.TypeList, 1)}, schema.TypeList, 1),
		"rule":  blocks(rule, schema.TypeSet, 0),
	}}
	if later {
		r.Schema["api"] = text(schema.Schema{Optional: true, ForceNew: true, Default: "graph"})
		r.Schema["limit"].MaxItems = 0
		r.Schema["limit"].Elem.(*schema.Resource).Schema["hop"].MaxItems = 0
		rule["kind"] = text(schema.Schema{Optional: true, ForceNew: true, Default: "plain"})
	}
	apply := func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		d.SetId("id-" + d.Get("name").(string))
		var list []any
		for _, v := range d.Get("rule").(*schema.Set).List() {
			m := v.(map[string]any)
			if m["tag"] == "" {
				m["tag"] = "tag of " + m["path"].(string)
			}
			list = append(list, m)
		}
		return diag.FromErr(d.Set("rule", list))
	}
	r.CreateContext, r.UpdateContext = apply, apply
	r.ReadContext = func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
		w.reads++
		if w.gone {
			d.SetId("")
		} else if later && w.api != "" {
			return diag.FromErr(d.Set("api", w.api))
		}
		return nil
	}
	r.DeleteContext = func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil }
	server := (&schema.Provider{ResourcesMap: map[string]*schema.Resource{"net_rule": r}}).GRPCProvider()
	p, err := tf5.Provider("net", version, server, terraform.Mapping{})
	require.NoError(t, err)
	return opened(t, p)
}

func opened(t *testing.T, p abi.Provider) *under {
	t.Helper()
	u := &under{Provider: p, t: t, token: "net:index/rule:Rule", log: &log{}}
	_, err := u.Handshake(t.Context(), abi.HandshakeRequest{Features: abi.AllFeatures})
	require.NoError(t, err)
	require.NoError(t, u.Configure(u.ctx(), abi.ConfigureRequest{}))
	return u
}

// recordedRule is what an engine has recorded of a rule.
type recordedRule struct {
	id            string
	inputs, state property.Map
}

func (u *under) made(inputs property.Map) *recordedRule {
	u.t.Helper()
	id, state := u.create(inputs)
	return &recordedRule{id, u.check(inputs), state}
}

// compare compares as an engine does: it reads first if the provider asks for that, and keeps what it has read.
func (u *under) compare(r *recordedRule, inputs property.Map) (list []string) {
	u.t.Helper()
	ask := func() abi.DiffResponse {
		response, err := u.Diff(u.ctx(), abi.DiffRequest{Type: u.token, ID: r.id, Olds: r.state, OldInputs: r.inputs, News: u.check(inputs)})
		require.NoError(u.t, err)
		return response
	}
	response := ask()
	if response.Changes == abi.DiffChangesOutdated {
		read, err := u.Read(u.ctx(), abi.ReadRequest{Type: u.token, ID: r.id, State: &r.state, Inputs: &r.inputs})
		require.NoError(u.t, err)
		if read.ID == "" {
			return []string{"gone"}
		}
		r.state, r.inputs = read.State, *read.Inputs
		response = ask()
	}
	require.NotEqual(u.t, abi.DiffChangesOutdated, response.Changes)
	for _, d := range response.DetailedDiff {
		list = append(list, d.Path+" "+d.Kind.String())
	}
	require.Equal(u.t, len(list) > 0, response.Changes == abi.DiffChangesSome)
	return list
}

var oldRule, newRule = object("name", "a", "limit", obj("cpu", 2, "hop", obj("to", "x")), "rules", list(obj("path", "/a"), obj("path", "/b"))),
	object("name", "a", "limits", list(obj("cpu", 2, "hops", list(obj("to", "x")))), "rules", list(obj("path", "/a"), obj("path", "/b")))

// Terraform reads with the new version before it plans, so that what is new has its value, and replaces nothing.
func TestANewVersionReadsFirst(t *testing.T) {
	w := &rules{api: "rest"}
	r := w.plugin(t, "1.0.0", false).made(oldRule)
	u := w.plugin(t, "2.0.0", true)
	require.Empty(t, u.compare(r, newRule.With("api", text("rest"))))
	require.Equal(t, 1, w.reads)
	requireAt(t, text("rest"), r.state, "api")
	require.True(t, r.inputs.Equal(newRule), "inputs have the names of this version: %v", r.inputs)

	require.Empty(t, u.compare(r, newRule.With("api", text("rest"))))
	require.Equal(t, 1, w.reads, "it reads once")
	refreshed, err := u.Diff(u.ctx(), abi.DiffRequest{Type: u.token, ID: r.id, Olds: r.state, OldInputs: r.inputs, News: oldRule.With("api", text("rest"))})
	require.NoError(t, err)
	require.Empty(t, refreshed.DetailedDiff, "a refresh compares with the inputs that were recorded before")
	require.Equal(t, []string{"api update-replace"}, u.compare(r, newRule), "it is not the default")
	require.Equal(t, []string{"name update"}, u.compare(r, newRule.With("api", text("rest")).With("name", text("b"))))
}

// A default of what this version added, and does not read, is what the resource has had all along.
func TestANewDefaultReplacesNothing(t *testing.T) {
	w := &rules{}
	r := w.plugin(t, "1.0.0", false).made(oldRule)
	u := w.plugin(t, "2.0.0", true)
	require.Empty(t, u.compare(r, newRule))
	requireAt(t, text("graph"), r.state, "api")
	requireAt(t, text("plain"), r.state, "rules[0].kind")
	require.Empty(t, u.compare(r, newRule.With("api", text("graph"))))
	require.Equal(t, []string{"api update-replace"}, u.compare(r, newRule.With("api", text("rest"))))
	require.Equal(t, []string{"cidr add-replace"}, u.compare(r, newRule.With("cidr", text("10.0.0.0/8"))), "real replacements stay")

	// Another value at the time of the upgrade is a change.
	for path, inputs := range map[string]property.Map{
		"api update-replace": newRule.With("api", text("rest")), "cidr add-replace": newRule.With("cidr", text("10.0.0.0/8")),
	} {
		r = w.plugin(t, "1.0.0", false).made(oldRule)
		require.Equal(t, []string{path}, u.compare(r, inputs))
	}
	w.gone = true
	require.Equal(t, []string{"gone"}, u.compare(w.plugin(t, "1.0.0", false).made(oldRule), newRule))
}

// A list that is bounded by one element, or not any more, is the same list, also nested and without a read.
func TestABoundOfAListChangesNothing(t *testing.T) {
	w := &rules{api: "graph"}
	before, after := w.plugin(t, "1.0.0", false), w.plugin(t, "2.0.0", true)
	r := after.made(newRule)
	require.Empty(t, before.compare(r, oldRule))
	require.Equal(t, obj("cpu", 2, "hop", obj("to", "x")), r.state.Get("limit"))
	require.True(t, r.inputs.Equal(oldRule), "%v", r.inputs)
	require.False(t, r.state.Has("limits"))
	require.Equal(t, []string{"limit.hop.to update"}, before.compare(r, oldRule.With("limit", obj("cpu", 2, "hop", obj("to", "y")))))
	require.Empty(t, after.compare(r, newRule), "and back")

	// Pulumi's engine, and a state of Pulumi's bridge, which has no names.
	plain := object("id", "id-a", "name", "a", "limit", obj("cpu", 2, "hop", obj("to", "x")),
		"rules", list(obj("path", "/a", "tag", "t"), obj("path", "/b", "tag", "t")), "__meta", `{"schema_version":"0"}`)
	r = &recordedRule{"id-a", oldRule, plain}
	require.Empty(t, after.compare(r, newRule))
	require.Equal(t, list(obj("cpu", 2, "hops", list(obj("to", "x")))), r.state.Get("limits"))
	_, err := after.Handshake(t.Context(), abi.HandshakeRequest{})
	require.NoError(t, err)
	old := before.made(oldRule)
	updated, err := after.Update(t.Context(), abi.UpdateRequest{Type: after.token, ID: old.id, Olds: old.state, OldInputs: old.inputs,
		News: after.check(newRule.With("name", text("b")).With("limits", list(obj("cpu", 7)))), IgnoreChanges: []string{"limits"}})
	require.ErrorContains(t, err, "cannot change this property in place", "its api would be new: %v", updated)
	require.NoError(t, after.Delete(t.Context(), abi.DeleteRequest{Type: after.token, ID: old.id, State: old.state}))
}

// frame is a provider on the plugin framework.
type frame struct {
	fprovider.Provider
	version string
	*frameRule
}

type frameRule struct {
	fresource.Resource
	later bool
	api   string
	reads int
}

func (f frame) Metadata(_ context.Context, _ fprovider.MetadataRequest, r *fprovider.MetadataResponse) {
	r.TypeName, r.Version = "net", f.version
}

func (frame) Schema(context.Context, fprovider.SchemaRequest, *fprovider.SchemaResponse)          {}
func (frame) Configure(context.Context, fprovider.ConfigureRequest, *fprovider.ConfigureResponse) {}
func (frame) DataSources(context.Context) []func() datasource.DataSource                          { return nil }
func (f frame) Resources(context.Context) []func() fresource.Resource {
	return []func() fresource.Resource{func() fresource.Resource { return f.frameRule }}
}

func (*frameRule) Metadata(_ context.Context, _ fresource.MetadataRequest, r *fresource.MetadataResponse) {
	r.TypeName = "net_rule"
}

func (f *frameRule) Schema(_ context.Context, _ fresource.SchemaRequest, r *fresource.SchemaResponse) {
	r.Schema = fschema.Schema{Attributes: map[string]fschema.Attribute{
		"id":   fschema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"name": fschema.StringAttribute{Required: true},
	}, Blocks: map[string]fschema.Block{
		"rule": fschema.ListNestedBlock{NestedObject: fschema.NestedBlockObject{Attributes: map[string]fschema.Attribute{
			"path": fschema.StringAttribute{Required: true},
		}}},
	}}
	if f.later {
		replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
		r.Schema.Attributes["api"] = fschema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("graph"), PlanModifiers: replace}
		r.Schema.Attributes["zone"] = fschema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{
			stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()}}
	}
}

// fill gives the attributes that the provider computes their values.
func (f *frameRule) fill(ctx context.Context, s *tfsdk.State) (found fdiag.Diagnostics) {
	found.Append(s.SetAttribute(ctx, path.Root("id"), "i")...)
	if f.later {
		found.Append(s.SetAttribute(ctx, path.Root("zone"), "z1")...)
	}
	return found
}

func (f *frameRule) Create(ctx context.Context, q fresource.CreateRequest, r *fresource.CreateResponse) {
	r.State.Raw = q.Plan.Raw
	r.Diagnostics.Append(f.fill(ctx, &r.State)...)
}

func (f *frameRule) Read(ctx context.Context, _ fresource.ReadRequest, r *fresource.ReadResponse) {
	f.reads++
	r.Diagnostics.Append(f.fill(ctx, &r.State)...)
	if f.later && f.api != "" {
		r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root("api"), f.api)...)
	}
}

func (f *frameRule) Update(ctx context.Context, q fresource.UpdateRequest, r *fresource.UpdateResponse) {
	r.State.Raw = q.Plan.Raw
	r.Diagnostics.Append(f.fill(ctx, &r.State)...)
}

func (f *frameRule) Delete(context.Context, fresource.DeleteRequest, *fresource.DeleteResponse) {}

func framed(t *testing.T, version string, later bool, api string) *under {
	t.Helper()
	f := frame{version: version, frameRule: &frameRule{later: later, api: api}}
	p, err := tf6.Provider("net", version, providerserver.NewProtocol6(f)(), terraform.Mapping{})
	require.NoError(t, err)
	return opened(t, p)
}

func TestANewVersionOnTheFrameworkReadsFirst(t *testing.T) {
	inputs := object("name", "a", "rules", list(obj("path", "/a")))
	for name, api := range map[string]string{"read": "rest", "default": ""} {
		t.Run(name, func(t *testing.T) {
			r := framed(t, "1.0.0", false, "").made(inputs)
			later := framed(t, "2.0.0", true, api)
			want := inputs
			if api != "" {
				want = inputs.With("api", text(api))
			}
			require.Empty(t, later.compare(r, want))
			requireAt(t, text("z1"), r.state, "zone")
			require.Equal(t, []string{"name update"}, later.compare(r, want.With("name", text("b"))), "a change replaces nothing that is new")
			require.Equal(t, []string{"api update-replace"}, later.compare(r, inputs.With("api", text("soap"))))
		})
	}
	t.Run("without blocks", func(t *testing.T) {
		r := framed(t, "1.0.0", false, "").made(object("name", "a"))
		require.Empty(t, framed(t, "2.0.0", true, "graph").compare(r, object("name", "a")))
	})
	t.Run("the same schema", func(t *testing.T) {
		r := framed(t, "1.0.0", true, "").made(inputs)
		same := framed(t, "1.0.0", true, "")
		require.Empty(t, same.compare(r, inputs))
		require.Empty(t, framed(t, "1.0.1", true, "").compare(r, inputs), "another version")
	})
}
