package lsp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
	"github.com/husk-dev/husk/internal/workspace/validation"
)

// check returns all that is wrong with a project, as a preview says it, in the order of the files. The error is the
// context's.
//
// A stack is checked with its configuration: the selected one, and those whose files are open.
func (v *view) check(ctx context.Context, stack string, open []string) (ds source.Diagnostics, err error) {
	ds = slices.Concat(v.problems, v.file.mistakes)
	if v.program != v.file {
		ds = append(ds, v.program.mistakes...)
	}
	if v.project == nil {
		return ds.Sorted(), nil
	}
	stacks := []string{stack}
	if selected, err := workspace.StackOf(v.project, stack); err == nil {
		stacks[0] = selected
	} else if stack == "" {
		stacks[0] = workspace.DefaultStack
	}
	for _, path := range open {
		if stack, ok := workspace.StackOfFile(filepath.Base(path)); ok && filepath.Dir(path) == v.project.StackConfigDir {
			stacks = append(stacks, stack)
		}
	}
	slices.Sort(stacks)
	for _, stack := range slices.Compact(stacks) {
		found, err := v.checkStack(ctx, stack)
		if err != nil {
			return nil, err
		}
		ds = append(ds, found...)
	}
	return slices.DeleteFunc(ds.Sorted(), v.follows), nil
}

// checkSafely is check for any text: a mistake of the checker is a problem of the project file, and not the end of the session.
func (v *view) checkSafely(ctx context.Context, stack string, open []string) (ds source.Diagnostics, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			ds, err = source.Diagnostics{v.file.file.Errorf(source.Position{}, "the project cannot be checked, which is a mistake in husk: %v", cause)}, nil
		}
	}()
	return v.check(ctx, stack, open)
}

func (v *view) checkStack(ctx context.Context, stack string) (source.Diagnostics, error) {
	limits, err := plugins.EvaluationOf(v.project, v.packages.options.Limits)
	var unusable source.Diagnostics
	if err != nil && !errors.As(err, &unusable) {
		unusable = source.Diagnostics{v.project.File.Errorf(source.Position{}, "%v", err)}
	}
	ds, err := validation.Check(ctx, v.project, stack, v, limits)
	if err == nil {
		return append(ds, unusable...), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// The configuration of the stack cannot be used: the program is checked without it.
	var problems source.Diagnostics
	if !errors.As(err, &problems) {
		problems = source.Diagnostics{v.project.File.Errorf(source.Position{}, "%v", err)}
	}
	run := abi.RunContext{Project: v.project.Name, Stack: stack, DryRun: true}
	checked := yamlprogram.New(v.project, v)
	checked.Limit(limits)
	ds, err = checked.Validate(ctx, run, nil)
	return slices.Concat(ds, problems, unusable), err
}

// follows reports whether a diagnostic is only the consequence of lines that the tree leaves out: something that lacks what
// they say, or that names what they declare.
func (v *view) follows(d source.Diagnostic) bool {
	for _, t := range []*tree{v.program, v.file} {
		if len(t.left) == 0 {
			continue
		}
		for name := range t.lost() {
			if strings.Contains(d.Summary, `there is no `) && strings.Contains(d.Summary, `"`+name+`"`) {
				return true
			}
		}
		if d.File != t.file.Name || slices.ContainsFunc(t.mistakes, func(m source.Diagnostic) bool { return m.Summary == d.Summary && m.Line == d.Line }) {
			continue
		}
		if d.Line == 0 || t.holds(d.Line-1) || strings.Contains(d.Summary, "the project has no name") {
			return true
		}
	}
	return false
}

// published is a diagnostic with its place in a document.
type published struct {
	source.Diagnostic
	diagnostic diagnostic
	// line and column are where the diagnostic is, in bytes from 0.
	line, column int
}

// located finds the place of a diagnostic in its document. A name begins there, or text.
func located(d *document, found source.Diagnostic) published {
	out := published{Diagnostic: found}
	out.line, out.column = d.columnOf(source.Position{Line: found.Line, Column: found.Column})
	end := d.token(out.line, out.column)
	if found.Line == 0 {
		end = 0
	}
	out.diagnostic = diagnostic{
		Range: d.span(out.line, out.column, end), Severity: severityError, Source: "husk", Message: found.Summary,
	}
	if found.Severity == source.Warning {
		out.diagnostic.Severity = severityWarning
	}
	if found.Detail != "" {
		out.diagnostic.Message += "\n" + strings.TrimRight(found.Detail, "\n")
	}
	return out
}
