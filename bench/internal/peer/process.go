package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/husk-dev/husk/abi"
)

// Process is a provider that runs as a process of its own.
type Process struct {
	// Provider is the provider. It is configured, and has the methods Check, Diff, and Create.
	Provider abi.Provider
	// PID is the process.
	PID int

	command *exec.Cmd
	conn    *grpc.ClientConn
}

// connectTime is how long a process may take until it answers, the same as Pulumi's.
const connectTime = 10 * time.Second

// noEngine is an address where nobody listens. Providers made with Pulumi's SDK want to be
// told where their engine is, and connect to it when they have something to log.
const noEngine = "127.0.0.1:9"

// Start starts a program that serves a provider, waits for its answer to the handshake,
// asks for its version, and configures it.
func Start(ctx context.Context, program string, configuration abi.ConfigureRequest) (_ *Process, err error) {
	command := exec.Command(program, noEngine)
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &Process{PID: command.Process.Pid, command: command}
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting %s: %w", command.Path, errors.Join(err, p.Close()))
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("reading its port: %w", err)
	}
	port, err := strconv.ParseUint(strings.TrimSpace(line), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("reading its port: %w", err)
	}
	p.conn, err = grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", port),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	p.conn.Connect()
	for s := p.conn.GetState(); s != connectivity.Ready; s = p.conn.GetState() {
		if !p.conn.WaitForStateChange(ctx, s) {
			return nil, fmt.Errorf("connecting: %w", context.Cause(ctx))
		}
	}
	rpc := pulumirpc.NewResourceProviderClient(p.conn)
	if _, err := rpc.Handshake(ctx, &pulumirpc.ProviderHandshakeRequest{ConfigureWithUrn: true, InvokeWithPreview: true}); err != nil && status.Code(err) != codes.Unimplemented {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	if _, err := rpc.GetPluginInfo(ctx, &emptypb.Empty{}); err != nil {
		return nil, fmt.Errorf("asking for its version: %w", err)
	}
	p.Provider = &client{rpc: rpc}
	if err := p.Provider.Configure(ctx, configuration); err != nil {
		return nil, err
	}
	return p, nil
}

// Close ends the process.
func (p *Process) Close() error {
	var err error
	if p.conn != nil {
		err = p.conn.Close()
	}
	if killed := p.command.Process.Kill(); killed != nil && !errors.Is(killed, os.ErrProcessDone) {
		err = errors.Join(err, killed)
	}
	_ = p.command.Wait() // it was killed, which Wait says
	return err
}
