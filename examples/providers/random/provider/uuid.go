package provider

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type uuidInputs struct {
	keepers
}

type uuidState struct {
	uuidInputs
	Result string `husk:"result" doc:"The UUID, in lower case with hyphens."`
}

// UUID is the resource RandomUuid.
type UUID struct{}

// Create draws the UUID.
func (UUID) Create(_ context.Context, r guest.CreateRequest[uuidInputs]) (guest.CreateResponse[uuidState], error) {
	b, err := drawBytes(16)
	if err != nil {
		return guest.CreateResponse[uuidState]{}, err
	}
	// RFC 9562, section 5.4: the version in the high half of octet 6, the variant in the
	// two high bits of octet 8.
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	result := formatUUID(b)
	return guest.CreateResponse[uuidState]{ID: result, State: uuidState{r.Inputs, result}}, nil
}

// Read takes the ID for the UUID.
func (UUID) Read(_ context.Context, r guest.ReadRequest[uuidInputs, uuidState]) (guest.ReadResponse[uuidInputs, uuidState], error) {
	if response, ok := recorded(r); ok {
		return response, nil
	}
	id := strings.ToLower(r.ID)
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(b) != 16 || formatUUID(b) != id {
		return guest.ReadResponse[uuidInputs, uuidState]{}, guest.InvalidArgument("",
			"the ID to import must be a UUID, for example aabbccdd-eeff-0011-2233-445566778899")
	}
	return guest.ReadResponse[uuidInputs, uuidState]{ID: id, State: uuidState{Result: id}}, nil
}

// formatUUID returns 16 octets in the form of RFC 9562, section 4.
func formatUUID(b []byte) string {
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
