package named_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/named"
)

func TestVariablesAreForTheOperatorsAddresses(t *testing.T) {
	t.Setenv("HUSK_TEST_TOKEN", "secret")
	t.Setenv("HUSK_TEST_EMPTY", "")
	operators := named.ByOperator("https://husk.example", "husk login")
	require.Equal(t, "secret", operators.Getenv("HUSK_TEST_TOKEN"))
	require.Empty(t, operators.Withheld())

	projects := named.ByProject("https://husk.example", "backend.url in Husk.yaml")
	for range 2 {
		require.Empty(t, projects.Getenv("HUSK_TEST_TOKEN"))
		require.Empty(t, projects.Getenv("HUSK_TEST_EMPTY"))
	}
	require.Equal(t, []string{"HUSK_TEST_TOKEN"}, projects.Withheld())
	require.False(t, projects.IsOperators())

	var none named.URL
	require.Empty(t, none.Getenv("HUSK_TEST_TOKEN"), "an address that nobody has named")
}

func TestSamePlace(t *testing.T) {
	place := named.ByProject("https://husk.example/team", "")
	for text, same := range map[string]bool{
		"https://:token@husk.example/team": true, "HTTPS://HUSK.example/team/": true, "https://husk.example/team": true,
		"https://husk.example/other": false, "https://husk.example:8443/team": false, "http://husk.example/team": false, "https://husk.example.evil/team": false,
		"https://husk.example/team?x=y": false, "": false, "file:///team": false,
	} {
		require.Equal(t, same, place.IsSamePlace(named.ByOperator(text, "")), text)
	}
	require.False(t, named.ByProject("", "").IsSamePlace(named.ByOperator("", "")))
}
