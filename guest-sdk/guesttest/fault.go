package guesttest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"
)

// Fault is a failure of a request to an [API].
type Fault struct {
	name string
	// wait is how long the request waits before it is done.
	wait time.Duration
	// done reports whether the request is done nevertheless.
	done bool
	// answer answers the request. whole is the right answer to a request that was done.
	answer func(w http.ResponseWriter, whole *httptest.ResponseRecorder)
}

// String describes the fault of a request, as in "is answered with 503".
func (f Fault) String() string { return f.name }

// Status answers a request with a status, and does not do it.
func Status(code int) Fault {
	return Fault{name: fmt.Sprintf("is answered with %d", code), answer: func(w http.ResponseWriter, _ *httptest.ResponseRecorder) {
		answer(w, code, Props{"error": http.StatusText(code)})
	}}
}

// Lost cuts the connection, and does not do the request.
func Lost() Fault { return Fault{name: "is lost", answer: cut} }

// Unanswered does the request, and cuts the connection in place of an answer.
func Unanswered() Fault { return Fault{name: "is done and not answered", done: true, answer: cut} }

func cut(http.ResponseWriter, *httptest.ResponseRecorder) { panic(http.ErrAbortHandler) }

// Malformed does the request, and answers with its status and half of its body, if it has one.
func Malformed() Fault {
	return Fault{name: "is done and answered with malformed JSON", done: true, answer: func(w http.ResponseWriter, whole *httptest.ResponseRecorder) {
		if body := whole.Body.Bytes(); len(body) > 0 {
			whole.Body = bytes.NewBufferString(string(body[:len(body)/2]) + `{"`)
		}
		send(w, whole)
	}}
}

// Delay does a request after a while, or not at all if the provider does not wait for it.
func Delay(d time.Duration) Fault {
	return Fault{name: "is delayed by " + d.String(), wait: d, done: true, answer: send}
}

func send(w http.ResponseWriter, whole *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), whole.Header())
	w.Header().Del("Content-Length") // which may be another now
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()) // the provider may have gone
}

// serveFaulty serves a request that a fault hits.
func (a *API) serveFaulty(f Fault, w http.ResponseWriter, r *http.Request) {
	if f.wait > 0 {
		timer := time.NewTimer(f.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	a.mu.Lock()
	before := a.objects()
	a.mu.Unlock()
	whole := httptest.NewRecorder()
	if f.done {
		a.mux.ServeHTTP(whole, r)
	}
	a.mu.Lock()
	a.hits = append(a.hits, hit{made: without(a.objects(), before)})
	a.mu.Unlock()
	f.answer(w, whole) // which the provider sees after this
}

// armed is a fault that waits for its request.
type armed struct {
	Fault
	// matches has the route, nil for all requests.
	matches *http.ServeMux
	// left counts the requests up to the one that it hits.
	left int
}

// Fail has a fault hit the n-th request of a route from now on, where 1 is the next. Other requests of the route are served. An
// empty route stands for all.
func (a *API) Fail(route string, n int, fault Fault) {
	a.t.Helper()
	if n < 1 {
		a.t.Fatalf("a fault of request %d of %q: the next request is 1", n, route)
	}
	one := &armed{Fault: fault, left: n}
	if route != "" {
		one.matches = http.NewServeMux()
		func() {
			defer func() {
				if problem := recover(); problem != nil {
					a.t.Fatalf("a fault of the route %q: %v", route, problem)
				}
			}()
			one.matches.HandleFunc(route, http.NotFound)
		}()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, one)
}

// faultFor returns the fault that hits a request, nil for none.
func (a *API) faultFor(r *http.Request) (hits *armed) {
	for _, f := range a.faults {
		if f.matches != nil {
			if _, pattern := f.matches.Handler(r); pattern == "" {
				continue
			}
		}
		if f.left--; f.left == 0 && hits == nil {
			hits = f
		}
	}
	a.faults = slices.DeleteFunc(a.faults, func(f *armed) bool { return f.left <= 0 })
	return hits
}
