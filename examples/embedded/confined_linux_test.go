package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confining has this test program give up its rights and become the program that its
// arguments name.
const confining = "HUSK_TEST_CONFINED"

func TestMain(m *testing.M) {
	if os.Getenv(confining) == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "confining the program:", become(os.Args[1], os.Args[1:]))
	os.Exit(1)
}

// confined returns a command that may read files, and execute its own, and nothing else with
// any file. Its own variables are none.
func confined(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{program}, args...)...)
	cmd.Env = []string{confining + "=1"}
	return cmd
}

// become replaces this process by a program, in a domain of Landlock (landlock(7)). Where
// the kernel has none, the program is not confined.
func become(program string, argv []string) error {
	runtime.LockOSThread() // the domain is the thread's, and the program has its rights
	const changes = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	rules := unix.LandlockRulesetAttr{Handled_access_fs: changes}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), 8, 0)
	if errno == unix.ENOSYS || errno == unix.EOPNOTSUPP {
		return unix.Exec(program, argv, withoutConfining())
	}
	if errno != 0 {
		return fmt.Errorf("making the rules: %w", errno)
	}
	file, err := unix.Open(program, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	own := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_EXECUTE, Parent_fd: int32(file)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&own)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("adding a rule: %w", errno)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("restricting: %w", errno)
	}
	if err := os.WriteFile("probe", nil, 0o600); err == nil {
		return fmt.Errorf("a file could be made")
	}
	return unix.Exec(program, argv, withoutConfining())
}

func withoutConfining() (environment []string) {
	for _, variable := range os.Environ() {
		if variable != confining+"=1" {
			environment = append(environment, variable)
		}
	}
	return environment
}
