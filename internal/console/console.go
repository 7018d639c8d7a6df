// Package console serves a local page about the stacks of a project: their resources, graphs, and runs, also one that
// goes on in another terminal.
//
// It reads the states without their keys, so that it knows no secret of them, and the records of package runlog. It
// changes nothing, unless it is told how to deploy. Pages are made by the server; the script only replaces parts of
// them.
package console

import (
	"context"
	"embed"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/display/graphdraw"
	"github.com/husk-dev/husk/internal/display/timeline"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

// Options are the options of [New].
type Options struct {
	// Context is the context of deployments: its end cuts them off.
	Context context.Context
	// Workspace opens the project. It is called for each page, because the project can change.
	Workspace func(context.Context) (*workspace.Workspace, error)
	// Stack is the one that the user named, empty for the selected one. Pages show all.
	Stack string
	// Secrets are left out of pages; nil for none.
	Secrets *redact.Secrets
	// Token is the secret that admits a browser or a program.
	Token string
	// Hosts are the values of the header Host that are served, such as 127.0.0.1:8080.
	Hosts []string
	// Server is the server that has the stacks, nil for none.
	Server *runapi.Client
	// Plugins returns the options of providers for deployments; nil for a console that changes nothing.
	Plugins func() (plugins.Options, error)
	// Pulumi is for deployments of projects that need it.
	Pulumi  stackrun.Pulumi
	Version string
}

// Server is an [http.Handler]. Close ends what it has begun.
type Server struct {
	options  Options
	handler  http.Handler
	views    views
	deploys  deploys
	previews string // the directory of the records of previews, empty for none
	lives    chan struct{}
	done     chan struct{}
}

// maxLives bounds the pages that are kept up to date at once.
const maxLives = 64

// New returns a console.
func New(o Options) (*Server, error) {
	s := &Server{options: o, lives: make(chan struct{}, maxLives), done: make(chan struct{})}
	if s.MayDeploy() {
		dir, err := os.MkdirTemp("", "husk-console-")
		if err != nil {
			return nil, err
		}
		s.previews = dir
	}
	s.deploys.all = make(map[string]*deploy)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", s.serveAsset)
	mux.HandleFunc("GET /live", s.serveLive)
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	mux.HandleFunc("GET /", s.servePage)
	if s.MayDeploy() {
		mux.HandleFunc("POST /stack/{stack}/runs", s.serveDeploy)
		mux.HandleFunc("POST /stack/{stack}/runs/{run}", s.serveAnswer)
	}
	if s.MayDeploy() && s.hasServer() {
		mux.HandleFunc("POST /server/{run}", s.serveDecision)
	}
	s.handler = s.guard(mux)
	return s, nil
}

// MayDeploy reports whether the console can change a stack.
func (s *Server) MayDeploy() bool { return s.options.Plugins != nil }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Stop has running deployments finish their running steps, and begin no others. Pages are no longer kept up to date.
func (s *Server) Stop() {
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.deploys.stop()
}

// Close waits for deployments to end, and removes the records of previews.
func (s *Server) Close() error {
	s.Stop()
	s.deploys.wait()
	s.views.close()
	if s.previews == "" {
		return nil
	}
	return os.RemoveAll(s.previews)
}

//go:embed assets
var files embed.FS

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := files.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if name == "style.css" {
		text = append([]byte(graphdraw.Stylesheet+timeline.Stylesheet), text...)
	}
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", kinds[filepath.Ext(name)])
	_, _ = w.Write(text) // a browser that went away needs nothing
}

// page returns the page at a path.
func (s *Server) page(ctx context.Context, at *url.URL) (*page, error) {
	w, err := s.options.Workspace(ctx)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.Trim(at.Path, "/"), "/")
	if parts[0] == "" {
		return s.overview(ctx, w)
	}
	if parts[0] == "server" {
		return s.serverPage(ctx, w, parts[1:])
	}
	if parts[0] != "stack" || len(parts) < 2 {
		return nil, errNotFound
	}
	stack, err := w.Stack(parts[1])
	if err != nil {
		return nil, err
	}
	switch rest := parts[2:]; {
	case len(rest) == 0:
		return s.resources(ctx, w, stack)
	case len(rest) == 1 && rest[0] == "resource":
		return s.resource(ctx, w, stack, at.Query().Get("urn"))
	case len(rest) == 1 && rest[0] == "graph":
		return s.graph(ctx, w, stack)
	case len(rest) == 1 && rest[0] == "runs":
		return s.runs(ctx, w, stack)
	case len(rest) == 2 && rest[0] == "runs":
		return s.run(w, stack, rest[1])
	case len(rest) == 1 && rest[0] == "providers":
		return s.providers(w, stack)
	}
	return nil, errNotFound
}
