package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Parts of values are set where they belong, and what is made on the way is of the kind
// that the path asks for.
func TestConfigPaths(t *testing.T) {
	p := project(t, "name: shop")
	c, err := p.parseStackConfig("/work/Husk.dev.yaml", []byte("config:\n  aws:tags: {a: b} # mine\n  json: '[1, 2]'\n  sealed: {secure: abc}\n"))
	require.NoError(t, err)
	for _, set := range []struct{ path, text string }{
		{"aws:tags.owner", "me"}, {"aws:tags.a", "c"}, {"servers[0].port", "80"}, {"servers[0].open", "true"},
		{"servers[1].port", "007"}, {"plain", "12"}, {`aws:quoted["a.b"]`, "x"},
	} {
		key, rest, err := p.ConfigPath(set.path)
		require.NoError(t, err)
		require.NoError(t, c.SetAt(key, rest, set.text, false))
		got, found, err := c.TextAt(key, rest, nil)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, set.text, got, set.path)
	}
	for key, want := range map[string]string{
		"aws:tags":     `{"a":"c","owner":"me"}`,
		"shop:servers": `[{"open":true,"port":80},{"port":"007"}]`,
		"shop:plain":   "12",
		"aws:quoted":   `{"a.b":"x"}`,
	} {
		text, _, err := c.Text(key, nil)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	for path, want := range map[string]string{
		"aws:tags[0]": "aws:tags[0] cannot be set: aws:tags is a mapping, which has no element [0]: remove it first, with husk config rm aws:tags",
		"servers.x":   "shop:servers is a list, which has no key x", "plain.x.y": "shop:plain is text, which has no key x",
		"servers[1].port.x": "shop:servers[1].port is text, which has no key x: remove it first, with husk config rm shop:servers",
		"servers[9]":        "the list has 2 elements, so that the next is [2]",
		"json[0]": "shop:json is JSON in a text, which has no element [0]: " +
			"set all of it, with husk config set shop:json JSON, or remove it first, with husk config rm shop:json, and set part by part",
		"sealed.x": "shop:sealed is encrypted as a whole, which has no key x",
	} {
		key, rest, err := p.ConfigPath(path)
		require.NoError(t, err)
		require.ErrorContains(t, c.SetAt(key, rest, "x", false), want, path)
	}
	for _, path := range []string{"", "[0]", "a.*", "a..b", "a[*]"} {
		_, _, err := p.ConfigPath(path)
		require.Error(t, err, path)
	}
}
