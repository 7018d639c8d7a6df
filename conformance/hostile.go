package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// hostileValues are values that programs do not give, and that a provider gets all the
// same where somebody means it ill.
func hostileValues() []property.Value {
	nested := property.String("x")
	for range 60 {
		nested = property.Array(property.Object(property.NewMap(property.Entry{Key: "", Value: nested})))
	}
	return []property.Value{
		property.Null,
		property.Unknown,
		property.Secret(property.Null),
		property.Secret(property.Unknown),
		property.Bool(true),
		property.Number(math.NaN()),
		property.Number(math.Inf(-1)),
		property.Number(-1),
		property.Number(1 << 62),
		property.Number(0.5),
		property.String(""),
		property.String("../../../etc/passwd\x00"),
		property.String("%s%n\u202e{{.}}\n"),
		property.String(strings.Repeat("a", 1<<14)),
		property.Array(),
		property.Array(property.Null, property.Unknown),
		property.Object(property.Map{}),
		property.Object(property.NewMap(property.Entry{Key: "", Value: property.Null}, property.Entry{Key: "__proto__", Value: property.Unknown})),
		property.AssetOf(property.Asset{}),
		property.ArchiveOf(property.Archive{}),
		property.OutputOf(property.Output{Value: property.Unknown, Dependencies: []string{"no URN"}}),
		nested,
	}
}

// hostileBags are inputs in which every property has the same hostile value.
func hostileBags(o *schema.Object) []property.Map {
	var bags []property.Map
	for _, v := range hostileValues() {
		entries := []property.Entry{{Key: unheardOf(o), Value: v}}
		for i := range o.Properties {
			entries = append(entries, property.Entry{Key: o.Properties[i].Name, Value: v})
		}
		bags = append(bags, property.NewMap(entries...))
	}
	return append(bags, property.Map{})
}

// hostileCases are cases of such inputs, after the given ones.
func (r *run) hostileCases(o *schema.Object, given []Case) []Case {
	cases := slices.Clone(given)
	if r.options.CasesOnly {
		return cases
	}
	for i, bag := range hostileBags(o) {
		cases = append(cases, Case{Name: fmt.Sprintf("hostile %d", i+1), Inputs: bag})
	}
	return cases
}

// testHostile calls what changes nothing with the inputs as they are.
func (s *subject) testHostile(ctx context.Context, f *findings, c Case) {
	f.report(ruleHostile, s.survives(ctx, c.Inputs))
}

func (s *subject) survives(ctx context.Context, bag property.Map) error {
	u, main := urnOf(s.token), s.main
	// A provider may answer to read what it was given, but nothing that is not known.
	known := bag.Transform(func(v property.Value) property.Value {
		if v.IsUnknown() {
			return property.Null
		}
		return v
	})
	for _, q := range []struct {
		method string
		ask    func() error
	}{
		{"check", func() error {
			_, err := s.check(ctx, main, bag, nil, nil)
			return err
		}},
		{"check with old inputs", func() error {
			_, err := s.check(ctx, main, bag, &bag, nil)
			return err
		}},
		{"diff", func() error {
			_, err := ask(ctx, main, abi.Provider.Diff, abi.DiffRequest{
				URN: u, Type: s.token, ID: "", Olds: bag, OldInputs: bag, News: bag, IgnoreChanges: []string{"*", `a["`, ""},
			})
			return err
		}},
		{"diff with nothing", func() error {
			_, err := ask(ctx, main, abi.Provider.Diff, abi.DiffRequest{URN: u, Type: s.token, ID: "x", News: bag})
			return err
		}},
		{"the preview of create", func() error {
			_, err := ask(ctx, main, abi.Provider.Create, abi.CreateRequest{URN: u, Type: s.token, Inputs: bag, Timeout: -1, Preview: true})
			return err
		}},
		{"the preview of update", func() error {
			_, err := ask(ctx, main, abi.Provider.Update, abi.UpdateRequest{
				URN: u, Type: s.token, ID: "../x\n", Olds: bag, OldInputs: bag, News: bag, Timeout: -1, Preview: true,
			})
			return err
		}},
		{"read", func() error {
			_, err := ask(ctx, main, abi.Provider.Read, abi.ReadRequest{URN: u, Type: s.token, ID: "no such ID", State: &known, Inputs: &known})
			return err
		}},
	} {
		if err := q.ask(); isFault(err) {
			return fmt.Errorf("%s with %s: %w", q.method, bag, err)
		}
	}
	return nil
}
