package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/openapi/provider"
)

type object = map[string]any

// service is a service of testdata/services: it has objects by their place, and what it does is added to it.
type service struct {
	*http.ServeMux
	mu      sync.Mutex
	objects map[string]object
	// log has the requests that change something.
	log  []string
	next int
}

func newService() *service {
	return &service{ServeMux: http.NewServeMux(), objects: map[string]object{}}
}

// on answers requests with what do returns: a status, and a body or nil for none.
func (s *service) on(pattern string, do func(r *http.Request, body object) (int, any)) {
	s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var body object
		if r.ContentLength != 0 {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		if r.Method != http.MethodGet {
			text, _ := json.Marshal(body)
			s.log = append(s.log, r.Method+" "+r.URL.RequestURI()+" "+string(text))
		}
		status, answer := do(r, body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if answer != nil {
			_ = json.NewEncoder(w).Encode(answer)
		}
	})
}

func (s *service) id() int { s.next++; return s.next }

// sent returns the requests since it was last called.
func (s *service) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// change changes an object behind the provider's back.
func (s *service) change(at string, do func(object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.objects[at])
}

func (s *service) found(at string) (int, any) {
	if o := s.objects[at]; o != nil {
		return 200, o
	}
	return 404, object{"message": "there is no " + at}
}

func (s *service) remove(at string, status int) (int, any) {
	if s.objects[at] == nil {
		return 404, object{"message": "there is no " + at}
	}
	delete(s.objects, at)
	return status, nil
}

// serve returns the URL of the service.
func (s *service) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// open returns the provider of a document of testdata/services for a service.
func (s *service) open(t *testing.T, document, base, overrides string, config pt.Object) *pt.Provider {
	t.Helper()
	url := s.serve(t)
	p := pt.New(t, provider.New())
	parameters := []string{filepath.Join("testdata", "services", document), "test"}
	if overrides != "" {
		parameters = append(parameters, overrides)
	}
	parameterize(t, p, args(parameters...))
	require.NoError(t, configure(p, pt.With(pt.Object{"baseUrl": url + base}, config)))
	return p
}

// unchanged requires that a resource has nothing to be changed, before and after a refresh.
func unchanged(t *testing.T, p *pt.Provider, r pt.Resource, inputs pt.Object) pt.Resource {
	t.Helper()
	require.Empty(t, p.Diff(r, inputs))
	r, exists := p.Refresh(r)
	require.True(t, exists)
	require.Empty(t, p.Diff(r, inputs))
	return r
}

func TestAlertmanager(t *testing.T) {
	s := newService()
	s.on("POST /api/v2/silences", func(_ *http.Request, body object) (int, any) {
		id := fmt.Sprintf("silence-%d", s.id())
		body["id"], body["status"], body["updatedAt"] = id, object{"state": "active"}, "2026-01-01T00:00:00.000Z"
		for _, key := range []string{"startsAt", "endsAt"} { // it writes times in its own way
			body[key] = strings.TrimSuffix(body[key].(string), "Z") + ".000Z"
		}
		s.objects[id] = body
		return 200, object{"silenceID": id}
	})
	s.on("GET /api/v2/silence/{id}", func(r *http.Request, _ object) (int, any) { return s.found(r.PathValue("id")) })
	s.on("DELETE /api/v2/silence/{id}", func(r *http.Request, _ object) (int, any) {
		s.objects[r.PathValue("id")]["status"] = object{"state": "expired"}
		return 200, nil
	})
	p := s.open(t, "alertmanager.yaml", "/api/v2", `{"resources": {"Silence": {"gone": {"status.state": "expired"}}}}`, nil)
	inputs := pt.Object{
		"matchers": []any{pt.Object{"name": "job", "value": "node", "isRegex": false}}, "startsAt": "2026-01-01T00:00:00Z", "endsAt": "2027-01-01T00:00:00Z",
		"createdBy": "ann", "comment": "moving",
	}
	r := p.Create("test:index:Silence", inputs)
	require.Equal(t, "silence-1", r.ID)
	r = unchanged(t, p, r, inputs)
	s.change(r.ID, func(o object) { o["comment"] = "moved" })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"comment update-replace"}, p.Diff(drifted, inputs), "nothing changes a silence in place")
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(t, exists, "an expired silence is none")
}

