package provider_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/examples/internal/petstore"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

// specification says what the provider does, in either world.
func specification(t *testing.T, in world) {
	for name, test := range map[string]func(*testing.T, world){
		"a resource lives and dies":                    testLife,
		"a resource is completed":                      testCompletion,
		"inputs are checked":                           testCheck,
		"a preview asks nobody":                        testPreview,
		"a put leaves what the service chose":          testPut,
		"a resource inside of another":                 testNested,
		"a resource has a name that the program chose": testChosen,
		"functions":                     testFunctions,
		"credentials":                   testCredentials,
		"what the service says is told": testMessages,
		"what could not be done in time is done again":  testRetries,
		"a resource that was created is not lost":       testPartialFailure,
		"a slow service is waited for as long as asked": testSlow,
		"the configuration":                             testConfiguration,
		"the value gives the same package again":        testValue,
	} {
		t.Run(name, func(t *testing.T) { test(t, in) })
	}
}

func testLife(t *testing.T, in world) {
	s, p := in.open(t, nil)
	inputs := pt.Object{
		"name": "Rex", "kind": "dog", "tags": []string{"big"}, "home": pt.Object{"city": "Delft"},
		"attributes": pt.Object{"fur": "long"}, "code": "1234",
	}
	r := p.Create(pet, inputs)
	require.Equal(t, "101", r.ID)
	require.Equal(t, pt.MapOf(pt.Object{
		"petId": 101, "created": "2026-01-01", "adopted": false, "name": "Rex", "kind": "dog", "legs": 4, "tags": []string{"big"},
		"home": pt.Object{"city": "Delft", "cleaned": true}, "attributes": pt.Object{"fur": "long"},
	}), r.State, "what the service answers, without what is written only, and what the document does not name")
	require.Equal(t, property.Secret(property.String("1234")), r.Inputs.Get("code"))
	require.Equal(t, []string{
		`POST /pets {"attributes":{"fur":"long"},"code":"1234","home":{"city":"Delft"},"kind":"dog","legs":4,"name":"Rex","tags":["big"]}`,
		"GET /pets/101",
	}, s.Requests())

	require.Empty(t, p.Diff(r, inputs))
	require.Equal(t, []string{"attributes.fur update-replace", "code update", "kind update-replace", "name update", "tags delete"},
		p.Diff(r, pt.Object{"name": "Max", "kind": "cat", "home": pt.Object{"city": "Delft"}, "attributes": pt.Object{"fur": "short"}, "code": "1235"}))

	inputs = pt.Object{"name": "Max", "kind": "dog", "home": pt.Object{"city": "Gouda"}, "attributes": pt.Object{"fur": "long"}, "code": "1234", "adopted": true}
	s.Requests()
	r = p.Update(r, inputs)
	require.Equal(t, []string{`PATCH /pets/101 {"adopted":true,"home":{"city":"Gouda"},"name":"Max","tags":null}`, "GET /pets/101"}, s.Requests())
	require.Equal(t, "Max", r.Text("name"))
	require.False(t, r.State.Has("tags"))
	require.Empty(t, p.Diff(r, inputs))

	s.Change(s.Pets, "101", "weight", 2.5)
	s.Change(s.Pets, "101", "name", "Moritz")
	refreshed, exists := p.Refresh(r)
	require.True(t, exists)
	require.Equal(t, []string{"name update"}, p.Diff(refreshed, inputs), "what a program does not give is the service's")

	imported, err := p.TryImport(pet, "101")
	require.NoError(t, err)
	require.Equal(t, refreshed.State, imported.State)
	whole := pt.Object{
		"name": "Moritz", "kind": "dog", "home": pt.Object{"city": "Gouda"}, "attributes": pt.Object{"fur": "long"}, "weight": 2.5, "adopted": true,
	}
	require.Equal(t, pt.MapOf(whole), imported.Inputs)
	require.Empty(t, p.Diff(imported, whole))

	p.Delete(refreshed)
	_, exists = p.Refresh(refreshed)
	require.False(t, exists)
	p.Delete(refreshed)
	missing, err := p.TryImport(pet, "999")
	require.NoError(t, err)
	require.Empty(t, missing.ID)
}

// What can be changed but not given to the creation is set afterwards.
func testCompletion(t *testing.T, in world) {
	s, p := in.open(t, nil)
	r := p.Create(pet, pt.Object{"name": "Rex", "kind": "dog", "adopted": true})
	require.Equal(t, []string{`POST /pets {"kind":"dog","legs":4,"name":"Rex"}`, `PATCH /pets/101 {"adopted":true}`, "GET /pets/101"}, s.Requests())
	require.Equal(t, property.Bool(true), r.State.Get("adopted"))
}

