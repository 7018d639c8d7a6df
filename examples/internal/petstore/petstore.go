// Package petstore is the service of testdata/petstore.yaml of the provider openapi, with state and
// faults.
package petstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Object is a JSON object.
type Object = map[string]any

// Fault is a faulty answer of the store.
type Fault struct {
	Status int
	Header http.Header
	Body   string
	// Delay comes before the answer.
	Delay time.Duration
	// After executes the request before it answers so.
	After bool
}

// Store is the service. It refuses what it does not understand, and requests without
// the bearer token "t0ken" or the API key "k3y".
type Store struct {
	// URL is where a store that New started is.
	URL string

	handler http.Handler

	mu   sync.Mutex
	next int
	// Pets, Owners, Visits, and Tags are the objects of the store, by ID.
	Pets, Owners, Visits, Tags map[string]Object
	// faults are those to come, by method and path.
	faults map[string][]Fault
	// log has the requests that were made.
	log []string
	// callers are those who made them.
	callers map[string]bool
}

// New starts a store until the end of the test.
func New(t *testing.T, document string) *Store {
	s := Open(document)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Open opens an empty store. It serves the document, a file, at /openapi.yaml.
func Open(document string) *Store {
	s := &Store{
		next: 100, Pets: map[string]Object{}, Owners: map[string]Object{}, Visits: map[string]Object{}, Tags: map[string]Object{},
		faults: map[string][]Fault{}, callers: map[string]bool{},
	}
	mux := http.NewServeMux()
	s.handler = mux
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request, Object){
		"GET /v2/pets": s.listPets, "POST /v2/pets": s.createPet, "GET /v2/pets/{id}": s.member(s.Pets, ""),
		"PATCH /v2/pets/{id}": s.patchPet, "DELETE /v2/pets/{id}": s.member(s.Pets, ""),
		"GET /v2/owners": s.listOwners, "POST /v2/owners": s.createOwner, "GET /v2/owners/{id}": s.member(s.Owners, "owner"),
		"PUT /v2/owners/{id}": s.putOwner, "DELETE /v2/owners/{id}": s.member(s.Owners, ""),
		"GET /v2/owners/{owner}/visits": s.listVisits, "POST /v2/owners/{owner}/visits": s.createVisit,
		"GET /v2/owners/{owner}/visits/{id}": s.member(s.Visits, ""), "DELETE /v2/owners/{owner}/visits/{id}": s.member(s.Visits, ""),
		"GET /v2/tags/{id}": s.tag, "PUT /v2/tags/{id}": s.tag, "DELETE /v2/tags/{id}": s.tag,
		"GET /v2/statistics/{kind}": s.statistics,
		"GET /v2/status": func(w http.ResponseWriter, _ *http.Request, _ Object) {
			answer(w, 200, Object{"open": true, "password": "x"})
		},
	} {
		mux.HandleFunc(pattern, s.serve(serve))
	}
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, document) })
	return s
}

// ServeHTTP serves a request.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Fail makes the next requests of that method and path fail.
func (s *Store) Fail(request string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[request] = append(s.faults[request], faults...)
}

// Requests returns the requests since it was last called.
func (s *Store) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// Callers returns the different credentials of requests, each with the header From.
func (s *Store) Callers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.callers))
}

// Change changes a member of the store behind the provider's back.
func (s *Store) Change(members map[string]Object, id, field string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	members[id][field] = value
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		json.NewEncoder(w).Encode(body)
	}
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	answer(w, status, Object{"title": http.StatusText(status), "detail": detail})
}