func TestPowerDNS(t *testing.T) {
	s := newService()
	s.on("POST /api/v1/servers/{server}/zones", func(_ *http.Request, body object) (int, any) {
		id := body["name"].(string)
		body["id"], body["serial"] = id, 1
		delete(body, "nameservers") // which it takes, and does not answer with
		s.objects[id] = body
		return 201, body
	})
	s.on("GET /api/v1/servers/{server}/zones/{id}", func(r *http.Request, _ object) (int, any) { return s.found(r.PathValue("id")) })
	s.on("DELETE /api/v1/servers/{server}/zones/{id}", func(r *http.Request, _ object) (int, any) { return s.remove(r.PathValue("id"), 204) })
	s.on("PATCH /api/v1/servers/{server}/zones/{id}", func(r *http.Request, body object) (int, any) {
		if body["rrsets"] == nil {
			return 422, object{"error": "No rrsets given in update request"}
		}
		return 204, nil
	})
	stubborn := false
	s.on("PUT /api/v1/servers/{server}/zones/{id}", func(r *http.Request, body object) (int, any) {
		delete(body, "nameservers")
		if !stubborn {
			maps.Copy(s.objects[r.PathValue("id")], body)
		}
		return 204, nil
	})
	p := s.open(t, "powerdns.yaml", "/api/v1", "", pt.Object{"apiKey": "k"})
	const zone = "test:index:Zone"
	inputs := pt.Object{"server_id": "localhost", "name": "example.org.", "kind": "Native", "nameservers": []any{"ns1.example.org."}}
	r := p.Create(zone, inputs)
	require.Equal(t, "localhost/example.org.", r.ID)
	r = unchanged(t, p, r, inputs)
	s.sent()
	r = p.Update(r, pt.With(inputs, pt.Object{"kind": "Master"}))
	require.Equal(t, []string{
		`PATCH /api/v1/servers/localhost/zones/example.org. {"kind":"Master"}`,
		`PUT /api/v1/servers/localhost/zones/example.org. {"kind":"Master","name":"example.org.","nameservers":["ns1.example.org."]}`,
	}, s.sent(), "PUT does what PATCH does not take")
	require.Equal(t, "Master", r.Text("kind"))
	s.change("example.org.", func(o object) { o["kind"] = "Slave" })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"kind update"}, p.Diff(drifted, pt.With(inputs, pt.Object{"kind": "Master"})))

	stubborn = true
	_, err := p.TryUpdate(drifted, pt.With(inputs, pt.Object{"kind": "Native"}))
	require.ErrorContains(t, err, "PUT /servers/{server_id}/zones/{zone_id} was successful, but the service has not changed kind; before that, PATCH ")
	require.ErrorContains(t, err, "422 Unprocessable Entity: No rrsets given in update request")
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(t, exists)
}

