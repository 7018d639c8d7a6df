package calldoc

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Each method of the contract can be called by its name, but for those of an open stream.
func TestEveryMethodHasAName(t *testing.T) {
	provider := reflect.TypeFor[abi.Provider]()
	var want []string
	for i := range provider.NumMethod() {
		if name := provider.Method(i).Name; !strings.HasPrefix(name, "Stream") {
			want = append(want, strings.ToLower(name))
		}
	}
	var got []string
	for _, name := range Names() {
		got = append(got, strings.ReplaceAll(name, "-", ""))
	}
	require.ElementsMatch(t, want, got)
}

// All types of fields that requests have can be read, and are shown as they were written.
func TestRequestsAreShownAsTheyAreRead(t *testing.T) {
	for name, document := range map[string]map[string]any{
		"check": {
			"urn": "urn:pulumi:dev::p::a:b:C::n", "type": "a:b:C", "news": map[string]any{"list": []any{1.0, "two", nil}},
			"olds": map[string]any{"x": true}, "randomSeed": "AAE=", "autonaming": map[string]any{"proposedName": "n", "mode": "enforce"},
		},
		"update": {"id": "1", "olds": map[string]any{}, "news": map[string]any{}, "oldInputs": map[string]any{}, "ignoreChanges": []any{"a", "b"}, "timeout": 1.5, "preview": true},
		"list":   {"token": "a:b:C", "query": map[string]any{}, "limit": uint64(7)},
		"construct": {
			"inputs":            map[string]any{},
			"inputDependencies": []any{map[string]any{"key": "k", "urns": []any{"u"}}},
			"options": map[string]any{
				"protect": true, "customTimeouts": map[string]any{"create": 2.0},
				"aliases": []any{map[string]any{"case": "spec", "spec": map[string]any{"noParent": true}}},
			},
			"context": map[string]any{"dryRun": true, "parallel": uint32(2)},
		},
	} {
		m, err := Find(name)
		require.NoError(t, err)
		request, err := m.Read(document)
		require.NoError(t, err, name)
		require.Equal(t, document, Shown(request, false), name)
	}
}

// A request may hold a value that is no property map.
func TestRequestsMayHoldOneValue(t *testing.T) {
	m, err := Find("construct")
	require.NoError(t, err)
	request, err := m.Read(map[string]any{"options": map[string]any{"replacementTrigger": "now"}})
	require.NoError(t, err)
	require.Equal(t, property.String("now"), *Field[abi.ResourceOptions](request, "Options").ReplacementTrigger)
}

// A request tells which of its members is wrong.
func TestMistakesInRequestsAreNamed(t *testing.T) {
	for _, c := range []struct {
		method   string
		document map[string]any
		message  string
	}{
		{"chek", nil, "there is no method chek; did you mean check?"},
		{"check", map[string]any{"new": map[string]any{}}, "new: there is no such member; did you mean news?"},
		{"check", map[string]any{"news": 1}, "news: must be an object"},
		{"check", map[string]any{"randomSeed": "?"}, "randomSeed: must be bytes in base64"},
		{"check", map[string]any{"autonaming": map[string]any{"mode": 1}}, "autonaming.mode: must be one of propose, enforce, disable"},
		{"diff", map[string]any{"ignoreChanges": "a"}, "ignoreChanges: must be a list"},
		{"diff", map[string]any{"ignoreChanges": []any{1}}, "ignoreChanges[0]: must be text"},
		{"create", map[string]any{"timeout": "1"}, "timeout: must be a number"},
		{"create", map[string]any{"preview": 1}, "preview: must be true or false"},
		{"list", map[string]any{"limit": -1}, "limit: must be a natural number"},
		{"list", map[string]any{"limit": 1.5}, "limit: must be a natural number"},
		{"get-schema", map[string]any{"version": uint64(1) << 32}, "version: must be a natural number"},
		{"cancel", map[string]any{"now": true}, "the method cancel has no request"},
	} {
		m, err := Find(c.method)
		if err == nil {
			_, err = m.Read(c.document)
		}
		require.ErrorContains(t, err, c.message)
	}
}
