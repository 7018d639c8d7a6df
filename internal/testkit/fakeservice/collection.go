package fakeservice

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// api is the API of a service with objects of one kind: a POST to their collection makes one, and its own path reads, changes, and
// deletes it.
type api struct {
	// path is the pattern of the collection.
	path string
	// key is the member by which paths name an object. The service numbers objects, as member id, in any case.
	key string
	// wrapper is the member of answers that has the object, "" if an answer is the object. Requests may have it, too.
	wrapper string
	// textID says that the number of an object is a text.
	textID bool
	// puts says that a PUT to the collection makes an object or changes that of the name, and that each answer has status 200.
	puts bool
	// added are members of new objects that requests leave out.
	added object
	// header has the token, after prefix.
	header, prefix string
	// notFound is the body of an answer about an object that the service does not have.
	notFound object
	// list is the path of the list of all objects, whose second page is empty, "" if there is none.
	list string
	// fixed are other answers, by path.
	fixed map[string]any
}

var (
	hcloud = api{
		path: "/v1/ssh_keys", key: "id", wrapper: "ssh_key", header: "Authorization", prefix: "Bearer " + strings.Repeat("0", 53), // a token has 64 characters
		added:    object{"fingerprint": "b7:2f:30:a0:2f:6c:58:6c:21:04:58:61:ba:06:3b:2f", "created": "2026-01-30T23:50:00Z", "labels": object{}},
		notFound: object{"error": object{"code": "not_found", "message": "SSH key not found"}},
	}
	github = api{
		path: "/api/v3/repos/acme/{repository}/labels", key: "name", header: "Authorization", prefix: "Bearer ",
		notFound: object{"message": "Not Found"}, fixed: map[string]any{"/api/v3/orgs/acme": object{"id": 1, "login": "acme"}},
	}
	digitalocean = api{
		path: "/v2/account/keys", key: "id", wrapper: "ssh_key", header: "Authorization", prefix: "Bearer ",
		added: object{"fingerprint": "3b:16:bf:e4:8b:00:8b:b8:59:8c:a9:d3:f0:19:45:fa"}, notFound: object{"id": "not_found"},
	}
	keycloak = api{
		path: "/admin/realms/{realm}/client-scopes", key: "id", textID: true, header: "Authorization", prefix: "bearer ",
		notFound: object{"error": "Could not find client scope"},
	}
	teams = api{
		path: "/teams", key: "id", textID: true, wrapper: "team", header: "Authorization", prefix: "Token token=",
		added: object{"html_url": "https://acme.pagerduty.example/teams", "default_role": "manager"}, notFound: object{"error": object{"code": 2100}},
	}
	tags = api{
		path: "/tags", key: "id", textID: true, wrapper: "tag", header: "Authorization", prefix: "Token token=",
		added: object{"html_url": "https://acme.pagerduty.example/tags", "summary": "a tag"}, notFound: object{"error": object{"code": 2100}},
	}
	nomad = api{
		path: "/v1/namespace", key: "Name", puts: true, header: "X-Nomad-Token", notFound: object{"message": "Namespace not found"},
	}
)

// store has the objects of an [api] by their paths.
type store struct {
	api
	mu     sync.Mutex
	byPath map[string]object
	last   int
}

func (a api) serve() http.Handler {
	mux := http.NewServeMux()
	(&store{api: a, byPath: map[string]object{}}).handle(mux)
	return withToken(a.header, a.prefix, object{"message": "unauthorized"}, mux)
}

// handle registers what the service answers.
func (s *store) handle(mux *http.ServeMux) {
	a, create := s.api, http.MethodPost
	if a.puts {
		create = http.MethodPut
	}
	mux.HandleFunc(create+" "+a.path, s.create)
	mux.HandleFunc("PUT "+a.path+"/{key}", s.update)
	mux.HandleFunc("PATCH "+a.path+"/{key}", s.update)
	mux.HandleFunc("GET "+a.path+"/{key}", s.read)
	mux.HandleFunc("DELETE "+a.path+"/{key}", s.delete)
	if a.list != "" {
		mux.HandleFunc("GET "+a.list, s.all)
	}
	for path, answer := range a.fixed {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, answer) })
	}
}

// has reports whether there is an object of a path.
func (s *store) has(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byPath[path] != nil
}

// pagerduty returns a service with objects of two kinds.
func pagerduty() http.Handler {
	mux := http.NewServeMux()
	for _, a := range []api{teams, tags} {
		one := a.serve()
		mux.Handle(a.path, one)
		mux.Handle(a.path+"/", one)
	}
	return mux
}

func (s *store) answer(w http.ResponseWriter, status int, one object) {
	if s.puts {
		status = http.StatusOK
	}
	if one == nil {
		reply(w, status, nil)
		return
	}
	if s.wrapper != "" {
		one = object{s.wrapper: one}
	}
	reply(w, status, one)
}

func (s *store) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	made := object{"id": s.last}
	if s.textID {
		made["id"] = fmt.Sprint(s.last)
	}
	maps.Copy(made, s.added)
	if !s.change(w, r, made) {
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/") + "/" + fmt.Sprint(made[s.key])
	if s.byPath[path] != nil && !s.puts {
		reply(w, http.StatusConflict, object{"message": path + " exists"})
		return
	}
	s.byPath[path] = made
	w.Header().Set("Location", path)
	s.answer(w, http.StatusCreated, made)
}

func (s *store) update(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found(w, r)
	if found == nil {
		return
	}
	if s.change(w, r, found) {
		s.answer(w, http.StatusOK, found)
	}
}

// change puts the members of a request into an object, or replies that they cannot be read.
func (s *store) change(w http.ResponseWriter, r *http.Request, one object) bool {
	var members object
	if !decoded(w, r, &members) {
		return false
	}
	if wrapped, is := members[s.wrapper].(object); is {
		members = wrapped
	}
	maps.Copy(one, members)
	return true
}

func (s *store) read(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.found(w, r); found != nil {
		s.answer(w, http.StatusOK, found)
	}
}

func (s *store) delete(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found(w, r) != nil {
		delete(s.byPath, r.URL.Path)
		s.answer(w, http.StatusNoContent, nil)
	}
}

func (s *store) all(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []object{}
	if page := r.URL.Query().Get("page"); page == "" || page == "1" {
		for _, path := range slices.Sorted(maps.Keys(s.byPath)) {
			all = append(all, s.byPath[path])
		}
	}
	reply(w, http.StatusOK, all)
}

// found returns the object of a request, or replies that there is none.
func (s *store) found(w http.ResponseWriter, r *http.Request) object {
	found := s.byPath[r.URL.Path]
	if found == nil {
		reply(w, http.StatusNotFound, s.notFound)
	}
	return found
}