func TestDocker(t *testing.T) {
	s := newService()
	s.on("POST /containers/create", func(r *http.Request, body object) (int, any) {
		id := fmt.Sprintf("c%d", s.id())
		config := maps.Clone(body)
		delete(config, "HostConfig")
		hostConfig, _ := body["HostConfig"].(object)
		if hostConfig == nil {
			hostConfig = object{}
		}
		hostConfig["NetworkMode"] = "bridge"
		s.objects[id] = object{"Id": id, "Name": "/" + r.URL.Query().Get("name"), "Image": "sha256:1234", "Config": config, "HostConfig": hostConfig}
		return 201, object{"Id": id, "Warnings": []any{}}
	})
	s.on("GET /containers/{id}/json", func(r *http.Request, _ object) (int, any) { return s.found(r.PathValue("id")) })
	s.on("POST /containers/{id}/update", func(r *http.Request, body object) (int, any) {
		maps.Copy(s.objects[r.PathValue("id")]["HostConfig"].(object), body)
		return 200, object{"Warnings": []any{}}
	})
	s.on("DELETE /containers/{id}", func(r *http.Request, _ object) (int, any) { return s.remove(r.PathValue("id"), 204) })
	s.on("POST /services/create", func(_ *http.Request, body object) (int, any) {
		id := fmt.Sprintf("s%d", s.id())
		s.objects[id] = object{"ID": id, "Version": object{"Index": 10}, "Spec": body}
		return 201, object{"ID": id}
	})
	s.on("GET /services/{id}", func(r *http.Request, _ object) (int, any) { return s.found(r.PathValue("id")) })
	s.on("POST /services/{id}/update", func(r *http.Request, body object) (int, any) {
		o := s.objects[r.PathValue("id")]
		version := o["Version"].(object)
		if r.URL.Query().Get("version") != fmt.Sprint(version["Index"]) {
			return 500, object{"message": "rpc error: update out of sequence"}
		}
		version["Index"] = version["Index"].(int) + 1
		o["Spec"] = body
		return 200, object{"Warnings": nil}
	})
	s.on("DELETE /services/{id}", func(r *http.Request, _ object) (int, any) { return s.remove(r.PathValue("id"), 200) })
	p := s.open(t, "docker.yaml", "", `{"resources": {"Container": {"properties": {"Image": "Config.Image", "Memory": "HostConfig.Memory"}}}}`, nil)

	const container = "test:index:Container"
	inputs := pt.Object{"name": "web", "Image": "nginx:1", "Env": []any{"A=b"}, "Labels": pt.Object{"tier": "front"}, "Memory": 64}
	r := p.Create(container, inputs)
	require.Equal(t, "c1", r.ID)
	require.Equal(t, []string{
		`POST /containers/create?name=web {"Env":["A=b"],"Image":"nginx:1","Labels":{"tier":"front"}}`,
		`POST /containers/c1/update {"Memory":64}`,
	}, s.sent(), "what only an update takes is sent afterwards")
	require.Equal(t, "nginx:1", r.Text("Image"))
	r = unchanged(t, p, r, inputs)
	r = p.Update(r, pt.With(inputs, pt.Object{"Memory": 128}))
	require.Equal(t, []string{`POST /containers/c1/update {"Memory":128}`}, s.sent())
	require.Equal(t, []string{"Image update-replace", "Memory update"}, p.Diff(r, pt.With(inputs, pt.Object{"Image": "nginx:2"})))
	s.change("c1", func(o object) { o["Config"].(object)["Env"] = []any{"A=c"} })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"Env[0] update-replace"}, p.Diff(drifted, pt.With(inputs, pt.Object{"Memory": 128})))
	p.Delete(r)

	const swarm = "test:index:Service"
	inputs = pt.Object{"Name": "api", "Mode": pt.Object{"Replicated": pt.Object{"Replicas": 2}}}
	r = p.Create(swarm, inputs)
	require.Equal(t, "s2", r.ID)
	require.Equal(t, "api", r.Text("Name"), "what it was given is in its Spec")
	r = unchanged(t, p, r, inputs)
	s.change("s2", func(o object) { o["Version"].(object)["Index"] = 20 })
	s.sent()
	inputs["Mode"] = pt.Object{"Replicated": pt.Object{"Replicas": 3}}
	r = p.Update(r, inputs)
	require.Equal(t, []string{`POST /services/s2/update?version=20 {"Mode":{"Replicated":{"Replicas":3}},"Name":"api"}`}, s.sent(), "with the version of now")
	r = unchanged(t, p, r, inputs)
	s.change("s2", func(o object) { o["Spec"].(object)["Name"] = "other" })
	drifted, _ = p.Refresh(r)
	require.Equal(t, []string{"Name update"}, p.Diff(drifted, inputs))
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(t, exists)
}

