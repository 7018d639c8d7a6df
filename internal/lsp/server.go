// Package lsp is a language server for projects: it checks the documents of an editor as a preview does, and completes,
// explains, finds, and renames what they name.
//
// It checks what the editor has, saved or not. It runs no program and asks no resource, and needs neither a state nor a
// passphrase. Providers are loaded for their schemas only.
package lsp

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/plugins"
)

// Options say how a server works.
type Options struct {
	// Version is Husk's version.
	Version string
	// Stack is the stack whose configuration is used, empty for the selected one.
	Stack string
	// Root returns the root that opens the files of the project in a directory, as far as the user trusts it.
	Root func(dir string) *projectroot.Root
	// Plugins are for loading providers. Their Events may be nil.
	Plugins plugins.Options
	// Secrets are hidden in the editor; nil for none.
	Secrets *redact.Secrets
}

// ErrNoShutdown says that an editor ended the server without shutting it down.
var ErrNoShutdown = errors.New("the editor ended the session without shutting it down")

// concurrency bounds the requests that are served at once: some wait for a provider to be built.
const concurrency = 16

// server is one session with an editor.
type server struct {
	options  Options
	packages *packages
	rpc      *jrpc2.Server
	channel  *draining

	mu   sync.Mutex
	open map[string]*document // by path
	// views are the projects by directory, as long as no document changes.
	views map[string]*view
	// dirty are the directories of projects to check, and checking ends the check of one.
	dirty    map[string]bool
	checking map[string]context.CancelFunc
	wake     chan struct{}
	// found are the diagnostics of each path, by the directory of the project.
	found    map[string]map[string][]published
	shutdown bool
	// showsProgress is whether the editor shows what takes long, which preparing has.
	showsProgress bool
	preparing     chan engine.Preparing
}

// Serve serves an editor until it ends the session.
func Serve(ctx context.Context, in io.Reader, out io.WriteCloser, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		options: o, open: map[string]*document{}, views: map[string]*view{}, dirty: map[string]bool{},
		checking: map[string]context.CancelFunc{}, wake: make(chan struct{}, 1), preparing: make(chan engine.Preparing, 64), found: map[string]map[string][]published{},
	}
	tell := o.Plugins.Events
	o.Plugins.Events = func(e engine.Event) {
		if tell != nil {
			tell(e)
		}
		if p, ok := e.(engine.Preparing); ok {
			select {
			case s.preparing <- p:
			default: // the editor does not answer
			}
		}
	}
	s.packages = newPackages(ctx, o.Plugins)
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{
		AllowPush: true, DisableBuiltin: true, Concurrency: concurrency, NewContext: func() context.Context { return ctx },
	})
	s.channel = newDraining(newFraming(in, out))
	s.rpc.Start(s.channel)
	var checks sync.WaitGroup
	checks.Go(func() { s.checkAll(ctx) })
	checks.Go(func() { s.tellProgress(ctx) })
	stop := context.AfterFunc(ctx, s.rpc.Stop)
	err := s.rpc.Wait()
	stop()
	cancel()
	checks.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.shutdown:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return ErrNoShutdown
	}
	return err
}

func (s *server) methods() handler.Map {
	return handler.Map{
		"initialize":                       answer(s.initialize),
		"initialized":                      ignored,
		"shutdown":                         answer(s.end),
		"exit":                             note(s.exit),
		"$/cancelRequest":                  note(s.cancel),
		"$/setTrace":                       ignored,
		"workspace/didChangeConfiguration": ignored,
		"workspace/didChangeWatchedFiles":  note(s.saved),
		"textDocument/didOpen":             note(s.didOpen),
		"textDocument/didChange":           note(s.didChange),
		"textDocument/didSave":             note(s.saved),
		"textDocument/didClose":            note(s.didClose),
		"textDocument/completion":          answer(s.completion),
		"textDocument/hover":               answer(s.hover),
		"textDocument/definition":          answer(s.definition),
		"textDocument/references":          answer(s.references),
		"textDocument/documentSymbol":      answer(s.symbols),
		"textDocument/prepareRename":       answer(s.prepareRename),
		"textDocument/rename":              answer(s.rename),
		"textDocument/codeAction":          answer(s.codeActions),
		"textDocument/formatting":          answer(s.format),
		"textDocument/foldingRange":        answer(s.folding),
		"textDocument/documentHighlight":   answer(s.highlight),
		"textDocument/semanticTokens/full": answer(s.semanticTokens),
		"textDocument/inlayHint":           answer(s.hints),
		"textDocument/documentLink":        answer(s.links),
		"textDocument/signatureHelp":       answer(s.signature),
		"workspace/symbol":                 answer(s.workspaceSymbols),
	}
}

