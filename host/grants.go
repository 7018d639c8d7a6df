package host

import (
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/capability"
)

// What an operator grants is in package grant, with what each capability is. These are its names for
// a program that needs no more of it than to make grants for [ProviderOptions].
type (
	Grants    = grant.Set
	FSGrant   = grant.FS
	HTTPGrant = grant.HTTP
	TCPGrant  = grant.TCP
	// Refusal is a use of a capability that no grant covers, as the grant that would.
	Refusal = grant.Text
)

// ProjectGrant grants a directory as a project file names it, see [grant.InProject].
func ProjectGrant(projectDir, dir string, readWrite bool) (FSGrant, error) {
	return grant.InProject(projectDir, dir, readWrite)
}

// ParseHTTPGrant reads a URL and the granted methods, see [grant.ParseHTTP].
func ParseHTTPGrant(text string, methods ...string) (HTTPGrant, error) {
	return grant.ParseHTTP(text, methods...)
}

// ParseTCPGrant reads a host and port, see [grant.ParseTCP].
func ParseTCPGrant(text string) (TCPGrant, error) { return grant.ParseTCP(text) }

// What a provider may have open, and may keep. The number of bytes is bounded, too; see package limit.
const (
	// MaxHTTPExchanges and MaxOpenAssets are for one call.
	MaxHTTPExchanges = capability.MaxHTTPExchanges
	MaxOpenAssets    = capability.MaxOpenAssets
	// MaxTCPConnections is for one instance.
	MaxTCPConnections = capability.MaxTCPConnections
)
