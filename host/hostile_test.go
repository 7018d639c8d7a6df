package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// The answers of hand-made modules are at these addresses.
const (
	answer   = 1024
	answer2  = 1152
	contents = 2048
)

// returns is the body of a method that answers what lies at the address.
func returns(address int32) code { return i32Const(address) }

// make an unnamed provider of a hand-made module. It is not asked for a schema, as the
// tests have other uses for get-schema.
func assemble(t *testing.T, h *host.Host, a assembly) *host.Provider {
	t.Helper()
	module, err := h.LoadBytes(t.Context(), a.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func schema(ctx context.Context, p *host.Provider) (string, error) {
	response, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	return response.Schema, err
}

func TestATrap(t *testing.T) {
	h := newHost(t, host.NewConfig())
	// The first call of an instance answers, later ones trap.
	p := assemble(t, h, assembly{
		bodies: map[string]code{"get-schema": count + choose(1, 1, 0) + "\x45\x04\x40\x00\x0b" + returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: "ok"},
	})
	for range 3 {
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "ok", got)
		_, err = schema(t.Context(), p)
		require.ErrorIs(t, err, abi.ErrCrashed)
		require.ErrorContains(t, err, "hand: get-schema (host): the provider crashed: unreachable\n  at ")
	}
}

func importSignature(iface, name string) canon.Signature {
	for _, i := range canon.ImportTable() {
		if i.Module == "husk:provider/"+iface+"@0.1.0" && i.Name == name {
			return i.Signature
		}
	}
	panic("no import " + name)
}

func TestTheAllocatorMayRunInsideOfItself(t *testing.T) {
	// cabi_realloc asks the host for a key in its first three calls. The refusal is a
	// text for which the host needs memory again.
	body := count + i32Const(3) + "\x4d\x04\x40" +
		i32Const(contents) + i32Const(0) + i32Const(answer2) + callFunc(0) + "\x0b" + bump
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		imports: []importEntry{{"husk:provider/kv@0.1.0", "get", importSignature("kv", "get")}},
		bodies:  map[string]code{"cabi_realloc": body, "get-mapping": returns(answer)},
		data:    map[uint32]string{answer: words(0, contents, 8, contents, 8), contents: "terrafor"},
	})
	for range 2 {
		response, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
		require.NoError(t, err)
		require.Equal(t, "terrafor", response.Provider)
	}
}

func TestAReleaseThatTrapsLosesNoAnswer(t *testing.T) {
	// get-schema answers how often the instance was called: always the first time.
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		bodies: map[string]code{
			"get-schema": count + choose(1, answer, answer2),
			"cabi_post_husk:provider/provider@0.1.0#get-schema": unreachable,
		},
		data: map[uint32]string{
			answer: words(0, contents, 5), answer2: words(0, contents+5, 5), contents: "first" + "later",
		},
	})
	for range 3 {
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "first", got)
	}
}

// A finished answer does not wait until the guest has freed it: what has been created is there, and
// the guest may take its time for hours.
func TestAReleaseThatDoesNotEndDelaysNoAnswer(t *testing.T) {
	// Subscriptions of poll_oneoff: to the monotonic clock, in a year.
	aYear := words(0, 0, 0, 0, 1, 0, 0xffffffff, 0x6fffff, 0, 0, 0, 0)
	for name, release := range map[string]assembly{
		"computes": {bodies: map[string]code{"cabi_post_husk:provider/provider@0.1.0#create": forever}},
		"sleeps": {
			imports: []importEntry{poll},
			bodies: map[string]code{
				"cabi_post_husk:provider/provider@0.1.0#create": i32Const(answer2) + i32Const(4096) + i32Const(1) + i32Const(4160) + callFunc(0) + drop,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			release.bodies["create"] = returns(answer)
			release.bodies["get-schema"] = count + choose(1, answer+64, answer+96)
			release.data = map[uint32]string{
				answer: words(0, contents+256, 2, contents, 1, 0), contents: "\xa0", contents + 256: "id", answer2: aYear,
				answer + 64: words(0, contents+512, 5), answer + 96: words(0, contents+512+5, 5), contents + 512: "firstlater",
			}
			p := assemble(t, newHost(t, host.NewConfig().WithCallTimeout(time.Hour).WithCancelGrace(time.Hour)), release)
			for range 2 {
				created, err := p.Create(t.Context(), abi.CreateRequest{})
				require.NoError(t, err)
				require.Equal(t, "id", created.ID)
				told, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, "first", told, "what did not end is not used again")
			}
		})
	}
}

// Each deployment ends by telling providers that all is cancelled. One that does not hear of it
// delays the end by some seconds, and not for as long as it may take to answer.
func TestAGuestThatDoesNotHearOfACancellation(t *testing.T) {
	p := assemble(t, newHost(t, host.NewConfig().WithCancelGrace(time.Millisecond)), assembly{
		bodies: map[string]code{"get-schema": returns(answer), "cancel": forever + unreachable},
		data:   map[uint32]string{answer: words(0, contents, 0)},
	})
	_, err := schema(t.Context(), p)
	require.NoError(t, err)
	var exceeded *limit.ExceededError
	require.ErrorAs(t, p.Cancel(t.Context()), &exceeded)
	require.Equal(t, limit.ExceededError{Limit: limit.Time, Most: defaultOf(t, "cancel-time"), Method: "cancel"}, *exceeded)
}

