package cli

import (
	"context"
	"errors"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

// PluginOptions returns the options of all commands: limits, directories, and messages to the user.
func (a *App) PluginOptions() (plugins.Options, error) {
	limits, err := a.GivenLimits()
	if err != nil {
		return plugins.Options{}, err
	}
	places, err := plugins.FindPlaces()
	if err != nil {
		return plugins.Options{}, err
	}
	places.Confined = a.Setup.Own
	return plugins.Options{Places: places, Untrusted: a.isUntrusted(), Limits: limits, Secrets: a.Secrets, Events: a.SayEvent}, nil
}

// isUntrusted reports whether the command's project is not trusted.
func (a *App) isUntrusted() bool { return a.Untrusted || a.Setup.Untrusted }

// SayEvent writes a message of a provider, or the progress of a build or compilation.
func (a *App) SayEvent(e engine.Event) {
	switch e := e.(type) {
	case engine.Preparing:
		what := e.Doing + " " + display.Escape(e.Provider)
		switch {
		case e.Done:
			a.Waiting().End(what, e.GivenUp)
		case e.Received > 0:
			a.Waiting().Transferred(what, e.Received, e.Size)
		default:
			a.Waiting().Begin(what, time.Now().Add(-time.Duration(e.ElapsedMs)*time.Millisecond))
		}
	case engine.Diagnostic:
		mark := ":"
		if e.Guest {
			mark = " |"
		}
		a.Say("%s%s %s", e.Provider, mark, e.Message)
	}
}

// WithPlugins calls do with the providers of a project, nil for none.
func (a *App) WithPlugins(ctx context.Context, project *program.Project, do func(*plugins.Plugins) error) error {
	o, err := a.PluginOptions()
	if err != nil {
		return err
	}
	return WithPluginsBy(ctx, project, o, do)
}

// WithPluginsBy is withPlugins with options that the caller has changed.
func WithPluginsBy(ctx context.Context, project *program.Project, o plugins.Options, do func(*plugins.Plugins) error) error {
	p, err := plugins.Open(ctx, project, o)
	if err != nil {
		return err
	}
	return errors.Join(do(p), p.Close(context.WithoutCancel(ctx)))
}
