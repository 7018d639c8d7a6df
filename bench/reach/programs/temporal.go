package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// temporalCommand is the program of Temporal's server and of its clients.
const temporalCommand = "temporal"

// work starts a server of Temporal and the example's worker, and waits for the example's workflow, which makes a virtual machine and removes it
// after five minutes. It returns an error if one of them fails. command returns a command.
func work(ctx context.Context, command func(args ...string) *exec.Cmd, worker []string) error {
	return during(command(temporalCommand, "server", "start-dev", "--headless", "--log-level=error"), func() error {
		for until := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
			err := runs(command(temporalCommand, "operator", "namespace", "describe", "--namespace=default"))
			if err == nil {
				break
			}
			if ctx.Err() != nil || time.Now().After(until) {
				return err
			}
		}
		cmd := command(worker...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		err := during(cmd, func() error {
			return runs(command(temporalCommand, "workflow", "execute", "--task-queue=pulumi", "--type=TemporaryVirtualMachine", "--workflow-id=example",
				`--input="vm"`, "--execution-timeout=25m"))
		})
		if err == nil && !strings.Contains(said.String(), "ip 192.0.2.1") {
			err = errors.New("the worker does not say the address of a virtual machine")
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, said.Bytes())
		}
		return nil
	})
}
