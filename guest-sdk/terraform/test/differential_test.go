package test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

// seedVariable names the environment variable with the seed of generated requests.
const seedVariable = "HUSK_TEST_SEED"

// generated is the number of generated inputs of each resource and each function.
const generated = 60

func seed(t *testing.T) uint64 {
	n := uint64(1)
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		n, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, seedVariable)
	}
	t.Logf("the seed of the requests is %d; set %s for another", n, seedVariable)
	return n
}

// differential is a provider twice: in the process of the test, and as a module.
type differential struct {
	native, ported abi.Provider
	pkg            *schema.Package
	seed           uint64
	// texts are texts that the provider takes, by the names of properties.
	texts map[string][]string
	// random reports whether a resource with these inputs has results that differ each time. They are
	// compared by their kinds.
	random func(token string, inputs property.Map) bool
	// created is the number of resources that were created.
	created int
}

// generator returns the generator of the inputs of a number.
func (d *differential) generator(token string, number int) *fakevalue.Generator {
	h := fnv.New64a()
	h.Write([]byte(token))
	g := &fakevalue.Generator{
		Random: rand.New(rand.NewPCG(d.seed, h.Sum64()+uint64(number))),
		Texts: func(p *schema.Property) []string {
			texts := d.texts[p.Name]
			return slices.Concat(texts, texts, texts) // a random word is the exception
		},
	}
	g.Optional = func() bool { return g.Random.IntN(3) == 0 }
	return g
}

// inputs generates inputs: those of even numbers fit the schema, and of the others up to three values are
// wrong, unknown, or secret.
func (d *differential) inputs(token string, o *schema.Object, number int) property.Map {
	g := d.generator(token, number)
	m := whole(g, g.Object(o))
	if number%2 == 1 {
		for range 1 + g.Random.IntN(3) {
			m, _ = g.Mutate(m)
		}
		m = whole(g, m)
	}
	return m
}

// whole returns inputs in which at most one number has a fraction, and few inputs have one: schemas of
// Terraform do not tell which numbers are integers, and of several wrong ones an SDK reports any.
func whole(g *fakevalue.Generator, m property.Map) property.Map {
	left := g.Random.IntN(8) == 0
	v := property.Object(m).Transform(func(v property.Value) property.Value {
		if n, ok := v.AsNumber(); ok && n != math.Floor(n) {
			if left {
				left = false
				return v
			}
			return number(math.Floor(n))
		}
		return v
	})
	m, _ = v.AsObject()
	return m
}

// known returns inputs as they are when all is known. Other values stand for properties that the schema
// does not have.
func (d *differential) known(token string, o *schema.Object, m property.Map) property.Map {
	for name, v := range m.All() {
		if !v.ContainsUnknowns() {
			continue
		}
		m = m.With(name, text("known"))
		if p := o.Property(name); p != nil {
			g := d.generator(token+name, 0)
			m = m.With(name, whole(g, object(name, g.Property(p))).Get(name))
		}
	}
	return m
}

