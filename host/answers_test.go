package host_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host"
)

// boxSchema is what the hand-made providers of these tests say that they offer.
const boxSchema = `{"name": "hand",
	"config": {"variables": {"depth": {"type": "integer"}}},
	"provider": {"inputProperties": {"depth": {"type": "integer"}}},
	"resources": {"hand:index:Box": {
		"inputProperties": {"size": {"type": "integer"}, "label": {"type": "string"}},
		"requiredInputs": ["size"],
		"properties": {"size": {"type": "integer"}, "label": {"type": "string"}, "lids": {"type": "array", "items": {"type": "string"}}}}},
	"functions": {"hand:index:weigh": {"outputs": {"properties": {"grams": {"type": "number"}}}}}}`

const box = "hand:index:Box"

// memory lays out the memory of a hand-made module: strings, and the answers that
// refer to them.
type memory struct {
	data map[uint32]string
	next uint32
	// schema is what get-schema answers.
	schema string
}

func newMemory() *memory {
	return &memory{data: map[uint32]string{}, next: contents, schema: boxSchema}
}

func (m *memory) put(s string) (address uint32) {
	address = m.next
	m.data[address] = s
	m.next += uint32(len(s)+15) &^ 15
	return address
}

// text is a string as answers refer to it.
func (m *memory) text(s string) string { return words(m.put(s), uint32(len(s))) }

func (m *memory) bag(t *testing.T, v property.Map) string {
	t.Helper()
	data, err := guestcbor.Marshal(v)
	require.NoError(t, err)
	return m.text(string(data))
}

// returns is the body of a method with this answer.
func (m *memory) returns(answer string) code { return returns(int32(m.put(answer))) }

// assemble makes a provider with the schema and these methods.
func (m *memory) assemble(t *testing.T, bodies map[string]code, options host.ProviderOptions) *host.Provider {
	t.Helper()
	bodies["get-schema"] = m.returns(words(0) + m.text(m.schema))
	module, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{bodies: bodies, data: m.data}.wasm())
	require.NoError(t, err)
	options.Name = "hand"
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func bag(entries ...property.Entry) property.Map { return property.NewMap(entries...) }

func is(key string, v property.Value) property.Entry { return property.Entry{Key: key, Value: v} }

// A state or result that does not fit the schema is refused; what was created is kept.
func TestAnswersThatDoNotFitTheSchema(t *testing.T) {
	for name, c := range map[string]struct {
		state property.Map
		want  string
		kept  property.Map
	}{
		"undeclared": {
			bag(is("size", property.Number(1)), is("lid", property.Null), is("colour", property.String("red"))),
			`lid: no such property; did you mean "lids"?; colour: no such property; there are label, lids, size`, bag(is("size", property.Number(1))),
		},
		"wrong type": {
			bag(is("size", property.String("1")), is("label", property.String("x"))),
			"size: expected integer, got string", bag(is("label", property.String("x"))),
		},
		"wrong type within": {
			bag(is("lids", property.Array(property.String("a"), property.Secret(property.Number(1))))),
			"lids[1]: expected string, got number", property.Map{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			state := m.bag(t, c.state)
			p := m.assemble(t, map[string]code{
				"create": m.returns(words(0) + m.text("id") + state + words(0)),
				"update": m.returns(words(0) + state + words(0)),
				"read":   m.returns(words(0) + m.text("id") + state + words(0, 0, 0, 0)),
			}, host.ProviderOptions{})
			ctx := t.Context()
			breach := "the state that it answered does not fit its schema: " + c.want
			_, err := p.Create(ctx, abi.CreateRequest{Type: box})
			require.ErrorIs(t, err, abi.ErrInitFailed)
			require.EqualError(t, err, "hand: create (host): the provider broke the contract, but the resource exists\n  - "+breach)
			require.Equal(t, "id", abi.AsError(err).InitFailure.ID)
			require.True(t, abi.AsError(err).InitFailure.State.Equal(c.kept))
			_, err = p.Create(ctx, abi.CreateRequest{Type: box, Preview: true})
			require.EqualError(t, err, "hand: create (host): the provider broke the contract: "+breach)
			_, err = p.Update(ctx, abi.UpdateRequest{Type: box, ID: "id"})
			require.EqualError(t, err, "hand: update (host): the provider broke the contract: "+breach)
			_, err = p.Read(ctx, abi.ReadRequest{Type: box, ID: "id"})
			require.EqualError(t, err, "hand: read (host): the provider broke the contract: "+breach)

			_, err = p.Create(ctx, abi.CreateRequest{Type: "hand:index:Other"})
			require.NoError(t, err, "the schema says nothing of it")
		})
	}
}

