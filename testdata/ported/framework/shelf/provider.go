// Package shelf is a provider whose resources exist in the memory of its process.
package shelf

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// World is the service that the provider manages: boxes by their IDs, with what a box weighs.
type World struct {
	mu    sync.Mutex
	boxes map[string]int64
}

// Set changes or removes a box behind the provider's back; a weight of 0 removes it.
func (w *World) Set(id string, weight int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if weight == 0 {
		delete(w.boxes, id)
		return
	}
	w.boxes[id] = weight
}

func (w *World) weight(id string) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	weight, ok := w.boxes[id]
	return weight, ok
}

// NewWorld returns a service without boxes.
func NewWorld() *World { return &World{boxes: map[string]int64{}} }

var shared = NewWorld()

// New returns the provider.
func New() provider.Provider { return In(shared) }

// In returns the provider for a service.
func In(w *World) provider.Provider { return &shelf{world: w} }

type shelf struct{ world *World }

var (
	_ provider.ProviderWithFunctions          = (*shelf)(nil)
	_ provider.ProviderWithEphemeralResources = (*shelf)(nil)
	_ provider.ProviderWithActions            = (*shelf)(nil)
)

func (s *shelf) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName, r.Version = "shelf", "1.2.3"
}

func (s *shelf) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{
		Description: "Boxes on a shelf.",
		Attributes: map[string]schema.Attribute{
			"room":       schema.StringAttribute{Optional: true, Description: "Where the shelf is."},
			"access_key": schema.StringAttribute{Optional: true, Sensitive: true},
			"closed":     schema.BoolAttribute{Optional: true},
		},
	}
}

func (s *shelf) Configure(_ context.Context, request provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var config struct {
		Room      types.String `tfsdk:"room"`
		AccessKey types.String `tfsdk:"access_key"`
		Closed    types.Bool   `tfsdk:"closed"`
	}
	r.Diagnostics.Append(request.Config.Get(context.Background(), &config)...)
	if config.Closed.ValueBool() {
		r.Diagnostics.AddError("The shelf is closed", "Open it.")
	}
	if config.Room.ValueString() == "attic" {
		r.Diagnostics.AddWarning("It is hot in the attic", "Boxes may melt.")
	}
	r.ResourceData, r.DataSourceData, r.EphemeralResourceData, r.ActionData = s.world, s.world, s.world, s.world
}

func (s *shelf) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &box{} },
		func() resource.Resource { return &label{} },
	}
}

func (s *shelf) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return &count{} }}
}

func (s *shelf) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return joined{} },
		func() function.Function { return measured{} },
	}
}
