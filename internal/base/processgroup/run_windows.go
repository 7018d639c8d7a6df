package processgroup

import "os/exec"

// run runs a command. Ctrl-C reaches it with all that it has started.
func (s *Signals) run(cmd *exec.Cmd) error { return cmd.Run() }
