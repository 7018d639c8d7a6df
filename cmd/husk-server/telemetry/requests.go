package telemetry

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Requests counts requests and the time that they take.
type Requests struct {
	mu   sync.Mutex
	ends map[[3]string]*Histogram // by method, route, and status
	open int64
}

// requestBounds are the bounds that OpenTelemetry advises, with fewer steps and more for answers that wait for something.
var requestBounds = &Bounds{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}

// Handler returns a handler that has another one answer, and counts. The route is the pattern of the [http.ServeMux] that the other
// one is, or calls with the same request.
func (c *Requests) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
		answer := &answer{ResponseWriter: w}
		defer func() { // of a handler that panics, too
			method, route, is := strings.Cut(r.Pattern, " ")
			if !is { // a pattern for any method
				method, route = "_OTHER", r.Pattern
				if slices.Contains(methods, r.Method) {
					method = r.Method
				}
			}
			c.end([3]string{method, route, strconv.Itoa(cmp.Or(answer.status, http.StatusOK))}, time.Since(begun))
		}()
		next.ServeHTTP(answer, r)
	})
}

// methods are the methods that are told apart. Clients could make up any number of others.
var methods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

func (c *Requests) end(key [3]string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.ends == nil {
		c.ends = make(map[[3]string]*Histogram)
	}
	if c.ends[key] == nil {
		c.ends[key] = &Histogram{Bounds: requestBounds}
	}
	c.ends[key].Add(took)
}

// Metrics returns the counts.
func (c *Requests) Metrics() []Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := Metric{
		Name: "http.server.request.duration", Unit: "s", About: "How long requests took, by method, route, and status.",
		Kind: Durations, Labels: []string{"http.request.method", "http.route", "http.response.status_code"},
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.ends), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		ended.Points = append(ended.Points, Point{Labels: key[:], Times: *c.ends[key]})
	}
	return []Metric{ended, {
		Name: "http.server.active_requests", Unit: "{request}", About: "Requests that are being answered.", Points: One(c.open),
	}}
}

// answer is a writer of an answer that knows its status.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK { // a lower status is not final
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
