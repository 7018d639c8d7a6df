package provider

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// charges is a service whose creations have idempotency keys, and which a program may also choose
// the names of.
const charges = `{"openapi": "3.0.3", "info": {"title": "charges", "version": "1.0.0"}, "paths": {
	"/charges": {"post": {
		"parameters": [{"name": "idempotency-key", "in": "header", "required": true, "schema": {"type": "string"}}],
		"requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"amount": {"type": "integer"}}}}}},
		"responses": {"201": {"description": "made", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Charge"}}}}}}},
	"/charges/{chargeId}": {
		"parameters": [{"name": "chargeId", "in": "path", "required": true, "schema": {"type": "string"}}],
		"get": {"responses": {"200": {"description": "it", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Charge"}}}}}},
		"delete": {"responses": {"204": {"description": "gone"}}}},
	"/shops/{shop}/racks/{name}": {
		"parameters": [{"name": "shop", "in": "path", "required": true, "schema": {"type": "string"}}, {"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}],
		"get": {"responses": {"200": {"description": "it", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Rack"}}}}}},
		"put": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Rack"}}}}, "responses": {"200": {"description": "it"}}},
		"delete": {"responses": {"204": {"description": "gone"}}}}},
	"components": {"schemas": {
		"Rack": {"type": "object", "properties": {"size": {"type": "integer"}}},
		"Charge": {"type": "object", "properties": {"id": {"type": "string"}, "amount": {"type": "integer"}}}}}}`

// What objects are known by follows from the document.
func TestIdentityOfResources(t *testing.T) {
	pkg := packageOf(t, written(t, "charges.json", charges))
	require.Equal(t, []string{"name", "shop"}, pkg.Resource("test:index:Rack").Identity, "what a program puts where it wants")
	charge := pkg.Resource("test:index:Charge")
	require.Equal(t, []string{"idempotencyKey"}, charge.Identity)
	require.Equal(t, []string{"amount", "idempotencyKey"}, charge.Inputs.Names())
	require.False(t, charge.Inputs.Property("idempotencyKey").Required)
	require.True(t, pkg.Resource("test:index:Rack").SchemaCheck)
	require.Empty(t, packageOf(t, "testdata/petstore.yaml").Resource("test:index:Pet").Identity, "the service chooses an ID")
}

// configured returns the provider of a document, for a service at the URL.
func configured(t *testing.T, document, url string) abi.Provider {
	t.Helper()
	parameterized, err := parameterize(t.Context(), guest.Parameters{Args: []string{written(t, "document.json", document), "test"}})
	require.NoError(t, err)
	p, err := guest.New(parameterized.Provider)
	require.NoError(t, err)
	config, err := p.CheckConfig(t.Context(), abi.CheckRequest{News: property.NewMap(
		property.Entry{Key: "baseUrl", Value: property.String(url)})})
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: config.Inputs}))
	return p
}

// A creation that is cancelled may have happened. If the program chose the ID, the error says what to
// look for.
func TestCancelledCreationAtAChosenPath(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, the server does not see the client go
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	inputs := property.NewMap(
		property.Entry{Key: "name", Value: property.String("top")},
		property.Entry{Key: "shop", Value: property.String("delft")},
		property.Entry{Key: "size", Value: property.Number(3)})
	_, err := configured(t, charges, server.URL).Create(ctx, abi.CreateRequest{Type: "test:index:Rack", Inputs: inputs})
	var failure *abi.Error
	require.ErrorAs(t, err, &failure)
	require.NotNil(t, failure.InitFailure, "%v", err)
	require.Equal(t, "delft/top", failure.InitFailure.ID)
	require.Equal(t, inputs, failure.InitFailure.State)
	require.Contains(t, failure.InitFailure.Reasons[0], "whether it was done is not known")
}

// A creation that is sent again makes nothing twice: in one call, since the connection is lost, and
// in another one, since the first was cut off.
func TestCreationsWithAKeyAreRepeated(t *testing.T) {
	var mu sync.Mutex
	made := make(map[string]string) // IDs by key
	lose := 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := r.URL.Path[len("/charges"):]
		if r.Method == http.MethodPost {
			key := r.Header.Get("Idempotency-Key")
			if made[key] == "" {
				made[key] = strconv.Itoa(len(made) + 1)
			}
			if id = made[key]; lose > 0 {
				lose--
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusCreated)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": id, "amount": 3})
	}))
	defer server.Close()

	p := configured(t, charges, server.URL)
	const charge = "test:index:Charge"
	news := property.NewMap(property.Entry{Key: "amount", Value: property.Number(3)})
	check := func(seed byte, olds *property.Map) property.Map {
		checked, err := p.Check(t.Context(), abi.CheckRequest{Type: charge, News: news, Olds: olds, RandomSeed: []byte{seed, 1, 2, 3}})
		require.NoError(t, err)
		require.Empty(t, checked.Failures)
		return checked.Inputs
	}
	create := func(inputs property.Map) string {
		created, err := p.Create(t.Context(), abi.CreateRequest{Type: charge, Inputs: inputs})
		require.NoError(t, err)
		return created.ID
	}
	inputs := check(1, nil)
	require.Equal(t, "1", create(inputs), "the connection was lost the first time")
	require.Equal(t, "1", create(check(2, &inputs)), "the same creation again")
	require.Equal(t, "2", create(check(3, nil)), "another one")
	require.Len(t, made, 2)
	require.Equal(t, news, check(4, &news), "what was imported needs no key")

	diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: charge, OldInputs: inputs, News: inputs})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, diff.Changes)
}
