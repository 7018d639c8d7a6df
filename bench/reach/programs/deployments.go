package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// service is a server of Husk with a worker, which deploy in place of Pulumi's service.
type service struct {
	url            string
	server, worker *exec.Cmd
}

// npmVariables are variables that npm reads, if they are set.
var npmVariables = []string{"NODE_EXTRA_CA_CERTS", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG"}

// serveDeployments starts it in a directory. husk makes the command of husk with arguments.
func serveDeployments(dir string, husk func(args ...string) *exec.Cmd) (*service, error) {
	s := &service{server: husk("server", "--dir", filepath.Join(dir, "server"), "--listen", "127.0.0.1:0")}
	line, err := begun(s.server, "Serving at ")
	if err != nil {
		return nil, err
	}
	s.url, _, _ = strings.Cut(line, ",")
	args := []string{"worker", "--trusted", "--server", s.url, "--dir", filepath.Join(dir, "worker"), "--env", "WEBSITES"}
	for _, variable := range npmVariables {
		if _, is := os.LookupEnv(variable); is {
			args = append(args, "--env", variable)
		}
	}
	s.worker = husk(args...)
	if _, err = begun(s.worker, "takes runs from"); err == nil {
		err = runs(husk("login", s.url))
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *service) stop() {
	for _, cmd := range []*exec.Cmd{s.worker, s.server} {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Cancel()
			_ = cmd.Wait() // which says that it was ended
		}
	}
}

// begun starts a command, and returns the rest of the line in which it says text.
func begun(cmd *exec.Cmd, text string) (string, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var said []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, rest, is := strings.Cut(lines.Text(), text); is {
			go func() {
				for lines.Scan() { // so that it does not wait for a reader
				}
			}()
			return rest, nil
		}
		said = append(said, lines.Text())
	}
	return "", errors.Join(fmt.Errorf("%s has not begun:\n%s", strings.Join(cmd.Args[1:], " "), strings.Join(said, "\n")), cmd.Wait())
}
