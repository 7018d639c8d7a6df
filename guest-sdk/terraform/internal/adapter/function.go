package adapter

//lint:file-ignore SA1019 servers and clients of the protocol encode with these functions; there are no others

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/names"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// calledFunction is a function of the provider, whose arguments have an order.
type calledFunction struct {
	parameters []parameter
	returns    *tf.Type
}

// parameter is a parameter with the name of its property.
type parameter struct {
	tf.Parameter
	property string
	typ      *tf.Type
	variadic bool
}

// resultKey is the property of a result that is not an object.
const resultKey = "result"

func (b *builder) addFunctions() error {
	for _, name := range slices.Sorted(maps.Keys(b.pkg.schemas.Functions)) {
		f, m := b.pkg.schemas.Functions[name], b.mapping.Functions[name]
		token, module, last, err := b.token(name, names.Camel(name), m.Name, m.Token)
		if err != nil {
			return err
		}
		called := &calledFunction{returns: tf.TypeOf(f.Return)}
		all := f.Parameters
		if f.Variadic != nil {
			all = append(slices.Clone(all), *f.Variadic)
		}
		prefix := b.pkg.Name + ":" + module + "/" + last
		described := &schema.Function{Token: token, Description: f.Description, Deprecation: f.Deprecation}
		for i, p := range all {
			one := parameter{Parameter: p, property: names.Camel(p.Name), typ: tf.TypeOf(p.Type), variadic: i == len(f.Parameters)}
			if field := m.Fields[p.Name]; field.Name != "" {
				one.property = field.Name
			}
			if one.variadic {
				one.typ = tf.ListOf(one.typ)
			}
			if nested := objectIn(one.typ); nested != nil {
				if err := b.name(nested, m.Fields[p.Name].Fields, "the function "+name); err != nil {
					return err
				}
			}
			called.parameters = append(called.parameters, one)
			described.Args.Properties = append(described.Args.Properties, schema.Property{
				Name: one.property, Type: b.typeOf(one.typ, prefix+names.Pascal(p.Name), last+names.Pascal(p.Name)),
				Description: p.Description, Required: !one.variadic && !p.AllowNull,
			})
		}
		slices.SortFunc(described.Args.Properties, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
		if nested := objectIn(called.returns); nested != nil {
			if err := b.name(nested, nil, "the result of the function "+name); err != nil {
				return err
			}
		}
		if called.returns.Kind == tf.Object {
			described.Result.Properties = b.properties(called.returns.Object, prefix, last, parts)
		} else {
			described.Returns = b.typeOf(called.returns, prefix+"Result", last+"Result")
		}
		if err := b.addFunction(&function{name: name, called: called, Function: described}); err != nil {
			return err
		}
	}
	return nil
}

// function returns the function of a token, if it is of the kind that the method serves, and its
// checked arguments.
func (p *provider) function(ctx context.Context, token string, args property.Map, serves func(kind) bool) (*function, property.Map, []abi.CheckFailure, error) {
	pkg, err := p.describe(ctx)
	if err != nil {
		return nil, args, nil, err
	}
	f := pkg.functions[token]
	if f == nil || !serves(f.kind) {
		return nil, args, nil, p.noSuch("function", token, pkg.NearestFunction(token))
	}
	if err := p.decided(ctx); err != nil {
		return nil, args, nil, err
	}
	args, failed := f.Args.Check(args)
	if len(failed) == 0 && f.kind != isAction { // a preview of an action checks the known arguments
		err = known(args)
	}
	return f, args, failed, err
}

// known returns an error if an argument is not known.
func known(args property.Map) error {
	path, found := property.Object(args).Find(property.Value.IsUnknown)
	if !found {
		return nil
	}
	e := abi.NewError(abi.ErrorKindInvalidArgument, "the argument is not known")
	e.Path = path.String()
	return e
}

func (p *provider) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	f, args, failed, err := p.function(ctx, request.Token, request.Args, func(k kind) bool { return k == isFunction || k == isDataSource })
	if err != nil || len(failed) > 0 {
		return abi.InvokeResponse{Failures: failed}, err
	}
	ctx, end := begin(ctx, "", 0)
	defer end()
	var response abi.InvokeResponse
	if f.kind == isDataSource {
		response, err = p.readSource(ctx, f, args)
	} else {
		response, err = p.callFunction(ctx, f, args)
	}
	response.Result = secretResult(response.Result, args)
	return response, err
}

