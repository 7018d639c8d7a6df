package walktest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// A lock that a killed command gets after husk cancel is cancelled when it shows, once. Any other lock is a finding.
func TestLockOfAKilledCommand(t *testing.T) {
	for _, c := range []struct {
		killed  int
		cancels string
		runs    string
		code    int
	}{
		{42, "touch cancelled", "up\ncancel\nup\n", 0},
		{42, "", "up\ncancel\nup\n", 3},
		{41, "touch cancelled", "up\n", 3},
	} {
		dir := t.TempDir()
		husk := filepath.Join(dir, "husk")
		locked := &state.LockedError{Holder: state.Holder{PID: 42, Command: "husk up", User: "me", Host: "here"}}
		script := fmt.Sprintf("#!/bin/sh\necho $1 >>runs\n[ $1 = cancel ] && { %s\nexit 0; }\n[ -e cancelled ] && exit 0\necho '%v' >&2\nexit 3\n", c.cancels, locked)
		require.NoError(t, os.WriteFile(husk, []byte(script), 0o700))
		w := &walker{t: t, dir: dir, husk: husk, cloud: newCloud(t), killed: map[int]bool{c.killed: true}, counts: map[string]int{}}
		require.Equal(t, c.code, w.run(act{}, "up").code)
		runs, err := os.ReadFile(filepath.Join(dir, "runs"))
		require.NoError(t, err)
		require.Equal(t, c.runs, string(runs))
	}
}
