package wasi_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/internal/wasi"
)

// surrounding is one part of testdata/attempts.txt.
type surrounding struct {
	name     string
	root     string
	mounts   []wasi.Mount
	withheld []string
	stays    []string
	attempts []attempt
}

// attempt is a command for the guest, and its outcome.
type attempt struct{ command, outcome string }

func surroundings(t *testing.T) (all []*surrounding) {
	text, err := os.ReadFile("testdata/attempts.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, &surrounding{name: name, root: filepath.Join(t.TempDir(), "root")})
			continue
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			all[len(all)-1].add(t, line)
		}
	}
	return all
}

func (s *surrounding) add(t *testing.T, line string) {
	at := func(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }
	words := strings.Fields(line)
	switch args := words[1:]; words[0] {
	case "file":
		for _, name := range args {
			require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
			require.NoError(t, os.WriteFile(at(name), []byte(name), 0o600))
		}
	case "link":
		require.NoError(t, os.Symlink(strings.ReplaceAll(args[1], "/ROOT", s.root), at(args[0])))
	case "pipe":
		makePipe(t, at(args[0]))
	case "grant":
		s.mounts = append(s.mounts, wasi.Mount{GuestPath: args[0], HostPath: at(args[1]), ReadWrite: args[2] == "rw", Within: s.root})
	case "withhold":
		for _, name := range args {
			s.withheld = append(s.withheld, at(name))
		}
	case "stays":
		s.stays = args
	default:
		what, outcome, ok := strings.Cut(line, " => ")
		require.True(t, ok, line)
		list, outcomes := alternatives(what), alternatives(outcome)
		if len(outcomes) == 1 {
			outcomes = slices.Repeat(outcomes, len(list))
		}
		require.Len(t, outcomes, len(list), line)
		for i, what := range list {
			s.attempts = append(s.attempts, attempt{what, outcomes[i]})
		}
	}
}

// alternatives expands {a,b}.
func alternatives(text string) (all []string) {
	before, rest, ok := strings.Cut(text, "{")
	choices, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{text}
	}
	for choice := range strings.SplitSeq(choices, ",") {
		for _, end := range alternatives(after) {
			all = append(all, before+choice+end)
		}
	}
	return all
}

// argument is a command as the guest takes it.
func (a attempt) argument() string { return "raw " + strings.ReplaceAll(a.command, " ", "|") }

// contents are the files below a directory, with what is in them.
func contents(t *testing.T, dir string) map[string]string {
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var content []byte
			content, err = os.ReadFile(path)
			found[path] = string(content)
		}
		return err
	}))
	return found
}

// TestFileAttempts does what testdata/attempts.txt lists from inside of a guest.
func TestFileAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("tries hundreds of paths in modules")
	}
	if runtime.GOOS == "windows" {
		t.Skip("links and paths are written as on Unix")
	}
	number := 0
	for _, s := range surroundings(t) {
		number += len(s.attempts)
		t.Run(s.name, func(t *testing.T) {
			files, err := wasi.OpenFileSystem(s.mounts, s.withheld...)
			require.NoError(t, err)
			defer files.Close()
			before := contents(t, filepath.Join(s.root, "outside"))
			var commands, want []string
			for _, a := range s.attempts {
				commands = append(commands, a.argument())
				outcome := a.outcome
				if len(outcome) > 1 && outcome == strings.ToUpper(outcome) {
					outcome = "error " + outcome
				}
				want = append(want, outcome)
			}
			lines, err := run(t, t.Context(), wasi.Config{Files: files}, commands...)
			var exit *wasi.ExitError
			require.ErrorAs(t, err, &exit)
			require.Zero(t, exit.Code)
			require.Len(t, lines, len(want))
			for i, a := range s.attempts {
				require.Equal(t, a.command+" => "+want[i], a.command+" => "+lines[i])
			}
			require.Equal(t, before, contents(t, filepath.Join(s.root, "outside")))
			for _, name := range s.stays {
				content, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
				require.NoError(t, err)
				require.Equal(t, name, string(content))
			}
		})
	}
	const least = 295
	require.GreaterOrEqual(t, number, least)
}

