package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/nativewire"
)

// Native is a provider that runs as a native process, without sandbox and grants, in place of the module of the directory that
// the project lists.
type Native struct {
	Dir    string
	Client *nativewire.Client
}

// errNativeRecords is the error for a deployment with a native provider: its state would name a module that did not make it.
var errNativeRecords = errors.New("a native provider only serves previews: a deployment records which module made a resource, and none did")

// native returns the native provider if it is that of a package, and nil otherwise.
func (p *Plugins) native(ctx context.Context, name, version string) (abi.Provider, error) {
	if p.options.Native == nil {
		return nil, nil
	}
	declared, err := p.project.ProviderVersion(name, version)
	if err != nil || declared == nil || declared.Path == "" || !p.isDir(declared.Path, p.options.Native.Dir) {
		return nil, nil // the module of the provider has the error
	}
	if p.performing.Load() {
		return nil, errNativeRecords
	}
	store, err := p.store(declared.Name)
	if err != nil {
		return nil, err
	}
	opened := p.options.Native.Client.Open(&nativeLog{declared.Name, p.options.Events}, store)
	is, err := opened.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"})
	if err == nil {
		err = isDeclared(declared, version, is.Name, is.Version)
	}
	if err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	return &nativeProvider{opened, p}, nil
}

// isDir reports whether what the project names is a directory that the user of the command has named.
func (p *Plugins) isDir(named, dir string) bool {
	x, errA := p.project.Root.Stat(named)
	y, errB := os.Stat(dir)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// nativeProvider is a provider of a process that all resources share, and with it what the author's code keeps.
type nativeProvider struct {
	abi.Provider
	plugins *Plugins
}

// Configure refuses a second configuration.
func (n *nativeProvider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	n.plugins.mu.Lock()
	other := n.plugins.nativeConfig != nil && !n.plugins.nativeConfig.Equal(request.Inputs)
	n.plugins.nativeConfig = &request.Inputs
	n.plugins.mu.Unlock()
	if other {
		return fmt.Errorf("%s has another configuration in this project, and a native provider is one process with one configuration: "+
			"preview it without --native", request.URN)
	}
	return n.Provider.Configure(ctx, request)
}

// nativeLog shows what a native provider logs.
type nativeLog struct {
	provider string
	to       func(engine.Event)
}

// Write implements [abi.Log].
func (l *nativeLog) Write(_ context.Context, e abi.LogEntry) {
	level := map[abi.LogSeverity]slog.Level{
		abi.LogSeverityDebug: slog.LevelDebug, abi.LogSeverityWarning: slog.LevelWarn, abi.LogSeverityError: slog.LevelError,
	}[e.Severity]
	l.to(engine.Diagnostic{Severity: severity(level), Message: e.Message, URN: e.URN, Provider: l.provider, Ephemeral: e.Ephemeral, Guest: true})
}
