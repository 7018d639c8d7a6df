package peer

import (
	"context"
	"slices"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/status"

	"github.com/husk-dev/husk/abi"
)

// client is the engine's side of the service.
type client struct {
	abi.Unimplemented
	rpc pulumirpc.ResourceProviderClient
}

func errorOf(err error) error {
	s := status.Convert(err)
	for kind, code := range codeOfKind {
		if code == s.Code() {
			return abi.NewError(kind, s.Message())
		}
	}
	return abi.NewError(abi.ErrorKindInternal, s.Message())
}

func (c *client) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	urn := string(request.URN)
	_, err := c.rpc.Configure(ctx, &pulumirpc.ConfigureRequest{
		Args: toStruct(request.Inputs), AcceptSecrets: true, AcceptResources: true, SendsOldInputs: true, SendsOldInputsToDelete: true,
		Id: &request.ID, Urn: &urn, Name: &request.Name, Type: &request.Type,
	})
	if err != nil {
		return errorOf(err)
	}
	return nil
}

func (c *client) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	q := &pulumirpc.CheckRequest{
		Urn: string(request.URN), Name: request.Name, Type: request.Type,
		News: toStruct(request.News), RandomSeed: request.RandomSeed,
	}
	if request.Olds != nil {
		q.Olds = toStruct(*request.Olds)
	}
	r, err := c.rpc.Check(ctx, q)
	if err != nil {
		return abi.CheckResponse{}, errorOf(err)
	}
	var response abi.CheckResponse
	if response.Inputs, err = fromStruct(r.Inputs); err != nil {
		return abi.CheckResponse{}, err
	}
	for _, f := range r.Failures {
		response.Failures = append(response.Failures, abi.CheckFailure{Path: f.Property, Reason: f.Reason})
	}
	return response, nil
}

func (c *client) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	r, err := c.rpc.Diff(ctx, &pulumirpc.DiffRequest{
		Urn: string(request.URN), Name: request.Name, Type: request.Type, Id: request.ID,
		Olds: toStruct(request.Olds), News: toStruct(request.News), OldInputs: toStruct(request.OldInputs),
		IgnoreChanges: request.IgnoreChanges,
	})
	if err != nil {
		return abi.DiffResponse{}, errorOf(err)
	}
	response := abi.DiffResponse{
		Changes: abi.DiffChanges(r.Changes), DeleteBeforeReplace: r.DeleteBeforeReplace,
		ReplaceKeys: r.Replaces, StableKeys: r.Stables, ChangedKeys: r.Diffs, HasDetailedDiff: r.HasDetailedDiff,
	}
	for path, d := range r.DetailedDiff {
		response.DetailedDiff = append(response.DetailedDiff, abi.PropertyDiff{Path: path, Kind: abi.DiffKind(d.Kind), InputDiff: d.InputDiff})
	}
	slices.SortFunc(response.DetailedDiff, func(a, b abi.PropertyDiff) int { return strings.Compare(a.Path, b.Path) })
	return response, nil
}