func (s *Store) serve(do func(http.ResponseWriter, *http.Request, Object)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var body Object
		line := r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/v2")
		if r.ContentLength != 0 {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				refuse(w, 400, err.Error())
				return
			}
			text, _ := json.Marshal(body)
			line += " " + string(text)
		}
		s.log = append(s.log, line)
		s.callers[strings.Join(strings.Fields(r.Header.Get("Authorization")+" "+r.Header.Get("X-API-Key")+" "+r.Header.Get("From")), " ")] = true
		if known := r.Header.Get("Authorization") == "Bearer t0ken" || r.Header.Get("X-API-Key") == "k3y"; !known &&
			r.URL.Path != "/v2/status" && !strings.HasPrefix(r.URL.Path, "/v2/statistics") {
			refuse(w, 401, "who are you?")
			return
		}
		key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v2")
		if faults := s.faults[key]; len(faults) > 0 {
			f := faults[0]
			s.faults[key] = faults[1:]
			if f.After {
				do(httptest.NewRecorder(), r, body)
			}
			if f.Delay > 0 {
				s.mu.Unlock()
				select {
				case <-time.After(f.Delay):
				case <-r.Context().Done():
				}
				s.mu.Lock()
			}
			for name, values := range f.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(f.Status)
			fmt.Fprint(w, f.Body)
			return
		}
		do(w, r, body)
	}
}

// Contents returns all that the store has, as text.
func (s *Store) Contents() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.Pets, s.Owners, s.Visits, s.Tags)
}

func (s *Store) member(members map[string]Object, envelope string) func(http.ResponseWriter, *http.Request, Object) {
	return func(w http.ResponseWriter, r *http.Request, _ Object) {
		id := r.PathValue("id")
		member, ok := members[id]
		switch {
		case !ok || r.PathValue("owner") != "" && member["owner"] != r.PathValue("owner"):
			refuse(w, 404, "there is no "+id)
		case r.Method == http.MethodDelete:
			delete(members, id)
			w.WriteHeader(204)
		case envelope != "":
			answer(w, 200, Object{envelope: member})
		default:
			answer(w, 200, member)
		}
	}
}

func (s *Store) id() int {
	s.next++
	return s.next
}

// only refuses a body with fields that the document does not have.
func only(w http.ResponseWriter, body Object, fields ...string) bool {
	for name := range body {
		if !slices.Contains(fields, name) {
			refuse(w, 422, "unknown field "+name)
			return false
		}
	}
	return true
}

func (s *Store) createPet(w http.ResponseWriter, _ *http.Request, body Object) {
	if !only(w, body, "name", "tags", "home", "weight", "code", "kind", "legs", "attributes") {
		return
	}
	if body["name"] == "taken" {
		answer(w, 409, Object{"errors": []any{Object{"field": "name", "message": "is taken"}, "try another"}})
		return
	}
	id := s.id()
	body["id"], body["created"], body["adopted"], body["further"] = id, "2026-01-01", false, "not in the document"
	if home, ok := body["home"].(Object); ok {
		if _, given := home["cleaned"]; !given {
			home["cleaned"] = true
		}
	}
	delete(body, "code")
	s.Pets[strconv.Itoa(id)] = body
	answer(w, 201, Object{"id": id, "name": body["name"]})
}

func (s *Store) patchPet(w http.ResponseWriter, r *http.Request, body Object) {
	pet, ok := s.Pets[r.PathValue("id")]
	if !ok {
		refuse(w, 404, "there is no such pet")
		return
	}
	if r.Header.Get("Content-Type") != "application/merge-patch+json" {
		refuse(w, 415, "not a patch")
		return
	}
	if !only(w, body, "name", "tags", "home", "weight", "adopted", "code") {
		return
	}
	for name, value := range body {
		if value == nil {
			delete(pet, name)
		} else if name != "code" {
			pet[name] = value
		}
	}
	answer(w, 200, pet)
}

