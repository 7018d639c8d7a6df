package yamlprogram

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
)

// An expression is foreign if a part of its value comes from somebody else than the user: a
// resource, a function of a provider, another stack, or a file, which a provider may have written. The program's text and the
// stack's configuration are the user's own. The names in an expression decide, and not its value: nothing computed of a foreign
// value passes for the user's.

func (c *compilation) findForeign() {
	c.foreign = map[string]bool{}
	for _, i := range c.graph.order {
		if n := c.graph.nodes[i]; n.variable != nil {
			c.foreign[n.name] = c.isForeign(n.variable.value)
		}
	}
}

func (c *compilation) isForeign(x expr.Expr) bool {
	if !c.program.project.Root.Trusted() {
		return true
	}
	switch x := x.(type) {
	case *expr.Literal:
		return false
	case *expr.Text:
		return slices.ContainsFunc(x.Parts, func(p expr.Part) bool { return p.Access != nil && c.isForeign(p.Access) })
	case *expr.Access:
		return c.isForeignName(x.Name)
	case *expr.List:
		return slices.ContainsFunc(x.Elements, c.isForeign)
	case *expr.Object:
		return slices.ContainsFunc(x.Entries, func(e expr.Entry) bool { return c.isForeign(e.Key) || c.isForeign(e.Value) })
	case *expr.Call:
		return readsFile(x.Function) || x.Function == expr.StackReference || slices.ContainsFunc(x.Args, c.isForeign)
	}
	return true
}

func (c *compilation) isForeignName(name string) bool {
	if name == pulumiName {
		return false
	}
	if foreign, isVariable := c.foreign[name]; isVariable {
		return foreign
	}
	_, isConfig := c.configValue(name)
	return !isConfig || c.declared[name] != nil
}

// written is the beginning of a text up to its first foreign part.
func (e *evaluator) written(x expr.Expr) string {
	text, ok := x.(*expr.Text)
	if !ok || !e.c.program.project.Root.Trusted() {
		return ""
	}
	var b strings.Builder
	for _, part := range text.Parts {
		b.WriteString(part.Text)
		if part.Access == nil {
			continue
		}
		if e.c.isForeign(part.Access) {
			break
		}
		v, ok := e.eval(part.Access)
		var p derivation.Derivation
		value, problem := textOf(p.Peel(v))
		if !ok || problem != "" {
			break
		}
		b.WriteString(value)
	}
	return b.String()
}

// foreignContents returns a foreign asset or archive as the deployment knows it.
func (e *evaluator) foreignContents(x expr.Expr, v property.Value, secret bool) (property.Value, *argumentError) {
	if e.static {
		return v, nil
	}
	m, problem := e.foreignMonitor()
	if problem != nil {
		return property.Null, problem
	}
	known, err := m.Foreign(e.ctx, v, e.written(x))
	if err != nil {
		return property.Null, foreignProblem(err, secret)
	}
	return known, nil
}

func (e *evaluator) foreignMonitor() (callback.Monitor, *argumentError) {
	m, ok := e.monitor.(callback.Monitor)
	if !ok {
		return nil, &argumentError{0, "the deployment cannot read what a provider names"}
	}
	return m, nil
}

func foreignProblem(err error, secret bool) *argumentError {
	if secret {
		return &argumentError{0, "it cannot be read; saying why could tell a secret"}
	}
	return &argumentError{0, err.Error()}
}
