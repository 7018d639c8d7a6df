package peer

import (
	"fmt"
	"io"
	"net"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"

	"github.com/husk-dev/husk/abi"
)

// maxMessage is the largest message in bytes, the same as Pulumi's.
const maxMessage = 400 << 20

// Serve serves the provider at a port of this machine, which it prints as Pulumi's engine
// expects it. It returns when the process cannot listen any more.
func Serve(provider abi.Provider, version string, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage))
	pulumirpc.RegisterResourceProviderServer(s, NewServer(provider, version))
	if _, err := fmt.Fprintln(out, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	return s.Serve(listener)
}