// run compares the answers for generated requests of all methods, and reports those that differ with the
// least inputs for which they do.
func (d *differential) run(t *testing.T) {
	ctx := t.Context()
	minimal := func(t *testing.T, o *schema.Object, inputs property.Map, ask func(property.Map) error) {
		err := ask(inputs)
		if err == nil {
			return
		}
		for smaller := true; smaller; {
			smaller = false
			for m := range fakevalue.Shrink(o, inputs) {
				if e := ask(m); e != nil {
					inputs, err, smaller = m, e, true
					break
				}
			}
		}
		t.Errorf("%s=%d, with the inputs\n%s\n%v", seedVariable, d.seed, property.Object(inputs), err)
	}
	t.Run("configuration", func(t *testing.T) {
		for i := range generated {
			minimal(t, &d.pkg.Config, d.inputs("", &d.pkg.Config, i), func(m property.Map) error { return d.configuration(ctx, m) })
		}
	})
	for _, r := range d.pkg.Resources {
		t.Run(r.Token, func(t *testing.T) {
			d.created = 0
			defer func() { require.Greater(t, d.created, generated/5, "enough of the generated inputs are valid") }()
			for i := range generated {
				next := d.inputs(r.Token, &r.Inputs, 1000+i)
				minimal(t, &r.Inputs, d.inputs(r.Token, &r.Inputs, i), func(m property.Map) error {
					if i%3 == 0 { // only one property changes
						name := ""
						for _, key := range m.Keys() {
							if _, ok := fakevalue.Change(&r.Inputs, m, key); ok && (name == "" || d.generator(key, i).Random.IntN(2) == 0) {
								name = key
							}
						}
						next, _ = fakevalue.Change(&r.Inputs, m, name)
					}
					return d.life(ctx, r, m, next)
				})
			}
		})
	}
	for _, f := range d.pkg.Functions {
		t.Run(f.Token, func(t *testing.T) {
			for i := range generated {
				minimal(t, &f.Args, d.inputs(f.Token, &f.Args, i), func(m property.Map) error { return d.call(ctx, f, m) })
			}
		})
	}
}

// both asks both providers, and returns the answer in the process. It fails if the answers, as values,
// differ.
func both[R any](d *differential, what string, ask func(abi.Provider) (R, error), shown func(R) property.Value) (R, *abi.Error, error) {
	want, wantErr := ask(d.native)
	got, gotErr := ask(d.ported)
	x, y := shownError(wantErr), shownError(gotErr)
	if wantErr == nil && gotErr == nil {
		x, y = shown(want), shown(got)
	}
	if !x.Equal(y) {
		return want, nil, fmt.Errorf("%s: natively\n%s\nand in the module\n%s", what, property.Render(x), property.Render(y))
	}
	return want, abi.AsError(wantErr), nil
}

func shownError(err error) property.Value {
	e := abi.AsError(err)
	if e == nil {
		return property.String("no error")
	}
	m := object("kind", e.Kind.String(), "path", e.Path, "message", e.Message)
	for _, key := range e.MissingKeys {
		m = m.With("needs "+key.Name, text(key.Description))
	}
	if f := e.InitFailure; f != nil {
		m = m.With("id", text(f.ID)).With("state", property.Object(f.State))
		for i, reason := range f.Reasons {
			m = m.With("reason "+strconv.Itoa(i), text(reason))
		}
	}
	return property.Object(m)
}

func shownFailures(all []abi.CheckFailure) property.Value {
	var values []property.Value
	for _, f := range all {
		values = append(values, text(f.Path+": "+f.Reason))
	}
	return list(values...)
}

func shownCheck(r abi.CheckResponse) property.Value {
	return list(property.Object(r.Inputs), shownFailures(r.Failures))
}

func shownDiff(r abi.DiffResponse) property.Value {
	var lines []property.Value
	for _, p := range r.DetailedDiff {
		lines = append(lines, text(fmt.Sprint(p.Path, " ", p.Kind, " ", p.InputDiff)))
	}
	return list(text(fmt.Sprint(r.Changes, r.HasDetailedDiff, r.DeleteBeforeReplace, r.ReplaceKeys, r.StableKeys, r.ChangedKeys)), list(lines...))
}

func (d *differential) configuration(ctx context.Context, m property.Map) error {
	checked, refused, err := both(d, "check-config", func(p abi.Provider) (abi.CheckResponse, error) {
		return p.CheckConfig(ctx, abi.CheckRequest{News: m})
	}, shownCheck)
	if err != nil || refused != nil || len(checked.Failures) > 0 {
		return err
	}
	_, _, err = both(d, "diff-config", func(p abi.Provider) (abi.DiffResponse, error) {
		return p.DiffConfig(ctx, abi.DiffRequest{News: checked.Inputs})
	}, shownDiff)
	return err
}

