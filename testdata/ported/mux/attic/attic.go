// Package attic is a provider of two halves.
package attic

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-mux/tf5to6server"
	"github.com/hashicorp/terraform-plugin-mux/tf6muxserver"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	sdk "github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// Server returns what serves both halves.
func Server(ctx context.Context) (func() tfprotov6.ProviderServer, error) {
	old, err := tf5to6server.UpgradeServer(ctx, oldHalf().GRPCProvider)
	if err != nil {
		return nil, err
	}
	mux, err := tf6muxserver.NewMuxServer(ctx, func() tfprotov6.ProviderServer { return old }, providerserver.NewProtocol6(&newHalf{}))
	if err != nil {
		return nil, err
	}
	return mux.ProviderServer, nil
}

func oldHalf() *sdk.Provider {
	return &sdk.Provider{
		Schema:       map[string]*sdk.Schema{"dusty": {Type: sdk.TypeBool, Optional: true}},
		ResourcesMap: map[string]*sdk.Resource{"attic_trunk": trunk()},
	}
}

func trunk() *sdk.Resource {
	nothing := func(context.Context, *sdk.ResourceData, any) diag.Diagnostics { return nil }
	return &sdk.Resource{
		Schema: map[string]*sdk.Schema{
			"name": {Type: sdk.TypeString, Required: true},
			"lock": {Type: sdk.TypeList, Optional: true, MaxItems: 1, Elem: &sdk.Resource{Schema: map[string]*sdk.Schema{"digits": {Type: sdk.TypeInt, Required: true}}}},
		},
		CreateContext: putTrunk,
		ReadContext:   nothing, UpdateContext: nothing, DeleteContext: nothing,
	}
}

func putTrunk(_ context.Context, d *sdk.ResourceData, _ any) diag.Diagnostics {
	d.SetId("trunk-" + d.Get("name").(string))
	return nil
}

type newHalf struct{}

func (*newHalf) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "attic"
}

func (*newHalf) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"dusty": schema.BoolAttribute{Optional: true}}}
}

func (*newHalf) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (*newHalf) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (*newHalf) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return lamp{} }}
}

type lamp struct{}

type lampModel struct {
	ID    types.String `tfsdk:"id"`
	Watts types.Int64  `tfsdk:"watts"`
}

func (lamp) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "attic_lamp"
}

func (lamp) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = resourceschema.Schema{Attributes: map[string]resourceschema.Attribute{
		"id":    resourceschema.StringAttribute{Computed: true},
		"watts": resourceschema.Int64Attribute{Required: true},
	}}
}

func (lamp) Create(ctx context.Context, request resource.CreateRequest, r *resource.CreateResponse) {
	var plan lampModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.ID = types.StringValue("lamp")
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (lamp) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (lamp) Update(ctx context.Context, request resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan lampModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.ID = types.StringValue("lamp")
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (lamp) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
