package shelf

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// box is a resource with attributes and blocks of all shapes.
type box struct{ world *World }

var (
	_ resource.ResourceWithImportState    = (*box)(nil)
	_ resource.ResourceWithUpgradeState   = (*box)(nil)
	_ resource.ResourceWithIdentity       = (*box)(nil)
	_ resource.ResourceWithConfigure      = (*box)(nil)
	_ resource.ResourceWithValidateConfig = (*box)(nil)
)

// privateKey is the key of the private state, which says how the box was made.
const privateKey = "made"

type boxModel struct {
	ID              types.String        `tfsdk:"id"`
	Name            types.String        `tfsdk:"name"`
	Size            types.Int64         `tfsdk:"size"`
	Weight          types.Int64         `tfsdk:"weight"`
	Made            types.String        `tfsdk:"made"`
	Combination     types.String        `tfsdk:"combination"`
	Key             types.String        `tfsdk:"key"`
	Password        types.String        `tfsdk:"password"`
	PasswordVersion types.Int64         `tfsdk:"password_version"`
	Fail            types.String        `tfsdk:"fail"`
	Note            []types.String      `tfsdk:"note"`
	Extra           types.Dynamic       `tfsdk:"extra"`
	Lid             *lidModel           `tfsdk:"lid"`
	Item            []itemModel         `tfsdk:"item"`
	Sticker         []stickerModel      `tfsdk:"sticker"`
	Drawers         map[string]lidModel `tfsdk:"drawers"`
	Hinge           []hingeModel        `tfsdk:"hinge"`
	Slot            []slotModel         `tfsdk:"slot"`
	Timeouts        types.Object        `tfsdk:"timeouts"`
}

type lidModel struct {
	Color types.String `tfsdk:"color"`
	Code  types.String `tfsdk:"code"`
}

type itemModel struct {
	Name   types.String `tfsdk:"name"`
	Serial types.String `tfsdk:"serial"`
}

type stickerModel struct {
	Text  types.String `tfsdk:"text"`
	Stamp types.String `tfsdk:"stamp"`
}

type hingeModel struct {
	Side types.String `tfsdk:"side"`
}

type slotModel struct {
	Number types.Int64  `tfsdk:"number"`
	Code   types.String `tfsdk:"code"`
}

func (b *box) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "shelf_box"
}

func (b *box) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	b.world, _ = request.ProviderData.(*World)
}

func (b *box) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, r *resource.IdentitySchemaResponse) {
	r.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true},
	}}
}

func (b *box) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	lid := map[string]schema.Attribute{
		"color": schema.StringAttribute{Required: true},
		"code":  schema.StringAttribute{Computed: true},
	}
	r.Schema = schema.Schema{
		Version:     1,
		Description: "A box.",
		Attributes: map[string]schema.Attribute{
			"id":               schema.StringAttribute{Computed: true, PlanModifiers: keep},
			"name":             schema.StringAttribute{Required: true, Description: "What is on it.", PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
			"size":             schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(3)},
			"weight":           schema.Int64Attribute{Computed: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()}},
			"made":             schema.StringAttribute{Computed: true, PlanModifiers: keep},
			"combination":      schema.StringAttribute{Optional: true, Sensitive: true},
			"key":              schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keep},
			"password":         schema.StringAttribute{Optional: true, WriteOnly: true},
			"password_version": schema.Int64Attribute{Optional: true},
			"fail":             schema.StringAttribute{Optional: true, DeprecationMessage: "Better not."},
			"note":             schema.ListAttribute{Optional: true, ElementType: types.StringType},
			"extra":            schema.DynamicAttribute{Optional: true},
			"lid":              schema.SingleNestedAttribute{Optional: true, Attributes: lid},
			"drawers":          schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: lid}},
			"item": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name":   schema.StringAttribute{Required: true},
				"serial": schema.StringAttribute{Computed: true, PlanModifiers: keep},
			}}},
			"sticker": schema.SetNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"text":  schema.StringAttribute{Required: true},
				"stamp": schema.StringAttribute{Computed: true},
			}}},
		},
		Blocks: map[string]schema.Block{
			"hinge": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"side": schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
			}}},
			"slot": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"number": schema.Int64Attribute{Required: true},
				"code":   schema.StringAttribute{Computed: true},
			}}},
			"timeouts": schema.SingleNestedBlock{Attributes: map[string]schema.Attribute{
				"create": schema.StringAttribute{Optional: true},
				"delete": schema.StringAttribute{Optional: true},
			}},
		},
	}
}

