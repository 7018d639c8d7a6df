// Package tf5server serves a provider to the host that runs the module.
package tf5server

import (
	"context"
	"os"
	"time"

	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
)

// ServeOpt is an option of a server. Those here are about processes and connections, and do nothing.
type ServeOpt interface {
	ApplyServeOpt(*ServeConfig) error
}

// ServeConfig is empty, because there is nothing to configure.
type ServeConfig struct{}

type option struct{}

func (option) ApplyServeOpt(*ServeConfig) error { return nil }

func WithDebug(context.Context, any, chan struct{}) ServeOpt       { return option{} }
func WithManagedDebug() ServeOpt                                   { return option{} }
func WithManagedDebugStopSignals([]os.Signal) ServeOpt             { return option{} }
func WithManagedDebugReattachConfigTimeout(time.Duration) ServeOpt { return option{} }
func WithManagedDebugEnvFilePath(string) ServeOpt                  { return option{} }
func WithGoPluginLogger(any) ServeOpt                              { return option{} }
func WithLoggingSink(any) ServeOpt                                 { return option{} }
func WithoutLogStderrOverride() ServeOpt                           { return option{} }
func WithoutLogLocation() ServeOpt                                 { return option{} }
func WithLogEnvVarName(string) ServeOpt                            { return option{} }

// Serve serves the provider from the first call of the host on, and returns at once.
func Serve(name string, serverFactory func() tfprotov5.ProviderServer, _ ...ServeOpt) error {
	return tf5.Serve(name, serverFactory)
}
