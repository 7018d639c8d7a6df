//go:build linux

package terminaltest

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openPTY returns both ends of a pseudoterminal. Programs use the second.
func openPTY() (master, tty *os.File, err error) {
	// Reads of a file that does not block end when it is closed.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening a pseudoterminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening a pseudoterminal: %w", err)
	}
	return master, tty, nil
}

// setSize sets the size that programs see.
func setSize(tty *os.File, columns, rows int) error {
	connection, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = connection.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	})
	if err != nil {
		return err
	}
	return failed
}