func testCheck(t *testing.T, in world) {
	_, p := in.open(t, nil)
	require.Equal(t, []string{
		"home.city: required property is missing; expected string",
		`kind: must be one of "cat", "dog", "fish"`,
		"legs: expected integer, got string",
		`nam: no such property; did you mean "name"?`,
		"name: required property is missing; expected string",
		"weight: must be at least 0",
	}, sorted(p.Failures(pet, pt.Object{"nam": "Rex", "kind": "cow", "legs": "four", "weight": -1, "home": pt.Object{}})))
	require.Len(t, p.Failures(pet, pt.Object{"name": "Rex", "kind": "dog", "created": "today"}), 1, "what is only read cannot be given")
}

func testPreview(t *testing.T, in world) {
	s, p := in.open(t, nil)
	state, err := p.TryPreview(pet, pt.Object{"name": property.Unknown, "kind": "dog"})
	require.NoError(t, err)
	require.Equal(t, property.String("dog"), state.Get("kind"))
	for _, name := range []string{"petId", "created", "name", "weight"} {
		require.True(t, state.Get(name).IsUnknown(), name)
	}
	require.Empty(t, s.Requests())
}

func testPut(t *testing.T, in world) {
	s, p := in.open(t, nil)
	inputs := pt.Object{"name": "Ann", "email": "ann@example.org", "address": pt.Object{"city": "Delft"}}
	r := p.Create(owner, inputs)
	require.Equal(t, "o/101", r.ID, "as the header Location says")
	require.Equal(t, pt.MapOf(pt.Object{
		"ownerId": "o/101", "name": "Ann", "email": "ann@example.org", "plan": "free", "address": pt.Object{"city": "Delft", "country": "NL"},
	}), r.State)
	require.Empty(t, p.Diff(r, inputs))

	s.Change(s.Owners, "o/101", "plan", "gold")
	r, _ = p.Refresh(r)
	s.Requests()
	inputs["name"] = "Anna"
	require.Equal(t, []string{"name update"}, p.Diff(r, inputs))
	r = p.Update(r, inputs)
	require.Equal(t, []string{
		`PUT /owners/o%2F101 {"address":{"city":"Delft"},"email":"ann@example.org","name":"Anna","plan":"gold"}`, "GET /owners/o%2F101",
	}, s.Requests())
	r = p.Update(r, pt.With(inputs, pt.Object{"plan": "silver"}))
	s.Requests()
	r = p.Update(r, inputs)
	require.Equal(t, `PUT /owners/o%2F101 {"address":{"city":"Delft"},"email":"ann@example.org","name":"Anna"}`, s.Requests()[0], "what was given once is given up")
	require.Equal(t, "free", r.Text("plan"))
	p.Delete(r)
	require.Empty(t, s.Owners)
}

func testNested(t *testing.T, in world) {
	s, p := in.open(t, nil)
	o := p.Create(owner, pt.Object{"name": "Ann", "email": "a@example.org"})
	inputs := pt.Object{"owner_id": o.ID, "reason": "vaccination", "price": "a lot"}
	v := p.Create(visit, inputs)
	require.Equal(t, "o%2F101/102", v.ID)
	require.Equal(t, pt.MapOf(pt.Object{"owner_id": "o/101", "number": 102, "reason": "vaccination", "price": "a lot"}), v.State)
	require.Equal(t, []string{"owner_id update-replace", "price update-replace", "reason update-replace"},
		p.Diff(v, pt.Object{"owner_id": "o/1", "reason": "x", "price": 7}))
	imported, err := p.TryImport(visit, v.ID)
	require.NoError(t, err)
	require.Equal(t, v.State, imported.State)
	require.Equal(t, pt.MapOf(inputs), imported.Inputs)
	_, err = p.TryImport(visit, "102")
	require.ErrorContains(t, err, `the ID of a petstore:index:Visit is <owner_id>/<visitNumber>, not "102"`)
	require.Equal(t, []string{"owner_id: required property is missing; expected string"}, p.Failures(visit, pt.Object{"reason": "x"}))
	_, err = p.TryCreate(visit, pt.Object{"owner_id": "..", "reason": "x"})
	require.ErrorContains(t, err, `POST /owners/{id}/visits: ".." cannot stand in a path`)
	p.Delete(v)
	require.Empty(t, s.Visits)
}

