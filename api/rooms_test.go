package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms are the folders at the top and those of internal/, from the ground floor up: each imports only rooms above it in this
// list. The engine, the host, and the contract stand on internal/base, and the host on internal/wasm, too.
var rooms = []string{
	"internal/base", "internal/wasm", "abi", "internal/property", "conformance", "host", "internal/build", "guest-sdk", "engine", "loader",
	"internal/registry", "internal/backend", "internal/plugins", "internal/workspace", "internal/run", "internal/display",
	"internal/testkit", "internal/port", "internal/pulumi", "internal/lsp", "internal/console", "internal/worker",
	"backend", "automation", "examples", "release", "bench", "cmd", "api",
}

// maxRooms is the number of folders of internal/ that a reader can still keep in mind.
const maxRooms = 16

// roomOf returns the room of a package of Husk, by its path below the module's.
func roomOf(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	if first != "internal" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return first + "/" + second
}

// ofTests reports whether only tests use the package.
func ofTests(path string) bool {
	return roomOf(path) == "internal/testkit" || strings.HasSuffix(path, "test") || strings.HasPrefix(path, "engine/internal/e2e")
}

func TestImportsRunOneWay(t *testing.T) {
	var found []string
	for _, p := range packagesOf(t, "...") {
		path := strings.TrimPrefix(p.ImportPath, module)
		room := roomOf(path)
		require.Contains(t, rooms, room, "%s is in a new room: give it a place in the list of rooms", path)
		if strings.HasPrefix(room, "internal/") && !slices.Contains(found, room) {
			found = append(found, room)
		}
		for _, imported := range p.Imports {
			imported, ours := strings.CutPrefix(imported, module)
			to := roomOf(imported)
			if !ours || to == room {
				continue
			}
			require.False(t, ofTests(imported) && !ofTests(path), "%s, which is no test, imports %s", path, imported)
			if ofTests(path) {
				continue
			}
			require.Less(t, slices.Index(rooms, to), slices.Index(rooms, room), "%s imports %s", path, imported)
			if slices.Contains([]string{"abi", "host", "engine"}, room) && strings.HasPrefix(to, "internal/") {
				require.True(t, to == "internal/base" || room == "host" && to == "internal/wasm", "%s imports %s", path, imported)
			}
		}
	}
	require.Greater(t, len(found), 10)
	require.LessOrEqual(t, len(found), maxRooms)
}