// ignored takes a notification that has no meaning here.
var ignored = func(context.Context, *jrpc2.Request) (any, error) { return nil, nil }

// allowance is the memory that short parameters may take besides a multiple of their size, in bytes.
const allowance = 64 << 10

// answer returns the handler of a request.
func answer[P, R any](f func(context.Context, P) (R, error)) jrpc2.Handler {
	return func(ctx context.Context, req *jrpc2.Request) (result any, err error) {
		var params P
		if err := intake.CheckJSON([]byte(req.ParamString()), &params, allowance); err != nil {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
		}
		if err := req.UnmarshalParams(&params); err != nil {
			return nil, err
		}
		defer func() {
			if cause := recover(); cause != nil {
				result, err = nil, jrpc2.Errorf(jrpc2.InternalError, "%s failed, which is a mistake in husk: %v", req.Method(), cause)
			}
		}()
		return f(ctx, params)
	}
}

// note returns the handler of a notification.
func note[P any](f func(P)) jrpc2.Handler {
	return answer(func(_ context.Context, params P) (any, error) {
		f(params)
		return nil, nil
	})
}

// none are parameters that are not read.
type none struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (*none) UnmarshalJSON([]byte) error { return nil }

func (s *server) initialize(_ context.Context, p initializeParams) (initializeResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.showsProgress = p.Capabilities.Window.WorkDoneProgress
	return initializeResult{
		Capabilities: capabilities{
			PositionEncoding: "utf-16",
			TextDocumentSync: map[string]any{"openClose": true, "change": 2, "save": true},
			// A reference begins with a brace, and a type and a function have colons.
			CompletionProvider:     map[string]any{"triggerCharacters": []string{"{", ".", ":", " ", "\"", "["}},
			HoverProvider:          true,
			DefinitionProvider:     true,
			ReferencesProvider:     true,
			DocumentSymbolProvider: true,
			RenameProvider:         map[string]any{"prepareProvider": true},
			CodeActionProvider:     map[string]any{"codeActionKinds": []string{quickFix}},

			DocumentFormattingProvider: true,
			WorkspaceSymbolProvider:    true,
			FoldingRangeProvider:       true,
			DocumentHighlightProvider:  true,
			SemanticTokensProvider: map[string]any{
				"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": []string{"declaration"}}, "full": true,
			},
			InlayHintProvider:     true,
			DocumentLinkProvider:  map[string]any{},
			SignatureHelpProvider: map[string]any{"triggerCharacters": []string{"{", "[", ",", " "}},
		},
		ServerInfo: map[string]string{"name": "husk", "version": s.options.Version},
	}, nil
}

// tellProgress reports builds and compilations to the editor, until the context ends.
func (s *server) tellProgress(ctx context.Context) {
	for {
		var p engine.Preparing
		select {
		case <-ctx.Done():
			return
		case p = <-s.preparing:
		}
		s.mu.Lock()
		shown := s.showsProgress
		s.mu.Unlock()
		if !shown {
			continue
		}
		token := p.Doing + " " + p.Provider
		value := map[string]any{"kind": "end"}
		switch {
		case p.Received > 0:
			value = map[string]any{"kind": "report"}
			if p.Size > 0 {
				value["percentage"] = 100 * p.Received / p.Size
			}
		case !p.Done:
			if _, err := s.rpc.Callback(ctx, "window/workDoneProgress/create", map[string]any{"token": token}); err != nil {
				continue // the editor shows none
			}
			value = map[string]any{"kind": "begin", "title": "Husk: " + token}
		}
		_ = s.rpc.Notify(ctx, "$/progress", map[string]any{"token": token, "value": value}) // Wait returns the session's end
	}
}

func (s *server) end(context.Context, none) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdown = true
	return nil, nil
}

func (s *server) exit(none) {
	go func() { // the server waits for this call
		s.channel.drain()
		s.rpc.Stop()
	}()
}

func (s *server) cancel(p cancelParams) { s.rpc.CancelRequest(string(p.ID)) }

func (s *server) didOpen(p documentParams) {
	if path := uriToPath(p.TextDocument.URI); path != "" {
		d := newDocument(path, p.TextDocument.Text, &p.TextDocument.Version)
		d.given = p.TextDocument.URI
		s.change(path, d)
	}
}

