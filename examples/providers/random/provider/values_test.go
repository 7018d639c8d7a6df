package provider_test

import (
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

func TestBytes(t *testing.T) {
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "length")
		r := p.In(t).Create(randomBytes, pt.Object{"length": n})
		require.Equal(t, "none", r.ID, "an ID is no secret, so the bytes must not be it")
		b, err := base64.StdEncoding.DecodeString(r.Text("base64"))
		require.NoError(t, err)
		require.Len(t, b, n)
		require.Equal(t, hex.EncodeToString(b), r.Text("hex"))
	})
	require.Equal(t, []string{"length: must be at least 1"}, p.Failures(randomBytes, pt.Object{"length": 0}))
	require.Equal(t, []string{"length: must be at most 1048576"}, p.Failures(randomBytes, pt.Object{"length": 1 << 30}))
}

func TestID(t *testing.T) {
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "length")
		prefix := rapid.StringMatching(`[a-z,.-]{0,5}`).Draw(t, "prefix")
		inputs := pt.Object{"byteLength": n}
		if prefix != "" {
			inputs["prefix"] = prefix
		}
		r := p.In(t).Create(randomID, inputs)
		b, err := base64.RawURLEncoding.DecodeString(r.ID)
		require.NoError(t, err)
		require.Len(t, b, n)
		require.Equal(t, prefix+r.ID, r.Text("b64Url"))
		require.Equal(t, prefix+base64.StdEncoding.EncodeToString(b), r.Text("b64Std"))
		require.Equal(t, prefix+hex.EncodeToString(b), r.Text("hex"))
		require.Equal(t, prefix+new(big.Int).SetBytes(b).String(), r.Text("dec"))

		id := r.ID
		if prefix != "" {
			id = prefix + "," + id
		}
		imported, err := p.In(t).TryImport(randomID, id)
		require.NoError(t, err)
		require.Equal(t, r.State, imported.State)
	})
}

func number(t require.TestingT, v property.Value) int {
	f, ok := v.AsNumber()
	require.True(t, ok)
	return int(f)
}

func TestInteger(t *testing.T) {
	p := start(t)
	limit := 1 << 53
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(-limit, limit).Draw(t, "min")
		high := rapid.IntRange(low, limit).Draw(t, "max")
		inputs := pt.Object{"min": low, "max": high}
		if rapid.Bool().Draw(t, "seeded") {
			inputs["seed"] = rapid.String().Draw(t, "seed")
		}
		r := p.In(t).Create(randomInteger, inputs)
		result := number(t, r.State.Get("result"))
		require.LessOrEqual(t, low, result)
		require.GreaterOrEqual(t, high, result)
		require.Equal(t, strconv.Itoa(result), r.ID)
		if seed, ok := inputs["seed"]; ok && seed != "" {
			require.Equal(t, r.State, p.In(t).Create(randomInteger, inputs).State)
		}
	})
	require.Equal(t, []string{"max: must be at least min, which is 2"}, p.Failures(randomInteger, pt.Object{"min": 2, "max": 1}))
	require.Empty(t, p.Failures(randomInteger, pt.Object{"min": 2, "max": property.Unknown}))
	require.Equal(t, []string{"min: expected integer, got 1.5"}, p.Failures(randomInteger, pt.Object{"min": 1.5, "max": 2}))
}

// Every number of a small range comes up, none much more often than another.
func TestIntegersAreUniform(t *testing.T) {
	p := start(t)
	const sides, rolls = 6, 6000
	count := map[int]int{}
	for range rolls {
		count[number(t, p.Create(randomInteger, pt.Object{"min": 1, "max": sides}).State.Get("result"))]++
	}
	require.Len(t, count, sides)
	for side, n := range count {
		// Seven standard deviations (of 29) on either side: it fails once in 10^11 runs.
		require.InDelta(t, rolls/sides, n, 200, "side %d", side)
	}
}

func count(s, characters string) int {
	n := 0
	for _, c := range s {
		if strings.ContainsRune(characters, c) {
			n++
		}
	}
	return n
}

