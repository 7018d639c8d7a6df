//go:build !plugingo_before_0_29

package tf6

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

var errNoActions = errors.New("the provider has schemas of actions, and no way to run them")

func actions(response *tfprotov6.GetProviderSchemaResponse) map[string]*tf.Schema {
	all := make(map[string]*tf.Schema, len(response.ActionSchemas))
	for name, s := range response.ActionSchemas {
		all[name] = schema(s.Schema)
	}
	return all
}

func (s *server) ValidateAction(ctx context.Context, typ string, config *tf.Value) (tf.Diagnostics, error) {
	actor, ok := s.ProviderServer.(tfprotov6.ActionServer)
	if !ok {
		return nil, errNoActions
	}
	response, err := actor.ValidateActionConfig(ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: typ, Config: wire(config)})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) PlanAction(ctx context.Context, typ string, config *tf.Value) (tf.Diagnostics, error) {
	actor, ok := s.ProviderServer.(tfprotov6.ActionServer)
	if !ok {
		return nil, errNoActions
	}
	response, err := actor.PlanAction(ctx, &tfprotov6.PlanActionRequest{ActionType: typ, Config: wire(config)})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) InvokeAction(ctx context.Context, typ string, config *tf.Value, progress func(string)) (tf.Diagnostics, error) {
	actor, ok := s.ProviderServer.(tfprotov6.ActionServer)
	if !ok {
		return nil, errNoActions
	}
	response, err := actor.InvokeAction(ctx, &tfprotov6.InvokeActionRequest{ActionType: typ, Config: wire(config)})
	if err != nil {
		return nil, err
	}
	var found tf.Diagnostics
	for event := range response.Events {
		switch event := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress(event.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			found = append(found, diagnostics(event.Diagnostics)...)
		}
	}
	return found, nil
}
