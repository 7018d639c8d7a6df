package wasi

import (
	"path"
	"strings"
)

// Use is a use of files by their paths.
type Use struct {
	// What names the use, for people.
	What string
	// Paths are its paths, as the guest sees them, and Write is set if it changes something there.
	Paths []string
	Write bool
	// Looks is set for a use that only looks for something, such as a stat, and Directory for one that makes or
	// removes a directory.
	Looks, Directory bool
	Denied           bool
}

// audited reports the uses of the functions that take paths, if the configuration asks for it.
func audited(functions []function) []function {
	paths := map[string]struct {
		verb      string
		at, other [3]int // the parameters fd, pointer, and length
		looks     bool
	}{
		"path_open":               {"", [3]int{0, 2, 3}, [3]int{}, false},
		"path_create_directory":   {"make", [3]int{0, 1, 2}, [3]int{}, false},
		"path_remove_directory":   {"remove", [3]int{0, 1, 2}, [3]int{}, false},
		"path_unlink_file":        {"remove", [3]int{0, 1, 2}, [3]int{}, false},
		"path_filestat_get":       {"read", [3]int{0, 2, 3}, [3]int{}, true},
		"path_filestat_set_times": {"write", [3]int{0, 2, 3}, [3]int{}, false},
		"path_readlink":           {"read", [3]int{0, 1, 2}, [3]int{}, true},
		"path_symlink":            {"link", [3]int{2, 3, 4}, [3]int{}, false},
		"path_rename":             {"rename", [3]int{0, 1, 2}, [3]int{3, 4, 5}, false},
		"path_link":               {"link", [3]int{0, 2, 3}, [3]int{4, 5, 6}, false},
	}
	for i, f := range functions {
		use := paths[f.name]
		functions[i].call = func(c *call) Errno {
			used := c.sys.config.Used
			if used == nil {
				return f.call(c)
			}
			verb := use.verb
			if verb == "" {
				if verb = "read"; c.u64(5)&rightWrite != 0 || c.u32(4)&(openCreate|openTruncate) != 0 {
					verb = "write"
				}
			}
			target, known := c.guestPath(use.at)
			c.path = target
			reported := Use{
				What: verb + " " + Written(target), Paths: []string{target}, Write: verb != "read",
				Looks: use.looks, Directory: strings.HasSuffix(f.name, "_directory"),
			}
			if use.other != [3]int{} {
				other, there := c.guestPath(use.other)
				reported.What, reported.Paths, known = reported.What+" to "+Written(other), append(reported.Paths, other), known && there
			}
			errno := f.call(c)
			if reported.Denied = errno == errNotcapable || errno == errRofs; known {
				used(reported)
			}
			return errno
		}
	}
	return functions
}

// guestPath is the absolute path, as the guest sees it, of the parameters fd, pointer, and
// length. It is not known where these are none.
func (c *call) guestPath(at [3]int) (text string, known bool) {
	h, errno := c.directory(c.u32(at[0]))
	if errno != success {
		return "", false
	}
	name, errno := c.mem.path(c.u32(at[1]), c.u32(at[2]))
	if errno != success {
		return "", false
	}
	base := h.directory.guestPath
	if base == "" {
		base = h.directory.node.path()
	}
	return path.Join(base, name), true
}

// path is the directory's path as guests see it.
func (n *node) path() string {
	if n == nil || n.parent == nil {
		return "/"
	}
	return path.Join(n.parent.path(), n.name)
}