func TestKubernetes(t *testing.T) {
	const base = "/apis/apps/v1/namespaces/{namespace}/deployments"
	s := newService()
	at := func(r *http.Request, name string) string { return r.PathValue("namespace") + "/" + name }
	s.on("POST "+base, func(r *http.Request, body object) (int, any) {
		metadata := body["metadata"].(object)
		name := metadata["name"].(string)
		maps.Copy(metadata, object{"namespace": r.PathValue("namespace"), "uid": "u1", "resourceVersion": "1", "generation": 1})
		spec := body["spec"].(object)
		spec["revisionHistoryLimit"] = 10
		for _, c := range spec["template"].(object)["spec"].(object)["containers"].([]any) { // it writes quantities in its own way
			if limits, ok := c.(object)["resources"].(object)["limits"].(object); ok && limits["cpu"] == "1000m" {
				limits["cpu"] = "1"
			}
		}
		s.objects[at(r, name)] = body
		return 201, body
	})
	deleting := false
	s.on("GET "+base+"/{name}", func(r *http.Request, _ object) (int, any) {
		status, answer := s.found(at(r, r.PathValue("name")))
		if deleting {
			delete(s.objects, at(r, r.PathValue("name"))) // it takes a moment
		}
		return status, answer
	})
	s.on("PATCH "+base+"/{name}", func(r *http.Request, body object) (int, any) {
		if r.Header.Get("Content-Type") != "application/merge-patch+json" {
			return 415, object{"message": "the body of the request was in an unknown format"}
		}
		apply(s.objects[at(r, r.PathValue("name"))], body)
		return 200, s.objects[at(r, r.PathValue("name"))]
	})
	s.on("DELETE "+base+"/{name}", func(*http.Request, object) (int, any) {
		deleting = true
		return 202, object{"status": "Success"}
	})
	p := s.open(t, "kubernetes.json", "", "", nil)

	const deployment = "test:index:Deployment"
	container := func(cpu string) pt.Object {
		return pt.Object{"name": "web", "image": "nginx", "resources": pt.Object{"limits": pt.Object{"cpu": cpu}}}
	}
	inputs := func(replicas int, labels pt.Object) pt.Object {
		return pt.Object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": pt.Object{"name": "web", "namespace": "shop", "labels": labels},
			"spec": pt.Object{"replicas": replicas, "template": pt.Object{"spec": pt.Object{"containers": []any{container("1000m")}}}},
		}
	}
	require.Equal(t, []string{"metadata.namespace: it is part of the path /apis/apps/v1/namespaces/{namespace}/deployments, and must be given"},
		p.Failures(deployment, pt.Object{"metadata": pt.Object{"name": "web"}}))
	r := p.Create(deployment, inputs(1, pt.Object{"app": "web", "tier": "front"}))
	require.Equal(t, "shop/web", r.ID)
	r = unchanged(t, p, r, inputs(1, pt.Object{"app": "web", "tier": "front"}))
	s.sent()
	r = p.Update(r, inputs(3, pt.Object{"app": "web"}))
	require.Equal(t, []string{`PATCH /apis/apps/v1/namespaces/shop/deployments/web {"metadata":{"labels":{"app":"web","tier":null},"name":"web","namespace":"shop"},` +
		`"spec":{"replicas":3,"template":{"spec":{"containers":[{"image":"nginx","name":"web","resources":{"limits":{"cpu":"1000m"}}}]}}}}`}, s.sent())
	s.change("shop/web", func(o object) { o["spec"].(object)["replicas"] = 7 })
	drifted, _ := p.Refresh(r)
	require.Equal(t, []string{"spec.replicas update"}, p.Diff(drifted, inputs(3, pt.Object{"app": "web"})))
	elsewhere := inputs(3, pt.Object{"app": "web"})
	elsewhere["metadata"].(pt.Object)["namespace"] = "test"
	require.Equal(t, []string{"metadata.namespace update-replace"}, p.Diff(r, elsewhere))
	imported, err := p.TryImport(deployment, "shop/web")
	require.NoError(t, err)
	metadata, _ := imported.Inputs.Get("metadata").Plain().AsObject()
	require.Equal(t, property.String("web"), metadata.Get("name"))
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(t, exists)
}

// apply applies a merge patch.
func apply(o, patch object) {
	for name, v := range patch {
		inner, isObject := v.(object)
		old, wasObject := o[name].(object)
		switch {
		case v == nil:
			delete(o, name)
		case isObject && wasObject:
			apply(old, inner)
		default:
			o[name] = v
		}
	}
}

