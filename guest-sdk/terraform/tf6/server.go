package tf6

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// server is a provider of protocol 6 as the adapter calls it.
type server struct {
	tfprotov6.ProviderServer
}

var _ tf.Server = (*server)(nil)

func wire(v *tf.Value) *tfprotov6.DynamicValue  { return (*tfprotov6.DynamicValue)(v) }
func value(v *tfprotov6.DynamicValue) *tf.Value { return (*tf.Value)(v) }
func raw(json []byte) *tfprotov6.RawState       { return &tfprotov6.RawState{JSON: json} }

func diagnostics(list []*tfprotov6.Diagnostic) tf.Diagnostics {
	var all tf.Diagnostics
	for _, d := range list {
		if d != nil {
			all = append(all, tf.Diagnostic{
				Warning: d.Severity == tfprotov6.DiagnosticSeverityWarning,
				Summary: d.Summary, Detail: d.Detail, Path: d.Attribute,
			})
		}
	}
	return all
}

func (s *server) Schemas(ctx context.Context) (*tf.Schemas, tf.Diagnostics, error) {
	response, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, nil, err
	}
	schemas := &tf.Schemas{
		Provider: schema(response.Provider), Resources: schemasOf(response.ResourceSchemas),
		DataSources: schemasOf(response.DataSourceSchemas), Functions: functions(response),
		Ephemerals: ephemerals(response), Actions: actions(response),
		PlanDestroy: response.ServerCapabilities != nil && response.ServerCapabilities.PlanDestroy,
	}
	found, err := s.addIdentities(ctx, schemas)
	return schemas, append(diagnostics(response.Diagnostics), found...), err
}

func (s *server) ValidateProvider(ctx context.Context, config *tf.Value) (tf.Diagnostics, error) {
	response, err := s.ValidateProviderConfig(ctx, &tfprotov6.ValidateProviderConfigRequest{Config: wire(config)})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) Configure(ctx context.Context, config *tf.Value, terraformVersion string) (tf.Diagnostics, error) {
	response, err := s.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{TerraformVersion: terraformVersion, Config: wire(config)})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) Stop(ctx context.Context) error {
	_, err := s.StopProvider(ctx, &tfprotov6.StopProviderRequest{})
	return err
}

func (s *server) ValidateResource(ctx context.Context, typ string, config *tf.Value) (tf.Diagnostics, error) {
	request := &tfprotov6.ValidateResourceConfigRequest{TypeName: typ, Config: wire(config)}
	allowWriteOnly(request)
	response, err := s.ValidateResourceConfig(ctx, request)
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) UpgradeState(ctx context.Context, typ string, version int64, json []byte) (*tf.Value, tf.Diagnostics, error) {
	response, err := s.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{TypeName: typ, Version: version, RawState: raw(json)})
	if err != nil {
		return nil, nil, err
	}
	return value(response.UpgradedState), diagnostics(response.Diagnostics), nil
}

func (s *server) Read(ctx context.Context, typ string, current tf.State) (tf.State, tf.Diagnostics, error) {
	request := &tfprotov6.ReadResourceRequest{TypeName: typ, CurrentState: wire(current.Value), Private: current.Private}
	setReadIdentity(request, current.Identity)
	response, err := s.ReadResource(ctx, request)
	if err != nil {
		return tf.State{}, nil, err
	}
	return tf.State{Value: value(response.NewState), Private: response.Private, Identity: readIdentity(response)},
		diagnostics(response.Diagnostics), nil
}

func (s *server) Plan(ctx context.Context, r tf.PlanRequest) (tf.PlanResponse, tf.Diagnostics, error) {
	request := &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.Type, PriorState: wire(r.Prior.Value), ProposedNewState: wire(r.Proposed), Config: wire(r.Config),
		PriorPrivate: r.Prior.Private,
	}
	setPlanIdentity(request, r.Prior.Identity)
	response, err := s.PlanResourceChange(ctx, request)
	if err != nil {
		return tf.PlanResponse{}, nil, err
	}
	return tf.PlanResponse{
		Planned: tf.State{Value: value(response.PlannedState), Private: response.PlannedPrivate, Identity: planIdentity(response)},
		Replace: response.RequiresReplace,
	}, diagnostics(response.Diagnostics), nil
}

func (s *server) Apply(ctx context.Context, r tf.ApplyRequest) (tf.State, tf.Diagnostics, error) {
	request := &tfprotov6.ApplyResourceChangeRequest{
		TypeName: r.Type, PriorState: wire(r.Prior), PlannedState: wire(r.Planned.Value), Config: wire(r.Config),
		PlannedPrivate: r.Planned.Private,
	}
	setApplyIdentity(request, r.Planned.Identity)
	response, err := s.ApplyResourceChange(ctx, request)
	if err != nil {
		return tf.State{}, nil, err
	}
	return tf.State{Value: value(response.NewState), Private: response.Private, Identity: applyIdentity(response)},
		diagnostics(response.Diagnostics), nil
}

func (s *server) Import(ctx context.Context, typ, id string) ([]tf.Imported, tf.Diagnostics, error) {
	response, err := s.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: typ, ID: id})
	if err != nil {
		return nil, nil, err
	}
	var all []tf.Imported
	for _, r := range response.ImportedResources {
		all = append(all, tf.Imported{Type: r.TypeName, State: tf.State{
			Value: value(r.State), Private: r.Private, Identity: importIdentity(r),
		}})
	}
	return all, diagnostics(response.Diagnostics), nil
}

func (s *server) ValidateDataSource(ctx context.Context, typ string, config *tf.Value) (tf.Diagnostics, error) {
	response, err := s.ValidateDataResourceConfig(ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typ, Config: wire(config)})
	if err != nil {
		return nil, err
	}
	return diagnostics(response.Diagnostics), nil
}

func (s *server) ReadDataSource(ctx context.Context, typ string, config *tf.Value) (*tf.Value, tf.Diagnostics, error) {
	response, err := s.ProviderServer.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: wire(config)})
	if err != nil {
		return nil, nil, err
	}
	return value(response.State), diagnostics(response.Diagnostics), nil
}
