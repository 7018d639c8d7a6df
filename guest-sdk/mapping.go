package guest

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// Mapping tells those who convert programs of another ecosystem how the names of one of
// its providers map to the package's.
type Mapping struct {
	// Key is the ecosystem, for example terraform.
	Key string
	// Provider is the provider there, for example aws.
	Provider string
	// Data are bytes that converters of the ecosystem understand.
	Data []byte
}

func (s *server) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	if len(s.mappings) == 0 {
		return s.Unimplemented.GetMappings(ctx, request)
	}
	var response abi.GetMappingsResponse
	for _, m := range s.mappings {
		if m.Key == request.Key {
			response.Providers = append(response.Providers, m.Provider)
		}
	}
	return response, nil
}

// GetMapping answers the first mapping where the request names no provider.
func (s *server) GetMapping(ctx context.Context, request abi.GetMappingRequest) (abi.GetMappingResponse, error) {
	if len(s.mappings) == 0 {
		return s.Unimplemented.GetMapping(ctx, request)
	}
	for _, m := range s.mappings {
		if m.Key == request.Key && (m.Provider == request.Provider || request.Provider == "") {
			return abi.GetMappingResponse{Provider: m.Provider, Data: m.Data}, nil
		}
	}
	message := s.pkg.Name + " has no mapping for " + request.Key
	if request.Provider != "" {
		message += " " + request.Provider
	}
	return abi.GetMappingResponse{}, abi.NewError(abi.ErrorKindNotFound, message)
}
