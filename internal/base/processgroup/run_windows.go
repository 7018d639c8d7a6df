package processgroup

import "os/exec"

// Heed says that this process heeds signals that would end it, until end is called.
func Heed() (end func()) { return func() {} }

// Run runs a command, such as a compiler, which ends with those that it has started when its context ends. Ctrl-C reaches all of
// them.
func Run(cmd *exec.Cmd) error {
	cmd.Cancel = func() error {
		Kill(cmd.Process)
		return nil
	}
	return cmd.Run()
}