// Strings and passwords keep to what was asked for.
func TestTexts(t *testing.T) {
	const (
		lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
		special              = "!@#$%&*()-_=+[]{}<>:?"
	)
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		classes := []struct {
			flag, minimum, characters string
		}{{"lower", "minLower", lower}, {"upper", "minUpper", upper}, {"numeric", "minNumeric", digits}, {"special", "minSpecial", special}}
		inputs := pt.Object{}
		allowed, sum := "", 0
		if rapid.Bool().Draw(t, "override") {
			classes[3].characters = "äß€~"
			inputs["overrideSpecial"] = classes[3].characters
		}
		minima := map[string]int{}
		for _, c := range classes {
			on, given := rapid.Bool().Draw(t, c.flag), rapid.Bool().Draw(t, c.flag+" given")
			if given {
				inputs[c.flag] = on
			}
			if on || !given {
				allowed += c.characters
			}
			minima[c.minimum] = rapid.IntRange(0, 4).Draw(t, c.minimum)
			if minima[c.minimum] > 0 {
				inputs[c.minimum] = minima[c.minimum]
				allowed += c.characters
			}
			sum += minima[c.minimum]
		}
		length := sum
		if c := []rune(allowed); len(c) > 0 && anyOn(inputs) {
			length = max(1, sum+rapid.IntRange(0, 20).Draw(t, "more"))
		}
		if length == 0 {
			t.Skip("nothing to make a string of")
		}
		inputs["length"] = length
		r := p.In(t).Create(randomString, inputs)
		result := r.Text("result")
		require.Equal(t, result, r.ID)
		require.Equal(t, length, len([]rune(result)))
		require.Equal(t, length, count(result, allowed), "%q of %q", result, allowed)
		for _, c := range classes {
			require.GreaterOrEqual(t, count(result, c.characters), minima[c.minimum], c.minimum)
		}
	})
}

// anyOn reports whether some class of characters may occur beyond its minimum.
func anyOn(inputs pt.Object) bool {
	for _, flag := range []string{"lower", "upper", "numeric", "special"} {
		if on, given := inputs[flag]; !given || on == true {
			return true
		}
	}
	return false
}

func TestTextFailures(t *testing.T) {
	p := start(t)
	for _, token := range []string{randomString, randomPassword} {
		for _, test := range []struct {
			inputs pt.Object
			want   []string
		}{
			{pt.Object{}, []string{"length: required property is missing; expected integer"}},
			{pt.Object{"length": 0}, []string{"length: must be at least 1"}},
			{pt.Object{"length": 3, "minLower": 2, "minSpecial": 2}, []string{"length: must be at least 4, the sum of minLower, minUpper, minNumeric, and minSpecial"}},
			{pt.Object{"length": 3, "lower": false, "upper": false, "numeric": false, "special": false},
				[]string{"length: there are no characters to make it of: one of lower, upper, numeric, and special must be true"}},
			{pt.Object{"length": 3, "numeric": true, "number": false}, []string{"number: must be the same as numeric, or be left out"}},
			{pt.Object{"length": 3, "minLower": -1}, []string{"minLower: must be at least 0"}},
			{pt.Object{"lenght": 3, "length": 3}, []string{`lenght: no such property; did you mean "length"?`}},
			{pt.Object{"length": property.Unknown, "minLower": 100}, nil},
			{pt.Object{"length": 3, "numeric": true, "number": true}, nil},
		} {
			require.Equal(t, test.want, p.Failures(token, test.inputs))
		}
	}
}

// number is what numeric was called before.
func TestNumberIsNumeric(t *testing.T) {
	p := start(t)
	r := p.Create(randomString, pt.Object{"length": 200, "number": false})
	require.Zero(t, count(r.Text("result"), "0123456789"))
	require.Equal(t, pt.Of(false), r.State.Get("numeric"))
	require.Empty(t, p.Diff(r, pt.Object{"length": 200, "numeric": false}), "changing over to numeric is no change")
	require.Equal(t, []string{"number update-replace", "numeric update-replace"}, p.Diff(r, pt.Object{"length": 200}))

	r = p.Create(randomString, pt.Object{"length": 9, "overrideSpecial": ""})
	require.Empty(t, p.Diff(r, pt.Object{"length": 9}), "no special characters of one's own is the same as none given")
}

func TestPassword(t *testing.T) {
	p := start(t)
	for _, length := range []int{12, 100} {
		r := p.Create(randomPassword, pt.Object{"length": length})
		require.Equal(t, "none", r.ID)
		password := r.Text("result")
		require.Len(t, password, length)
		require.NoError(t, bcrypt.CompareHashAndPassword([]byte(r.Text("bcryptHash")), []byte(password)[:min(length, 72)]))
	}
	require.NotEqual(t, p.Create(randomPassword, pt.Object{"length": 12}).Text("result"), p.Create(randomPassword, pt.Object{"length": 12}).Text("result"))
}

