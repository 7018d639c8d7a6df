package adapter

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// text returns the diagnostic as people read it.
func text(d tf.Diagnostic) string {
	summary, detail := validText(strings.TrimSpace(d.Summary)), validText(strings.TrimSpace(d.Detail))
	if detail == "" || detail == summary {
		return summary
	}
	return summary + ": " + detail
}

// located is an object of the protocol, in which diagnostics and plans locate attributes.
type located struct {
	attributes *tf.Attributes
	value      tftypes.Value
}

// sorted returns the diagnostics by the paths of their properties: SDKs find them in any order.
func (l *located) sorted(all []tf.Diagnostic) []tf.Diagnostic {
	return slices.SortedStableFunc(slices.Values(all), func(a, b tf.Diagnostic) int {
		return strings.Compare(l.path(a.Path).String(), l.path(b.Path).String())
	})
}

// outcome writes the warnings of a call to the log, and returns its errors as one. Their paths are in
// at, nil for none.
func outcome(ctx context.Context, all tf.Diagnostics, err error, at *located) error {
	if err != nil {
		return abi.AsError(err)
	}
	var errors []tf.Diagnostic
	for _, d := range at.sorted(all) {
		if d.Warning {
			warn(ctx, d, at)
		} else {
			errors = append(errors, d)
		}
	}
	if len(errors) == 0 {
		return nil
	}
	first := abi.NewError(abi.ErrorKindInternal, "")
	if path := at.path(errors[0].Path); len(path) > 0 && len(errors) == 1 {
		first.Kind, first.Path = abi.ErrorKindInvalidArgument, path.String()
	}
	first.Message = strings.Join(reasons(errors, at, first.Path != ""), "\n")
	if ctx.Err() != nil {
		first.Kind = abi.ErrorKindCancelled
	}
	return first
}

func warn(ctx context.Context, d tf.Diagnostic, at *located) {
	message := text(d)
	if path := at.path(d.Path); len(path) > 0 {
		message = path.String() + ": " + message
	}
	guest.Log(ctx).Warning(message)
}

// reasons returns the errors as lines, with their paths unless bare.
func reasons(all []tf.Diagnostic, at *located, bare bool) []string {
	var lines []string
	for _, d := range at.sorted(all) {
		if d.Warning {
			continue
		}
		line := text(d)
		if path := at.path(d.Path); len(path) > 0 && !bare {
			line = path.String() + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// failures returns the errors of a validation, and writes its warnings to the log.
func failures(ctx context.Context, all tf.Diagnostics, at *located) []abi.CheckFailure {
	var list []abi.CheckFailure
	for _, d := range at.sorted(all) {
		if d.Warning {
			warn(ctx, d, at)
			continue
		}
		list = append(list, abi.CheckFailure{Path: at.path(d.Path).String(), Reason: text(d)})
	}
	return list
}

// path returns the property that an attribute is. It ends before what the properties do not have.
func (l *located) path(of *tftypes.AttributePath) property.Path {
	if l == nil || of == nil {
		return nil
	}
	var path property.Path
	typ, value, flat := &tf.Type{Kind: tf.Object, Object: l.attributes}, l.value, false
	for _, step := range of.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if typ.Kind != tf.Object {
				return path
			}
			a := typ.Object.Get(string(step))
			if a == nil || a.Hidden {
				return path
			}
			path = append(path, property.Key(a.Property))
			typ, value, flat = a.Type, fields(value)[a.Name], a.Flat
		case tftypes.ElementKeyString:
			if typ.Kind != tf.Map {
				return path
			}
			path = append(path, property.Key(string(step)))
			typ, value = typ.Element, fields(value)[string(step)]
		case tftypes.ElementKeyInt:
			if typ.Kind != tf.List && typ.Kind != tf.Set {
				return path
			}
			if !flat {
				path = append(path, property.Index(int(step)))
			}
			typ, value, flat = typ.Element, at(elements(value), int(step)), false
		case tftypes.ElementKeyValue:
			i := indexOf(elements(value), tftypes.Value(step))
			if typ.Kind != tf.Set || i < 0 && !flat {
				return path
			}
			if !flat {
				path = append(path, property.Index(i))
			}
			typ, value, flat = typ.Element, tftypes.Value(step), false
		}
	}
	return path
}
