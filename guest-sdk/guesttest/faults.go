package guesttest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/husk-dev/husk/abi"
)

// hit is a request that a fault hit.
type hit struct {
	// made are the objects that the request made. The provider was not told of them.
	made objects
}

// objects are the objects in the collections of an API, by their paths.
type objects = map[string]bool

// objects is called with the lock of the API.
func (a *API) objects() objects {
	all := objects{}
	for _, c := range a.collections {
		for id := range c.items {
			all[c.path+"/"+id] = true
		}
	}
	return all
}

func without(all, some objects) objects {
	rest := maps.Clone(all)
	maps.DeleteFunc(rest, func(path string, _ bool) bool { return some[path] })
	return rest
}

func names(o objects) string {
	if len(o) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Sorted(maps.Keys(o)), ", ")
}

// Faults runs a lifecycle without faults, and then once for each of its requests with each fault in its way: without faults
// given, an answer of 500, a lost connection, a request that is done and not answered, and malformed JSON.
//
// start makes a provider and the service that it is configured for, anew for each run. Whatever fails, nothing may be forgotten:
//
//   - A call that reports success has done all of it, once. The collections of the service then have as many objects as without
//     faults.
//   - A creation that fails has either made nothing that the provider knows of, or returns the ID of its object in an
//     [abi.InitFailure], so that it is recorded. A request that was done and not answered is reported by the error.
//   - A read that fails is an error, not a resource that is gone.
//   - The second attempt of a call that failed succeeds, and so does a deletion of an object that the first attempt deleted.
func Faults(t testing.TB, typ string, l Lifecycle, start func(t testing.TB) (*Provider, *API), faults ...Fault) {
	t.Helper()
	if len(faults) == 0 {
		faults = []Fault{Status(http.StatusInternalServerError), Lost(), Unanswered(), Malformed()}
	}
	healthy := &faultRun{}
	healthy.begin(t, start)
	healthy.provider.Lifecycle(typ, l)
	requests := healthy.sent()
	if len(requests) == 0 {
		t.Fatalf("the lifecycle of %s sends no request to the API, so that none can fail: is the provider configured with its URL?", typ)
	}
	for n, request := range requests {
		for _, fault := range faults {
			told := told{t, fmt.Sprintf("if request %d of %d, %s %s, %s:\n", n+1, len(requests), request.Method, request.Path, fault)}
			run := &faultRun{want: healthy.counts}
			run.begin(told, start)
			run.api.Fail("", n+1, fault)
			run.provider.Lifecycle(typ, l)
			if !run.hit {
				told.Fatalf("the lifecycle did not send it this time: it has to send the same requests each time")
			}
		}
	}
}

// told is a test whose failures begin with the fault.
type told struct {
	testing.TB
	what string
}

func (t told) Fatal(args ...any) {
	t.TB.Helper()
	t.TB.Fatalf("%s%s", t.what, fmt.Sprint(args...))
}

func (t told) Fatalf(format string, args ...any) {
	t.TB.Helper()
	t.TB.Fatalf("%s%s", t.what, fmt.Sprintf(format, args...))
}

// faultRun is a lifecycle with a fault. It does what a user does after an error: looks at the state, and tries again.
type faultRun struct {
	t        testing.TB
	provider *Provider
	inner    abi.Provider
	api      *API
	began    int
	// counts are the numbers of objects after each call, and want the numbers of the run without faults, nil in that run.
	counts, want []int
	hit          bool
}

func (f *faultRun) begin(t testing.TB, start func(t testing.TB) (*Provider, *API)) {
	t.Helper()
	p, api := start(t)
	f.t, f.api, f.inner, f.began = t, api, p.ABI, len(api.Requests())
	watched := *p
	watched.ABI = abi.ProviderOf(f.serve)
	watched.t = t
	f.provider = &watched
}

// sent returns the requests of the lifecycle.
func (f *faultRun) sent() []Request { return f.api.Requests()[f.began:] }

// serve serves a call of the lifecycle.
func (f *faultRun) serve(ctx context.Context, c *abi.Call) error {
	f.t.Helper()
	before, _ := f.look()
	err := c.DoWith(ctx, f.inner)
	after, hits := f.look()
	if len(hits) > 0 {
		f.hit = true
	}
	if err != nil && len(hits) > 0 {
		if create, ok := c.Request.(*abi.CreateRequest); ok {
			f.settle(ctx, create, err, before, after, hits)
		}
		first := err
		if err = c.DoWith(ctx, f.inner); err != nil {
			f.t.Fatalf("%s failed as it may: %v\nThe second attempt has to succeed, and failed, too: %v", attempt(c), first, err)
		}
		after, _ = f.look()
	}
	if err != nil {
		return err
	}
	f.counts = append(f.counts, len(after))
	if n := len(f.counts) - 1; n < len(f.want) && f.want[n] != len(after) {
		verdict := "something that the provider reports is missing"
		if len(after) > f.want[n] {
			verdict = "something is there that no call has reported"
		}
		f.t.Fatalf("%s succeeded, and %s: without faults, the service has %d objects then, and now it has %s",
			attempt(c), verdict, f.want[n], names(after))
	}
	return nil
}

// look returns the service's objects, and the faults since the last look.
func (f *faultRun) look() (objects, []hit) {
	f.api.mu.Lock()
	defer f.api.mu.Unlock()
	hits := f.api.hits
	f.api.hits = nil
	return f.api.objects(), hits
}

// settle checks that what a creation made before it failed is known, and removes it.
func (f *faultRun) settle(ctx context.Context, create *abi.CreateRequest, failed error, before, after objects, hits []hit) {
	f.t.Helper()
	made := without(after, before)
	r := &Resource{Type: create.Type, Name: create.URN.Name(), Inputs: create.Inputs, t: f.t}
	p := &Provider{ABI: f.inner, t: f.t, name: r.Name}
	if partial := abi.AsError(failed).InitFailure; partial != nil && partial.ID != "" {
		r.ID, r.State = partial.ID, partial.State
		if partial.Inputs != nil {
			r.Inputs = *partial.Inputs
		}
		if p.Read(r) == nil {
			f.t.Fatalf("creating %s failed, and returned the ID %q, by which nothing is found: %v", r, r.ID, failed)
		}
		if err := p.ABI.Delete(ctx, abi.DeleteRequest{
			URN: create.URN, Name: r.Name, Type: r.Type, ID: r.ID, State: r.State, OldInputs: r.Inputs,
		}); err != nil {
			f.t.Fatalf("creating %s failed, and what it returned as ID %q cannot be deleted: %v", r, r.ID, err)
		}
		after, _ = f.look()
		made = without(after, before)
	}
	for _, h := range hits {
		made = without(made, h.made) // the error says that it may exist
		f.remove(h.made)
	}
	if len(made) > 0 {
		f.t.Fatalf("creating %s forgot %s: the service answered that it is made, then the creation failed without the ID, so that nothing records it.\n"+
			"Return a partial initialization with the ID and the state so far. The error was: %v", r, names(made), failed)
	}
}

func (f *faultRun) remove(some objects) {
	f.api.mu.Lock()
	defer f.api.mu.Unlock()
	for _, c := range f.api.collections {
		maps.DeleteFunc(c.items, func(id string, _ Props) bool { return some[c.path+"/"+id] })
	}
}

// attempt names a call.
func attempt(c *abi.Call) string {
	subject := c.Subject()
	what := string(c.Method) + " of " + subject.Token
	if subject.URN != "" {
		what += fmt.Sprintf(" %q", subject.URN.Name())
	}
	if subject.Preview {
		what += " in a preview"
	}
	return what
}
