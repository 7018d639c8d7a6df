package versionrange_test

import (
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/versionrange"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct{ text, in, out string }{
		{"", "0.1.0 1.0.0 2.3.4", "1.0.0-rc.1"},
		{"*", "0.1.0", "0.1.0-rc.1"},
		{"1.2.3", "1.2.3", "1.2.2 1.2.4"},
		{"v1.2.3", "1.2.3", "1.2.4"},
		{"=1.2.3", "1.2.3", "1.2.4"},
		{"1.2", "1.2.0 1.2.9", "1.1.9 1.3.0"},
		{"1", "1.0.0 1.9.9", "0.9.0 2.0.0"},
		{"1.x", "1.0.0 1.9.9", "2.0.0"},
		{"1.2.*", "1.2.0 1.2.9", "1.3.0"},
		{">=1.2 <2", "1.2.0 1.9.9", "1.1.9 2.0.0 2.0.0-rc.1"},
		{">= 1.2, < 2", "1.2.0 1.9.9", "1.1.9 2.0.0"},
		{">1.2", "1.3.0", "1.2.0 1.2.9"},
		{"<=1.2", "1.0.0 1.2.9", "1.3.0"},
		{">1.2.3", "1.2.4", "1.2.3"},
		{">=1 !=1.5.0", "1.4.0 1.5.1", "1.5.0"},
		{">=1 !=1.5", "1.4.0 1.6.0", "1.5.0 1.5.9"},
		{"^1.2", "1.2.0 1.9.0", "1.1.0 2.0.0"},
		{"^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0"},
		{"^0.0.3", "0.0.3", "0.0.2 0.0.4"},
		{"^0.0", "0.0.0 0.0.9", "0.1.0"},
		{"^0", "0.0.1 0.9.0", "1.0.0"},
		{"~1.2", "1.2.0 1.2.9", "1.3.0"},
		{"~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"},
		{"~1", "1.0.0 1.9.0", "2.0.0"},
		{"<1 || >=2", "0.9.0 2.0.0", "1.5.0"},
		{">=2.0.0-rc.1", "2.0.0-rc.1 2.0.0-rc.2 2.0.0", "2.0.0-beta.1 1.9.0"},
	} {
		r, err := versionrange.Parse(c.text)
		require.NoError(t, err, c.text)
		for _, v := range strings.Fields(c.in) {
			require.True(t, r.Contains(semver.MustParse(v)), "%s is in %s", v, c.text)
		}
		for _, v := range strings.Fields(c.out) {
			require.False(t, r.Contains(semver.MustParse(v)), "%s is not in %s", v, c.text)
		}
	}
}

func TestWrongRanges(t *testing.T) {
	for _, text := range []string{"latest", ">=", ">=1 ||", "1.2.3.4", "<>1", "1.2-rc", ">>1", "1..2", strings.Repeat("1 ", 600)} {
		_, err := versionrange.Parse(text)
		require.ErrorContains(t, err, "range of versions", text)
	}
}

func TestNewest(t *testing.T) {
	var versions []semver.Version
	for _, v := range []string{"1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1", "2.0.0"} {
		versions = append(versions, semver.MustParse(v))
	}
	for text, want := range map[string]string{"": "2.0.0", "^1": "1.10.0", "<2": "1.10.0", ">=2.0.0-a <2.0.0": "2.0.0-rc.1", ">2": ""} {
		r, err := versionrange.Parse(text)
		require.NoError(t, err)
		newest, ok := r.Newest(versions)
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, newest.String(), text)
		}
	}
}

func TestExact(t *testing.T) {
	for text, exact := range map[string]bool{"1.2.3": true, "= v1.2.3": true, "1.2": false, ">=1.2.3": false, "": false, "1.2.3 1.2.3": false} {
		r, err := versionrange.Parse(text)
		require.NoError(t, err)
		_, is := r.Exact()
		require.Equal(t, exact, is, text)
	}
}

// Any text is a range or an error, and the text of a range reads as the same range.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "*", ">=1.2 <2", "^0.0.3 || ~1, !=1.2.x", "=v1.2.3-rc.1+build", "<", "||"} {
		f.Add(text, "1.2.3")
	}
	f.Fuzz(func(t *testing.T, text, version string) {
		r, err := versionrange.Parse(text)
		if err != nil {
			return
		}
		v, err := semver.Parse(version)
		if err != nil {
			return
		}
		again, err := versionrange.Parse(r.String())
		require.NoError(t, err)
		require.Equal(t, r.Contains(v), again.Contains(v))
		if exact, ok := r.Exact(); ok {
			require.True(t, r.Contains(exact))
		}
	})
}
