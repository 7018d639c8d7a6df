package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	proto "github.com/hashicorp/terraform-plugin-sdk/internal/tfplugin5"
)

// server is a provider that is called with the messages of this SDK.
type server struct {
	of proto.ProviderServer
}

func message(v *tfprotov5.DynamicValue) *proto.DynamicValue {
	if v == nil {
		return nil
	}
	return &proto.DynamicValue{Msgpack: v.MsgPack, Json: v.JSON}
}

func value(v *proto.DynamicValue) *tfprotov5.DynamicValue {
	if v == nil {
		return nil
	}
	return &tfprotov5.DynamicValue{MsgPack: v.Msgpack, JSON: v.Json}
}

func path(p *proto.AttributePath) *tftypes.AttributePath {
	if p == nil {
		return nil
	}
	to := tftypes.NewAttributePath()
	for _, step := range p.Steps {
		switch s := step.Selector.(type) {
		case *proto.AttributePath_Step_AttributeName:
			to = to.WithAttributeName(s.AttributeName)
		case *proto.AttributePath_Step_ElementKeyString:
			to = to.WithElementKeyString(s.ElementKeyString)
		case *proto.AttributePath_Step_ElementKeyInt:
			to = to.WithElementKeyInt(int(s.ElementKeyInt))
		}
	}
	return to
}

func diagnostics(list []*proto.Diagnostic) []*tfprotov5.Diagnostic {
	var all []*tfprotov5.Diagnostic
	for _, d := range list {
		all = append(all, &tfprotov5.Diagnostic{
			Severity: tfprotov5.DiagnosticSeverity(d.Severity), Summary: d.Summary, Detail: d.Detail, Attribute: path(d.Attribute),
		})
	}
	return all
}

func schema(s *proto.Schema) (*tfprotov5.Schema, error) {
	if s == nil {
		return nil, nil
	}
	b, err := block(s.Block)
	return &tfprotov5.Schema{Version: s.Version, Block: b}, err
}

func block(b *proto.Schema_Block) (*tfprotov5.SchemaBlock, error) {
	if b == nil {
		return nil, nil
	}
	to := &tfprotov5.SchemaBlock{Version: b.Version}
	for _, a := range b.Attributes {
		typ, err := tftypes.ParseJSONType(a.Type)
		if err != nil {
			return nil, fmt.Errorf("the type of %s: %w", a.Name, err)
		}
		to.Attributes = append(to.Attributes, &tfprotov5.SchemaAttribute{
			Name: a.Name, Type: typ, Description: a.Description,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
		})
	}
	for _, n := range b.BlockTypes {
		nested, err := block(n.Block)
		if err != nil {
			return nil, fmt.Errorf("the block %s: %w", n.TypeName, err)
		}
		to.BlockTypes = append(to.BlockTypes, &tfprotov5.SchemaNestedBlock{
			TypeName: n.TypeName, Block: nested, Nesting: tfprotov5.SchemaNestedBlockNestingMode(n.Nesting),
			MinItems: n.MinItems, MaxItems: n.MaxItems,
		})
	}
	return to, nil
}

func schemas(all map[string]*proto.Schema) (map[string]*tfprotov5.Schema, error) {
	to := make(map[string]*tfprotov5.Schema, len(all))
	for name, s := range all {
		converted, err := schema(s)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", name, err)
		}
		to[name] = converted
	}
	return to, nil
}

func (s *server) GetProviderSchema(ctx context.Context, _ *tfprotov5.GetProviderSchemaRequest) (*tfprotov5.GetProviderSchemaResponse, error) {
	r, err := s.of.GetSchema(ctx, &proto.GetProviderSchema_Request{})
	if err != nil {
		return nil, err
	}
	to := &tfprotov5.GetProviderSchemaResponse{Diagnostics: diagnostics(r.Diagnostics)}
	var errs [3]error
	to.Provider, errs[0] = schema(r.Provider)
	to.ResourceSchemas, errs[1] = schemas(r.ResourceSchemas)
	to.DataSourceSchemas, errs[2] = schemas(r.DataSourceSchemas)
	return to, errors.Join(errs[:]...)
}

func (s *server) PrepareProviderConfig(ctx context.Context, q *tfprotov5.PrepareProviderConfigRequest) (*tfprotov5.PrepareProviderConfigResponse, error) {
	r, err := s.of.PrepareProviderConfig(ctx, &proto.PrepareProviderConfig_Request{Config: message(q.Config)})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.PrepareProviderConfigResponse{PreparedConfig: value(r.PreparedConfig), Diagnostics: diagnostics(r.Diagnostics)}, nil
}

func (s *server) ConfigureProvider(ctx context.Context, q *tfprotov5.ConfigureProviderRequest) (*tfprotov5.ConfigureProviderResponse, error) {
	r, err := s.of.Configure(ctx, &proto.Configure_Request{TerraformVersion: q.TerraformVersion, Config: message(q.Config)})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.ConfigureProviderResponse{Diagnostics: diagnostics(r.Diagnostics)}, nil
}

