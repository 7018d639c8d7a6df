// Package plugin has the types of go-plugin that providers name. There is nothing to start.
package plugin

import (
	"context"
	"net"
)

type Protocol string

const (
	ProtocolInvalid Protocol = ""
	ProtocolNetRPC  Protocol = "netrpc"
	ProtocolGRPC    Protocol = "grpc"
)

type HandshakeConfig struct {
	ProtocolVersion  uint
	MagicCookieKey   string
	MagicCookieValue string
}

type ReattachConfig struct {
	Protocol        Protocol
	ProtocolVersion int
	Addr            net.Addr
	Pid             int
	Test            bool
}

type ServeTestConfig struct {
	Context          context.Context
	ReattachConfigCh chan<- *ReattachConfig
	CloseCh          chan<- struct{}
	SyncStdio        bool
}
