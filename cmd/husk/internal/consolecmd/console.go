// Package consolecmd has the command of the console.
package consolecmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/remotecmd"
	"github.com/husk-dev/husk/internal/console"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/stackrun"
)

type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command { return []*cobra.Command{commands{a}.console()} }

const (
	// leastToken is the least length of a token of the user, in bytes: 128 bits in base 32 have 26.
	leastToken = 26
	// mostToken bounds the file of a token.
	mostToken = 4096
	// headerTime is how long a client may take for its headers, endTime how long open pages delay the end.
	headerTime = 10 * time.Second
	endTime    = 2 * time.Second
)

func (a commands) console() *cobra.Command {
	var port int
	var writes bool
	var tokenFile string
	cmd := &cobra.Command{
		Use: "console", Short: "Serve a local page about the stacks and their runs",
		Long: "Serve a page about the project's stacks: resources and their graph, runs while they go\n" +
			"on and afterwards, differences, history, and what providers cost and use. Metrics for\n" +
			"Prometheus are at /metrics. Only this machine can reach the page, with the token in\n" +
			"the address that is shown. Press Ctrl-C to end.\n\n" +
			"The page changes nothing. With --allow-writes, it can preview, update, refresh, and\n" +
			"destroy a stack; it shows the plan first, and asks.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return cli.Usagef("--port %d: must be between 0 and 65535", port)
			}
			token, err := tokenOf(tokenFile)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), port, token, writes)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&port, "port", 0, "serve on this port of 127.0.0.1 (default: a free one)")
	flags.BoolVar(&writes, "allow-writes", false, "let the page preview, update, refresh, and destroy stacks")
	flags.StringVar(&tokenFile, "token-file", "", "use the token in this file, such as for Prometheus (default: a new one)")
	a.AddLimits(flags)
	return cmd
}

// tokenOf returns the token in a file, or a new one if there is no name of a file.
func tokenOf(file string) (string, error) {
	if file == "" {
		return rand.Text(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	switch {
	case len(token) < leastToken:
		return "", cli.Usagef("--token-file %s: the token has %s, and must have at least %d: openssl rand -hex 16 makes one",
			file, cli.Plural(len(token), "character"), leastToken)
	case len(token) > mostToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\&=#%+`, r) }):
		return "", cli.Usagef("--token-file %s: the token must be one word of letters, digits, and -._~", file)
	}
	return token, nil
}

// serve serves until an interrupt.
func (a commands) serve(ctx context.Context, port int, token string, writes bool) error {
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
	if client, err := remotecmd.Client(a.App); err == nil { // else the stacks are on no server
		options.Server = client
	}
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
	return a.serveUntilStopped(ctx, listener, options)
}

// serveUntilStopped serves until the first interrupt, and then until deployments have ended.
func (a commands) serveUntilStopped(ctx context.Context, listener net.Listener, options console.Options) (err error) {
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