func (b *box) ValidateConfig(ctx context.Context, request resource.ValidateConfigRequest, r *resource.ValidateConfigResponse) {
	var config boxModel
	if request.Config.Raw.IsFullyKnown() {
		r.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	}
	for i, item := range config.Item {
		if item.Name.ValueString() == "elephant" {
			r.Diagnostics.AddAttributeError(path.Root("item").AtListIndex(i).AtName("name"), "Too large", "No box holds an elephant.")
		}
	}
	if config.Size.ValueInt64() > 100 {
		r.Diagnostics.AddAttributeWarning(path.Root("size"), "Large box", "It may not fit.")
	}
}

// fill computes what the service computes.
func (b *box) fill(ctx context.Context, m *boxModel, version string) {
	computed := func(parts ...string) types.String { return types.StringValue(strings.Join(parts, "-")) }
	m.ID = computed("box", m.Name.ValueString())
	m.Weight = types.Int64Value(m.Size.ValueInt64() * 10)
	if m.Key.IsUnknown() {
		m.Key = computed("key", m.Name.ValueString())
	}
	if m.Made.IsUnknown() {
		m.Made = types.StringValue(version)
	}
	if m.Lid != nil && m.Lid.Code.IsUnknown() {
		m.Lid.Code = computed("lid", m.Lid.Color.ValueString())
	}
	for name, drawer := range m.Drawers {
		drawer.Code = computed("drawer", name, drawer.Color.ValueString())
		m.Drawers[name] = drawer
	}
	for i := range m.Item {
		if m.Item[i].Serial.IsUnknown() {
			m.Item[i].Serial = computed("item", fmt.Sprint(i), m.Item[i].Name.ValueString())
		}
	}
	for i := range m.Sticker {
		if m.Sticker[i].Stamp.IsUnknown() {
			m.Sticker[i].Stamp = computed("stamp", m.Sticker[i].Text.ValueString(), version)
		}
	}
	for i := range m.Slot {
		if m.Slot[i].Code.IsUnknown() {
			m.Slot[i].Code = computed("slot", fmt.Sprint(m.Slot[i].Number.ValueInt64()), version)
		}
	}
	tflog.Info(ctx, "filled", map[string]any{"box": m.Name.ValueString()})
}

func (b *box) Create(ctx context.Context, request resource.CreateRequest, r *resource.CreateResponse) {
	var plan, config boxModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if r.Diagnostics.HasError() {
		return
	}
	if plan.Fail.ValueString() == "create" {
		r.Diagnostics.AddError("No box", "There is no room for it.")
		return
	}
	if deadline, ok := plan.Timeouts.Attributes()["create"]; ok && !deadline.IsNull() {
		r.Diagnostics.AddWarning("Timeout", "The box is made within "+deadline.String()+".")
	}
	b.fill(ctx, &plan, "created")
	if !config.Password.IsNull() {
		plan.Key = types.StringValue("key-for-" + fmt.Sprint(len(config.Password.ValueString())))
	}
	b.world.Set(plan.ID.ValueString(), plan.Weight.ValueInt64())
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
	r.Diagnostics.Append(r.Private.SetKey(ctx, privateKey, []byte(`{"by":"create"}`))...)
	r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("name"), plan.Name)...)
	if plan.Fail.ValueString() == "half" {
		r.Diagnostics.AddAttributeError(path.Root("lid"), "No lid", "It does not fit.")
	}
}

func (b *box) Read(ctx context.Context, request resource.ReadRequest, r *resource.ReadResponse) {
	var state boxModel
	r.Diagnostics.Append(request.State.Get(ctx, &state)...)
	weight, ok := b.world.weight(state.ID.ValueString())
	if !ok {
		r.State.RemoveResource(ctx)
		return
	}
	if !state.Size.IsNull() && weight != state.Weight.ValueInt64() {
		state.Size = types.Int64Value(weight / 10)
	}
	state.Weight = types.Int64Value(weight)
	private, found := request.Private.GetKey(ctx, privateKey)
	r.Diagnostics.Append(found...)
	if string(private) == `{"by":"import"}` {
		state.Made = types.StringValue("imported")
		state.Size = types.Int64Value(weight / 10)
		state.Key = types.StringValue("key-" + state.Name.ValueString())
	}
	r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("name"), state.Name)...)
	r.Diagnostics.Append(r.State.Set(ctx, &state)...)
}