// TestFilesThatAreReplacedMeanwhile has another program put links in the place of what a guest
// works on, and take them away, again and again. Nothing outside changes, is read, or appears.
func TestFilesThatAreReplacedMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and paths are written as on Unix")
	}
	times := 300
	if testing.Short() {
		times = 30
	}
	for _, c := range []struct{ name, link, commands string }{
		{"a directory by a link out", "../outside", "wr d/f,rd d/f,rd d/secret,mk d/new,ul d/secret,rm d/new,tm d/f,lst d/secret,ls d,open d/x wcx,sl d/l"},
		{"a directory by an absolute link", "/ROOT/outside", "wr d/f,rd d/secret,mk d/new,ul d/secret,tm d/secret,mv d/f d/g,ln d/secret d/h"},
		{"a file by a link out", "../outside/secret", "wr file,rd file,tm file,open file t,open file w,open file wc,ul file,ln file h"},
		{"a directory by one that is granted for reading", "sub", "wr d/f,mk d/new,ul d/f,rm d/dir,tm d/f,open d/f t,open d/x wcx,mv d/f d/g,mv file d/f,ln file d/h,sl d/l"},
		{"a file by one that is granted for reading", "sub/f", "wr file,tm file,open file t,open file w,ul file"},
		{"a directory by what is withheld", "own", "wr d/f,rd d/f,mk d/new,ul d/f,tm d/f,open d/x wcx,ls d"},
		{"a file by what is withheld", "own/f", "wr file,rd file,tm file,open file t,ul file"},
		{"what is above a grant for reading", "other", "wr d/../sub/f,ul d/../sub/f,mk d/../sub/new,mv d/../sub/f d/x,open d/../sub/x wcx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &surrounding{root: filepath.Join(t.TempDir(), "root")}
			s.add(t, "file outside/secret outside/f work/d/f work/file work/sub/f work/sub/dir/g work/own/f work/other/f")
			s.add(t, "link work/link "+c.link)
			s.add(t, "grant /work work rw")
			s.add(t, "grant /work/sub work/sub ro")
			s.add(t, "withhold work/own")
			files, err := wasi.OpenFileSystem(s.mounts, s.withheld...)
			require.NoError(t, err)
			defer files.Close()
			same := []string{"outside", "work/sub", "work/own"}
			before := make([]map[string]string, len(same))
			for i, name := range same {
				before[i] = contents(t, filepath.Join(s.root, name))
			}

			replaced := filepath.Join(s.root, "work", "d")
			if strings.Contains(c.commands, "file,") {
				replaced = filepath.Join(s.root, "work", "file")
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				link, kept := filepath.Join(s.root, "work", "link"), filepath.Join(s.root, "kept")
				for {
					select {
					case <-stop:
						return
					default: // what the guest has removed is not there to be moved
						_ = os.Rename(replaced, kept)
						_ = os.Rename(link, replaced)
						_ = os.Rename(replaced, link)
						_ = os.Rename(kept, replaced)
					}
				}
			}()
			var commands []string
			for command := range strings.SplitSeq(c.commands, ",") {
				words := strings.Fields(command)
				switch words[0] {
				case "mv", "ln":
					words = []string{words[0], "/work", words[1], "/work", words[2]}
				case "sl":
					words = []string{words[0], "file", "/work", words[1]}
				default:
					words = append([]string{words[0], "/work"}, words[1:]...)
				}
				commands = append(commands, fmt.Sprintf("raw try|%d|%s", times, strings.Join(words, "|")))
			}
			lines, err := run(t, t.Context(), wasi.Config{Files: files}, commands...)
			close(stop)
			<-stopped
			var exit *wasi.ExitError
			require.ErrorAs(t, err, &exit)
			require.Len(t, lines, len(commands))
			for i, line := range lines {
				require.NotContains(t, line, "outside", commands[i])
				require.NotContains(t, line, "own", commands[i])
				require.NotContains(t, line, "secret", commands[i])
			}
			for i, name := range same {
				require.Equal(t, before[i], contents(t, filepath.Join(s.root, name)), name)
			}
		})
	}
}

// A path that a project names must be the directory itself, where a provider could put a link.
func TestNoLinkIsFollowedToAGrant(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and paths are written as on Unix")
	}
	s := &surrounding{root: filepath.Join(t.TempDir(), "root")}
	s.add(t, "file outside/dir/f work/in/f")
	for link, target := range map[string]string{"work/out": "../outside", "work/abs": "/ROOT/outside", "work/here": "in"} {
		s.add(t, "link "+link+" "+target)
	}
	for _, name := range []string{"work/out", "work/out/dir", "work/out/new", "work/abs", "work/here", "work/here/new"} {
		for _, readWrite := range []bool{false, true} {
			path := filepath.Join(s.root, name)
			_, err := wasi.OpenFileSystem([]wasi.Mount{{HostPath: path, GuestPath: "/a", ReadWrite: readWrite, Within: s.root}})
			require.ErrorContains(t, err, "is a symbolic link, which something else could have put there", name)
		}
	}
	mount(t, wasi.Mount{HostPath: filepath.Join(s.root, "work/out"), GuestPath: "/a"}) // whoever grants it so, means it
	_, err := wasi.OpenFileSystem([]wasi.Mount{{HostPath: s.root, GuestPath: "/a", Within: filepath.Join(s.root, "work")}})
	require.ErrorContains(t, err, "it is not in ")

	// One that is put there later is not followed either.
	later := filepath.Join(s.root, "work", "later")
	files := mount(t, wasi.Mount{HostPath: filepath.Join(later, "x"), GuestPath: "/a", ReadWrite: true, Within: s.root},
		wasi.Mount{HostPath: filepath.Join(s.root, "work", "bare"), GuestPath: "/b", ReadWrite: true})
	require.NoError(t, os.Symlink("../outside", later))
	require.NoError(t, os.Symlink("../outside", filepath.Join(s.root, "work", "bare")))
	lines, err := run(t, t.Context(), wasi.Config{Files: files},
		"raw mk|/a|.", "raw wr|/a|f", "raw rd|/a|dir/f", "raw ls|/a|.", "raw mk|/b|.", "raw wr|/b|f", "raw rd|/b|dir/f", "raw rm|/b|.")
	var exit *wasi.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, slices.Repeat([]string{"error ENOTDIR"}, 8), lines)
	require.Len(t, contents(t, filepath.Join(s.root, "outside")), 1)
}