// A state that an older version of the provider recorded may have what the schema lost
// since then.
func TestWhatWasRecordedMayBeAnsweredAgain(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"read": m.returns(words(0) + m.text("id") + m.bag(t, bag(is("colour", property.String("red")))) + words(0, 0, 0, 0)),
	}, host.ProviderOptions{})
	recorded := bag(is("colour", property.String("red")))
	response, err := p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id", State: &recorded})
	require.NoError(t, err)
	require.Equal(t, recorded, response.State)

	recorded = bag(is("colour", property.String("blue")))
	_, err = p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id", State: &recorded})
	require.ErrorContains(t, err, "the state that it answered does not fit its schema: colour: no such property")
}

func TestWhatALenientProviderMay(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"create": m.returns(words(0) + m.text("id") + m.bag(t, bag(is("size", property.String("1")))) + words(0)),
	}, host.ProviderOptions{Lenient: true})
	_, err := p.Create(t.Context(), abi.CreateRequest{Type: box})
	require.NoError(t, err)
}

func TestResultsThatDoNotFitTheSchema(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"invoke": m.returns(words(0) + m.bag(t, bag(is("gramms", property.Number(1)))) + words(0, 0)),
	}, host.ProviderOptions{})
	_, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "hand:index:weigh"})
	require.EqualError(t, err, "hand: invoke (host): the provider broke the contract: "+
		`the result that it answered does not fit its schema: gramms: no such property; did you mean "grams"?`)
}

// Inputs that a provider lets pass are held to its schema by the host.
func TestInputsAreHeldToTheSchema(t *testing.T) {
	m := newMemory()
	answered := bag(is("size", property.String("big")), is("labl", property.String("x")), is("__own", property.Null))
	p := m.assemble(t, map[string]code{
		"check":        m.returns(words(0) + m.bag(t, answered) + words(0, 0)),
		"check-config": m.returns(words(0) + m.bag(t, bag(is("depth", property.String("deep")))) + words(0, 0)),
	}, host.ProviderOptions{})
	response, err := p.Check(t.Context(), abi.CheckRequest{Type: box, News: answered})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{
		{Path: "labl", Reason: `no such property; did you mean "label"?`},
		{Path: "size", Reason: "expected integer, got string"},
	}, response.Failures)
	response, err = p.CheckConfig(t.Context(), abi.CheckRequest{News: bag(is("depth", property.String("deep")))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "depth", Reason: "expected integer, got string"}}, response.Failures)

	_, err = p.Check(t.Context(), abi.CheckRequest{Type: box, News: bag(is("size", property.Number(1)))})
	require.EqualError(t, err, "hand: check (host): the provider broke the contract: the inputs that it answered do not fit its schema: "+
		`labl: no such property; did you mean "label"?; size: expected integer, got string`)
}

func TestDiffsThatCannotBe(t *testing.T) {
	const update, noInput = 4, 0
	for name, c := range map[string]struct {
		paths []string
		keys  []string
		want  string
	}{
		"a path twice":          {[]string{"size", "label", "size"}, nil, "its detailed diff has the path size twice"},
		"no path":               {[]string{"lids[x"}, nil, `its detailed diff has the path "lids[x", which is none: `},
		"an empty path":         {[]string{""}, nil, `its detailed diff has the path "", which `},
		"a pattern":             {[]string{"lids[*]"}, nil, `its detailed diff has the path "lids[*]", which leads to no property`},
		"an element of nothing": {[]string{"[1]"}, nil, `its detailed diff has the path "[1]", which does not begin with the name of a property`},
		"an unknown property":   {[]string{"lid"}, nil, `its detailed diff has the path "lid", whose property its schema does not have; "lids" is near`},
		"an unknown key":        {nil, []string{"colour"}, `its replace keys have the path "colour", whose property its schema does not have`},
		"what may be":           {[]string{"size", "lids[0]", `label["a \"b\""].c`, "__own"}, []string{"size"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			var diffs, keys string
			for _, path := range c.paths {
				diffs += m.text(path) + words(update|noInput<<8)
			}
			for _, key := range c.keys {
				keys += m.text(key)
			}
			lists := words(2|1<<8, m.put(diffs), uint32(len(c.paths)), 0, m.put(keys), uint32(len(c.keys)), 0, 0, 0, 0)
			p := m.assemble(t, map[string]code{"diff": m.returns(words(0) + lists)}, host.ProviderOptions{})
			response, err := p.Diff(t.Context(), abi.DiffRequest{Type: box, ID: "id"})
			if c.want == "" {
				require.NoError(t, err)
				require.Len(t, response.DetailedDiff, len(c.paths))
				return
			}
			require.ErrorIs(t, err, abi.ErrInternal)
			require.ErrorContains(t, err, "hand: diff (host): the provider broke the contract: "+c.want)
		})
	}
}