func TestGitea(t *testing.T) {
	s := newService()
	s.on("POST /api/v1/user/repos", func(_ *http.Request, body object) (int, any) {
		body["id"], body["owner"] = s.id(), object{"id": 1, "login": "ann"}
		s.objects["ann/"+body["name"].(string)] = body
		return 201, body
	})
	s.on("GET /api/v1/repos/{owner}/{repo}", func(r *http.Request, _ object) (int, any) {
		return s.found(r.PathValue("owner") + "/" + r.PathValue("repo"))
	})
	s.on("PATCH /api/v1/repos/{owner}/{repo}", func(r *http.Request, body object) (int, any) {
		maps.Copy(s.objects[r.PathValue("owner")+"/"+r.PathValue("repo")], body)
		return s.found(r.PathValue("owner") + "/" + r.PathValue("repo"))
	})
	s.on("DELETE /api/v1/repos/{owner}/{repo}", func(r *http.Request, _ object) (int, any) {
		return s.remove(r.PathValue("owner")+"/"+r.PathValue("repo"), 204)
	})
	label := func(r *http.Request, id string) string {
		return r.PathValue("owner") + "/" + r.PathValue("repo") + "/labels/" + id
	}
	s.on("POST /api/v1/repos/{owner}/{repo}/labels", func(r *http.Request, body object) (int, any) {
		body["id"] = s.id()
		body["color"] = strings.TrimPrefix(body["color"].(string), "#") // it writes colours in its own way
		s.objects[label(r, strconv.Itoa(s.next))] = body
		return 201, body
	})
	s.on("GET /api/v1/repos/{owner}/{repo}/labels/{id}", func(r *http.Request, _ object) (int, any) { return s.found(label(r, r.PathValue("id"))) })
	s.on("PATCH /api/v1/repos/{owner}/{repo}/labels/{id}", func(r *http.Request, body object) (int, any) {
		maps.Copy(s.objects[label(r, r.PathValue("id"))], body)
		return s.found(label(r, r.PathValue("id")))
	})
	s.on("DELETE /api/v1/repos/{owner}/{repo}/labels/{id}", func(r *http.Request, _ object) (int, any) { return s.remove(label(r, r.PathValue("id")), 204) })
	s.on("POST /api/v1/orgs/{org}/teams", func(_ *http.Request, body object) (int, any) {
		body["id"] = s.id()
		s.objects["team "+strconv.Itoa(s.next)] = body
		return 201, body
	})
	s.on("GET /api/v1/teams/{id}", func(r *http.Request, _ object) (int, any) { return s.found("team " + r.PathValue("id")) })
	s.on("PATCH /api/v1/teams/{id}", func(r *http.Request, body object) (int, any) {
		maps.Copy(s.objects["team "+r.PathValue("id")], body)
		return s.found("team " + r.PathValue("id"))
	})
	s.on("DELETE /api/v1/teams/{id}", func(r *http.Request, _ object) (int, any) { return s.remove("team "+r.PathValue("id"), 204) })
	p := s.open(t, "gitea.yaml", "/api/v1",
		`{"resources": {"Repository": {"create": "createCurrentUserRepo", "read": "GET /repos/{owner}/{repo}", "update": "PATCH /repos/{owner}/{repo}",
			"delete": "repoDelete", "id": {"owner": "owner.login", "repo": "name"}}}}`, nil)
	lives := func(token, id string, inputs, changed pt.Object, at string, drift func(object)) {
		t.Helper()
		r := p.Create("test:index:"+token, inputs)
		require.Equal(t, id, r.ID)
		r = unchanged(t, p, r, inputs)
		r = p.Update(r, pt.With(inputs, changed))
		r = unchanged(t, p, r, pt.With(inputs, changed))
		s.change(at, drift)
		drifted, _ := p.Refresh(r)
		require.NotEmpty(t, p.Diff(drifted, pt.With(inputs, changed)))
		p.Delete(r)
		_, exists := p.Refresh(r)
		require.False(t, exists)
	}
	lives("Repository", "ann/shop", pt.Object{"name": "shop", "private": true}, pt.Object{"description": "A shop"}, "ann/shop", func(o object) { o["private"] = false })
	lives("RepoLabel", "ann/shop/2", pt.Object{"owner": "ann", "repo": "shop", "name": "bug", "color": "#ff0000"}, pt.Object{"name": "fault"}, "ann/shop/labels/2",
		func(o object) { o["color"] = "00ff00" })
	lives("Team", "3", pt.Object{"org": "delft", "name": "crew"}, pt.Object{"permission": "write"}, "team 3", func(o object) { o["name"] = "other" })
}