func (d *differential) call(ctx context.Context, f *schema.Function, m property.Map) error {
	var err error
	switch {
	case f.Ephemeral:
		var opened abi.OpenEphemeralResponse
		var refused *abi.Error
		opened, refused, err = both(d, "open-ephemeral", func(p abi.Provider) (abi.OpenEphemeralResponse, error) {
			return p.OpenEphemeral(ctx, abi.OpenEphemeralRequest{Token: f.Token, Args: m})
		}, func(r abi.OpenEphemeralResponse) property.Value {
			return list(d.result(f.Token, m, r.Result), shownFailures(r.Failures), text(fmt.Sprint(r.RenewAfter > 0)))
		})
		if err == nil && refused == nil && len(opened.Failures) == 0 {
			_, _, err = both(d, "close-ephemeral", func(p abi.Provider) (any, error) {
				return nil, p.CloseEphemeral(ctx, abi.CloseEphemeralRequest{Token: f.Token, Private: opened.Private})
			}, func(any) property.Value { return property.Null })
		}
	case f.Action:
		_, _, err = both(d, "run-action", func(p abi.Provider) (abi.RunActionResponse, error) {
			return p.RunAction(ctx, abi.RunActionRequest{Token: f.Token, Args: m})
		}, func(r abi.RunActionResponse) property.Value { return shownFailures(r.Failures) })
	default:
		_, _, err = both(d, "invoke", func(p abi.Provider) (abi.InvokeResponse, error) {
			return p.Invoke(ctx, abi.InvokeRequest{Token: f.Token, Args: m})
		}, func(r abi.InvokeResponse) property.Value {
			return list(d.result(f.Token, m, r.Result), shownFailures(r.Failures))
		})
	}
	return err
}

// result returns a state or result in the form in which it is compared.
func (d *differential) result(token string, inputs, state property.Map) property.Value {
	if d.random == nil || !d.random(token, inputs) {
		return property.Object(state)
	}
	for key, v := range state.All() {
		if given := inputs.Get(key); given.Plain().IsNull() || given.ContainsUnknowns() {
			state = state.With(key, kinds(v))
		}
	}
	return property.Object(state)
}

// kinds returns a value whose texts and numbers are their kinds.
func kinds(v property.Value) property.Value {
	return v.Transform(func(v property.Value) property.Value {
		if k := v.Kind(); k == property.KindString || k == property.KindNumber {
			return text(k.String())
		}
		return v
	})
}

