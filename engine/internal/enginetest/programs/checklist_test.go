package programs_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/doctest"
)

// checklist is the document of the engine's tests.
const checklist = "engine/internal/enginetest/engine-tests.md"

// The document has one row for each item of the checklist, each with tests that exist.
func TestChecklist(t *testing.T) {
	text := doctest.Require(t, "../../../..", checklist)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(text, -1)
	require.Len(t, rows, 77)
	for i, row := range rows {
		require.Equal(t, strconv.Itoa(i+1), row[1])
		shown := strings.Contains(row[3], "_test.go:") || strings.Contains(row[3], ".txtar`")
		require.True(t, shown, "item %s: nothing shows it", row[1])
	}
}

// The document has a row for each situation that users reported, with tests that exist.
func TestSituations(t *testing.T) {
	text := doctest.Require(t, "../../../..", checklist)
	_, text, found := strings.Cut(text, "\n## Situations that users reported\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (.+) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(text, -1)
	require.Len(t, rows, 1+1+41, "with the head of the table")
	for _, row := range rows[2:] {
		require.Regexp(t, "^`.+(_test\\.go:Test\\w+|\\.txtar)`$", row[3], row[1])
	}
}