func testChosen(t *testing.T, in world) {
	s, p := in.open(t, nil)
	inputs := pt.Object{"name": "old & new", "shelf": "a", "colour": "blue"}
	r := p.Create(tag, inputs)
	require.Equal(t, "old & new", r.ID)
	require.Equal(t, []string{`PUT /tags/old%20&%20new?shelf=a {"colour":"blue"}`, "GET /tags/old%20&%20new?shelf=a"}, s.Requests())
	require.Equal(t, pt.MapOf(inputs), r.State)
	require.Equal(t, []string{"colour update", "name update-replace", "shelf update-replace"}, p.Diff(r, pt.Object{"name": "new", "shelf": "b"}))
	r = p.Update(r, pt.Object{"name": "old & new", "shelf": "a"})
	require.Equal(t, "red", r.Text("colour"), "the document's default")
	_, err := p.TryImport(tag, "old & new")
	require.ErrorContains(t, err, "shelf: GET /tags/{name} needs it, and it is not known")
	p.Delete(r)
	require.Empty(t, s.Tags)
}

func testFunctions(t *testing.T, in world) {
	s, p := in.open(t, pt.Object{"username": "admin", "password": "pa55"})
	for _, kind := range []string{"dog", "cat", "dog", "fish", "dog"} {
		p.Create(pet, pt.Object{"name": kind, "kind": kind})
	}
	o := p.Create(owner, pt.Object{"name": "Ann", "email": "a@example.org"})
	for range 4 {
		p.Create(owner, pt.Object{"name": "Bob", "email": "b@example.org"})
		p.Create(visit, pt.Object{"owner_id": o.ID, "reason": "x"})
	}
	s.Requests()

	for _, test := range []struct {
		function string
		args     pt.Object
		list     string
		count    int
		requests []string
	}{
		{"listPets", nil, "pets", 5, []string{"GET /pets?limit=2", "GET /pets?cursor=2&limit=2", "GET /pets?cursor=4&limit=2"}},
		{"listPets", pt.Object{"limit": 100, "kind": []string{"dog", "cat"}}, "pets", 4, []string{"GET /pets?kind=dog%2Ccat&limit=100"}},
		{"listOwners", nil, "items", 5, []string{"GET /owners?per_page=2", "GET /owners?page=2&per_page=2", "GET /owners?page=3&per_page=2"}},
		{"listVisits", pt.Object{"id": o.ID}, "items", 4, []string{
			"GET /owners/o%2F106/visits?limit=2", "GET /owners/o%2F106/visits?limit=2&offset=2", "GET /owners/o%2F106/visits?limit=2&offset=4",
		}},
	} {
		list, ok := p.Invoke("petstore:index:"+test.function, test.args).Get(test.list).AsArray()
		require.True(t, ok, test.function)
		require.Len(t, list, test.count, test.function)
		require.Equal(t, test.requests, s.Requests())
	}

	require.Equal(t, pt.MapOf(pt.Object{"value": 5}), p.Invoke("petstore:index:getStatisticsKind", pt.Object{"kind": "pets"}))
	require.Equal(t, pt.MapOf(pt.Object{"value": 0}), p.Invoke("petstore:index:getStatisticsKind", pt.Object{"kind": "pets", "X-Unit": "dozen"}))
	require.Equal(t, pt.MapOf(pt.Object{"open": true}), p.Invoke("petstore:index:getStatus", nil))

	s.Fail("GET /pets", petstore.Fault{Status: 200, Body: `{"pets": [], "nextCursor": "1"}`}, petstore.Fault{Status: 200, Body: `{"pets": [], "nextCursor": "1"}`})
	_, err := p.TryInvoke("petstore:index:listPets", nil)
	require.ErrorContains(t, err, "the list does not end: 2 pages with 0 items were read")
	s.Fail("GET /owners", petstore.Fault{Status: 200, Body: `[]`, Header: http.Header{"Link": {`<http://example.org/owners?page=2>; rel="next"`}}})
	s.Requests()
	_, err = p.TryInvoke("petstore:index:listOwners", nil)
	require.ErrorContains(t, err, "the next page is said to be at http://example.org/owners, which is another service")
	require.Len(t, s.Requests(), 1)
	s.Fail("GET /pets", petstore.Fault{Status: 200, Body: `{"pets": {}}`})
	_, err = p.TryInvoke("petstore:index:listPets", nil)
	require.ErrorContains(t, err, "pets in the answer is not a list, as the document says")
}