func TestAnswersThatBreakTheContract(t *testing.T) {
	empty := "\xa0"
	for name, c := range map[string]struct {
		id, state string
		want      string
	}{
		"no ID":          {"", empty, "hand: create (host): the provider broke the contract: it created a resource without an ID"},
		"malformed CBOR": {"x", "\xa1", "hand: create (host): the provider's answer is not what the contract asks for: create-response.state: "},
		"duplicate keys": {"x", "\xa2\x61a\x01\x61a\x02", "hand: create (host): the provider's answer is not what the contract asks for: create-response.state: "},
		"no object":      {"x", "\x80", "create-response.state: "},
		"too deep":       {"x", "\xa1\x61a" + strings.Repeat("\x81", 200) + "\xf6", "create-response.state: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := assemble(t, newHost(t, host.NewConfig()), assembly{
				bodies: map[string]code{"create": returns(answer)},
				data: map[uint32]string{
					answer:   words(0, contents, uint32(len(c.id)), contents+256, uint32(len(c.state)), 0),
					contents: c.id, contents + 256: c.state,
				},
			})
			_, err := p.Create(t.Context(), abi.CreateRequest{Name: "x"})
			require.ErrorIs(t, err, abi.ErrInternal)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestUnknownsAreForPreviewsOnly(t *testing.T) {
	mixed, err := guestcbor.Marshal(property.MapOf(map[string]property.Value{
		"known": property.Bool(true),
		"deep":  property.Array(property.Bool(true), property.Secret(property.Unknown)),
	}))
	require.NoError(t, err)
	state := words(contents, uint32(len(mixed)))
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		bodies: map[string]code{
			"create": returns(answer), "update": returns(answer + 64), "read": returns(answer2), "invoke": returns(answer + 64),
		},
		data: map[uint32]string{
			answer: words(0, contents+256, 2) + state + words(0), contents + 256: "id",
			answer + 64: words(0) + state + words(0, 0),
			answer2:     words(0, contents+256, 2) + state + words(0, 0, 0, 0),
			contents:    string(mixed),
		},
	})
	ctx := t.Context()
	_, err = p.Create(ctx, abi.CreateRequest{Preview: true})
	require.NoError(t, err)
	_, err = p.Update(ctx, abi.UpdateRequest{Preview: true})
	require.NoError(t, err)

	// What was created is not lost.
	_, err = p.Create(ctx, abi.CreateRequest{})
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failed := err.(*abi.Error)
	require.Equal(t, "id", failed.InitFailure.ID)
	require.True(t, failed.InitFailure.State.Equal(property.MapOf(map[string]property.Value{"known": property.Bool(true)})))
	require.EqualError(t, err, "hand: create (host): the provider broke the contract, but the resource exists\n"+
		"  - the property deep[1] of the state that it answered is unknown, which only a preview allows")

	_, err = p.Update(ctx, abi.UpdateRequest{})
	require.EqualError(t, err, "hand: update (host): the provider broke the contract: "+
		"the property deep[1] of the state that it answered is unknown, which only a preview allows")
	_, err = p.Read(ctx, abi.ReadRequest{})
	require.ErrorContains(t, err, "hand: read (host): the provider broke the contract: the property deep[1]")
	_, err = p.Invoke(ctx, abi.InvokeRequest{})
	require.ErrorContains(t, err, "hand: invoke (host): the provider broke the contract: the property deep[1] of the result")
}

func TestStreamsKeepTheirInstance(t *testing.T) {
	// A stream yields two results. The counter of its instance would tell if another
	// call got in between.
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		bodies: map[string]code{
			"stream-invoke": returns(answer),
			"stream-next":   count + choose(2, answer+64, answer2),
			"stream-close":  returns(answer2 + 64),
			"get-schema":    count + choose(1, answer2+128, answer2+128),
		},
		data: map[uint32]string{
			answer:       words(0, 0, 7, 0),
			answer + 64:  words(0, 1, contents, 1),
			answer2:      words(0, 0, 0, 0),
			answer2 + 64: words(0), answer2 + 128: words(0, contents, 0),
			contents: "\xa0",
		},
	})
	ctx := t.Context()
	var open []abi.StreamHandle
	for range defaultOf(t, "streams") {
		handle, err := p.StreamInvoke(ctx, abi.InvokeRequest{})
		require.NoError(t, err)
		open = append(open, handle)
	}
	_, err := p.StreamInvoke(ctx, abi.InvokeRequest{})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "8 streams of the provider are open already: close one")

	for _, handle := range open[:4] {
		for range 2 {
			item, err := p.StreamNext(ctx, handle)
			require.NoError(t, err)
			require.NotNil(t, item.Result)
			_, err = schema(ctx, p)
			require.NoError(t, err)
		}
		item, err := p.StreamNext(ctx, handle)
		require.NoError(t, err)
		require.Nil(t, item.Result)
		_, err = p.StreamNext(ctx, handle)
		require.ErrorIs(t, err, abi.ErrNotFound)
		require.NoError(t, p.StreamClose(ctx, handle))
	}
	require.NoError(t, p.StreamClose(ctx, open[4]))
	require.NoError(t, p.StreamClose(ctx, open[4]))
	_, err = p.StreamNext(ctx, open[4])
	require.ErrorIs(t, err, abi.ErrNotFound)
	_, err = p.StreamInvoke(ctx, abi.InvokeRequest{})
	require.NoError(t, err)

	require.NoError(t, p.Close())
	_, err = p.StreamNext(ctx, open[5])
	require.Error(t, err)
}
