package wasi

// dated marks as reads of the clock what tells a guest the times of files, once it has changed
// any: what it changed has the time at which it did. The times of other files are older than
// the guest, but for the times of access, which are not looked at here.
func dated(functions []function) []function {
	for i, f := range functions {
		switch f.name {
		case "fd_filestat_get", "path_filestat_get":
			functions[i].call = func(c *call) Errno {
				if c.sys.changed {
					c.tellsTime()
				}
				return f.call(c)
			}
		case "fd_write", "fd_pwrite", "fd_filestat_set_size", "fd_filestat_set_times":
			functions[i].call = func(c *call) Errno {
				h := c.sys.handles.get(c.u32(0))
				c.sys.changed = c.sys.changed || h != nil && h.file != nil
				return f.call(c)
			}
		case "path_create_directory", "path_filestat_set_times", "path_link", "path_remove_directory", "path_rename",
			"path_symlink", "path_unlink_file":
			functions[i].call = func(c *call) Errno {
				c.sys.changed = true
				return f.call(c)
			}
		case "path_open":
			functions[i].call = func(c *call) Errno {
				c.sys.changed = c.sys.changed || c.u32(4)&(openCreate|openTruncate) != 0
				return f.call(c)
			}
		}
	}
	return functions
}
