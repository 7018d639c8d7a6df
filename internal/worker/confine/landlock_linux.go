//go:build amd64 || arm64

package confine

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// leastLandlock is the version that can keep files outside from being cut: Linux 6.2.
	leastLandlock = 3
	// scopesLandlock is the version that can keep a process from signals and abstract sockets of others: Linux 6.12.
	scopesLandlock = 6

	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = readRights | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER // to rename from one directory into another
	// fileRights are the rights that a file can have that is not a directory.
	fileRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	// handledRights are all that are refused where no rule gives them.
	handledRights = writeRights | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// deviceRights are handled where Landlock knows them.
	deviceRights, deviceLandlock = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 5
)

// Check returns a [*MissingError] if this machine cannot confine processes.
func Check() error {
	var missing []string
	if version, err := landlockVersion(); err != nil {
		missing = append(missing, "Landlock, which Linux has if it is one of its security modules (lsm=landlock,…)")
	} else if version < leastLandlock {
		missing = append(missing, fmt.Sprintf("Landlock of version %d, which Linux has from 6.2 on", leastLandlock))
	}
	if _, err := os.Lstat(self); err != nil {
		missing = append(missing, "file system /proc")
	}
	if !canFilter() {
		missing = append(missing, "filter of system calls (seccomp)")
	}
	if missing != nil {
		return &MissingError{missing}
	}
	return nil
}

func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(version), nil
}

// Enter confines this process, and begins its program anew, with the same arguments and this environment. It returns only if
// that fails; the process is not to go on then. Its threads must not have begun anything.
func Enter(rules Rules, environment []string) error {
	if err := Check(); err != nil {
		return err
	}
	own, err := program()
	if err != nil {
		return fmt.Errorf("the files of this program: %w", err)
	}
	runtime.LockOSThread() // for good: the thread is bound from here on
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := restrict(rules, own); err != nil {
		return fmt.Errorf("confining to files: %w", err)
	}
	// Files that were open before the worker began would be open here. Nor is memory to become a file.
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("closing files: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("giving up core dumps: %w", err)
	}
	// The capabilities of root go beyond files: with them it could look into other processes where Landlock does not reach.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	return fmt.Errorf("beginning anew: %w", unix.Exec(self, os.Args, environment))
}

// self is the file of this program, also if another one has taken its name meanwhile.
const self = "/proc/self/exe"

// program returns the files that this program consists of: its own file, and the files of libraries with the loader that maps
// them.
func program() ([]string, error) {
	files := []string{self}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); ; {
		if !lines.Scan() {
			return files, lines.Err()
		}
		if at := strings.IndexByte(lines.Text(), '/'); at >= 0 && !slices.Contains(files, lines.Text()[at:]) {
			files = append(files, lines.Text()[at:])
		}
	}
}

// restrict binds this thread to the files of the rules.
func restrict(rules Rules, own []string) error {
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: handledRights}
	if version >= deviceLandlock {
		attributes.Handled_access_fs |= deviceRights
	}
	if version >= scopesLandlock {
		attributes.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	size := unsafe.Offsetof(attributes.Quiet_access_fs) // the following fields are of later versions, and not used
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(set))
	for _, list := range []struct {
		paths  []string
		rights uint64
	}{{rules.Read, readRights}, {rules.Write, writeRights}, {own, unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE}} {
		for _, path := range list.paths {
			if err := allow(int(set), path, list.rights); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return &os.PathError{Op: "allow", Path: path, Err: err}
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func allow(set int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return err
	}
	if is.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// closeOnExec keeps files from new programs, except standard input and output.
func closeOnExec() error { return unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }

// Hide keeps other processes of this user, but root's, from looking into this one, whose environment has a token, and programs that
// it begins from files that were open before it began.
func Hide() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = closeOnExec()
}