// The names of the types are those that a person would choose.
func TestNamesOfServices(t *testing.T) {
	for document, want := range map[string][]string{
		"alertmanager.yaml": {"Silence"}, "powerdns.yaml": {"Zone"}, "docker.yaml": {"Container", "Service"}, "kubernetes.json": {"Deployment"},
		"gitea.yaml": {"OrgLabel", "RepoLabel", "Team"}, "telephony.yaml": {"Queue"}, "billing.yaml": {"Customer"}, "mail.yaml": {"Domain", "Route"},
	} {
		p := pt.New(t, provider.New())
		parameterize(t, p, args(filepath.Join("testdata", "services", document), "test"))
		var names []string
		for _, r := range parsed(t, schemaOf(t, p)).Resources {
			names = append(names, strings.TrimPrefix(r.Token, "test:index:"))
		}
		require.Equal(t, want, sorted(names), document)
	}
}

func TestOverridesThatAreWrong(t *testing.T) {
	for overrides, want := range map[string]string{
		`{"resource": {}}`:                                                                                     "the third parameter: resource is not a key; did you mean resources?",
		`{"resources": {"Team": {"creates": "a"}}}`:                                                            "resources.Team.creates is not a key; did you mean create?",
		`{"resources": {"Team": {"whatever": "a"}}}`:                                                           "resources.Team.whatever is not a key; there is name, create, ",
		`{"resources": {"Team": {"readOnly": "a"}}}`:                                                           "resources.Team.readOnly must be a list",
		`{"resources": []}`:                                                                                    "resources must be a mapping",
		`{"resources": {"Team": null}}`:                                                                        "resources.Team must be a mapping",
		`{"resources": {"Teams": {"update": "none"}}}`:                                                         "resources.Teams: there is no such resource; give its create, read, and delete, or use one of OrgLabel, RepoLabel, Team",
		`{"resources": {"Team": {"create": "POST /team"}}}`:                                                    "resources.Team: create: there is no operation POST /team; there is POST /orgs/{org}/labels, ",
		`{"resources": {"Team": {"create": "orgcreateteam"}}}`:                                                 "there is no operation orgcreateteam; there is orgCreateTeam",
		`{"resources": {"Team": {"create": "GET /teams/{id}"}}}`:                                               "resources.Team: its create has no body in JSON",
		`{"resources": {"Team": {"update": "orgDeleteTeam"}}}`:                                                 "update: DELETE /teams/{id} has no body in JSON",
		`{"resources": {"Team": {"name": "OrgLabel"}}}`:                                                        "two would be called OrgLabel",
		`{"resources": {"Team": {"properties": {"permission": "none.there"}}}}`:                                "resources.Team: properties.permission: ",
		`{"resources": {"Team": {"readOnly": ["none"]}}}`:                                                      "resources.Team: there is no property none",
		`{"resources": {"Team": {"until": {"a": {"b": 1}}}}}`:                                                  "a condition is a text, number, or bool, or a list of them",
		`{"resources": {"R": {"create": "createCurrentUserRepo", "read": "repoGet", "delete": "repoDelete"}}}`: "resources.R: no answer has the owner of its path; say in its id where that is",
		`{"paths": ["/none/**"]}`:                                                                              "paths: the document has no path like /none/**",
		`{} {}`:                                                                                                "the third parameter is not a mapping: ",
		"none.yaml":                                                                                            "none.yaml: ",
	} {
		p := pt.New(t, provider.New())
		_, err := p.Provider.Parameterize(t.Context(), abi.ParameterizeRequest{Parameters: args(filepath.Join("testdata", "services", "gitea.yaml"), "test", overrides)})
		require.ErrorIs(t, err, abi.ErrInvalidArgument, overrides)
		require.ErrorContains(t, err, want, overrides)
	}
}

