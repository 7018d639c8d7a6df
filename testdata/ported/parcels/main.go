// Command parcels is a provider that waits for its service: each parcel is an HTTP request.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type parcels struct{}

func (parcels) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "parcels"
}

func (parcels) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = providerschema.Schema{Attributes: map[string]providerschema.Attribute{
		"url": providerschema.StringAttribute{Required: true},
	}}
}

func (parcels) Configure(ctx context.Context, request provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var config struct {
		URL types.String `tfsdk:"url"`
	}
	r.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	r.ResourceData = config.URL.ValueString()
}

func (parcels) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &parcel{} }}
}

func (parcels) DataSources(context.Context) []func() datasource.DataSource { return nil }

// parcel is sent to the service.
type parcel struct{ url string }

type parcelModel struct {
	ID types.String `tfsdk:"id"`
	To types.String `tfsdk:"to"`
}

func (*parcel) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "parcels_parcel"
}

func (*parcel) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{Computed: true},
		"to": schema.StringAttribute{Required: true},
	}}
}

func (p *parcel) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	p.url, _ = request.ProviderData.(string)
}

func (p *parcel) Create(ctx context.Context, request resource.CreateRequest, r *resource.CreateResponse) {
	var plan parcelModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/"+plan.To.ValueString(), http.NoBody)
	if err != nil {
		r.Diagnostics.AddError("the address is wrong", err.Error())
		return
	}
	answer, err := http.DefaultClient.Do(sent)
	if err != nil {
		r.Diagnostics.AddError("the service does not answer", err.Error())
		return
	}
	defer answer.Body.Close()
	plan.ID = types.StringValue("parcel-" + plan.To.ValueString())
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (*parcel) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (*parcel) Update(ctx context.Context, request resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan parcelModel
	r.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(r.State.Set(ctx, &plan)...)
}

func (*parcel) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return parcels{} }, providerserver.ServeOpts{Address: "registry.terraform.io/husk-dev/parcels"})
	if err != nil {
		log.Print(err)
		os.Exit(1)
	}
	os.Exit(0)
}
