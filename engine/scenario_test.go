package engine_test

import (
	"context"
	"fmt"
	"go/format"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

// scenario is what a test of the model does to one stack: plain data, so that a
// failing one can be printed and pasted.
type scenario []act

// act is one operation on the stack.
type act struct {
	Do      string // up, refresh, or destroy
	Program modelProgram
	// RunProgram, ContinueOnError, and RefreshFirst are options of the deployment.
	RunProgram, ContinueOnError, RefreshFirst bool
	// Judged says that a policy adds a note to each resource.
	Judged bool
	// Taint and Replace name resources to replace.
	Taint, Replace []string
	// Drift and Lose name resources whose objects change or vanish before a refresh.
	Drift, Lose []string
	// Fail holds the calls of providers that fail, such as "create a"; Half those that
	// have their effect, but report that it is not healthy.
	Fail, Half []string
	// Targets are the resources to work on, Excludes those to leave alone, with
	// Dependents also what depends on them.
	Targets, Excludes []string
	Dependents        bool
	// CrashAt is the write of the state at which the process dies, 0 for none; with
	// Late that write is still done.
	CrashAt int
	Late    bool
}

// policies are those of the act.
func (a act) policies(t testing.TB) []analysis.Pack {
	if !a.Judged {
		return nil
	}
	noted := notes()
	noted.Remedy = func(_ context.Context, r resourceRequest) (policy.Remedy, error) {
		if !strings.HasPrefix(r.Resource.Type, "test:index:") || r.Resource.Properties.Has("note") {
			return policy.Remedy{}, nil
		}
		inputs := r.Resource.Properties.With("note", property.String("by the house"))
		return policy.Remedy{Inputs: &inputs}, nil
	}
	p, err := policy.New(policy.Pack{Name: "house", Version: "1.0.0", Policies: []policy.Policy{policy.Of(noted)}})
	require.NoError(t, err)
	return []analysis.Pack{{Policy: p}}
}

// quiet reports whether nothing goes wrong in the act.
func (a act) quiet() bool { return a.CrashAt == 0 && len(a.Fail)+len(a.Half) == 0 }

// modelResource is one resource of a random program.
type modelResource struct {
	Name, Type string
	Key        int
	// Alias is an earlier name.
	Alias string
	// From, After, Owner, and With are earlier resources of the program: those whose
	// computed property is an input, those that it depends on without taking anything,
	// the one (counted from 1) that it is deleted with, and the ones that it is
	// replaced with.
	From, After, With []int
	Owner             int
	Trigger           int // a replacement trigger, 0 for none
	DeleteFirst       bool
	Retain            bool
	Ignore            bool // changes of the key
	Region            bool // uses the program's own provider
}

// modelProgram is a random program.
type modelProgram struct {
	Region    int // configures the program's own provider
	Resources []modelResource
}

// vague is a type whose provider cannot tell what differs.
const vague = "test:index:Vague"

func (m modelProgram) program() enginetest.Program {
	return func(p *enginetest.Run) error {
		own, err := p.Custom(providerType, "own", props("region", m.Region))
		if err != nil {
			return err
		}
		made := make([]enginetest.Resource, len(m.Resources))
		for i, r := range m.Resources {
			inputs := props("key", r.Key)
			for _, from := range r.From {
				inputs = inputs.With("from"+m.Resources[from].Name, made[from].Out("made"))
			}
			if r.Owner > 0 {
				inputs = inputs.With("owner", made[r.Owner-1].Out("made"))
			}
			made[i], err = p.Custom(r.Type, r.Name, inputs, func(o *abi.ResourceOptions) {
				r.options(o, made)
				if r.Region {
					o.Provider = own.Reference()
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func (r modelResource) options(o *abi.ResourceOptions, made []enginetest.Resource) {
	urnsOf := func(indexes []int) (out []urn.URN) {
		for _, i := range indexes {
			out = append(out, made[i].URN)
		}
		return out
	}
	o.Dependencies, o.ReplaceWith = urnsOf(r.After), urnsOf(r.With)
	if r.Owner > 0 {
		o.DeletedWith = made[r.Owner-1].URN
	}
	if r.DeleteFirst {
		o.DeleteBeforeReplace = &r.DeleteFirst
	}
	if r.Retain {
		o.RetainOnDelete = &r.Retain
	}
	if r.Trigger > 0 {
		trigger := property.Number(float64(r.Trigger))
		o.ReplacementTrigger = &trigger
	}
	if r.Ignore {
		o.IgnoreChanges = []string{"key"}
	}
	if r.Alias != "" {
		o.Aliases = []abi.Alias{aliasName(r.Alias)}
	}
}

var modelNames = []string{"a", "b", "c", "d", "e", "f"}

func drawProgram(t *rapid.T) modelProgram {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(modelNames), 0, len(modelNames), rapid.ID).Draw(t, "names")
	free := slices.DeleteFunc(slices.Clone(modelNames), func(n string) bool { return slices.Contains(names, n) })
	m := modelProgram{Region: rapid.IntRange(0, 2).Draw(t, "region")}
	rarely := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 5 } // a failing case shrinks to none
	for i, name := range names {
		earlier := func(what string) []int {
			if i == 0 {
				return nil
			}
			return rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 2), rapid.ID).Draw(t, what)
		}
		r := modelResource{
			Name: name, Type: rapid.SampledFrom([]string{plain, strict, single, vague}).Draw(t, "type"),
			Key: rapid.IntRange(0, 2).Draw(t, "key"), From: earlier("from"), After: earlier("after"),
			DeleteFirst: rarely("delete first"), Retain: rarely("retain"),
			Ignore: rarely("ignore"), Region: rarely("region"),
		}
		if len(free) > 0 && rarely("alias") {
			r.Alias, free = free[0], free[1:]
		}
		if rarely("trigger") {
			r.Trigger = rapid.IntRange(1, 2).Draw(t, "trigger")
		}
		if rarely("with") {
			r.With = earlier("with")
		}
		if i > 0 && rarely("owner") {
			r.Owner = rapid.IntRange(1, i).Draw(t, "owner")
		}
		m.Resources = append(m.Resources, r)
	}
	return m
}

func drawScenario(t *rapid.T) scenario {
	some := func(what string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(modelNames), 0, 2, rapid.ID).Draw(t, what)
	}
	calls := func(what string, methods ...string) (out []string) {
		for range rapid.IntRange(0, 2).Draw(t, what) {
			out = append(out, rapid.SampledFrom(methods).Draw(t, what)+" "+rapid.SampledFrom(modelNames).Draw(t, what))
		}
		return out
	}
	var out scenario
	for range rapid.IntRange(1, 6).Draw(t, "acts") {
		a := act{Do: rapid.SampledFrom([]string{"up", "up", "up", "refresh", "destroy"}).Draw(t, "do")}
		a.Program = drawProgram(t)
		switch a.Do {
		case "up":
			a.RefreshFirst = rapid.IntRange(0, 5).Draw(t, "refresh first") == 5
			a.Judged = rapid.IntRange(0, 3).Draw(t, "judged") == 3
			if rapid.IntRange(0, 3).Draw(t, "ask") == 3 {
				a.Taint, a.Replace = some("taint"), some("replace")
			}
		case "refresh":
			a.Drift, a.Lose = some("drift"), some("lose")
			fallthrough
		case "destroy":
			a.RunProgram = rapid.IntRange(0, 2).Draw(t, "run program") == 2
		}
		switch rapid.IntRange(0, 5).Draw(t, "trouble") {
		case 5:
			if a.Dependents = rapid.Bool().Draw(t, "dependents"); rapid.Bool().Draw(t, "target") {
				a.Targets = some("targets")
			} else {
				a.Excludes = some("excludes")
			}
		case 4:
			a.Fail, a.Half = calls("fail", "create", "update", "delete"), calls("half", "create", "update")
			a.ContinueOnError = rapid.Bool().Draw(t, "continue")
		case 3:
			a.CrashAt, a.Late = rapid.IntRange(1, 14).Draw(t, "crash"), rapid.Bool().Draw(t, "late")
		}
		out = append(out, a)
	}
	return out
}

// source is a Go test of the scenario.
func (s scenario) source() string {
	var b strings.Builder
	b.WriteString("// What was wrong, in a sentence.\nfunc TestModelFound(t *testing.T) {\nrunScenario(t, scenario")
	writeLiteral(&b, reflect.ValueOf(s))
	b.WriteString(")\n}\n")
	formatted, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String()
	}
	return string(formatted)
}

// writeLiteral writes a composite literal without its type and without zero fields.
func writeLiteral(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		b.WriteString("{")
		for _, e := range v.Seq2() {
			if e.Kind() == reflect.Struct {
				b.WriteString("\n")
			}
			writeLiteral(b, e)
			b.WriteString(", ")
		}
		if v.Len() > 0 && v.Index(0).Kind() == reflect.Struct {
			b.WriteString("\n")
		}
		b.WriteString("}")
	case reflect.Struct:
		b.WriteString("{")
		for field, f := range v.Fields() {
			if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
				continue
			}
			b.WriteString(field.Name + ": ")
			if f.Kind() == reflect.Slice || f.Kind() == reflect.Struct {
				b.WriteString(strings.ReplaceAll(f.Type().String(), "engine_test.", ""))
			}
			writeLiteral(b, f)
			b.WriteString(", ")
		}
		b.WriteString("}")
	default:
		fmt.Fprintf(b, "%#v", v.Interface())
	}
}
