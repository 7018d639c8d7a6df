package intake_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
)

// everything has each kind of field.
type everything struct {
	Text   string            `json:"text" cbor:"text"`
	Bytes  []byte            `json:"bytes" cbor:"bytes"`
	Number int64             `json:"number" cbor:"number"`
	Time   time.Time         `json:"time" cbor:"time"`
	Texts  []string          `json:"texts" cbor:"texts"`
	Parts  [][]byte          `json:"parts" cbor:"parts"`
	Map    map[string]string `json:"map" cbor:"map"`
	Maps   []map[string]int  `json:"maps" cbor:"maps"`
	More   []everything      `json:"more" cbor:"more"`
	Next   *everything       `json:"next" cbor:"next"`
	Some   []*everything     `json:"some" cbor:"some"`
	Any    any               `json:"any" cbor:"any"`
}

// allocated returns how much memory a function takes from the heap, with all that it leaves.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// what a decoder may take besides what it is sent, in bytes.
const constant = 256 << 10

func list(element string, n int) string { return strings.Repeat(element+",", n-1) + element }

// TestJSONTakesAtMostEightTimes sends shapes that would grow, into each type that servers and clients decode.
func TestJSONTakesAtMostEightTimes(t *testing.T) {
	const n = 100_000
	shapes := map[string]string{
		"objects": `{"more":[` + list(`{}`, n) + `]}`, "nulls": `{"more":[` + list(`null`, n) + `]}`, "pointers": `{"some":[` + list(`{}`, n) + `]}`,
		"texts": `{"texts":[` + list(`""`, n) + `]}`, "numbers": `{"texts":[` + list(`0`, n) + `]}`, "parts": `{"parts":[` + list(`""`, n) + `]}`,
		"maps": `{"maps":[` + list(`{}`, n) + `]}`, "maps with one": `{"maps":[` + list(`{"a":1}`, n) + `]}`, "any": `{"any":[` + list(`{}`, n) + `]}`,
		"anys": `{"any":[` + list(`[]`, n) + `]}`, "any texts": `{"any":[` + list(`""`, n) + `]}`, "any numbers": `{"any":[` + list(`0`, n) + `]}`,
		"escapes": `{"text":"` + strings.Repeat(`\n`, n) + `"}`, "surrogates": `{"text":"` + strings.Repeat(`\ud800`, n) + `"}`,
		"not UTF-8": `{"text":"` + strings.Repeat("\xff", n) + `"}`, "unknown": `{"unknown":[` + list(`{}`, n) + `]}`, "spaces": `{` + strings.Repeat(" ", n) + `}`,
		"deep": strings.Repeat(`{"next":`, n) + `null` + strings.Repeat(`}`, n), "deep lists": `{"any":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `}`,
		"repeated": `{` + list(`"more":[{},{},{}]`, n/10) + `}`, "in capitals": `{"MORE":[` + list(`{}`, n) + `]}`, "escaped": `{"\u006dore":[` + list(`{}`, n) + `]}`,
		"lines": `{"lines":[` + list(`{}`, n) + `]}`, "tokens": `{"projects":[` + list(`""`, n) + `]}`, "options": `{"options":[` + list(`""`, n) + `]}`,
		"labels": `{"labels":{` + manyMembers(n/10) + `}}`, "runs": `[` + list(`{}`, n) + `]`, "workers": `{"workers":[` + list(`{}`, n) + `]}`,
		"plan": `{"plan":"` + strings.Repeat("AAAA", n) + `"}`, "cut": `{"more":[` + list(`{}`, n), "no comma": `{"more":[` + strings.Repeat(`{} `, n) + `]}`,
		"quotes": strings.Repeat(`"`, n), "name": `{"` + strings.Repeat("x", n) + `":1}`, "names": `{` + manyMembers(n/10) + `}`,
	}
	for i, into := range []func() any{
		func() any { return new(everything) }, func() any { return new(runapi.Beat) }, func() any { return new(runapi.End) }, func() any { return new(runapi.Report) },
		func() any { return new(runapi.NewRun) }, func() any { return new(runapi.Schedule) }, func() any { return new(runapi.Token) }, func() any { return new(runapi.Ask) },
		func() any { return new([]runapi.Run) }, func() any { return new(runapi.Status) }, func() any { return new(runapi.Claim) }, func() any { return new(any) },
	} {
		if i > 0 && testing.Short() {
			break
		}
		for name, text := range shapes {
			for _, decode := range []func([]byte, any) error{
				func(text []byte, into any) error { return intake.JSON(nil, text, into) }, intake.AnswerJSON,
			} {
				v := into()
				var err error
				took := allocated(func() { err = decode([]byte(text), v) })
				require.LessOrEqual(t, took, int64(len(text))*(intake.Ratio+1)+constant, "%s into %T: %d times, %v", name, v, took/int64(len(text)), err)
			}
		}
	}
	var large *intake.TooLargeError
	require.ErrorAs(t, intake.JSON(nil, []byte(shapes["lines"]), new(runapi.Beat)), &large)
	require.ErrorContains(t, large, "more than 8 times as much memory")
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":"",`, i)
	}
	return b.String() + `"x":""`
}