// What is only begun when the service answers is waited for, and what fails then is kept as not healthy.
func TestWaiting(t *testing.T) {
	s := newService()
	begin := func(o object, to string) { o["permission"], o["left"], o["to"] = "pending", 2, to }
	get := func(r *http.Request, _ object) (int, any) {
		o := s.objects["team "+r.PathValue("id")]
		if o == nil {
			return 404, nil
		}
		if left, _ := o["left"].(int); left > 0 {
			o["left"] = left - 1
		} else if o["to"] == "gone" {
			delete(s.objects, "team "+r.PathValue("id"))
			return 404, nil
		} else {
			o["permission"] = o["to"]
		}
		return 200, o
	}
	s.on("POST /orgs/{org}/teams", func(_ *http.Request, body object) (int, any) {
		body["id"] = s.id()
		s.objects["team "+strconv.Itoa(s.next)] = body
		begin(body, map[bool]string{true: "broken", false: "ready"}[body["name"] == "bad"])
		return 202, body
	})
	s.on("GET /teams/{id}", get)
	s.on("PATCH /teams/{id}", func(r *http.Request, body object) (int, any) {
		o := s.objects["team "+r.PathValue("id")]
		maps.Copy(o, body)
		begin(o, "ready")
		return 202, nil
	})
	s.on("DELETE /teams/{id}", func(r *http.Request, _ object) (int, any) {
		begin(s.objects["team "+r.PathValue("id")], "gone")
		return 202, nil
	})
	p := s.open(t, "gitea.yaml", "", `{"resources": {"Team": {"readOnly": ["permission"], "until": {"permission": ["ready", "fine"]}, "failed": {"permission": "broken"}}}}`, nil)
	r := p.Create("test:index:Team", pt.Object{"org": "delft", "name": "crew"})
	require.Equal(t, "ready", r.Text("permission"))
	r = p.Update(r, pt.Object{"org": "delft", "name": "others"})
	require.Equal(t, "ready", r.Text("permission"))
	p.Delete(r)
	require.Empty(t, s.objects, "it is gone when the deletion is done")

	_, err := p.TryCreate("test:index:Team", pt.Object{"org": "delft", "name": "bad"})
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure := abi.AsError(err).InitFailure
	require.Equal(t, "2", failure.ID)
	require.Equal(t, []string{"it has failed: permission is broken"}, failure.Reasons)
	require.Equal(t, property.String("delft"), failure.State.Get("org"))
}

// A document is used in part if its user says so, and made again from its value with the same overrides.
func TestOverridesOfAFile(t *testing.T) {
	p := pt.New(t, provider.New())
	file := written(t, "overrides.yaml", `
paths: ['/teams/*', '/orgs/*/teams']
resources:
  Team: {name: Crew, update: none, writeOnly: [permission]}
`)
	made := parameterize(t, p, args(filepath.Join("testdata", "services", "gitea.yaml"), "test", file))
	require.NotNil(t, made)
	again := pt.New(t, provider.New())
	parameterize(t, again, abi.Parameters{Case: abi.ParametersCaseValue, Value: abi.ParameterValue(made)})
	require.Equal(t, schemaOf(t, p), schemaOf(t, again))
	pkg := parsed(t, schemaOf(t, p))
	require.Len(t, pkg.Resources, 1)
	crew := pkg.Resource("test:index:Crew")
	require.True(t, crew.Inputs.Property("permission").Secret)
	require.Nil(t, crew.Outputs.Property("permission"))
	require.True(t, crew.Inputs.Property("permission").Replace, "nothing changes it")
}

func parsed(t *testing.T, text string) *schema.Package {
	t.Helper()
	pkg, err := schemajson.Parse([]byte(text))
	require.NoError(t, err)
	return pkg
}

// written returns a text in a file of its own.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}
