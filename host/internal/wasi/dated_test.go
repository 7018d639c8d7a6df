package wasi_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// readings counts how often a clock is read.
type readings struct {
	wasi.Clock
	count int
}

func (r *readings) Now() time.Time         { r.count++; return r.Clock.Now() }
func (r *readings) Elapsed() time.Duration { r.count++; return r.Clock.Elapsed() }

// A guest that has changed files and looks at the times of any learns what time it is.
func TestTheTimesOfFilesThatWereChangedTellTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		commands []string
		times    int
	}{
		"nothing":              {[]string{"stat|file"}, 0},
		"a file that is read":  {[]string{"read|file", "readdir|.", "readlink|link", "lstat|file"}, 0},
		"what fails":           {[]string{"mkdir|file", "stat|file"}, 1},
		"output":               {[]string{"stderr|x|1", "stat|file"}, 0},
		"looked at before":     {[]string{"stat|file", "write|file|x"}, 0},
		"looked at twice":      {[]string{"write|file|x", "stat|file", "lstat|link"}, 2},
		"a file that is new":   {[]string{"create|new", "stat|new"}, 1},
		"a file that is empty": {[]string{"write|file|", "stat|file"}, 1},
		"appended":             {[]string{"append|file|x", "stat|file"}, 1},
		"written at":           {[]string{"writeat|file|3|x", "stat|file"}, 1},
		"cut off":              {[]string{"truncate|file|1", "stat|file"}, 1},
		"a directory":          {[]string{"mkdir|dir", "stat|dir"}, 1},
		"renamed":              {[]string{"rename|file|other", "stat|other"}, 1},
		"removed":              {[]string{"remove|file", "stat|."}, 1},
		"a directory removed":  {[]string{"remove|sub", "stat|."}, 1},
		"a link":               {[]string{"link|file|hard", "stat|hard"}, 1},
		"a symbolic link":      {[]string{"symlink|file|soft", "lstat|soft"}, 1},
		"given a time":         {[]string{"chtimes|file|1", "stat|file"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
			require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
			told := 0
			config := wasi.Config{
				Files:     mount(t, wasi.Mount{HostPath: dir, GuestPath: grant.WorkingDirectory, ReadWrite: true}),
				ClockRead: func() { told++ },
			}
			clock := &readings{Clock: wasi.SystemClock()}
			config.Clock = clock
			_, err := run(t, t.Context(), config, c.commands...)
			var exit *wasi.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, c.times, told-clock.count)
		})
	}
}