// life compares the answers about a resource from its inputs to its end, with a change to other inputs.
// What the provider in the process has made is what both are asked about.
func (d *differential) life(ctx context.Context, r *schema.Resource, inputs, next property.Map) error {
	token := r.Token
	check := func(news property.Map, olds *property.Map) (abi.CheckResponse, error) {
		r, _, err := both(d, "check", func(p abi.Provider) (abi.CheckResponse, error) {
			return p.Check(ctx, abi.CheckRequest{Type: token, News: news, Olds: olds})
		}, shownCheck)
		return r, err
	}
	checked, err := check(inputs, nil)
	if err != nil {
		return err
	}
	if len(checked.Failures) == 0 {
		inputs = checked.Inputs
	}
	create := func(what string, request abi.CreateRequest) (abi.CreateResponse, *abi.Error, error) {
		request.Type, request.Name, request.Inputs = token, "it", inputs
		return both(d, what, func(p abi.Provider) (abi.CreateResponse, error) {
			r, err := p.Create(ctx, request)
			if f := abi.AsError(err); f != nil && f.InitFailure != nil && d.random != nil && d.random(token, inputs) {
				return r, errors.New("half") // its state is random
			}
			return r, err
		}, func(r abi.CreateResponse) property.Value {
			id := text(r.ID)
			if d.random != nil && d.random(token, inputs) {
				id = kinds(id)
			}
			return list(id, d.result(token, inputs, r.State))
		})
	}
	if _, _, err := create("preview of create", abi.CreateRequest{Preview: true}); err != nil {
		return err
	}
	inputs = d.known(token, &r.Inputs, inputs)
	made, refused, err := create("create", abi.CreateRequest{Timeout: 70})
	if err != nil {
		return err
	}
	if refused != nil {
		if refused.InitFailure == nil {
			return nil
		}
		made.ID, made.State = refused.InitFailure.ID, refused.InitFailure.State
	}
	d.created++
	if next, err = d.change(ctx, r, &made, inputs, next, check); err != nil {
		return err
	}
	read := func(what string, request abi.ReadRequest) error {
		request.Type, request.Name = token, "it"
		_, _, err := both(d, what, func(p abi.Provider) (abi.ReadResponse, error) { return p.Read(ctx, request) }, func(r abi.ReadResponse) property.Value {
			inputs := property.Null
			if r.Inputs != nil {
				inputs = property.Object(*r.Inputs)
			}
			return list(text(r.ID), property.Object(r.State), inputs)
		})
		return err
	}
	reads := func(when string) error {
		return errors.Join(
			read("read "+when, abi.ReadRequest{ID: made.ID, State: &made.State, Inputs: &next}),
			read("read without inputs "+when, abi.ReadRequest{ID: made.ID, State: &made.State}),
			read("import "+when, abi.ReadRequest{ID: made.ID}),
		)
	}
	if err := errors.Join(reads("while it exists"), read("import of nothing", abi.ReadRequest{ID: "no such: thing"})); err != nil {
		return err
	}
	if _, _, err := both(d, "delete", func(p abi.Provider) (any, error) {
		return nil, p.Delete(ctx, abi.DeleteRequest{Type: token, Name: "it", ID: made.ID, State: made.State, OldInputs: next, Timeout: 50})
	}, func(any) property.Value { return property.Null }); err != nil {
		return err
	}
	return reads("after it was deleted")
}

// change compares the answers about changes of a resource, and returns the inputs that it has then.
func (d *differential) change(ctx context.Context, r *schema.Resource, made *abi.CreateResponse, inputs, next property.Map, check func(property.Map, *property.Map) (abi.CheckResponse, error)) (property.Map, error) {
	token := r.Token
	checked, err := check(next, &inputs)
	if err != nil {
		return inputs, err
	}
	if len(checked.Failures) == 0 {
		next = checked.Inputs
	}
	diff := func(what string, news property.Map, ignore ...string) (abi.DiffResponse, error) {
		r, _, err := both(d, what, func(p abi.Provider) (abi.DiffResponse, error) {
			return p.Diff(ctx, abi.DiffRequest{Type: token, ID: made.ID, Olds: made.State, OldInputs: inputs, News: news, IgnoreChanges: ignore})
		}, shownDiff)
		return r, err
	}
	if _, err := diff("diff of the same", inputs); err != nil {
		return inputs, err
	}
	if keys := next.Keys(); len(keys) > 0 {
		if _, err := diff("diff with a change ignored", next, keys[0]); err != nil {
			return inputs, err
		}
	}
	if _, err := diff("diff", next); err != nil {
		return inputs, err
	}
	for _, preview := range []bool{true, false} {
		if !preview {
			next = d.known(token, &r.Inputs, next)
		}
		what := map[bool]string{true: "preview of update", false: "update"}[preview]
		updated, refused, err := both(d, what, func(p abi.Provider) (abi.UpdateResponse, error) {
			return p.Update(ctx, abi.UpdateRequest{
				Type: token, Name: "it", ID: made.ID, Olds: made.State, OldInputs: inputs, News: next, Timeout: 60, Preview: preview,
			})
		}, func(r abi.UpdateResponse) property.Value { return d.result(token, next, r.State) })
		switch {
		case err != nil:
			return inputs, err
		case preview:
		case refused == nil:
			made.State, inputs = updated.State, next
		case refused.InitFailure != nil:
			made.State, inputs = refused.InitFailure.State, next
		}
	}
	return inputs, nil
}