func testCredentials(t *testing.T, in world) {
	_, p := in.open(t, pt.Object{"token": "", "apiKey": "k3y"})
	p.Create(pet, pt.Object{"name": "Rex", "kind": "dog"})
	_, err := p.TryInvoke("petstore:index:getStatisticsKind", pt.Object{"kind": "pets"})
	require.EqualError(t, withoutWorld(err), "GET /statistics/{kind} needs credentials: set petstore:username and petstore:password")
	_, p = in.open(t, pt.Object{"token": ""})
	_, err = p.TryCreate(pet, pt.Object{"name": "Rex", "kind": "dog"})
	require.EqualError(t, withoutWorld(err), "POST /pets needs credentials: set petstore:token or petstore:apiKey")
	s, p := in.open(t, pt.Object{"token": "wr0ng"})
	_, err = p.TryCreate(pet, pt.Object{"name": "Rex", "kind": "dog"})
	require.EqualError(t, withoutWorld(err), "POST "+s.URL+"/v2/pets: 401 Unauthorized: who are you?")
	require.NotContains(t, err.Error(), "wr0ng")
}

func testMessages(t *testing.T, in world) {
	s, p := in.open(t, nil)
	inputs := pt.Object{"name": "taken", "kind": "dog"}
	_, err := p.TryCreate(pet, inputs)
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.Equal(t, abi.ErrorOriginRemote, abi.AsError(err).Origin)
	require.EqualError(t, withoutWorld(err), "POST "+s.URL+"/v2/pets: 409 Conflict: name: is taken; try another")

	inputs["name"] = "Rex"
	for want, f := range map[string]petstore.Fault{
		"500 Internal Server Error: on fire":                        {Status: 500, Body: `{"error": {"code": 7, "message": "on fire"}}`},
		"502 Bad Gateway":                                           {Status: 502, Body: "<html>bad gateway</html>"},
		"400 Bad Request: just no":                                  {Status: 400, Body: "just no"},
		"418 I'm a teapot":                                          {Status: 418, Body: "{}"},
		"201 Created, but the answer is not JSON: unexpected EOF":   {Status: 201, Body: `{"id": 1`},
		"302 Found to http://example.org/; is baseUrl right?":       {Status: 302, Header: http.Header{"Location": {"http://example.org/"}}},
		"201 Created, but the answer is not JSON: something follow": {Status: 201, Body: `{"id": 1} {}`},
	} {
		s.Fail("POST /pets", f)
		_, err = p.TryCreate(pet, inputs)
		require.ErrorContains(t, err, "POST "+s.URL+"/v2/pets: "+want)
	}
	s.Fail("POST /pets", petstore.Fault{Status: 201, Body: "{}"})
	_, err = p.TryCreate(pet, inputs)
	require.ErrorContains(t, err, "POST /v2/pets created something, but the answer does not say what")
	require.Empty(t, s.Pets)
}

func testRetries(t *testing.T, in world) {
	s, p := in.open(t, pt.Object{"maxRetries": 2})
	now := http.Header{"Retry-After": {"0"}}
	date := http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:28:00 GMT"}}
	s.Fail("POST /pets", petstore.Fault{Status: 429, Header: now}, petstore.Fault{Status: 503})
	r := p.Create(pet, pt.Object{"name": "Rex", "kind": "dog"})
	require.Len(t, s.Requests(), 4)
	s.Fail("DELETE /pets/101", petstore.Fault{Status: 503, Header: date}, petstore.Fault{Status: 429, Header: now}, petstore.Fault{Status: 503, Body: `{"message": "come back tomorrow"}`})
	err := p.TryDelete(r)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.EqualError(t, withoutWorld(err), "DELETE "+s.URL+"/v2/pets/101: 503 Service Unavailable after 3 attempts: come back tomorrow")
	s.Fail("DELETE /pets/101", petstore.Fault{Status: 503, Header: http.Header{"Retry-After": {"86400"}}})
	require.ErrorContains(t, p.TryDelete(r), "503 Service Unavailable; it asks to be left alone for 24h0m0s")
	p.Delete(r)
}

