// The guest does what its arguments say, one command after another, and prints the
// outcome of each on a line: its answer, or `error` and the innermost error.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var open []*os.File

var commands = map[string]func(arg []string) (string, error){
	"read": func(a []string) (string, error) {
		content, err := os.ReadFile(a[0])
		return string(content), err
	},
	"write":    func(a []string) (string, error) { return "", os.WriteFile(a[0], []byte(a[1]), 0o644) },
	"append":   func(a []string) (string, error) { return "", edit(a[0], os.O_APPEND|os.O_WRONLY, a[1], -1) },
	"writeat":  func(a []string) (string, error) { return "", edit(a[0], os.O_RDWR, a[2], number(a[1])) },
	"create":   func(a []string) (string, error) { return "", edit(a[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, "", -1) },
	"truncate": func(a []string) (string, error) { return "", os.Truncate(a[0], number(a[1])) },
	"readat":   readAt,
	"seek":     seek,
	"mkdir":    func(a []string) (string, error) { return "", os.Mkdir(a[0], 0o755) },
	"mkdirall": func(a []string) (string, error) { return "", os.MkdirAll(a[0], 0o755) },
	"readdir":  readDir,
	"count": func(a []string) (string, error) {
		dir, err := os.Open(a[0])
		if err != nil {
			return "", err
		}
		defer dir.Close()
		names, err := dir.Readdirnames(-1)
		if err != nil {
			return "", err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		again, err := dir.Readdirnames(-1)
		return fmt.Sprint(len(names), " ", len(again)), err
	},
	"rename":    func(a []string) (string, error) { return "", os.Rename(a[0], a[1]) },
	"remove":    func(a []string) (string, error) { return "", os.Remove(a[0]) },
	"removeall": func(a []string) (string, error) { return "", os.RemoveAll(a[0]) },
	"symlink":   func(a []string) (string, error) { return "", os.Symlink(a[0], a[1]) },
	"readlink":  func(a []string) (string, error) { return os.Readlink(a[0]) },
	"link":      func(a []string) (string, error) { return "", os.Link(a[0], a[1]) },
	"stat":      func(a []string) (string, error) { return describe(os.Stat(a[0])) },
	"lstat":     func(a []string) (string, error) { return describe(os.Lstat(a[0])) },
	"samefile": func(a []string) (string, error) {
		x, err := os.Stat(a[0])
		if err != nil {
			return "", err
		}
		y, err := os.Stat(a[1])
		return strconv.FormatBool(err == nil && os.SameFile(x, y)), err
	},
	"chtimes": func(a []string) (string, error) {
		return "", os.Chtimes(a[0], time.Time{}, time.Unix(number(a[1]), 0))
	},
	"chdir": func(a []string) (string, error) { return "", os.Chdir(a[0]) },
	"getwd": func([]string) (string, error) { return os.Getwd() },
	"walk": func(a []string) (string, error) {
		var seen []string
		err := filepath.WalkDir(a[0], func(path string, _ fs.DirEntry, err error) error {
			seen = append(seen, path)
			return err
		})
		return strings.Join(seen, " "), err
	},
	"rootread": func(a []string) (string, error) {
		root, err := os.OpenRoot(a[0])
		if err != nil {
			return "", err
		}
		defer root.Close()
		content, err := root.ReadFile(a[1])
		return string(content), err
	},
	"rootrename": func(a []string) (string, error) {
		root, err := os.OpenRoot(a[0])
		if err != nil {
			return "", err
		}
		defer root.Close()
		return "", root.Rename(a[1], a[2])
	},
	"exhaust": func(a []string) (string, error) {
		for {
			f, err := os.Open(a[0])
			if err != nil {
				defer func() {
					for _, f := range open {
						f.Close()
					}
				}()
				return "", err
			}
			open = append(open, f)
		}
	},
	"sync": func(a []string) (string, error) {
		f, err := os.Open(a[0])
		if err != nil {
			return "", err
		}
		defer f.Close()
		return "", f.Sync()
	},
	"env":  func(a []string) (string, error) { return os.Getenv(a[0]), nil },
	"now":  func([]string) (string, error) { return time.Now().UTC().Format(time.RFC3339Nano), nil },
	"rand": random,
	"sleep": func(a []string) (string, error) {
		d, err := time.ParseDuration(a[0])
		start := time.Now()
		time.Sleep(d)
		return time.Since(start).String(), err
	},
	"stderr": func(a []string) (string, error) {
		_, err := os.Stderr.WriteString(strings.Repeat(a[0], int(number(a[1]))))
		return "", err
	},
	"stdin": func([]string) (string, error) {
		all, err := io.ReadAll(os.Stdin)
		return strconv.Itoa(len(all)), err
	},
	"panic": func(a []string) (string, error) { panic(a[0]) },
	"exit":  func(a []string) (string, error) { os.Exit(int(uint32(number(a[0])))); return "", nil },
}

func main() {
	for args := os.Args[1:]; len(args) > 0; {
		line := strings.Split(args[0], "|")
		if strings.HasPrefix(args[0], "raw ") { // which has escapes for what arguments cannot hold
			for i, part := range line {
				line[i], _ = strconv.Unquote(`"` + part + `"`)
			}
		}
		args = args[1:]
		answer, err := commands[line[0]](line[1:])
		if err != nil {
			for errors.Unwrap(err) != nil {
				err = errors.Unwrap(err)
			}
			answer = "error " + err.Error()
		} else if answer == "" {
			answer = "ok"
		}
		fmt.Println(answer)
	}
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func edit(path string, flags int, content string, at int64) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if at >= 0 {
		_, err = f.WriteAt([]byte(content), at)
	} else {
		_, err = f.WriteString(content)
	}
	return err
}

func readAt(a []string) (string, error) {
	f, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer f.Close()
	p := make([]byte, number(a[2]))
	n, err := f.ReadAt(p, number(a[1]))
	if err == io.EOF {
		err = nil
	}
	return string(p[:n]), err
}

func seek(a []string) (string, error) {
	f, err := os.Open(a[0])
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Seek(number(a[1]), io.SeekEnd); err != nil {
		return "", err
	}
	rest, err := io.ReadAll(f)
	return string(rest), err
}

func readDir(a []string) (string, error) {
	entries, err := os.ReadDir(a[0])
	var names []string
	for _, e := range entries {
		names = append(names, fs.FormatDirEntry(e))
	}
	return strings.Join(names, ", "), err
}

func describe(info fs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s %d %d", info.Name(), info.Mode().Type(), info.Size(), info.ModTime().Unix()), nil
}

func random(a []string) (string, error) {
	p := make([]byte, number(a[0]))
	if _, err := rand.Read(p); err != nil {
		return "", err
	}
	if bytes.Count(p, []byte{0}) == len(p) {
		return "", errors.New("all zero")
	}
	return hex.EncodeToString(p[:min(len(p), 8)]), nil
}
