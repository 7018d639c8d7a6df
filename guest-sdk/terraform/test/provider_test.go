package test

import (
	"context"
	"io"
	golog "log"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/tf6"
	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
)

const (
	boxToken   = "shelf:index/box:Box"
	labelToken = "shelf:index/label:Label"
)

// under is a provider under test, and one resource of it.
type under struct {
	abi.Provider
	t     *testing.T
	token string
	world *shelf.World
	// log has the messages of all calls.
	log *log
}

type log struct {
	mu       sync.Mutex
	messages []string
}

func (l *log) Write(_ context.Context, e abi.LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, e.Severity.String()+" "+e.Message)
}

func (u *under) logged() []string {
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	return slices.Clone(u.log.messages)
}

func (u *under) ctx() context.Context { return guest.WithLog(u.t.Context(), u.log) }

// The plugin SDK logs by package log.
func TestMain(m *testing.M) {
	golog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func boxes(t *testing.T, mapping terraform.Mapping) *under {
	t.Helper()
	world := shelf.NewWorld()
	p, err := tf6.Provider("shelf", "1.2.3", providerserver.NewProtocol6(shelf.In(world))(), mapping)
	require.NoError(t, err)
	u := &under{Provider: p, t: t, token: boxToken, world: world, log: &log{}}
	require.NoError(t, u.Configure(u.ctx(), abi.ConfigureRequest{}))
	return u
}

func (u *under) pkg() *schema.Package {
	u.t.Helper()
	response, err := u.GetSchema(u.ctx(), abi.GetSchemaRequest{})
	require.NoError(u.t, err)
	pkg, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(u.t, err)
	return pkg
}

func (u *under) check(inputs property.Map) property.Map {
	u.t.Helper()
	response, err := u.Check(u.ctx(), abi.CheckRequest{Type: u.token, News: inputs})
	require.NoError(u.t, err)
	require.Empty(u.t, response.Failures)
	return response.Inputs
}

func (u *under) refused(inputs property.Map) []abi.CheckFailure {
	u.t.Helper()
	response, err := u.Check(u.ctx(), abi.CheckRequest{Type: u.token, News: inputs})
	require.NoError(u.t, err)
	return response.Failures
}

func (u *under) create(inputs property.Map) (id string, state property.Map) {
	u.t.Helper()
	response, err := u.Create(u.ctx(), abi.CreateRequest{Type: u.token, Name: "it", Inputs: u.check(inputs)})
	require.NoError(u.t, err)
	return response.ID, response.State
}

func (u *under) diff(state, olds, news property.Map) abi.DiffResponse {
	u.t.Helper()
	response, err := u.Diff(u.ctx(), abi.DiffRequest{Type: u.token, ID: "box-a", Olds: state, OldInputs: olds, News: u.check(news)})
	require.NoError(u.t, err)
	return response
}

// changes returns the detailed diff as "path kind".
func (u *under) changes(state, olds, news property.Map) (list []string) {
	u.t.Helper()
	for _, d := range u.diff(state, olds, news).DetailedDiff {
		list = append(list, d.Path+" "+d.Kind.String())
	}
	return list
}

func text(s string) property.Value { return property.String(s) }

func number(n float64) property.Value { return property.Number(n) }

func list(values ...property.Value) property.Value { return property.Array(values...) }

// object returns a map of keys and values in turns.
func object(pairs ...any) property.Map {
	m := map[string]property.Value{}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			m[pairs[i].(string)] = text(v)
		case int:
			m[pairs[i].(string)] = number(float64(v))
		case property.Map:
			m[pairs[i].(string)] = property.Object(v)
		case property.Value:
			m[pairs[i].(string)] = v
		}
	}
	return property.MapOf(m)
}

func obj(pairs ...any) property.Value { return property.Object(object(pairs...)) }

// at returns a part of a state without secrets.
func at(t *testing.T, m property.Map, path string) property.Value {
	t.Helper()
	p, err := property.ParsePath(path)
	require.NoError(t, err)
	v, _ := p.Get(property.Object(m))
	return v.Unwrap()
}

func requireAt(t *testing.T, want property.Value, m property.Map, path string) {
	t.Helper()
	require.True(t, want.Equal(at(t, m, path)), "%s is %s in %s", path, at(t, m, path), property.Object(m.Unwrap()))
}

func provider(t *testing.T, world *shelf.World, mapping terraform.Mapping) abi.Provider {
	t.Helper()
	p, err := tf6.Provider("shelf", "1.2.3", providerserver.NewProtocol6(shelf.In(world))(), mapping)
	require.NoError(t, err)
	return p
}