func testPartialFailure(t *testing.T, in world) {
	s, p := in.open(t, nil)
	inputs := pt.Object{"name": "Rex", "kind": "dog", "code": "1234"}
	s.Fail("GET /pets/101", petstore.Fault{Status: 500, Body: `{"message": "on fire"}`})
	_, err := p.TryCreate(pet, inputs)
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure := abi.AsError(err).InitFailure
	require.Equal(t, "101", failure.ID)
	require.Equal(t, []string{"GET " + s.URL + "/v2/pets/101: 500 Internal Server Error: on fire"}, failure.Reasons)
	require.Equal(t, pt.MapOf(pt.Object{"petId": 101, "name": "Rex"}), failure.State)

	r := pt.Resource{Token: pet, ID: failure.ID, State: failure.State, Inputs: p.Check(pet, inputs)}
	s.Fail("GET /pets/101", petstore.Fault{Status: 500})
	inputs["name"] = "Max"
	_, err = p.TryUpdate(r, inputs)
	require.ErrorIs(t, err, abi.ErrInitFailed)
	require.Equal(t, pt.MapOf(pt.Object{"petId": 101, "name": "Max"}), abi.AsError(err).InitFailure.State)
	r = p.Update(r, inputs)
	require.Equal(t, "dog", r.Text("kind"))

	s.Fail("GET /pets/102", petstore.Fault{Status: 404}, petstore.Fault{Status: 404})
	require.Equal(t, "102", p.Create(pet, inputs).ID, "what is not there at once is waited for")

	s.Fail("PATCH /pets/103", petstore.Fault{Status: 422, Body: `{"message": "too young"}`})
	_, err = p.TryCreate(pet, pt.With(inputs, pt.Object{"adopted": true}))
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure = abi.AsError(err).InitFailure
	require.Equal(t, "103", failure.ID)
	inputs["adopted"] = true
	s.Requests()
	r = p.Update(pt.Resource{Token: pet, ID: failure.ID, State: failure.State, Inputs: p.Check(pet, inputs)}, inputs)
	require.Equal(t, []string{`PATCH /pets/103 {"adopted":true}`, "GET /pets/103"}, s.Requests(), "the next deployment goes on from there")
	require.Equal(t, property.Bool(true), r.State.Get("adopted"))
}

func testSlow(t *testing.T, in world) {
	s, p := in.open(t, nil)
	request := abi.CreateRequest{URN: pt.URN(pet), Name: "test", Type: pet, Inputs: p.Check(pet, pt.Object{"name": "Rex", "kind": "dog"}), Timeout: 1}
	s.Fail("POST /pets", petstore.Fault{Status: 201, Delay: time.Minute})
	_, err := p.Provider.Create(t.Context(), request)
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.EqualError(t, withoutWorld(err), "POST "+s.URL+"/v2/pets: no answer in the time that is allowed; whether it was done is not known")
	s.Fail("POST /pets", petstore.Fault{Status: 503, Header: http.Header{"Retry-After": {"60"}}})
	request.Timeout = 30
	_, err = p.Provider.Create(t.Context(), request)
	require.ErrorContains(t, err, "it asks to be left alone for 1m0s")
}

func testConfiguration(t *testing.T, in world) {
	s := petstore.New(t, document)
	p := in(t, s)
	parameterize(t, p, args("./"+document, "petstore"))
	err := p.Provider.Configure(t.Context(), abi.ConfigureRequest{})
	require.Equal(t, []abi.MissingKey{{Name: "baseUrl", Description: "Where the service is, for example https://api.example.org/v1."}}, abi.AsError(err).MissingKeys)
	require.ErrorContains(t, configure(p, pt.Object{"baseUrl": "store"}), "baseUrl: it must be an absolute URL")
	require.ErrorContains(t, configure(p, pt.Object{"baseUrl": s.URL + "?a"}), "without a user, a query, or a fragment")

	p = in(t, s)
	require.Equal(t, "pet-store", parameterize(t, p, args(s.URL+"/openapi.yaml")).Name)
	require.NoError(t, configure(p, pt.Object{"token": "t0ken", "headers": pt.Object{"X-Test": "yes"}}), "where a document from the network is, there is the service")
	p.Create("pet-store:index:Pet", pt.Object{"name": "Rex", "kind": "dog"})
	require.Len(t, s.Pets, 1)
}

func testValue(t *testing.T, in world) {
	s := petstore.New(t, document)
	first, again := in(t, s), in(t, s)
	made := parameterize(t, first, args(document, "shop"))
	require.Equal(t, "shop", made.Name)
	require.Equal(t, "2.1.0", made.Version)
	require.NotContains(t, string(made.Value), "Problem", "what is not needed is not kept")
	require.NotContains(t, string(made.Value), "testdata")
	value := abi.ParameterValue(made)
	require.Equal(t, made, parameterize(t, again, abi.Parameters{Case: abi.ParametersCaseValue, Value: value}))
	require.Equal(t, schemaOf(t, first), schemaOf(t, again))
}
