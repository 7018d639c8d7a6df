package fakeservice

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// object is a JSON object.
type object = map[string]any

type objects struct {
	mu   sync.Mutex
	byID map[string]object
	last int
}

// Objects returns a REST service of JSON objects at /api/objects. It gives an object without an id the next
// number, and each one a revision.
func Objects() http.Handler {
	o := &objects{byID: map[string]object{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/objects", o.list)
	mux.HandleFunc("POST /api/objects", o.create)
	mux.HandleFunc("GET /api/objects/{id}", o.read)
	mux.HandleFunc("PUT /api/objects/{id}", o.update)
	mux.HandleFunc("DELETE /api/objects/{id}", o.delete)
	return authenticated(object{"error": "who are you?"}, mux)
}

func (o *objects) list(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]object, 0, len(o.byID))
	for _, id := range slices.Sorted(maps.Keys(o.byID)) {
		all = append(all, o.byID[id])
	}
	reply(w, http.StatusOK, all)
}

func (o *objects) create(w http.ResponseWriter, r *http.Request) {
	var body object
	if json.NewDecoder(r.Body).Decode(&body) != nil || body == nil {
		reply(w, http.StatusBadRequest, object{"error": "the body is not a JSON object"})
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	id, ok := body["id"].(string)
	if !ok {
		o.last++
		id = strconv.Itoa(o.last)
	}
	if o.byID[id] != nil {
		reply(w, http.StatusConflict, object{"error": "the object " + id + " exists"})
		return
	}
	body["id"], body["revision"] = id, 1
	o.byID[id] = body
	reply(w, http.StatusCreated, body)
}

func (o *objects) read(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := o.found(w, r); found != nil {
		reply(w, http.StatusOK, found)
	}
}

func (o *objects) update(w http.ResponseWriter, r *http.Request) {
	var body object
	if json.NewDecoder(r.Body).Decode(&body) != nil || body == nil {
		reply(w, http.StatusBadRequest, object{"error": "the body is not a JSON object"})
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.found(w, r)
	if found == nil {
		return
	}
	revision, _ := found["revision"].(int)
	body["id"], body["revision"] = found["id"], revision+1
	o.byID[r.PathValue("id")] = body
	reply(w, http.StatusOK, body)
}

func (o *objects) delete(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found(w, r) != nil {
		delete(o.byID, r.PathValue("id"))
		reply(w, http.StatusNoContent, nil)
	}
}

// found returns the object of a request, or replies that there is none.
func (o *objects) found(w http.ResponseWriter, r *http.Request) object {
	found := o.byID[r.PathValue("id")]
	if found == nil {
		reply(w, http.StatusNotFound, object{"error": "there is no object " + r.PathValue("id")})
	}
	return found
}
