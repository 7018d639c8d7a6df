package plugin

import (
	"context"
	"errors"
)

var errNoDebug = errors.New("a provider in a module serves the host that runs it, and no debugger")

type ReattachConfig struct {
	Protocol string
	Pid      int
	Test     bool
	Addr     ReattachConfigAddr
}

type ReattachConfigAddr struct {
	Network string
	String  string
}

func DebugServe(context.Context, *ServeOpts) (ReattachConfig, <-chan struct{}, error) {
	return ReattachConfig{}, nil, errNoDebug
}

func Debug(context.Context, string, *ServeOpts) error { return errNoDebug }