// TestWhatPeopleSendIsTaken has what clients and workers really send decoded, however much there is of it.
func TestWhatPeopleSendIsTaken(t *testing.T) {
	var lines strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&lines, `{"number":%d,"stream":"out","time":"2026-11-23T13:45:00.123456789Z","text":""},`, i+1)
	}
	var beat runapi.Beat
	require.NoError(t, intake.JSON(nil, []byte(`{"lines":[`+strings.TrimSuffix(lines.String(), ",")+`]}`), &beat))
	require.Len(t, beat.Lines, 50_000)
	run := `{"id":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","project":"p","stack":"s","operation":"up","bundle":"sha256:` + strings.Repeat("0", 64) +
		`","labels":{"region":"eu","disk":"ssd"},"state":"queued","by":"ann","attempt":0,"made":"2026-11-23T13:45:00Z"}`
	var runs []runapi.Run
	require.NoError(t, intake.AnswerJSON([]byte(`[`+list(run, 1000)+`]`), &runs))
	require.Len(t, runs, 1000)
	require.Equal(t, "ssd", runs[999].Labels["disk"])
	var e everything
	require.NoError(t, intake.JSON(nil, []byte(` { "Text" : "\u00fc\\ \"", "number":-1, "next":{"any":[null,true,{"a":[1.5]}]}, "time":"2026-11-23T13:45:00Z", "bytes":"AAE=" } `), &e))
	require.Equal(t, `ü\ "`, e.Text)
	require.Equal(t, []byte{0, 1}, e.Bytes)
	for _, wrong := range []string{``, `{`, `{"text":1}`, `{"none":1}`, `{} {}`, `{"text":"a}`, `[1]`, `{"text" "a"}`, `{,}`, `{"more":[,]}`, `{"more":[{}{}]}`, `nul`, "\xff"} {
		require.Error(t, intake.JSON(nil, []byte(wrong), new(everything)), wrong)
	}
	require.NoError(t, intake.AnswerJSON([]byte(`{"none":[{"x":1}],"number":7}`), &e))
	require.EqualValues(t, 7, e.Number)
}

