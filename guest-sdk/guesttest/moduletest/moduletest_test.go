package moduletest_test

import (
	"strings"
	"testing"

	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/guest-sdk/guesttest/internal/notes"
	"github.com/husk-dev/husk/guest-sdk/guesttest/moduletest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

const dir = "../internal/notes/module"

// load loads the module with the cache of all tests.
func load(t *testing.T) *moduletest.Module {
	testmodule.Skip(t)
	cache, err := testmodule.Cache()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HUSK_CACHE_DIR", cache)
	testmodule.DependOn(t, dir)
	return moduletest.Load(t, dir)
}

// The test of a provider runs with its module as well, where only what is granted is possible.
func TestModule(t *testing.T) {
	module := load(t)
	guesttest.Faults(t, notes.Note, guesttest.Lifecycle{
		Inputs:  guesttest.Props{"title": "a"},
		Changes: []guesttest.Change{{Inputs: guesttest.Props{"title": "a", "text": "new"}, Diff: []string{"text update"}}},
		Import:  true,
	}, func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
		api := guesttest.NewAPI(t)
		api.Collection("/notes")
		p := module.New(t, "http="+api.URL)
		p.Configure(guesttest.Props{"url": api.URL})
		return p, api
	})

	api := guesttest.NewAPI(t)
	api.Collection("/notes")
	p := module.New(t, "kv")
	p.Configure(guesttest.Props{"url": api.URL})
	_, err := p.TryCreate(notes.Note, guesttest.Props{"title": "a"})
	if err == nil || !strings.Contains(err.Error(), "To allow this, grant http="+api.URL+" in the test") {
		t.Fatal(err)
	}
	api.Want()
}

// failing is a test that notes its failure.
type failing struct {
	testing.TB
	failed string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.TB.Helper()
	f.failed = format
	panic(f)
}

func TestMistakes(t *testing.T) {
	module := load(t)
	for want, do := range map[string]func(t testing.TB){
		"the grant %q: %v":                func(t testing.TB) { module.New(t, "web=x") },
		"the provider to build: %v":       func(t testing.TB) { moduletest.Load(t, "missing") },
		"building the provider in %s: %v": func(t testing.TB) { moduletest.Load(t, "../testdata") },
	} {
		f := &failing{TB: t}
		func() {
			defer func() { _ = recover() }()
			do(f)
		}()
		if f.failed != want {
			t.Errorf("%q is not %q", f.failed, want)
		}
	}
}