func TestPet(t *testing.T) {
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "length")
		separator := rapid.SampledFrom([]string{"-", "_", ", "}).Draw(t, "separator")
		inputs := pt.Object{"length": n, "separator": separator}
		words := n
		if rapid.Bool().Draw(t, "prefixed") {
			inputs["prefix"] = "Dr"
			words++
		}
		r := p.In(t).Create(randomPet, inputs)
		parts := strings.Split(r.ID, separator)
		require.Len(t, parts, words)
		for i, word := range parts {
			if words > n && i == 0 {
				require.Equal(t, "Dr", word)
			} else {
				require.Regexp(t, "^[a-z]+$", word)
			}
		}
	})
	require.Regexp(t, "^[a-z]+-[a-z]+$", p.Create(randomPet, pt.Object{}).ID)
	for _, n := range []int{0, -1} { // as Pulumi's provider has it
		require.Regexp(t, "^[a-z]+-[a-z]+$", p.Create(randomPet, pt.Object{"length": n}).ID)
	}
}

func strs(t require.TestingT, v property.Value) []string {
	elements, ok := v.AsArray()
	require.True(t, ok)
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i], _ = e.AsString()
	}
	return out
}

func TestShuffle(t *testing.T) {
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,3}"), 0, 8, rapid.ID).Draw(t, "inputs")
		inputs := pt.Object{"inputs": list}
		want := len(list)
		if rapid.Bool().Draw(t, "counted") {
			n := rapid.IntRange(0, 20).Draw(t, "resultCount")
			inputs["resultCount"] = n
			if n > 0 && len(list) > 0 {
				want = n
			}
		}
		if rapid.Bool().Draw(t, "seeded") {
			inputs["seed"] = rapid.String().Draw(t, "seed")
		}
		r := p.In(t).Create(randomShuffle, inputs)
		results := strs(t, r.State.Get("results"))
		require.Len(t, results, want)
		for at := 0; at < len(results); at += len(list) {
			run := results[at:min(at+len(list), len(results))]
			sorted := slices.Sorted(slices.Values(run))
			require.Equal(t, len(run), len(slices.Compact(sorted)), "no element comes again before all others have")
			for _, e := range run {
				require.Contains(t, list, e)
			}
		}
		if seed, ok := inputs["seed"]; ok && seed != "" {
			require.Equal(t, r.State, p.In(t).Create(randomShuffle, inputs).State)
		}
	})
}

// All orders of three elements come up.
func TestShufflesAreFair(t *testing.T) {
	p := start(t)
	orders := map[string]int{}
	for range 3000 {
		orders[strings.Join(strs(t, p.Create(randomShuffle, pt.Object{"inputs": []string{"a", "b", "c"}}).State.Get("results")), "")]++
	}
	require.Len(t, orders, 6)
	for order, n := range orders {
		// Seven standard deviations (of 20) on either side.
		require.InDelta(t, 500, n, 145, order)
	}
}

// A seed gives what it gives in Pulumi's provider, whose own tests have these values.
func TestSeeds(t *testing.T) {
	p := start(t)
	require.Equal(t, "3", p.Create(randomInteger, pt.Object{"min": 1, "max": 3, "seed": "12345"}).ID)
	require.Equal(t, "2", p.Create(randomInteger, pt.Object{"min": 1, "max": 3, "seed": "123456"}).ID)
	for n, want := range map[int]string{3: "acb", 5: "acbed", 12: "acbedaedcbab"} {
		s := p.Create(randomShuffle, pt.Object{"inputs": []string{"a", "b", "c", "d", "e"}, "seed": "-", "resultCount": n})
		require.Equal(t, want, strings.Join(strs(t, s.State.Get("results")), ""))
	}
}

func TestUUID(t *testing.T) {
	p := start(t)
	version4 := regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
	seen := map[string]bool{}
	for range 100 {
		r := p.Create(randomUUID, pt.Object{})
		require.Regexp(t, version4, r.ID)
		require.Equal(t, r.ID, r.Text("result"))
		seen[r.ID] = true
	}
	require.Len(t, seen, 100)
}