func TestAnUpdateKeepsTheID(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"update": m.returns(words(0) + m.bag(t, bag(is("id", property.String("other")))) + words(0)),
	}, host.ProviderOptions{})
	_, err := p.Update(t.Context(), abi.UpdateRequest{Type: box, ID: "id"})
	require.EqualError(t, err, `hand: update (host): the provider broke the contract: the state that it answered has the ID "other" for the resource "id", whose ID no update changes`)
}

// Secrets are for providers that took them in the handshake.
func TestSecretsThatWereNotNegotiated(t *testing.T) {
	for _, features := range []abi.Features{0, abi.FeaturesSecrets} {
		t.Run(strconv.Itoa(int(features)), func(t *testing.T) {
			m := newMemory()
			p := m.assemble(t, map[string]code{
				"handshake": m.returns(words(0) + m.text("hand") + m.text("1.0.0") + m.text("") + words(uint32(features), 0, 0)),
				"read": m.returns(words(0) + m.text("id") + m.bag(t, bag(
					is("lids", property.Array(property.Secret(property.String("x")))))) + words(0, 0, 0, 0)),
			}, host.ProviderOptions{})
			_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Features: abi.FeaturesSecrets})
			require.NoError(t, err)
			_, err = p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id"})
			if features == abi.FeaturesSecrets {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "hand 1.0.0: read (host): the provider broke the contract: "+
				"the property lids[0] of the state that it answered is secret, though it does not say in its handshake that it knows secrets")
		})
	}
}

// A schema that cannot be read turns nothing down, and is told of once.
func TestASchemaThatCannotBeRead(t *testing.T) {
	m := newMemory()
	m.schema = "no JSON"
	logged := &records{}
	p := m.assemble(t, map[string]code{
		"create": m.returns(words(0) + m.text("id") + m.bag(t, bag()) + words(0)),
	}, host.ProviderOptions{Logger: logged.logger()})
	for range 2 {
		_, err := p.Create(t.Context(), abi.CreateRequest{Type: box})
		require.NoError(t, err)
	}
	require.Len(t, logged.lines(), 1)
	require.Contains(t, strings.Join(logged.lines(), ""), "the provider's schema cannot be read, so that its answers are not held to it: package schema: line 1")
}

// What exists in part keeps the ID that it has, and of its state what keeps to the contract.
func TestFailuresThatBreakTheContract(t *testing.T) {
	partial := bag(is("size", property.Number(1)), is("label", property.Unknown))
	for name, c := range map[string]struct {
		update   bool
		id       string
		want     string
		answered string
	}{
		"created without an ID": {false, "", "hand: create (host): the provider broke the contract: it says that the resource exists in part, but not its ID: not ready", ""},
		"created": {false, "made", "hand: create: not ready\n" +
			"  - the provider broke the contract: the property label of the state that it answered is unknown, which only a preview allows", "made"},
		"updated without an ID": {true, "", "hand: update: not ready\n" +
			"  - the provider broke the contract: the property label of the state that it answered is unknown, which only a preview allows", "id"},
		"updated with another ID": {true, "other", "hand: update: not ready\n" +
			"  - the provider broke the contract: it answered the ID \"other\" for the resource \"id\", whose ID no update changes\n" +
			"  - the provider broke the contract: the property label of the state that it answered is unknown, which only a preview allows", "id"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			failed := words(1, initFailed) + m.text("not ready") + m.text("") +
				words(1) + m.text(c.id) + m.bag(t, partial) + words(0, 0, 0, 0, 0, 0) + words(0, 0)
			p := m.assemble(t, map[string]code{"create": m.returns(failed), "update": m.returns(failed)}, host.ProviderOptions{})
			var err error
			if c.update {
				_, err = p.Update(t.Context(), abi.UpdateRequest{Type: box, ID: "id"})
			} else {
				_, err = p.Create(t.Context(), abi.CreateRequest{Type: box})
			}
			require.EqualError(t, err, c.want)
			if c.answered == "" {
				require.ErrorIs(t, err, abi.ErrInternal)
				return
			}
			failure := abi.AsError(err).InitFailure
			require.Equal(t, c.answered, failure.ID)
			require.True(t, failure.State.Equal(bag(is("size", property.Number(1)))))
			require.True(t, failure.RefreshBeforeUpdate)
		})
	}
}

// initFailed is the error kind in the contract's order; the origin after it is the guest.
const initFailed = uint32(abi.ErrorKindInitFailed)
