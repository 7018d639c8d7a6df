// Package start hands a run's settings from a worker to the run's process. Secret ones go through the standard input of the
// process: the command line and the environment of a process can be read by others, and stay as they were. The process takes it
// before it does anything else, and is confined by then if the worker wants it to be.
package start

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/worker/confine"
)

// Variable is the environment variable by which a worker tells a process that it runs a run, and what to do first.
const Variable = "HUSK_RUN"

// The values of [Variable].
const (
	enter    = "confine"
	confined = "confined"
	open     = "open"
	own      = "own"
)

// maxPart bounds one part of a worker's message, in bytes. The environment of a process is bounded by 6 MB on Linux.
const maxPart = 8 << 20

// Setup has the settings of a run's process.
type Setup struct {
	// Project is the name of the project that the run is of. It opens no other.
	Project string `json:"project"`
	// Untrusted says that the project is somebody else's.
	Untrusted bool `json:"untrusted"`
	// Withheld says that no secrets are decrypted for the run.
	Withheld bool `json:"withheld,omitempty"`
	// Run is the ID of the run, and By who asked for it.
	Run string `json:"run,omitempty"`
	By  string `json:"by,omitempty"`
	// Own says that the process has confined itself, and that no worker has begun it.
	Own bool `json:"-"`
	// Files is the directory of all files that came with the project.
	Files string `json:"files"`
	// Backend is the URL of the stacks, with the run's token if it has one.
	Backend string `json:"backend"`
	// Variables are the secret part of its environment, as NAME=VALUE.
	Variables []string `json:"variables"`
	// Requested are the sealed variables that whoever asked for the run has chosen: see [runapi.NewRun].
	Requested []byte `json:"requested,omitempty"`
}

// Attach has a command, whose standard input and environment are set otherwise, begin with a setup; confined if rules are given.
func (s *Setup) Attach(cmd *exec.Cmd, rules *confine.Rules) error {
	var sent bytes.Buffer
	what := open
	if rules != nil {
		what = enter
		if err := write(&sent, rules); err != nil {
			return err
		}
	}
	if err := write(&sent, s); err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, Variable+"="+what)
	cmd.Stdin = &sent
	return nil
}

// Receive returns the setup from the worker that has begun this process, nil if none has. It leaves no trace of it that others
// can read. It is to be called before anything else.
func Receive() (*Setup, error) {
	what := os.Getenv(Variable)
	if what == "" {
		return nil, nil
	}
	_ = os.Unsetenv(Variable) // it is for this process
	if what != own {
		giveWay()
	}
	switch what {
	case enter:
		var rules confine.Rules
		if err := read(os.Stdin, &rules); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the run cannot be confined: %w", confine.Enter(rules, append(os.Environ(), Variable+"="+confined)))
	case confined:
		if err := confine.Seal(); err != nil {
			return nil, fmt.Errorf("the run cannot be confined: %w", err)
		}
	case own:
		if err := confine.Seal(); err != nil {
			return nil, fmt.Errorf("the command cannot be confined: %w", err)
		}
		return &Setup{Own: true}, nil
	case open:
	default:
		return nil, fmt.Errorf("%s is for workers: unset it", Variable)
	}
	s := &Setup{}
	if err := read(os.Stdin, s); err != nil {
		return nil, err
	}
	for _, variable := range s.Variables {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("the variable %s: %w", name, err)
		}
	}
	// Children of the process, and questions, find an empty input.
	_ = os.Stdin.Close()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	os.Stdin = nothing
	return s, nil
}

// Anew confines this process, which no worker has begun, and begins it anew with an environment: see [Setup.Own]. It returns only
// if that fails.
func Anew(rules confine.Rules, environment []string) error {
	return confine.Enter(rules, append(environment, Variable+"="+own))
}

// giveWay has the kernel end this process, or one that it starts, before the worker and the runs of others if there is no memory
// left. Only Linux has such a file, and without privileges a process can only raise its own score there.
func giveWay() {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString("1000") // else the kernel chooses
	_ = f.Close()
}

// write writes a part: its length, and JSON. The code that begins the program anew reads the first, and leaves the second.
func write(to *bytes.Buffer, part any) error {
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	if len(text) > maxPart {
		return fmt.Errorf("the variables of the run have %d MiB, and may have %d", len(text)>>20, maxPart>>20)
	}
	to.Write(slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text))
	return nil
}

func read(from io.Reader, part any) error {
	var length [4]byte
	_, err := io.ReadFull(from, length[:])
	size := binary.BigEndian.Uint32(length[:])
	if err == nil && size > maxPart {
		err = fmt.Errorf("it has %d bytes", size)
	}
	if err != nil {
		return fmt.Errorf("cannot read the setup that the worker sent: %w", err)
	}
	text := make([]byte, size)
	defer clear(text)
	if _, err = io.ReadFull(from, text); err == nil {
		err = json.Unmarshal(text, part)
	}
	if err != nil {
		return fmt.Errorf("cannot read the setup that the worker sent: %w", err)
	}
	return nil
}
