package adapter

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

func (p *provider) OpenEphemeral(ctx context.Context, request abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error) {
	f, args, failed, err := p.function(ctx, request.Token, request.Args, func(k kind) bool { return k == isEphemeral })
	if err != nil || len(failed) > 0 {
		return abi.OpenEphemeralResponse{Failures: failed}, err
	}
	ctx, end := begin(ctx, "", 0)
	defer end()
	where, config, failed, err := f.configuration(ctx, args, func(config *tf.Value) (tf.Diagnostics, error) {
		return p.server.ValidateEphemeral(ctx, f.name, config)
	})
	if err != nil || len(failed) > 0 {
		return abi.OpenEphemeralResponse{Failures: failed}, err
	}
	opened, found, err := p.server.OpenEphemeral(ctx, f.name, config)
	if err := outcome(ctx, found, err, where); err != nil {
		return abi.OpenEphemeralResponse{}, err
	}
	result, err := f.result(opened.Result)
	return abi.OpenEphemeralResponse{
		Result: secretResult(result, args), Private: opened.Private, RenewAfter: renewAfter(opened),
	}, err
}

// renewAfter returns the seconds until a value must be renewed, 0 for never.
func renewAfter(opened tf.Opened) float64 {
	if opened.RenewAt.IsZero() {
		return 0
	}
	// One that is due already is renewed as soon as possible.
	return max(time.Until(opened.RenewAt), time.Second).Seconds()
}

func (p *provider) RenewEphemeral(ctx context.Context, request abi.RenewEphemeralRequest) (abi.RenewEphemeralResponse, error) {
	f, _, _, err := p.function(ctx, request.Token, property.Map{}, func(k kind) bool { return k == isEphemeral })
	if err != nil {
		return abi.RenewEphemeralResponse{}, err
	}
	ctx, end := begin(ctx, "", 0)
	defer end()
	opened, found, err := p.server.RenewEphemeral(ctx, f.name, request.Private)
	if err := outcome(ctx, found, err, nil); err != nil {
		return abi.RenewEphemeralResponse{}, err
	}
	return abi.RenewEphemeralResponse{Private: opened.Private, RenewAfter: renewAfter(opened)}, nil
}

func (p *provider) CloseEphemeral(ctx context.Context, request abi.CloseEphemeralRequest) error {
	f, _, _, err := p.function(ctx, request.Token, property.Map{}, func(k kind) bool { return k == isEphemeral })
	if err != nil {
		return err
	}
	ctx, end := begin(ctx, "", 0)
	defer end()
	found, err := p.server.CloseEphemeral(ctx, f.name, request.Private)
	return outcome(ctx, found, err, nil)
}

func (p *provider) RunAction(ctx context.Context, request abi.RunActionRequest) (abi.RunActionResponse, error) {
	f, args, failed, err := p.function(ctx, request.Token, request.Args, func(k kind) bool { return k == isAction })
	if err == nil && !request.Preview {
		err = known(args)
	}
	if err != nil || len(failed) > 0 {
		return abi.RunActionResponse{Failures: failed}, err
	}
	ctx, end := begin(ctx, "", 0)
	defer end()
	where, config, failed, err := f.configuration(ctx, args, func(config *tf.Value) (tf.Diagnostics, error) {
		return p.server.ValidateAction(ctx, f.name, config)
	})
	if err != nil || len(failed) > 0 {
		return abi.RunActionResponse{Failures: failed}, err
	}
	found, err := p.server.PlanAction(ctx, f.name, config)
	if err := outcome(ctx, found, err, where); err != nil || request.Preview {
		return abi.RunActionResponse{}, err
	}
	found, err = p.server.InvokeAction(ctx, f.name, config, guest.Log(ctx).Info)
	return abi.RunActionResponse{}, outcome(ctx, found, err, where)
}