// secretResult returns the result of arguments: if one of them is secret, all of it is.
func secretResult(result, args property.Map) property.Map {
	if !args.ContainsSecrets() {
		return result
	}
	entries := slices.Clone(result.Entries())
	for i := range entries {
		entries[i].Value = property.Secret(entries[i].Value.Unwrap())
	}
	return property.SortedMap(entries)
}

// configuration returns the configuration that arguments are, once the provider has validated it.
func (f *function) configuration(ctx context.Context, args property.Map, by func(*tf.Value) (tf.Diagnostics, error)) (*located, *tf.Value, []abi.CheckFailure, error) {
	failed, err := validate(ctx, f.source.Attributes, args, by)
	if err != nil || len(failed) > 0 {
		return nil, nil, failed, err
	}
	config, err := (&encoder{config: true}).object(f.source.Attributes, args)
	if err != nil {
		return nil, nil, nil, err
	}
	v, err := encoded(config)
	return &located{f.source.Attributes, config}, v, nil, err
}

// result returns the properties of a provider's result.
func (f *function) result(v *tf.Value) (property.Map, error) {
	value, err := decoded(f.source.Attributes.Wire(), v)
	if err != nil {
		return property.Map{}, abi.NewError(abi.ErrorKindInternal, "the provider returned a result that its schema does not have: "+err.Error())
	}
	return (&decoder{names: map[string]string{}}).object(f.source.Attributes, value)
}

func (p *provider) readSource(ctx context.Context, f *function, args property.Map) (abi.InvokeResponse, error) {
	where, config, failed, err := f.configuration(ctx, args, func(config *tf.Value) (tf.Diagnostics, error) {
		return p.server.ValidateDataSource(ctx, f.name, config)
	})
	if err != nil || len(failed) > 0 {
		return abi.InvokeResponse{Failures: failed}, err
	}
	state, found, err := p.server.ReadDataSource(ctx, f.name, config)
	if err := outcome(ctx, found, err, where); err != nil {
		return abi.InvokeResponse{}, err
	}
	result, err := f.result(state)
	return abi.InvokeResponse{Result: result}, err
}

func (p *provider) callFunction(ctx context.Context, f *function, args property.Map) (abi.InvokeResponse, error) {
	var arguments []*tf.Value
	var properties []string // of the arguments
	add := func(e *encoder, t *tf.Type, v property.Value, name string) error {
		value, err := e.value(t, v)
		if err != nil {
			return err
		}
		// A parameter of any type gets the type with the value.
		data, err := value.MarshalMsgPack(t.Wire)
		if err != nil {
			return abi.AsError(err)
		}
		arguments, properties = append(arguments, &tf.Value{MsgPack: data}), append(properties, name)
		return nil
	}
	for _, parameter := range f.called.parameters {
		v := args.Get(parameter.property).Plain()
		e := &encoder{path: property.Path{property.Key(parameter.property)}}
		if !parameter.variadic {
			if err := add(e, parameter.typ, v, parameter.property); err != nil {
				return abi.InvokeResponse{}, err
			}
			continue
		}
		list, _ := v.AsArray()
		for i, element := range list {
			path := property.Path{property.Key(parameter.property), property.Index(i)}
			if err := add(&encoder{path: path}, parameter.typ.Element, element, path.String()); err != nil {
				return abi.InvokeResponse{}, err
			}
		}
	}
	result, failure, err := p.server.CallFunction(ctx, f.name, arguments)
	if err != nil {
		return abi.InvokeResponse{}, abi.AsError(err)
	}
	if failure != nil {
		if i := failure.Argument; i != nil && *i >= 0 && *i < int64(len(properties)) {
			return abi.InvokeResponse{Failures: []abi.CheckFailure{{Path: properties[*i], Reason: failure.Text}}}, nil
		}
		return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindInternal, failure.Text)
	}
	returns := f.called.returns
	value, err := decoded(returns.Wire, result)
	if err != nil {
		return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindInternal, "the function returned what its schema does not have: "+err.Error())
	}
	if value.Type() == nil || returns.Kind != tf.Object {
		v, err := (&decoder{names: map[string]string{}}).value(returns, value)
		return abi.InvokeResponse{Result: property.NewMap(property.Entry{Key: resultKey, Value: v})}, err
	}
	object, err := (&decoder{names: map[string]string{}}).object(returns.Object, value)
	return abi.InvokeResponse{Result: object}, err
}
