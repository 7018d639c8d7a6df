package wasi

import "io"

const (
	// maxRandom bounds one random_get. Guests take keys and seeds, or fill a buffer.
	maxRandom = 16 << 20
	// randomChunk is how much is read before the context is looked at again.
	randomChunk = 64 << 10
)

func processFunctions() []function {
	return []function{
		{"args_get", "ii", func(c *call) Errno { return c.putStrings(c.sys.config.Args) }},
		{"args_sizes_get", "ii", func(c *call) Errno { return c.putSizes(c.sys.config.Args) }},
		{"environ_get", "ii", func(c *call) Errno { return c.putStrings(c.sys.config.Env) }},
		{"environ_sizes_get", "ii", func(c *call) Errno { return c.putSizes(c.sys.config.Env) }},
		{"proc_exit", "i", func(c *call) Errno { panic(&ExitError{Code: c.u32(0)}) }},
		{"proc_raise", "i", func(*call) Errno { return errNosys }},
		{"sched_yield", "", func(*call) Errno { return success }},
		{"random_get", "ii", randomGet},
	}
}

func socketFunctions() []function {
	refuse := func(*call) Errno { return errNosys }
	return []function{
		{"sock_accept", "iii", refuse},
		{"sock_recv", "iiiiii", refuse},
		{"sock_send", "iiiii", refuse},
		{"sock_shutdown", "ii", sockShutdown},
	}
}

func (c *call) putSizes(list []string) Errno {
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	if errno := c.mem.putU32(c.u32(0), uint32(len(list))); errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(1), uint32(size))
}

// putStrings writes NUL-terminated strings and an array of pointers to them.
func (c *call) putStrings(list []string) Errno {
	pointer, at := c.u32(0), c.u32(1)
	for _, s := range list {
		buffer, errno := c.mem.bytes(at, uint32(len(s)+1))
		if errno != success {
			return errno
		}
		buffer[copy(buffer, s)] = 0
		if errno := c.mem.putU32(pointer, at); errno != success {
			return errno
		}
		pointer += 4
		at += uint32(len(s) + 1)
	}
	return success
}

func randomGet(c *call) Errno {
	if c.u32(1) > maxRandom {
		return errInval
	}
	buffer, errno := c.mem.bytes(c.u32(0), c.u32(1))
	if errno != success {
		return errno
	}
	if taken := c.sys.config.RandomTaken; taken != nil {
		taken(uint64(len(buffer)))
	}
	for len(buffer) > 0 {
		c.mustGoOn()
		chunk := buffer[:min(len(buffer), randomChunk)]
		if _, err := io.ReadFull(c.sys.config.Random, chunk); err != nil {
			return errIO
		}
		buffer = buffer[len(chunk):]
	}
	return success
}