func (s *server) StopProvider(ctx context.Context, _ *tfprotov5.StopProviderRequest) (*tfprotov5.StopProviderResponse, error) {
	r, err := s.of.Stop(ctx, &proto.Stop_Request{})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.StopProviderResponse{Error: r.Error}, nil
}

func (s *server) ValidateResourceTypeConfig(ctx context.Context, q *tfprotov5.ValidateResourceTypeConfigRequest) (*tfprotov5.ValidateResourceTypeConfigResponse, error) {
	r, err := s.of.ValidateResourceTypeConfig(ctx, &proto.ValidateResourceTypeConfig_Request{TypeName: q.TypeName, Config: message(q.Config)})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.ValidateResourceTypeConfigResponse{Diagnostics: diagnostics(r.Diagnostics)}, nil
}

func (s *server) UpgradeResourceState(ctx context.Context, q *tfprotov5.UpgradeResourceStateRequest) (*tfprotov5.UpgradeResourceStateResponse, error) {
	state := &proto.RawState{}
	if q.RawState != nil {
		state.Json, state.Flatmap = q.RawState.JSON, q.RawState.Flatmap
	}
	r, err := s.of.UpgradeResourceState(ctx, &proto.UpgradeResourceState_Request{TypeName: q.TypeName, Version: q.Version, RawState: state})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.UpgradeResourceStateResponse{UpgradedState: value(r.UpgradedState), Diagnostics: diagnostics(r.Diagnostics)}, nil
}

func (s *server) ReadResource(ctx context.Context, q *tfprotov5.ReadResourceRequest) (*tfprotov5.ReadResourceResponse, error) {
	r, err := s.of.ReadResource(ctx, &proto.ReadResource_Request{TypeName: q.TypeName, CurrentState: message(q.CurrentState), Private: q.Private})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.ReadResourceResponse{NewState: value(r.NewState), Private: r.Private, Diagnostics: diagnostics(r.Diagnostics)}, nil
}

func (s *server) PlanResourceChange(ctx context.Context, q *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	r, err := s.of.PlanResourceChange(ctx, &proto.PlanResourceChange_Request{
		TypeName: q.TypeName, PriorState: message(q.PriorState), ProposedNewState: message(q.ProposedNewState),
		Config: message(q.Config), PriorPrivate: q.PriorPrivate,
	})
	if err != nil {
		return nil, err
	}
	to := &tfprotov5.PlanResourceChangeResponse{
		PlannedState: value(r.PlannedState), PlannedPrivate: r.PlannedPrivate, Diagnostics: diagnostics(r.Diagnostics),
		UnsafeToUseLegacyTypeSystem: r.LegacyTypeSystem,
	}
	for _, p := range r.RequiresReplace {
		to.RequiresReplace = append(to.RequiresReplace, path(p))
	}
	return to, nil
}

func (s *server) ApplyResourceChange(ctx context.Context, q *tfprotov5.ApplyResourceChangeRequest) (*tfprotov5.ApplyResourceChangeResponse, error) {
	r, err := s.of.ApplyResourceChange(ctx, &proto.ApplyResourceChange_Request{
		TypeName: q.TypeName, PriorState: message(q.PriorState), PlannedState: message(q.PlannedState),
		Config: message(q.Config), PlannedPrivate: q.PlannedPrivate,
	})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.ApplyResourceChangeResponse{
		NewState: value(r.NewState), Private: r.Private, Diagnostics: diagnostics(r.Diagnostics),
		UnsafeToUseLegacyTypeSystem: r.LegacyTypeSystem,
	}, nil
}

func (s *server) ImportResourceState(ctx context.Context, q *tfprotov5.ImportResourceStateRequest) (*tfprotov5.ImportResourceStateResponse, error) {
	r, err := s.of.ImportResourceState(ctx, &proto.ImportResourceState_Request{TypeName: q.TypeName, Id: q.ID})
	if err != nil {
		return nil, err
	}
	to := &tfprotov5.ImportResourceStateResponse{Diagnostics: diagnostics(r.Diagnostics)}
	for _, i := range r.ImportedResources {
		to.ImportedResources = append(to.ImportedResources, &tfprotov5.ImportedResource{TypeName: i.TypeName, State: value(i.State), Private: i.Private})
	}
	return to, nil
}

func (s *server) ValidateDataSourceConfig(ctx context.Context, q *tfprotov5.ValidateDataSourceConfigRequest) (*tfprotov5.ValidateDataSourceConfigResponse, error) {
	r, err := s.of.ValidateDataSourceConfig(ctx, &proto.ValidateDataSourceConfig_Request{TypeName: q.TypeName, Config: message(q.Config)})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.ValidateDataSourceConfigResponse{Diagnostics: diagnostics(r.Diagnostics)}, nil
}

func (s *server) ReadDataSource(ctx context.Context, q *tfprotov5.ReadDataSourceRequest) (*tfprotov5.ReadDataSourceResponse, error) {
	r, err := s.of.ReadDataSource(ctx, &proto.ReadDataSource_Request{TypeName: q.TypeName, Config: message(q.Config)})
	if err != nil {
		return nil, err
	}
	return &tfprotov5.ReadDataSourceResponse{State: value(r.State), Diagnostics: diagnostics(r.Diagnostics)}, nil
}
