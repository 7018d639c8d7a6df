// Package pulumiplugin runs an existing plugin of Pulumi as a provider. There is no sandbox: the process
// has the rights of the user.
package pulumiplugin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
)

const (
	// startTime is how long a plugin may take until it says at which port it listens.
	startTime = time.Minute
	// endTime is how long it may take to end once it is told to, before it is killed.
	endTime = 2 * time.Second
	// maxTail is how much of its output an error shows, in bytes.
	maxTail = 4 << 10
)

// process is a running plugin.
type process struct {
	program string // as errors name it
	cmd     *exec.Cmd
	ended   chan struct{}
	output  []io.Closer

	mu   sync.Mutex
	tail []byte // the end of its output
}

// startProcess starts a plugin, and returns the address at which it listens. Each line that it prints goes to output.
func startProcess(ctx context.Context, o Options, engine string, output func(string)) (*process, string, error) {
	p := &process{ended: make(chan struct{})}
	if o.Command != nil {
		p.program, p.cmd = "program in "+o.Dir, o.Command(engine)
	} else {
		p.program, p.cmd = "native plugin "+o.Program, exec.Command(o.Program, engine)
		p.cmd.Dir, p.cmd.Env = o.Dir, named.ProgramEnvironment()
	}
	for source, target := range o.EnvVarMappings {
		if err := named.CheckVariable(source); err != nil {
			return nil, "", fmt.Errorf("envVarMappings: %w", err)
		}
		if value, ok := named.Lookup(source); ok {
			p.cmd.Env = append(p.cmd.Env, target+"="+value)
		}
	}
	p.cmd.WaitDelay = endTime
	processgroup.Own(p.cmd)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	p.output = []io.Closer{stdout, stderr}
	if err := p.cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("starting the %s: %w", p.program, err)
	}
	first := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() { p.read(stderr, output) })
	reading.Go(func() {
		r := bufio.NewReader(stdout)
		line, err := r.ReadString('\n')
		if err == nil {
			first <- strings.TrimSpace(line)
		}
		close(first)
		p.read(r, output)
	})
	go func() {
		defer close(p.ended)
		reading.Wait()
		_ = p.cmd.Wait() // what it printed says how it ended
	}()
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case line, ok := <-first:
		port, err := strconv.ParseUint(line, 10, 16)
		if err == nil {
			return p, fmt.Sprintf("127.0.0.1:%d", port), nil
		}
		p.stop()
		if !ok {
			return nil, "", fmt.Errorf("the %s ended before it said at which port it listens%s", p.program, p.printed())
		}
		return nil, "", fmt.Errorf("the %s is not a plugin of Pulumi: its first line is %q, not the port that it listens on", p.program, line)
	case <-timer.C:
		p.stop()
		return nil, "", fmt.Errorf("the %s did not say in %s at which port it listens%s", p.program, startTime, p.printed())
	case <-ctx.Done():
		p.stop()
		return nil, "", context.Cause(ctx)
	}
}

// read passes lines on, until the plugin closes its output.
func (p *process) read(from io.Reader, output func(string)) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.mu.Lock()
			p.tail = append(p.tail, line...)
			p.tail = p.tail[max(0, len(p.tail)-maxTail):]
			p.mu.Unlock()
			output(strings.TrimRight(line, "\r\n"))
		}
		if err != nil {
			return
		}
	}
}

// printed returns the end of the plugin's output, for errors.
func (p *process) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := bytes.TrimSpace(p.tail)
	if len(text) == 0 {
		return ""
	}
	return "; it printed:\n" + string(text)
}

// hasEnded reports whether the process is gone, or is about to be.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// awaitEnd gives a process that has closed its connections the time to end.
func (p *process) awaitEnd() {
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
}

// stop tells the process and its children to end, and kills them if they do not.
func (p *process) stop() {
	if p.hasEnded() {
		return // its number may belong to another process by now
	}
	processgroup.Interrupt(p.cmd.Process)
	timer := time.AfterFunc(endTime, func() {
		processgroup.Kill(p.cmd.Process)
		for _, c := range p.output {
			_ = c.Close() // a process that has left the group may hold it open
		}
	})
	defer timer.Stop()
	<-p.ended
	processgroup.Kill(p.cmd.Process) // what the process has left behind
}

// listenForEngine starts the services of the engine that a plugin calls.
func listenForEngine(methods map[string]pulumigrpc.Method) (*pulumigrpc.Server, error) {
	s, err := pulumigrpc.Listen(0)
	if err != nil {
		return nil, fmt.Errorf("listening for messages of a native plugin: %w", err)
	}
	s.Serve(pulumigrpc.Engine, methods)
	return s, nil
}