func (b *box) Update(ctx context.Context, request resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan, prior boxModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(request.State.Get(ctx, &prior)...)
	private, found := request.Private.GetKey(ctx, privateKey)
	r.Diagnostics.Append(found...)
	if len(private) == 0 {
		r.Diagnostics.AddError("Lost", "The private state of the box is lost.")
	}
	if r.Diagnostics.HasError() {
		return
	}
	switch plan.Fail.ValueString() {
	case "update":
		r.Diagnostics.AddError("Stuck", "The box does not change.")
		return
	case "half":
		prior.Size = plan.Size
		r.Diagnostics.Append(r.State.Set(ctx, &prior)...)
		r.Diagnostics.AddError("Torn", "Only the size has changed.")
		return
	}
	b.fill(ctx, &plan, "updated")
	var password types.String
	r.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("password"), &password)...)
	if !password.IsNull() {
		plan.Key = types.StringValue("key-for-" + fmt.Sprint(len(password.ValueString())))
	}
	b.world.Set(plan.ID.ValueString(), plan.Weight.ValueInt64())
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (b *box) Delete(ctx context.Context, request resource.DeleteRequest, r *resource.DeleteResponse) {
	var state boxModel
	r.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if state.Fail.ValueString() == "delete" {
		r.Diagnostics.AddError("Stuck", "The box stays.")
		return
	}
	if deadline, ok := state.Timeouts.Attributes()["delete"]; ok && !deadline.IsNull() {
		r.Diagnostics.AddWarning("Timeout", "The box is removed within "+deadline.String()+".")
	}
	b.world.Set(state.ID.ValueString(), 0)
}

func (b *box) ImportState(ctx context.Context, request resource.ImportStateRequest, r *resource.ImportStateResponse) {
	name, ok := strings.CutPrefix(request.ID, "box-")
	if !ok {
		r.Diagnostics.AddError("Not a box", "IDs of boxes begin with box-.")
		return
	}
	r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root("id"), request.ID)...)
	r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root("name"), name)...)
	r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("name"), name)...)
	r.Diagnostics.Append(r.Private.SetKey(ctx, privateKey, []byte(`{"by":"import"}`))...)
}

// UpgradeState upgrades states of version 0, which had a title and no notes but one list remark.
func (b *box) UpgradeState(ctx context.Context) map[int64]resource.StateUpgrader {
	old := &schema.Schema{Attributes: map[string]schema.Attribute{
		"id":     schema.StringAttribute{Computed: true},
		"title":  schema.StringAttribute{Required: true},
		"size":   schema.Int64Attribute{Optional: true},
		"remark": schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType},
	}}
	return map[int64]resource.StateUpgrader{0: {PriorSchema: old, StateUpgrader: func(ctx context.Context, request resource.UpgradeStateRequest, r *resource.UpgradeStateResponse) {
		var title types.String
		var size types.Int64
		var remark []types.String
		var labels map[string]types.String
		var found diag.Diagnostics
		found.Append(request.State.GetAttribute(ctx, path.Root("title"), &title)...)
		found.Append(request.State.GetAttribute(ctx, path.Root("size"), &size)...)
		found.Append(request.State.GetAttribute(ctx, path.Root("remark"), &remark)...)
		found.Append(request.State.GetAttribute(ctx, path.Root("labels"), &labels)...)
		for key, value := range labels {
			remark = append(remark, types.StringValue(key+"="+value.ValueString()))
		}
		r.Diagnostics.Append(found...)
		timeouts := map[string]attr.Type{"create": types.StringType, "delete": types.StringType}
		r.Diagnostics.Append(r.State.Set(ctx, &boxModel{
			ID: types.StringValue("box-" + title.ValueString()), Name: title, Size: size, Note: remark, Timeouts: types.ObjectNull(timeouts),
		})...)
	}}}
}
