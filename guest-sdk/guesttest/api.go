package guesttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// maxBody bounds the body of a request to an [API], in bytes.
const maxBody = 16 << 20

// API is a service on this machine for providers that talk to one. It speaks JSON, and ends with the test.
//
//	api := guesttest.NewAPI(t)
//	notes := api.Collection("/notes")
//	api.Answer("GET /version", 200, guesttest.Props{"version": "1.2"})
//	p.Configure(guesttest.Props{"url": api.URL})
//
// A request that no route takes fails the test.
type API struct {
	// URL is the address of the service, without a slash at the end.
	URL string

	t           testing.TB
	mux         *http.ServeMux
	mu          sync.Mutex
	requests    []Request
	faults      []*armed
	collections []*Collection
	// hits are the faults that hit a request since a [faultRun] took them.
	hits []hit
}

// Request is a request that the service got.
type Request struct {
	Method string
	// Path is the path, with the query behind it if there is one.
	Path   string
	Header http.Header
	Body   string
}

// String returns method and path, and the body if there is one.
func (r Request) String() string {
	return strings.TrimSpace(r.Method + " " + r.Path + " " + r.Body)
}

// NewAPI starts a service without routes.
func NewAPI(t testing.TB) *API {
	t.Helper()
	a := &API{t: t, mux: http.NewServeMux()}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.t.Errorf("the API has no route for %s %s: declare it with Collection, Answer, or Handle", r.Method, r.URL.Path)
		http.Error(w, `{"error": "no such route"}`, http.StatusNotImplemented)
	})
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	a.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections() // the provider may keep some
		server.Close()
	})
	return a
}

// Handle serves a route, a pattern of [http.ServeMux] such as "POST /notes/{id}/publish".
func (a *API) Handle(route string, handler http.HandlerFunc) {
	a.t.Helper()
	a.register(route, handler)
}

func (a *API) register(route string, handler http.HandlerFunc) {
	a.t.Helper()
	defer func() {
		if problem := recover(); problem != nil {
			a.t.Fatalf("the route %q of the API: %v", route, problem)
		}
	}()
	a.mux.HandleFunc(route, handler)
}

// Answer answers all requests of a route with a status and a body: a string as it is, nil as nothing, and anything else as JSON.
func (a *API) Answer(route string, status int, body any) {
	a.t.Helper()
	text, isText := body.(string)
	if !isText && body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			a.t.Fatalf("the answer of %s: %v", route, err)
		}
		text = string(data)
	}
	a.register(route, func(w http.ResponseWriter, _ *http.Request) {
		if !isText && body != nil {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the provider may have gone
	})
}

// Requests returns the requests so far, including the ones that a fault hit.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// Want fails the test unless the requests since the last call of Want were these, as "METHOD /path" or with the body behind it.
func (a *API) Want(lines ...string) {
	a.t.Helper()
	a.mu.Lock()
	got := a.requests
	a.requests = nil
	a.mu.Unlock()
	same := len(got) == len(lines)
	for i := 0; same && i < len(got); i++ {
		same = lines[i] == got[i].String() || lines[i] == got[i].Method+" "+got[i].Path
	}
	if !same {
		all := make([]string, len(got))
		for i, r := range got {
			all[i] = r.String()
		}
		a.t.Fatalf("the requests are not as expected\n%s\n%s", listed("want", lines), listed("got", all))
	}
}

func listed(what string, lines []string) string {
	if len(lines) == 0 {
		return what + ": none"
	}
	return what + ":\n  " + strings.Join(lines, "\n  ")
}

// Collection is a collection of JSON objects, with numbers as IDs. Methods may be called while requests are served.
type Collection struct {
	// IDKey is the property of an object that has its ID. It is id unless it is set before the first request.
	IDKey string

	api   *API
	path  string
	next  int
	items map[string]Props
}

// Collection serves a collection at a path such as /notes: POST there creates an object and answers 201, GET lists all, and at
// /notes/{id} GET reads, PUT replaces, PATCH merges, and DELETE removes an object, or answers 404.
func (a *API) Collection(path string) *Collection {
	a.t.Helper()
	c := &Collection{IDKey: "id", api: a, path: path, items: make(map[string]Props)}
	a.mu.Lock()
	a.collections = append(a.collections, c)
	a.mu.Unlock()
	one := path + "/{id}"
	for route, do := range map[string]func(id string, body Props) (int, any){
		"POST " + path: func(_ string, body Props) (int, any) {
			c.next++
			return http.StatusCreated, c.put(strconv.Itoa(c.next), body)
		},
		"GET " + path: func(string, Props) (int, any) {
			all := []Props{}
			for _, id := range slices.SortedFunc(maps.Keys(c.items), byNumber) {
				all = append(all, c.items[id])
			}
			return http.StatusOK, all
		},
		"GET " + one: func(id string, _ Props) (int, any) { return http.StatusOK, c.items[id] },
		"PUT " + one: func(id string, body Props) (int, any) { return http.StatusOK, c.put(id, body) },
		"PATCH " + one: func(id string, body Props) (int, any) {
			merged := maps.Clone(c.items[id])
			for key, v := range body {
				if v == nil {
					delete(merged, key)
					continue
				}
				merged[key] = v
			}
			return http.StatusOK, c.put(id, merged)
		},
		"DELETE " + one: func(id string, _ Props) (int, any) {
			delete(c.items, id)
			return http.StatusNoContent, nil
		},
	} {
		a.register(route, c.serve(do))
	}
	return c
}

func byNumber(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
}

// serve returns the handler of a route. do is called with the lock of the API, with the ID of an object that exists if the
// route has one.
func (c *Collection) serve(do func(id string, body Props) (status int, answer any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body Props
		if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body == nil {
				answer(w, http.StatusBadRequest, Props{"error": fmt.Sprintf("the body is not a JSON object: %v", err)})
				return
			}
		}
		c.api.mu.Lock()
		id := r.PathValue("id")
		status, result := http.StatusNotFound, any(Props{"error": fmt.Sprintf("there is no %s/%s", c.path, id)})
		if _, there := c.items[id]; there || id == "" {
			status, result = do(id, body)
		}
		data, err := json.Marshal(result)
		c.api.mu.Unlock()
		if err != nil {
			answer(w, http.StatusInternalServerError, Props{"error": err.Error()})
			return
		}
		answer(w, status, json.RawMessage(data))
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_ = json.NewEncoder(w).Encode(body) // the provider may have gone
	}
}

func (c *Collection) put(id string, item Props) Props {
	item = maps.Clone(item)
	if item == nil {
		item = Props{}
	}
	item[c.IDKey] = id
	c.items[id] = item
	return item
}

// Items returns the objects by ID.
func (c *Collection) Items() map[string]Props {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	return maps.Clone(c.items)
}

// Put makes or replaces an object, as somebody else would.
func (c *Collection) Put(id string, item Props) {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	c.put(id, item)
}

// Remove removes an object, as somebody else would.
func (c *Collection) Remove(id string) {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	delete(c.items, id)
}

// serve records a request, and serves it with the fault that hits it.
func (a *API) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the provider has gone, or the body is too large
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.mu.Lock()
	a.requests = append(a.requests, Request{r.Method, r.URL.RequestURI(), r.Header.Clone(), strings.TrimSpace(string(body))})
	fault := a.faultFor(r)
	a.mu.Unlock()
	if fault == nil {
		a.mux.ServeHTTP(w, r)
		return
	}
	a.serveFaulty(fault.Fault, w, r)
}
