package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

type object = map[string]any

// fault is what the store answers in place of what it should.
type fault struct {
	status int
	header http.Header
	body   string
	// delay comes before the answer.
	delay time.Duration
	// after does what was asked for before it answers so.
	after bool
}

// store is the service of testdata/petstore.yaml. It refuses what it does not
// understand.
type store struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	next   int
	pets   map[string]object
	owners map[string]object
	visits map[string]object
	tags   map[string]object
	// faults are those to come, by method and path.
	faults map[string][]fault
	// log has the requests that were made.
	log []string
}

func newStore(t *testing.T) *store {
	s := &store{
		t: t, next: 100, pets: map[string]object{}, owners: map[string]object{}, visits: map[string]object{}, tags: map[string]object{},
		faults: map[string][]fault{},
	}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request, object){
		"GET /v2/pets": s.listPets, "POST /v2/pets": s.createPet, "GET /v2/pets/{id}": s.member(s.pets, ""),
		"PATCH /v2/pets/{id}": s.patchPet, "DELETE /v2/pets/{id}": s.member(s.pets, ""),
		"GET /v2/owners": s.listOwners, "POST /v2/owners": s.createOwner, "GET /v2/owners/{id}": s.member(s.owners, "owner"),
		"PUT /v2/owners/{id}": s.putOwner, "DELETE /v2/owners/{id}": s.member(s.owners, ""),
		"GET /v2/owners/{owner}/visits": s.listVisits, "POST /v2/owners/{owner}/visits": s.createVisit,
		"GET /v2/owners/{owner}/visits/{id}": s.member(s.visits, ""), "DELETE /v2/owners/{owner}/visits/{id}": s.member(s.visits, ""),
		"GET /v2/tags/{id}": s.tag, "PUT /v2/tags/{id}": s.tag, "DELETE /v2/tags/{id}": s.tag,
		"GET /v2/statistics/{kind}": s.statistics,
		"GET /v2/status": func(w http.ResponseWriter, _ *http.Request, _ object) {
			answer(w, 200, object{"open": true, "password": "x"})
		},
	} {
		mux.HandleFunc(pattern, s.serve(serve))
	}
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/petstore.yaml") })
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// fail makes the next requests of that method and path fail.
func (s *store) fail(request string, faults ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[request] = append(s.faults[request], faults...)
}

// requests answers what was asked since it was last called.
func (s *store) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// change changes a member of the store behind the provider's back.
func (s *store) change(members map[string]object, id, field string, value any) {
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
	answer(w, status, object{"title": http.StatusText(status), "detail": detail})
}

func (s *store) serve(do func(http.ResponseWriter, *http.Request, object)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var body object
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
		if known := r.Header.Get("Authorization") == "Bearer t0ken" || r.Header.Get("X-API-Key") == "k3y"; !known &&
			r.URL.Path != "/v2/status" && !strings.HasPrefix(r.URL.Path, "/v2/statistics") {
			refuse(w, 401, "who are you?")
			return
		}
		key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v2")
		if faults := s.faults[key]; len(faults) > 0 {
			f := faults[0]
			s.faults[key] = faults[1:]
			if f.after {
				do(httptest.NewRecorder(), r, body)
			}
			if f.delay > 0 {
				s.mu.Unlock()
				select {
				case <-time.After(f.delay):
				case <-r.Context().Done():
				}
				s.mu.Lock()
			}
			for name, values := range f.header {
				w.Header()[name] = values
			}
			w.WriteHeader(f.status)
			fmt.Fprint(w, f.body)
			return
		}
		do(w, r, body)
	}
}

// member answers or deletes a member of a collection.
func (s *store) member(members map[string]object, envelope string) func(http.ResponseWriter, *http.Request, object) {
	return func(w http.ResponseWriter, r *http.Request, _ object) {
		id := r.PathValue("id")
		member, ok := members[id]
		switch {
		case !ok || r.PathValue("owner") != "" && member["owner"] != r.PathValue("owner"):
			refuse(w, 404, "there is no "+id)
		case r.Method == http.MethodDelete:
			delete(members, id)
			w.WriteHeader(204)
		case envelope != "":
			answer(w, 200, object{envelope: member})
		default:
			answer(w, 200, member)
		}
	}
}

func (s *store) id() int {
	s.next++
	return s.next
}

// only refuses a body with fields that the document does not have.
func only(w http.ResponseWriter, body object, fields ...string) bool {
	for name := range body {
		if !slices.Contains(fields, name) {
			refuse(w, 422, "unknown field "+name)
			return false
		}
	}
	return true
}

func (s *store) createPet(w http.ResponseWriter, _ *http.Request, body object) {
	if !only(w, body, "name", "tags", "home", "weight", "code", "kind", "legs", "attributes") {
		return
	}
	if body["name"] == "taken" {
		answer(w, 409, object{"errors": []any{object{"field": "name", "message": "is taken"}, "try another"}})
		return
	}
	id := s.id()
	body["id"], body["created"], body["adopted"], body["further"] = id, "2026-01-01", false, "not in the document"
	if home, ok := body["home"].(object); ok {
		if _, given := home["cleaned"]; !given {
			home["cleaned"] = true
		}
	}
	delete(body, "code")
	s.pets[strconv.Itoa(id)] = body
	answer(w, 201, object{"id": id, "name": body["name"]})
}

