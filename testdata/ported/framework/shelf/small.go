package shelf

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// label is a resource without an ID, with attributes whose names are taken.
type label struct{}

type labelModel struct {
	Text types.String `tfsdk:"text"`
	URN  types.String `tfsdk:"urn"`
}

// urn returns the first bytes of a text, as services do that do not know of characters.
func urn(text types.String) types.String {
	s := text.ValueString()
	return types.StringValue("urn:label:" + s[:min(len(s), 31)])
}

func (label) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "shelf_label"
}

func (label) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"text": schema.StringAttribute{Required: true},
		"urn":  schema.StringAttribute{Computed: true},
	}}
}

func (label) Create(ctx context.Context, request resource.CreateRequest, r *resource.CreateResponse) {
	var plan labelModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.URN = urn(plan.Text)
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (label) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (label) Update(ctx context.Context, request resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan labelModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.URN = urn(plan.Text)
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (label) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// count is a data source.
type count struct{ world *World }

func (c *count) Metadata(_ context.Context, _ datasource.MetadataRequest, r *datasource.MetadataResponse) {
	r.TypeName = "shelf_box_count"
}

func (c *count) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	c.world, _ = request.ProviderData.(*World)
}

func (c *count) Schema(_ context.Context, _ datasource.SchemaRequest, r *datasource.SchemaResponse) {
	r.Schema = dataschema.Schema{Attributes: map[string]dataschema.Attribute{
		"prefix": dataschema.StringAttribute{Required: true},
		"number": dataschema.Int64Attribute{Computed: true},
		"id":     dataschema.StringAttribute{Computed: true},
	}}
}

func (c *count) Read(ctx context.Context, request datasource.ReadRequest, r *datasource.ReadResponse) {
	var model struct {
		Prefix types.String `tfsdk:"prefix"`
		Count  types.Int64  `tfsdk:"number"`
		ID     types.String `tfsdk:"id"`
	}
	r.Diagnostics.Append(request.Config.Get(ctx, &model)...)
	var n int64
	c.world.mu.Lock()
	for id := range c.world.boxes {
		if strings.HasPrefix(id, "box-"+model.Prefix.ValueString()) {
			n++
		}
	}
	c.world.mu.Unlock()
	model.Count, model.ID = types.Int64Value(n), model.Prefix
	r.Diagnostics.Append(r.State.Set(ctx, &model)...)
}

// joined is a function with a variadic parameter.
type joined struct{}

func (joined) Metadata(_ context.Context, _ function.MetadataRequest, r *function.MetadataResponse) {
	r.Name = "join_words"
}

func (joined) Definition(_ context.Context, _ function.DefinitionRequest, r *function.DefinitionResponse) {
	r.Definition = function.Definition{
		Summary:           "Joins words.",
		Parameters:        []function.Parameter{function.StringParameter{Name: "separator"}},
		VariadicParameter: function.StringParameter{Name: "words"},
		Return:            function.StringReturn{},
	}
}

func (joined) Run(ctx context.Context, request function.RunRequest, r *function.RunResponse) {
	var separator string
	var words []string
	if r.Error = request.Arguments.Get(ctx, &separator, &words); r.Error != nil {
		return
	}
	for i, word := range words {
		if word == "" {
			r.Error = function.NewArgumentFuncError(int64(i+1), "an empty word")
			return
		}
	}
	r.Error = r.Result.Set(ctx, strings.Join(words, separator))
}

// measured is a function that returns an object.
type measured struct{}

func (measured) Metadata(_ context.Context, _ function.MetadataRequest, r *function.MetadataResponse) {
	r.Name = "measure"
}

func (measured) Definition(_ context.Context, _ function.DefinitionRequest, r *function.DefinitionResponse) {
	r.Definition = function.Definition{
		Parameters: []function.Parameter{function.StringParameter{Name: "text"}},
		Return:     function.ObjectReturn{AttributeTypes: map[string]attr.Type{"byte_length": types.Int64Type}},
	}
}

func (measured) Run(ctx context.Context, request function.RunRequest, r *function.RunResponse) {
	var text string
	if r.Error = request.Arguments.Get(ctx, &text); r.Error == nil {
		r.Error = r.Result.Set(ctx, struct {
			Length int64 `tfsdk:"byte_length"`
		}{int64(len(text))})
	}
}
