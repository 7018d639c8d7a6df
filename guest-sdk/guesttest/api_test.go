package guesttest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/guest-sdk/guesttest/internal/notes"
)

// withService returns a provider with a service, as its author's test has them.
func withService(m notes.Mistake) func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
	return func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
		api := guesttest.NewAPI(t)
		api.Collection("/notes")
		p := guesttest.New(t, notes.Provider(m))
		p.Configure(guesttest.Props{"url": api.URL})
		return p, api
	}
}

var noteLife = guesttest.Lifecycle{
	Inputs: guesttest.Props{"title": "a", "tags": []string{"x"}},
	Changes: []guesttest.Change{
		{Inputs: guesttest.Props{"title": "a", "text": "new", "tags": []string{"x"}}, Diff: []string{"text update"}},
		{Inputs: guesttest.Props{"title": "b"}, Diff: []string{"tags delete", "text update", "title update-replace"}},
	},
	Import: true,
}

func TestAPI(t *testing.T) {
	api := guesttest.NewAPI(t)
	collection := api.Collection("/notes")
	p := guesttest.New(t, notes.Provider(notes.Right))
	p.Configure(guesttest.Props{"url": api.URL})
	r := p.Create(notes.Note, guesttest.Props{"title": "a"})
	api.Want(`POST /notes {"title":"a","text":"empty","shown":false}`, "PUT /notes/1")
	if got := collection.Items()[r.ID]; got["title"] != "a" || got["shown"] != true || got["id"] != "1" {
		t.Fatal(got)
	}
	collection.Put(r.ID, guesttest.Props{"title": "a", "text": "drifted"})
	if got := p.Read(r).Text("text"); got != "drifted" {
		t.Fatal(got)
	}
	collection.Remove(r.ID)
	if p.Read(r) != nil {
		t.Fatal("found")
	}
}

// Each route answers as such services do.
func TestRoutes(t *testing.T) {
	api := guesttest.NewAPI(t)
	things := api.Collection("/things")
	things.IDKey = "key"
	api.Answer("GET /version", http.StatusTeapot, guesttest.Props{"version": 2})
	api.Answer("GET /text", http.StatusOK, "plain")
	api.Handle("POST /things/{id}/run", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ran ", r.PathValue("id")) })
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/things", "", `200 []`},
		{"POST", "/things", `{"a": 1, "b": {"c": null}}`, `201 {"a":1,"b":{"c":null},"key":"1"}`},
		{"POST", "/things", `{"a": 2}`, `201 {"a":2,"key":"2"}`},
		{"PATCH", "/things/1", `{"b": null, "d": true}`, `200 {"a":1,"d":true,"key":"1"}`},
		{"PUT", "/things/2", `{"e": []}`, `200 {"e":[],"key":"2"}`},
		{"GET", "/things?all=1", "", `200 [{"a":1,"d":true,"key":"1"},{"e":[],"key":"2"}]`},
		{"GET", "/things/1", "", `200 {"a":1,"d":true,"key":"1"}`},
		{"DELETE", "/things/1", "", `204 `},
		{"DELETE", "/things/1", "", `404 {"error":"there is no /things/1"}`},
		{"PUT", "/things/1", "{}", `404 {"error":"there is no /things/1"}`},
		{"POST", "/things", `[]`, `400 {"error":"the body is not a JSON object: json: cannot unmarshal array into Go value of type map[string]interface {}"}`},
		{"GET", "/version", "", `418 {"version":2}`},
		{"GET", "/text", "", `200 plain`},
		{"POST", "/things/7/run", "", `200 ran 7`},
	} {
		if got := ask(t, api, c.method, c.path, c.body); got != c.want {
			t.Errorf("%s %s: %s, not %s", c.method, c.path, got, c.want)
		}
	}
	if got := api.Requests()[5].String(); got != "GET /things?all=1" {
		t.Error(got)
	}
}

// ask returns status and body of a response, or the error without its address.
func ask(t testing.TB, api *guesttest.API, method, path, body string) string {
	request, err := http.NewRequestWithContext(t.Context(), method, api.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if errors.Is(err, io.EOF) {
		return "cut"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(text)))
}

// A fault hits the request that it is for, and no other.
func TestFail(t *testing.T) {
	for name, c := range map[string]struct {
		fault guesttest.Fault
		want  string
		left  int
	}{
		"is answered with 503":                     {guesttest.Status(503), `503 {"error":"Service Unavailable"}`, 2},
		"is lost":                                  {guesttest.Lost(), "cut", 2},
		"is done and not answered":                 {guesttest.Unanswered(), "cut", 3},
		"is done and answered with malformed JSON": {guesttest.Malformed(), `201 {"id"{"`, 3},
		"is delayed by 1ms":                        {guesttest.Delay(time.Millisecond), `201 {"id":"2"}`, 3},
	} {
		if c.fault.String() != name {
			t.Error(c.fault)
		}
		api := guesttest.NewAPI(t)
		collection := api.Collection("/notes")
		api.Fail("POST /notes", 2, c.fault)
		for i, want := range []string{`201 {"id":"1"}`, "200", c.want, "201"} {
			method := "POST"
			if want == "200" {
				method = "GET" // another route, which is not counted
			}
			if got := ask(t, api, method, "/notes", "{}"); !strings.HasPrefix(got, want) {
				t.Errorf("request %d %s: %q", i, name, got)
			}
		}
		if got := len(collection.Items()); got != c.left {
			t.Errorf("%s: %d objects", name, got)
		}
	}
}

