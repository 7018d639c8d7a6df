package adapter

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// careful is a provider whose panics are errors: the plugin SDK panics if an integer has a fraction, for example. After a panic
// in Apply, the changes are unknown.
type careful struct{ tf.Server }

func recovered(ctx context.Context, kind abi.ErrorKind, err *error) {
	if p := recover(); p != nil {
		guest.Log(ctx).Debug(string(debug.Stack()))
		*err = abi.NewError(kind, fmt.Sprint("the provider panicked: ", p))
	}
}

func (c careful) Schemas(ctx context.Context) (_ *tf.Schemas, _ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.Schemas(ctx)
}

func (c careful) ValidateProvider(ctx context.Context, config *tf.Value) (_ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.ValidateProvider(ctx, config)
}

func (c careful) ValidateResource(ctx context.Context, typ string, config *tf.Value) (_ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.ValidateResource(ctx, typ, config)
}

func (c careful) ValidateDataSource(ctx context.Context, typ string, config *tf.Value) (_ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.ValidateDataSource(ctx, typ, config)
}

func (c careful) Plan(ctx context.Context, request tf.PlanRequest) (_ tf.PlanResponse, _ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.Plan(ctx, request)
}

func (c careful) Read(ctx context.Context, typ string, current tf.State) (_ tf.State, _ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.Read(ctx, typ, current)
}

func (c careful) ReadDataSource(ctx context.Context, typ string, config *tf.Value) (_ *tf.Value, _ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.ReadDataSource(ctx, typ, config)
}

func (c careful) UpgradeState(ctx context.Context, typ string, version int64, json []byte) (_ *tf.Value, _ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindInternal, &err)
	return c.Server.UpgradeState(ctx, typ, version, json)
}

func (c careful) Apply(ctx context.Context, request tf.ApplyRequest) (_ tf.State, _ tf.Diagnostics, err error) {
	defer recovered(ctx, abi.ErrorKindCrashed, &err)
	return c.Server.Apply(ctx, request)
}
