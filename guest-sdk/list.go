package guest

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Lister is implemented by resources of which those that exist can be found, by whoever
// wants to import them.
type Lister interface {
	// List answers a page of the existing resources.
	List(ctx context.Context, request ListRequest) (ListResponse, error)
}

// ListRequest asks for resources that exist.
type ListRequest struct {
	_ incomparable

	// Query says which are wanted, in words that are up to the resource; often empty.
	Query property.Map
	// Limit is how many are wanted in all; 0 for all of them.
	Limit uint64
	// PageSize is the most that are wanted at once; 0 leaves it to the provider.
	PageSize uint64
	// ContinuationToken is that of the page before; empty for the first page.
	ContinuationToken string
}

// ListResponse is a page of resources.
type ListResponse struct {
	_ incomparable

	Resources []ListedResource
	// ContinuationToken asks for the next page; empty on the last one.
	ContinuationToken string
}

// ListedResource is one that exists: an ID that can be imported, and a name for people.
type ListedResource = abi.ListedResource

func (s *server) List(ctx context.Context, request abi.ListRequest) (abi.ListResponse, error) {
	r, err := s.resource(request.Token, "")
	if err != nil {
		return abi.ListResponse{}, err
	}
	if r.lister == nil {
		return s.Unimplemented.List(ctx, request)
	}
	if err := s.decided(ctx); err != nil {
		return abi.ListResponse{}, err
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	response, err := r.lister.List(ctx, ListRequest{
		Query: request.Query, Limit: request.Limit, PageSize: request.PageSize, ContinuationToken: request.ContinuationToken,
	})
	if err != nil {
		return abi.ListResponse{}, answerError(err)
	}
	return abi.ListResponse{Resources: response.Resources, ContinuationToken: response.ContinuationToken}, nil
}