// TestCBORTakesAtMostEightTimes is for CBOR.
func TestCBORTakesAtMostEightTimes(t *testing.T) {
	mode, err := cbor.DecOptions{MaxArrayElements: 1 << 20, MaxMapPairs: 1 << 20, TagsMd: cbor.TagsForbidden, IndefLength: cbor.IndefLengthForbidden}.DecMode()
	require.NoError(t, err)
	const n = 200_000
	many := func(field string, element []byte) []byte {
		head := append([]byte{0xa1, 0x60 + byte(len(field))}, field...)
		return append(append(head, 0x9a, n>>24, n>>16&0xff, n>>8&0xff, n&0xff), bytes.Repeat(element, n)...)
	}
	for name, message := range map[string][]byte{
		"objects": many("more", []byte{0xa0}), "nulls": many("more", []byte{0xf6}), "pointers": many("some", []byte{0xa0}), "texts": many("texts", []byte{0x60}),
		"parts": many("parts", []byte{0x40}), "maps": many("maps", []byte{0xa0}), "maps with one": many("maps", []byte{0xa1, 0x61, 'a', 1}), "any": many("any", []byte{0xa0}),
		"anys": many("any", []byte{0x80}), "any texts": many("any", []byte{0x60}), "unknown": many("none", []byte{0xa0}), "in capitals": many("MORE", []byte{0xa0}),
		"cut": many("more", []byte{0xa0})[:1000], "indefinite": append(append([]byte{0xa1, 0x65, 't', 'e', 'x', 't', 's', 0x9f}, bytes.Repeat([]byte{0x60}, n)...), 0xff),
		"a text of more than there is": {0xa1, 0x64, 't', 'e', 'x', 't', 0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"deep":                         append(bytes.Repeat([]byte{0xa1, 0x64, 'n', 'e', 'x', 't'}, 30), 0xf6), "tags": append([]byte{0xa1, 0x63, 'a', 'n', 'y'}, bytes.Repeat([]byte{0xc1}, 30)...),
	} {
		v := new(everything)
		var err error
		took := allocated(func() { err = intake.CBOR(mode, nil, message, v) })
		require.LessOrEqual(t, took, int64(len(message))*(intake.Ratio+1)+constant, "%s: %d times, %v", name, took/int64(len(message)), err)
	}
	want := everything{Text: "ü", Parts: [][]byte{{1}, nil}, Map: map[string]string{"a": "b"}, Next: &everything{Number: -7}, Time: time.Unix(0, 0).UTC()}
	message, err := cbor.Marshal(want)
	require.NoError(t, err)
	var got everything
	require.NoError(t, intake.CBOR(mode, nil, message, &got))
	require.Equal(t, want.Next.Number, got.Next.Number)
	require.Equal(t, want.Parts, got.Parts)
}

// TestBudget has memory refused that others have, and given when they are done.
func TestBudget(t *testing.T) {
	b := intake.NewBudget(4 << 20)
	ann, more, bob := b.Hold("acme"), b.Hold("acme"), b.Hold("other")
	require.NoError(t, ann.Add(2<<20))
	var full *intake.FullError
	require.ErrorAs(t, more.Add(3<<19), &full, "a team leaves some to others")
	require.False(t, full.Never)
	require.NoError(t, more.Add(1<<20))
	require.NoError(t, bob.Add(1<<19))
	require.ErrorAs(t, bob.Add(1<<20), &full, "all")
	require.False(t, full.Never)
	require.ErrorAs(t, bob.Add(4<<20), &full)
	require.True(t, full.Never, "what is more than there is at all cannot be had later")
	ann.End()
	ann.End()
	require.NoError(t, bob.Add(1<<20))
	for _, held := range []*intake.Held{more, bob} {
		held.End()
	}
	require.Zero(t, b.InUse())

	content, err := ann.ReadAll(strings.NewReader(strings.Repeat("x", 300_000)), -1)
	require.NoError(t, err)
	require.Len(t, content, 300_000)
	require.Equal(t, int64(cap(content)), ann.Bytes())
	ann.End()
	content, err = ann.ReadAll(strings.NewReader(strings.Repeat("x", 300_000)), 300_000)
	require.NoError(t, err)
	require.Len(t, content, 300_000)
	require.Equal(t, 300_001, cap(content))
	ann.End()
	_, err = ann.ReadAll(strings.NewReader(strings.Repeat("x", 8<<20)), 8<<20)
	require.ErrorAs(t, err, &full)
	ann.End()
	_, err = ann.ReadAll(strings.NewReader("x"), 8<<20)
	require.NoError(t, err, "what does not come takes nothing")
	ann.End()
	_, err = ann.ReadAll(broken{}, 10)
	require.ErrorIs(t, err, errBroken)
	ann.End()
	var beat runapi.Beat
	require.ErrorAs(t, intake.JSON(ann, []byte(`{"lines":[{"text":"`+strings.Repeat("x", 4<<20)+`"}]}`), &beat), &full)
	ann.End()
	require.Zero(t, b.InUse())
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// FuzzJSON never takes more than it may, and takes what the decoder takes.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"more":[{"text":"a\n"},{}],"map":{"a":"b"}}`))
	f.Add([]byte(`{"any":[1,null,{"x":[]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = intake.JSON(nil, text, new(everything))
		_ = intake.AnswerJSON(text, new(everything))
	})
}

// FuzzCBOR is for CBOR.
func FuzzCBOR(f *testing.F) {
	mode, err := cbor.DecOptions{TagsMd: cbor.TagsForbidden, IndefLength: cbor.IndefLengthForbidden}.DecMode()
	require.NoError(f, err)
	message, err := cbor.Marshal(everything{Text: "a", More: []everything{{}}})
	require.NoError(f, err)
	f.Add(message)
	f.Fuzz(func(t *testing.T, message []byte) { _ = intake.CBOR(mode, nil, message, new(everything)) })
}
