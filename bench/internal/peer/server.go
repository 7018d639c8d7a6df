package peer

import (
	"context"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// NewServer returns the service that calls the provider.
func NewServer(provider abi.Provider, version string) pulumirpc.ResourceProviderServer {
	return &server{provider: provider, version: version}
}

// server is the provider's side of the service.
type server struct {
	pulumirpc.UnimplementedResourceProviderServer
	provider abi.Provider
	version  string
}

// statusOf is the error of a call. The details of a failure beside its kind and its message do not cross.
func statusOf(err error) error {
	e := abi.AsError(err)
	code, ok := codeOfKind[e.Kind]
	if !ok {
		code = codes.Internal
	}
	return status.Error(code, e.Error())
}

var codeOfKind = map[abi.ErrorKind]codes.Code{
	abi.ErrorKindInvalidArgument: codes.InvalidArgument,
	abi.ErrorKindNotFound:        codes.NotFound,
	abi.ErrorKindUnimplemented:   codes.Unimplemented,
	abi.ErrorKindUnavailable:     codes.Unavailable,
	abi.ErrorKindCancelled:       codes.Canceled,
	abi.ErrorKindDenied:          codes.PermissionDenied,
}

// malformed is a request that cannot be read.
func malformed(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }

func (s *server) Handshake(ctx context.Context, _ *pulumirpc.ProviderHandshakeRequest) (*pulumirpc.ProviderHandshakeResponse, error) {
	response, err := s.provider.Handshake(ctx, abi.HandshakeRequest{
		Engine:   "pulumi",
		Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs | abi.FeaturesAutonaming | abi.FeaturesPreview,
	})
	if err != nil {
		return nil, statusOf(err)
	}
	return &pulumirpc.ProviderHandshakeResponse{
		AcceptSecrets:                   response.Features&abi.FeaturesSecrets != 0,
		AcceptResources:                 response.Features&abi.FeaturesResourceReferences != 0,
		AcceptOutputs:                   response.Features&abi.FeaturesOutputs != 0,
		SupportsAutonamingConfiguration: response.Features&abi.FeaturesAutonaming != 0,
	}, nil
}

func (s *server) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: s.version}, nil
}

func (s *server) Configure(ctx context.Context, request *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	inputs, err := fromStruct(request.GetArgs())
	if err != nil {
		return nil, malformed(err)
	}
	err = s.provider.Configure(ctx, abi.ConfigureRequest{
		URN: urn.URN(request.GetUrn()), Name: request.GetName(), Type: request.GetType(), ID: request.GetId(), Inputs: inputs,
	})
	if err != nil {
		return nil, statusOf(err)
	}
	return &pulumirpc.ConfigureResponse{AcceptSecrets: true, SupportsPreview: true, AcceptResources: true, AcceptOutputs: true}, nil
}

func (s *server) Check(ctx context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	properties, err := fromStructs(request.Olds, request.News)
	if err != nil {
		return nil, malformed(err)
	}
	q := abi.CheckRequest{
		URN: urn.URN(request.Urn), Name: request.Name, Type: request.Type,
		News: properties[1], RandomSeed: request.RandomSeed,
	}
	if request.Olds != nil {
		q.Olds = &properties[0]
	}
	response, err := s.provider.Check(ctx, q)
	if err != nil {
		return nil, statusOf(err)
	}
	r := &pulumirpc.CheckResponse{Inputs: toStruct(response.Inputs)}
	for _, f := range response.Failures {
		r.Failures = append(r.Failures, &pulumirpc.CheckFailure{Property: f.Path, Reason: f.Reason})
	}
	return r, nil
}

func (s *server) Diff(ctx context.Context, request *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	properties, err := fromStructs(request.Olds, request.News, request.OldInputs)
	if err != nil {
		return nil, malformed(err)
	}
	response, err := s.provider.Diff(ctx, abi.DiffRequest{
		URN: urn.URN(request.Urn), Name: request.Name, Type: request.Type, ID: request.Id,
		Olds: properties[0], News: properties[1], OldInputs: properties[2], IgnoreChanges: request.IgnoreChanges,
	})
	if err != nil {
		return nil, statusOf(err)
	}
	r := &pulumirpc.DiffResponse{
		Changes: pulumirpc.DiffResponse_DiffChanges(response.Changes), DeleteBeforeReplace: response.DeleteBeforeReplace,
		Replaces: response.ReplaceKeys, Stables: response.StableKeys, Diffs: response.ChangedKeys,
		HasDetailedDiff: response.HasDetailedDiff,
	}
	if len(response.DetailedDiff) > 0 {
		r.DetailedDiff = make(map[string]*pulumirpc.PropertyDiff, len(response.DetailedDiff))
		for _, d := range response.DetailedDiff {
			r.DetailedDiff[d.Path] = &pulumirpc.PropertyDiff{Kind: pulumirpc.PropertyDiff_Kind(d.Kind), InputDiff: d.InputDiff}
		}
	}
	return r, nil
}

func fromStructs(structs ...*structpb.Struct) ([]property.Map, error) {
	maps := make([]property.Map, len(structs))
	for i, s := range structs {
		var err error
		if maps[i], err = fromStruct(s); err != nil {
			return nil, err
		}
	}
	return maps, nil
}
