package shelf

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	actionschema "github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func (s *shelf) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return &lock{} }}
}

func (s *shelf) Actions(context.Context) []func() action.Action {
	return []func() action.Action{func() action.Action { return &shake{} }}
}

// lock is an ephemeral resource: the combination of a lock, which is a box in the world while it is open.
type lock struct{ world *World }

func (l *lock) Metadata(_ context.Context, _ ephemeral.MetadataRequest, r *ephemeral.MetadataResponse) {
	r.TypeName = "shelf_lock"
}

func (l *lock) Configure(_ context.Context, request ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	l.world, _ = request.ProviderData.(*World)
}

func (l *lock) Schema(_ context.Context, _ ephemeral.SchemaRequest, r *ephemeral.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"box":         schema.StringAttribute{Required: true},
		"combination": schema.StringAttribute{Computed: true, Sensitive: true},
	}}
}

func (l *lock) Open(ctx context.Context, request ephemeral.OpenRequest, r *ephemeral.OpenResponse) {
	var box types.String
	r.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("box"), &box)...)
	l.world.Set("lock-"+box.ValueString(), 1)
	r.RenewAt = time.Now().Add(time.Hour)
	r.Diagnostics.Append(r.Private.SetKey(ctx, "box", []byte(`"`+box.ValueString()+`"`))...)
	r.Diagnostics.Append(r.Result.SetAttribute(ctx, path.Root("box"), box)...)
	r.Diagnostics.Append(r.Result.SetAttribute(ctx, path.Root("combination"), "1234-"+box.ValueString())...)
}

func (l *lock) Renew(ctx context.Context, request ephemeral.RenewRequest, r *ephemeral.RenewResponse) {
	id, found := private(ctx, request.Private)
	r.Diagnostics.Append(found...)
	if _, open := l.world.weight(id); !open {
		r.Diagnostics.AddError("Not open", "The lock is closed.")
	}
}

func (l *lock) Close(ctx context.Context, request ephemeral.CloseRequest, r *ephemeral.CloseResponse) {
	id, found := private(ctx, request.Private)
	r.Diagnostics.Append(found...)
	l.world.Set(id, 0)
}

// private returns the box of an open lock.
func private(ctx context.Context, state interface {
	GetKey(context.Context, string) ([]byte, diag.Diagnostics)
}) (string, diag.Diagnostics) {
	box, found := state.GetKey(ctx, "box")
	return "lock-" + strings.Trim(string(box), `"`), found
}

// shake is an action.
type shake struct{ world *World }

func (s *shake) Metadata(_ context.Context, _ action.MetadataRequest, r *action.MetadataResponse) {
	r.TypeName = "shelf_shake"
}

func (s *shake) Configure(_ context.Context, request action.ConfigureRequest, _ *action.ConfigureResponse) {
	s.world, _ = request.ProviderData.(*World)
}

func (s *shake) Schema(_ context.Context, _ action.SchemaRequest, r *action.SchemaResponse) {
	r.Schema = actionschema.Schema{Attributes: map[string]actionschema.Attribute{
		"box_id": actionschema.StringAttribute{Required: true},
	}}
}

func (s *shake) Invoke(ctx context.Context, request action.InvokeRequest, r *action.InvokeResponse) {
	var id types.String
	r.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("box_id"), &id)...)
	weight, ok := s.world.weight(id.ValueString())
	if !ok {
		r.Diagnostics.AddAttributeError(path.Root("box_id"), "No box", "There is nothing to shake.")
		return
	}
	r.SendProgress(action.InvokeProgressEvent{Message: "shaking"})
	s.world.Set(id.ValueString(), weight-1)
}