func (s *Store) listPets(w http.ResponseWriter, r *http.Request, _ Object) {
	kinds := strings.Split(r.FormValue("kind"), ",")
	var pets []Object
	for _, id := range sortedKeys(s.Pets) {
		if r.FormValue("kind") == "" || slices.Contains(kinds, s.Pets[id]["kind"].(string)) {
			pets = append(pets, s.Pets[id])
		}
	}
	at, _ := strconv.Atoi(r.FormValue("cursor"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	end := min(at+limit, len(pets))
	page := Object{"pets": pets[at:end], "nextCursor": nil}
	if end < len(pets) {
		page["nextCursor"] = strconv.Itoa(end)
	}
	answer(w, 200, page)
}

func (s *Store) createOwner(w http.ResponseWriter, r *http.Request, body Object) {
	if !only(w, body, "name", "email", "plan", "address") {
		return
	}
	id := "o/" + strconv.Itoa(s.id())
	s.setOwner(id, body)
	w.Header().Set("Location", strings.TrimSuffix(r.URL.Path, "/")+"/"+strings.ReplaceAll(id, "/", "%2F"))
	w.WriteHeader(201)
}

func (s *Store) setOwner(id string, body Object) {
	body["id"] = id
	if body["plan"] == nil {
		body["plan"] = "free"
	}
	if address, ok := body["address"].(Object); ok {
		address["country"] = "NL"
	}
	s.Owners[id] = body
}

func (s *Store) putOwner(w http.ResponseWriter, r *http.Request, body Object) {
	id := r.PathValue("id")
	if s.Owners[id] == nil {
		refuse(w, 404, "there is no such owner")
		return
	}
	if only(w, body, "name", "email", "plan", "address") {
		s.setOwner(id, body)
		w.WriteHeader(204)
	}
}

func (s *Store) listOwners(w http.ResponseWriter, r *http.Request, _ Object) {
	ids := sortedKeys(s.Owners)
	page, _ := strconv.Atoi(r.FormValue("page"))
	size, _ := strconv.Atoi(r.FormValue("per_page"))
	page, size = max(page, 1), max(size, 1)
	begin, end := min((page-1)*size, len(ids)), min(page*size, len(ids))
	owners := []Object{}
	for _, id := range ids[begin:end] {
		owners = append(owners, s.Owners[id])
	}
	links := `</v2/owners?page=1>; rel="first"`
	if end < len(ids) {
		links = fmt.Sprintf(`<http://%s/v2/owners?page=%d&per_page=%d>; rel="next", %s`, r.Host, page+1, size, links)
	}
	w.Header().Set("Link", links)
	answer(w, 200, owners)
}

func (s *Store) createVisit(w http.ResponseWriter, r *http.Request, body Object) {
	if !only(w, body, "reason", "price") {
		return
	}
	n := s.id()
	body["number"], body["owner"] = n, r.PathValue("owner")
	s.Visits[strconv.Itoa(n)] = body
	answer(w, 201, body)
}

func (s *Store) listVisits(w http.ResponseWriter, r *http.Request, _ Object) {
	visits := []Object{}
	for _, id := range sortedKeys(s.Visits) {
		if s.Visits[id]["owner"] == r.PathValue("owner") {
			visits = append(visits, s.Visits[id])
		}
	}
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	answer(w, 200, visits[min(offset, len(visits)):min(offset+limit, len(visits))])
}

func (s *Store) tag(w http.ResponseWriter, r *http.Request, body Object) {
	id := r.FormValue("shelf") + "/" + r.PathValue("id")
	switch {
	case r.FormValue("shelf") == "":
		refuse(w, 400, "which shelf?")
	case r.Method == http.MethodPut && only(w, body, "colour"):
		s.Tags[id] = Object{"name": r.PathValue("id"), "colour": body["colour"]}
		answer(w, 200, s.Tags[id])
	case r.Method == http.MethodPut:
	case s.Tags[id] == nil:
		refuse(w, 404, "there is no such tag")
	case r.Method == http.MethodDelete:
		delete(s.Tags, id)
		w.WriteHeader(204)
	default:
		answer(w, 200, s.Tags[id])
	}
}

func (s *Store) statistics(w http.ResponseWriter, r *http.Request, _ Object) {
	if user, password, ok := r.BasicAuth(); !ok || user != "admin" || password != "pa55" {
		refuse(w, 403, "administrators only")
		return
	}
	n := len(s.Pets)
	if r.Header.Get("X-Unit") == "dozen" {
		n /= 12
	}
	answer(w, 200, n)
}

func sortedKeys(m map[string]Object) []string {
	return slices.Sorted(maps.Keys(m))
}
