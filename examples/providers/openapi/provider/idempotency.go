package provider

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// keyHeader identifies a repeated request (draft-ietf-httpapi-idempotency-key-header). keyInput is the
// input with its value.
const (
	keyHeader = "Idempotency-Key"
	keyInput  = "idempotencyKey"
)

func isKeyHeader(p *openapi3.Parameter) bool {
	return p.In == openapi3.ParameterInHeader && strings.EqualFold(p.Name, keyHeader)
}

// takesKey reports whether the service knows the operation again by a key.
func (o *operation) takesKey() bool { return slices.ContainsFunc(o.parameters, isKeyHeader) }

func keyProperty() schema.Property {
	return schema.Property{
		Name: keyInput, Type: &schema.Type{Kind: schema.KindString}, Computed: true,
		Description: "By what the service knows the creation if it is sent again. A new one is chosen for each resource.",
	}
}

func newKey() string {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	return hex.EncodeToString(key)
}

// chooseKey chooses the key of a creation: a retry with the same key makes nothing twice. It keeps an old one. An existing
// resource without one, such as an imported one, needs none.
func chooseKey(r guest.CheckRequest[property.Map]) {
	switch {
	case !r.Inputs.Get(keyInput).Plain().IsNull():
	case r.Olds == nil:
		*r.Inputs = r.Inputs.With(keyInput, property.String(hex.EncodeToString(r.RandomSeed[:min(16, len(r.RandomSeed))])))
	case r.Olds.Has(keyInput):
		*r.Inputs = r.Inputs.With(keyInput, r.Olds.Get(keyInput))
	}
}
