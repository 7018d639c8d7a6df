package plugin

import (
	"fmt"
	"os"

	"github.com/husk-dev/husk/guest-sdk/terraform/tf5"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	grpcplugin "github.com/hashicorp/terraform-plugin-sdk/internal/helper/plugin"
	proto "github.com/hashicorp/terraform-plugin-sdk/internal/tfplugin5"
	"github.com/hashicorp/terraform-plugin-sdk/terraform"
)

const (
	ProviderPluginName     = "provider"
	DefaultProtocolVersion = 4
)

var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  DefaultProtocolVersion,
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

type (
	ProviderFunc     func() terraform.ResourceProvider
	GRPCProviderFunc func() proto.ProviderServer
)

// ServeOpts says what is served.
type ServeOpts struct {
	ProviderFunc     ProviderFunc
	GRPCProviderFunc GRPCProviderFunc
	Logger           hclog.Logger
}

// Serve serves the provider from the first call of the host on, and returns at once.
func Serve(opts *ServeOpts) {
	served := opts.GRPCProviderFunc
	if served == nil && opts.ProviderFunc != nil {
		if p := grpcplugin.NewGRPCProviderServerShim(opts.ProviderFunc()); p != nil {
			served = func() proto.ProviderServer { return p }
		}
	}
	if served == nil {
		fatal("the provider is not one of the package helper/schema")
	}
	// Providers of this SDK do not name their address.
	if err := tf5.Serve("", func() tfprotov5.ProviderServer { return &server{served()} }); err != nil {
		fatal(err)
	}
}

func fatal(reason interface{}) {
	fmt.Fprintln(os.Stderr, "serving the provider:", reason)
	os.Exit(1)
}
