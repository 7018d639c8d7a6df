package confine

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_AARCH64
	// otherABI is 0: no second ABI has the same number of the architecture.
	otherABI = 0
)

// refusedHere are the calls that only this architecture has.
var refusedHere = []uintptr{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_NFSSERVCTL}