// What a test does wrong with the service fails the test.
func TestMistakesWithTheAPI(t *testing.T) {
	for want, do := range map[string]func(t testing.TB, api *guesttest.API){
		`the API has no route for GET /nothing`:        func(t testing.TB, api *guesttest.API) { ask(t, api, "GET", "/nothing", "") },
		`the route "GET" of the API: `:                 func(t testing.TB, api *guesttest.API) { api.Answer("GET", 200, nil) },
		`a fault of request 0 of "": the next`:         func(t testing.TB, api *guesttest.API) { api.Fail("", 0, guesttest.Lost()) },
		`a fault of the route "GET": `:                 func(t testing.TB, api *guesttest.API) { api.Fail("GET", 1, guesttest.Lost()) },
		"want:\n  GET /a\ngot: none":                   func(t testing.TB, api *guesttest.API) { api.Want("GET /a") },
		"the answer of GET /a: json: unsupported type": func(t testing.TB, api *guesttest.API) { api.Answer("GET /a", 200, make(chan int)) },
	} {
		got := recorded(t, func(t testing.TB) { do(t, guesttest.NewAPI(t)) })
		if !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	guesttest.Faults(t, notes.Note, noteLife, withService(notes.Right))
	guesttest.Faults(t, notes.Note, noteLife, withService(notes.Right), guesttest.Status(429), guesttest.Status(403))
}

// Each way to forget something is found, with the request that made the provider forget it.
func TestFaultsFindMistakes(t *testing.T) {
	for mistake, want := range map[notes.Mistake][]string{
		notes.CreatesAgain: {
			"POST /notes, is done and not answered:\n",
			`create of notes:index:Note "it" succeeded, and something is there that no call has reported: without faults, the service has 1 objects then, and now it has /notes/1, /notes/2`,
		},
		notes.ForgetsID: {
			"PUT /notes/1, is answered with 500:\n", `creating notes:index:Note "it" forgot /notes/1: `, "Return a partial initialization",
		},
		notes.LosesNotes:    {"GET /notes/1, is answered with 500:\n", `notes:index:Note "it" is gone when it is read by the ID "1"`},
		notes.IgnoresDelete: {"DELETE /notes/1, is answered with 500:\n", "delete of notes:index:Note \"it\" succeeded, and something is there that no call has reported"},
		notes.Jams: {
			"POST /notes, is lost:\n", "create of notes:index:Note \"it\" failed as it may: ", "The second attempt has to succeed, and failed, too: ", "jammed",
		},
		notes.IgnoresUpdate: {"PUT /notes/1, is answered with 500:\n", `text: want "new", got "empty"`},
	} {
		got := recorded(t, func(t testing.TB) { guesttest.Faults(t, notes.Note, noteLife, withService(mistake)) })
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not contain %q", mistake, got, part)
			}
		}
	}
	got := recorded(t, func(t testing.TB) {
		guesttest.Faults(t, note, lifecycle, func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
			return guesttest.New(t, provider("")), guesttest.NewAPI(t)
		})
	})
	if !strings.Contains(got, "the lifecycle of notes:index:Note sends no request to the API") {
		t.Errorf("%q", got)
	}
}

// recorded returns the failure of a test.
func recorded(t *testing.T, test func(t testing.TB)) string {
	r := &recorder{TB: t, ctx: t.Context()}
	func() {
		defer func() {
			if problem := recover(); problem != nil && problem != any(r) {
				panic(problem)
			}
		}()
		test(r)
	}()
	return r.failed
}

func memo(t *testing.T) (*guesttest.Provider, *guesttest.Resource) {
	p, _ := withService(notes.Right)(t)
	return p, p.Named("memo").Create(notes.Note, guesttest.Props{"title": "a", "tags": []string{"x", "y"}})
}

func TestGolden(t *testing.T) {
	p, r := memo(t)
	p.Golden(r, guesttest.Props{"title": "a", "text": "new", "tags": []string{"x", "z"}}, "update")
	p.Golden(r, guesttest.Props{"title": "b", "text": "empty"}, "replace")
	p.Golden(r, guesttest.Props{"title": "a", "tags": []string{"x", "y"}}, "unchanged")
}

func TestGoldenFilesThatDiffer(t *testing.T) {
	p, r := memo(t)
	for name, want := range map[string]string{
		"update":  "is not the one in testdata/update.golden: if it is right, go test -update writes it\nwant:\nnotes:index:Note \"memo\" is updated\n",
		"missing": "there is no testdata/missing.golden to compare the difference with: go test -update writes it\nnotes:index:Note \"memo\" is replaced\n",
	} {
		got := recorded(t, func(t testing.TB) { guesttest.Of(t, p.ABI).Golden(r, guesttest.Props{"title": "b"}, name) })
		if !strings.Contains(filepath.ToSlash(got), want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

func TestGoldenFilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command(program, "-test.run=^TestGolden$", "-update")
	again.Dir = dir
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"update.golden", "replace.golden", "unchanged.golden"} {
		written, err := os.ReadFile(filepath.Join(dir, "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(filepath.Join("testdata", name)); err != nil || string(want) != string(written) {
			t.Errorf("%s: %s, %v", name, written, err)
		}
	}
}
