// Package consoleserver serves the console for command husk console.
package consoleserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/remotecmd"
	"github.com/husk-dev/husk/internal/console"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

const (
	// headerTime is how long a client may take for its headers, endTime how long open pages delay the end.
	headerTime = 10 * time.Second
	endTime    = 2 * time.Second
)

// Serve serves the page of the project of a at a port of 127.0.0.1, 0 for a free one, until an interrupt.
func Serve(ctx context.Context, a *cli.App, port int, token string, writes bool) error {
	w, err := a.Workspace(ctx) // an error of the project is told at once
	if err != nil {
		return err
	}
	if _, err := w.Stack(a.Stack); err != nil {
		return err
	}
	options := console.Options{
		Workspace: a.Workspace, Stack: a.Stack, Secrets: a.Secrets, Token: token, Version: stackrun.Version(),
	}
	if client, err := remotecmd.Client(ctx, a); err == nil { // else the stacks are on no server
		options.Server = client
	}
	options.Pulumi = a.Parts.Pulumi
	if writes {
		if w.Detached != nil {
			return w.Detached
		}
		if _, err := a.PluginOptions(); err != nil {
			return err
		}
		options.Plugins = func() (plugins.Options, error) { return a.PluginOptions() }
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("serving the console: %w; --port chooses another port", err)
	}
	address := listener.Addr().String()
	_, text, _ := net.SplitHostPort(address)
	options.Hosts = []string{address, "localhost:" + text}
	url := "http://" + address + "/?token=" + token
	if a.JSON {
		err = a.WriteJSONBy(map[string]any{"url": url, "token": token, "metrics": "http://" + address + "/metrics", "allowWrites": writes}, "")
	} else {
		err = a.Printf("The console of %s is at %s\n", w.Project.Name, url)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if writes && !a.JSON {
		a.Say("Whoever opens this address can change the stacks.")
	}
	return serveUntilStopped(ctx, a, listener, options)
}

// serveUntilStopped serves until the first interrupt, and then until deployments have ended.
func serveUntilStopped(ctx context.Context, a *cli.App, listener net.Listener, options console.Options) (err error) {
	var say func(string)
	if options.Plugins != nil {
		say = a.Remark
	}
	ctx, stop, end := a.WatchInterrupts(ctx, say)
	defer end()
	options.Context = ctx
	server, err := console.New(options)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	web := &http.Server{Handler: server, ReadHeaderTimeout: headerTime}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving the console: %w", err)
	case <-stop:
	}
	server.Stop()
	until, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if err := web.Shutdown(until); err != nil {
		_ = web.Close() // pages that are still open
	}
	return nil
}