func (s *store) patchPet(w http.ResponseWriter, r *http.Request, body object) {
	pet, ok := s.pets[r.PathValue("id")]
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

func (s *store) listPets(w http.ResponseWriter, r *http.Request, _ object) {
	kinds := strings.Split(r.FormValue("kind"), ",")
	var pets []object
	for _, id := range sortedKeys(s.pets) {
		if r.FormValue("kind") == "" || slices.Contains(kinds, s.pets[id]["kind"].(string)) {
			pets = append(pets, s.pets[id])
		}
	}
	at, _ := strconv.Atoi(r.FormValue("cursor"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	end := min(at+limit, len(pets))
	page := object{"pets": pets[at:end], "nextCursor": nil}
	if end < len(pets) {
		page["nextCursor"] = strconv.Itoa(end)
	}
	answer(w, 200, page)
}

func (s *store) createOwner(w http.ResponseWriter, r *http.Request, body object) {
	if !only(w, body, "name", "email", "plan", "address") {
		return
	}
	id := "o/" + strconv.Itoa(s.id())
	s.setOwner(id, body)
	w.Header().Set("Location", strings.TrimSuffix(r.URL.Path, "/")+"/"+strings.ReplaceAll(id, "/", "%2F"))
	w.WriteHeader(201)
}

func (s *store) setOwner(id string, body object) {
	body["id"] = id
	if body["plan"] == nil {
		body["plan"] = "free"
	}
	if address, ok := body["address"].(object); ok {
		address["country"] = "NL"
	}
	s.owners[id] = body
}

func (s *store) putOwner(w http.ResponseWriter, r *http.Request, body object) {
	id := r.PathValue("id")
	if s.owners[id] == nil {
		refuse(w, 404, "there is no such owner")
		return
	}
	if only(w, body, "name", "email", "plan", "address") {
		s.setOwner(id, body)
		w.WriteHeader(204)
	}
}

func (s *store) listOwners(w http.ResponseWriter, r *http.Request, _ object) {
	ids := sortedKeys(s.owners)
	page, _ := strconv.Atoi(r.FormValue("page"))
	size, _ := strconv.Atoi(r.FormValue("per_page"))
	page = max(page, 1)
	begin, end := min((page-1)*size, len(ids)), min(page*size, len(ids))
	owners := []object{}
	for _, id := range ids[begin:end] {
		owners = append(owners, s.owners[id])
	}
	links := `</v2/owners?page=1>; rel="first"`
	if end < len(ids) {
		links = fmt.Sprintf(`<%s/v2/owners?page=%d&per_page=%d>; rel="next", %s`, s.URL, page+1, size, links)
	}
	w.Header().Set("Link", links)
	answer(w, 200, owners)
}

func (s *store) createVisit(w http.ResponseWriter, r *http.Request, body object) {
	if !only(w, body, "reason", "price") {
		return
	}
	n := s.id()
	body["number"], body["owner"] = n, r.PathValue("owner")
	s.visits[strconv.Itoa(n)] = body
	answer(w, 201, body)
}

func (s *store) listVisits(w http.ResponseWriter, r *http.Request, _ object) {
	visits := []object{}
	for _, id := range sortedKeys(s.visits) {
		if s.visits[id]["owner"] == r.PathValue("owner") {
			visits = append(visits, s.visits[id])
		}
	}
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	answer(w, 200, visits[min(offset, len(visits)):min(offset+limit, len(visits))])
}

func (s *store) tag(w http.ResponseWriter, r *http.Request, body object) {
	id := r.FormValue("shelf") + "/" + r.PathValue("id")
	switch {
	case r.FormValue("shelf") == "":
		refuse(w, 400, "which shelf?")
	case r.Method == http.MethodPut && only(w, body, "colour"):
		s.tags[id] = object{"name": r.PathValue("id"), "colour": body["colour"]}
		answer(w, 200, s.tags[id])
	case r.Method == http.MethodPut:
	case s.tags[id] == nil:
		refuse(w, 404, "there is no such tag")
	case r.Method == http.MethodDelete:
		delete(s.tags, id)
		w.WriteHeader(204)
	default:
		answer(w, 200, s.tags[id])
	}
}

func (s *store) statistics(w http.ResponseWriter, r *http.Request, _ object) {
	if user, password, ok := r.BasicAuth(); !ok || user != "admin" || password != "pa55" {
		refuse(w, 403, "administrators only")
		return
	}
	n := len(s.pets)
	if r.Header.Get("X-Unit") == "dozen" {
		n /= 12
	}
	answer(w, 200, n)
}

func sortedKeys(m map[string]object) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