func (s *server) didChange(p documentParams) {
	path := uriToPath(p.TextDocument.URI)
	d := s.document(path)
	if d == nil {
		return
	}
	for _, change := range p.ContentChanges {
		whole := span{End: position{Line: len(d.lines)}}
		if change.Range != nil {
			whole = *change.Range
		}
		d = d.changed(whole, change.Text, p.TextDocument.Version)
	}
	s.change(path, d)
}

func (s *server) didClose(p documentParams) { s.change(uriToPath(p.TextDocument.URI), nil) }

// saved has all projects checked again: a file that no editor shows may have changed.
func (s *server) saved(none) {
	s.packages.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = map[string]*view{}
	for path := range s.open {
		s.recheck(path)
	}
}

// change replaces a document by the editor's text, or by the file on disk if d is nil.
func (s *server) change(path string, d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d == nil {
		s.recheck(path)
		delete(s.open, path)
	} else {
		s.open[path] = d
	}
	s.views = map[string]*view{}
	s.recheck(path)
}

// recheck has the project of a path checked. The caller holds the lock.
func (s *server) recheck(path string) {
	dir := s.projectDir(path)
	if dir == "" {
		return
	}
	s.dirty[dir] = true
	if cancel := s.checking[dir]; cancel != nil {
		cancel()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// opened returns an open document, or nil. The caller holds the lock.
func (s *server) opened(path string) *document { return s.open[path] }

func (s *server) document(path string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[path]
}

// view returns the project of a path, nil if there is none.
func (s *server) view(ctx context.Context, path string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.viewOf(ctx, s.projectDir(path))
}

// viewOf returns the project in a directory. The caller holds the lock.
func (s *server) viewOf(ctx context.Context, dir string) *view {
	if dir == "" {
		return nil
	}
	v, ok := s.views[dir]
	if !ok {
		open := maps.Clone(s.open) // the view reads the configuration of stacks later
		v = newView(ctx, s.options.Root(dir), func(path string) *document { return open[path] }, s.packages)
		if ctx.Err() == nil { // else it was not read
			s.views[dir] = v
		}
	}
	return v
}

// checkAll checks projects when they change, until the context ends.
func (s *server) checkAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.mu.Lock()
		dirs := slices.Sorted(maps.Keys(s.dirty))
		clear(s.dirty)
		s.mu.Unlock()
		for _, dir := range dirs {
			s.check(ctx, dir)
		}
	}
}

// check checks a project and publishes its mistakes, unless a document has changed by then.
func (s *server) check(ctx context.Context, dir string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	v := s.viewOf(ctx, dir)
	s.checking[dir] = cancel
	open := slices.Sorted(maps.Keys(s.open))
	s.mu.Unlock()
	var ds source.Diagnostics
	var err error
	if v != nil {
		ds, err = v.checkSafely(ctx, s.options.Stack, open)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checking, dir)
	if err != nil || ctx.Err() != nil {
		return // there is a newer text
	}
	s.publish(dir, v, ds)
}

// publish sends the editor the mistakes in each file of a project. The caller holds the lock.
func (s *server) publish(dir string, v *view, ds source.Diagnostics) {
	found := map[string][]published{}
	documents := map[string]*document{}
	document := func(path string) *document {
		if documents[path] == nil {
			d := s.open[path]
			if d == nil {
				if text, err := s.options.Root(dir).ReadFile(path, source.MaxFileSize); err == nil {
					d = newDocument(path, string(text), nil)
				} else {
					d = newDocument(path, "", nil)
				}
			}
			documents[path] = d
		}
		return documents[path]
	}
	for path := range s.found[dir] {
		found[path] = nil // its mistakes are gone
	}
	for path := range s.open {
		if s.projectDir(path) == dir {
			found[path] = nil
		}
	}
	for _, d := range ds {
		path := v.file.path
		if d.File != "" {
			path = filepath.Join(dir, d.File)
			if filepath.IsAbs(d.File) {
				path = d.File
			}
		}
		found[path] = append(found[path], located(document(path), d))
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		d := document(path)
		params := publishParams{URI: d.uri(), Version: d.version, Diagnostics: []diagnostic{}}
		for i := range found[path] {
			shown := &found[path][i].diagnostic
			shown.Message = s.options.Secrets.In(shown.Message)
			params.Diagnostics = append(params.Diagnostics, *shown)
		}
		_ = s.rpc.Notify(context.Background(), "textDocument/publishDiagnostics", params) // Wait returns the session's end
		if found[path] == nil && s.open[path] == nil {
			delete(found, path)
		}
	}
	s.found[dir] = found
}
