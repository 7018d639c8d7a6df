package yamlprogram

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/measure"
)

func (e *evaluator) call(c *expr.Call) (property.Value, bool) {
	args, ok := e.all(c.Args)
	if !ok {
		return property.Null, false
	}
	if !e.looksAt(c, args) {
		return property.Null, false
	}
	switch c.Function {
	case expr.Secret:
		p := derivation.Derivation{Secret: true}
		return p.Wrap(p.Peel(args[0])), true
	case expr.Unsecret:
		var p derivation.Derivation
		plain, _ := p.Flatten(args[0])
		p.Secret = false
		return p.Wrap(plain), true
	case expr.Length, expr.SingleOrNone:
		return e.ofParts(c, args[0])
	case expr.ResourceName, expr.ResourceType:
		return e.ofResource(c, args[0])
	case expr.Select:
		return e.selectElement(c, args)
	case expr.StackReference:
		return e.stackReference(c, args)
	}
	secret := slices.ContainsFunc(args, property.Value.ContainsSecrets)
	return e.apply(args, func(plain []property.Value) (property.Value, bool) {
		v, problem := e.builtin(c, plain, secret)
		if problem != nil {
			at := c.Args[problem.argument]
			e.errorf(at, "%s: %s", c.Function, problem.message)
		}
		return v, problem == nil
	})
}

// bytesPerStep is how much text a function looks at in the time of a step: even a slow one, such as [sha1.Sum], takes 1 ns a byte.
const bytesPerStep = 64

// looksAt charges for the arguments of a function, which takes time also if its result is small.
func (e *evaluator) looksAt(c *expr.Call, args []property.Value) bool {
	switch c.Function {
	case expr.Secret, expr.Select, expr.SingleOrNone, expr.Length, expr.ResourceName, expr.ResourceType:
		return true // they look at the outermost part alone, and the length of text is charged while it is counted
	}
	for _, arg := range args {
		m := measure.Of(arg)
		if !e.spend(c, m.Parts()+m.Text()/bytesPerStep, 0) {
			return false
		}
	}
	return e.ctx.Err() == nil
}

// characters counts what a reader takes for one character, which may be many code points.
func (e *evaluator) characters(c *expr.Call, text string) (n int, ok bool) {
	const perStep = 4 // it takes 20 to 50 ns for a byte
	state, uncharged := -1, 0
	for rest := text; rest != ""; n++ {
		var character string
		character, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		uncharged += len(character)
		if steps := uncharged / perStep; steps >= 1024 || rest == "" {
			if uncharged = 0; !e.spend(c, steps, 0) {
				return 0, false
			}
		}
	}
	return n, true
}

// argumentError describes a mistake in an argument. It does not show the value, which may be a secret.
type argumentError struct {
	argument int
	message  string
}

// builtin calls a function of plain arguments. secret says that one of them was a secret.
func (e *evaluator) builtin(c *expr.Call, args []property.Value, secret bool) (property.Value, *argumentError) {
	switch c.Function {
	case expr.Join:
		return join(args[0], args[1])
	case expr.Split:
		delimiter, err := textArg(args, 0, "the delimiter")
		if err != nil {
			return property.Null, err
		}
		text, err := textArg(args, 1, "the text to split")
		if err != nil {
			return property.Null, err
		}
		if strings.Count(text, delimiter) >= measure.MaxParts {
			return property.Null, &argumentError{1, tooLarge}
		}
		parts := strings.Split(text, delimiter)
		elements := make([]property.Value, len(parts))
		for i, part := range parts {
			elements[i] = property.String(part)
		}
		return property.Array(elements...), nil
	case expr.ToJSON:
		text, err := program.JSON(args[0])
		if err != nil {
			return property.Null, &argumentError{0, err.Error()}
		}
		return property.String(text), nil
	case expr.AssetArchive:
		return assetArchive(args[0])
	}
	text, err := textArg(args, 0, "the argument")
	if err != nil {
		return property.Null, err
	}
	switch c.Function {
	case expr.ToBase64:
		return property.String(base64.StdEncoding.EncodeToString([]byte(text))), nil
	case expr.FromBase64:
		return fromBase64(text)
	case expr.SHA1:
		sum := sha1.Sum([]byte(text))
		return property.String(hex.EncodeToString(sum[:])), nil
	case expr.StringAsset:
		return property.AssetOf(property.Asset{Source: property.SourceText, Text: text}), nil
	case expr.RemoteAsset, expr.RemoteArchive:
		v, err := remote(c.Function, text)
		if err == nil && e.c.isForeign(c.Args[0]) {
			return e.foreignContents(c.Args[0], v, secret)
		}
		return v, err
	default: // of files
		if e.c.isForeign(c.Args[0]) {
			return e.foreignFile(c, text, secret)
		}
		_, constant := c.Args[0].(*expr.Literal)
		return e.file(c, text, constant)
	}
}

func textArg(args []property.Value, i int, what string) (string, *argumentError) {
	text, ok := args[i].AsString()
	if !ok {
		return "", &argumentError{i, what + " must be text, not " + articled(args[i])}
	}
	return text, nil
}

func articled(v property.Value) string {
	switch kind := v.Kind(); kind {
	case property.KindNull:
		return "null"
	case property.KindBool:
		return "a truth value"
	case property.KindArray:
		return "a list"
	case property.KindObject, property.KindAsset, property.KindArchive:
		return "an " + kind.String()
	default:
		return "a " + kind.String()
	}
}

// join joins texts, numbers, and truth values. A delimiter of null is none.
func join(delimiter, list property.Value) (property.Value, *argumentError) {
	var between string
	if !delimiter.IsNull() {
		var err *argumentError
		if between, err = textArg([]property.Value{delimiter}, 0, "the delimiter"); err != nil {
			return property.Null, err
		}
	}
	elements, ok := list.AsArray()
	if !ok {
		return property.Null, &argumentError{1, "the values to join must be a list, not " + articled(list)}
	}
	parts, size := make([]string, len(elements)), 0
	for i, element := range elements {
		text, problem := textOf(element)
		if problem != "" {
			return property.Null, &argumentError{1, "element " + property.Path{property.Index(i)}.String() + " " + problem}
		}
		parts[i] = text
		if size += len(text) + len(between); size > measure.MaxText+len(between) {
			return property.Null, &argumentError{1, tooLarge}
		}
	}
	return property.String(strings.Join(parts, between)), nil
}

// selectElement gives the result the provenance of the list, the index, and the element alone.
func (e *evaluator) selectElement(c *expr.Call, args []property.Value) (property.Value, bool) {
	var p derivation.Derivation
	index, list := p.Peel(args[0]), p.Peel(args[1])
	if index.IsUnknown() || list.IsUnknown() {
		return p.Wrap(property.Unknown), true
	}
	f, isNumber := index.AsNumber()
	if !isNumber || !index.IsInteger() || f < 0 {
		e.errorf(c.Args[0], "%s: the index must be a whole number from 0 on", c.Function)
		return property.Null, false
	}
	elements, isArray := list.AsArray()
	if !isArray {
		e.errorf(c.Args[1], "%s: the values to select from must be a list, not %s", c.Function, articled(list))
		return property.Null, false
	}
	if f >= float64(len(elements)) {
		e.errorf(c.Args[0], "%s: the list has %s, so the index is too large", c.Function, countElements(len(elements)))
		return property.Null, false
	}
	return p.Wrap(p.Peel(elements[int(f)])), true
}

// ofParts calls a function of a list's or mapping's own parts, whatever those are. The result has the
// provenance of the list, and of the element that it is.
func (e *evaluator) ofParts(c *expr.Call, arg property.Value) (property.Value, bool) {
	var p derivation.Derivation
	v := p.Peel(arg)
	if v.IsUnknown() {
		return p.Wrap(v), true
	}
	elements, isArray := v.AsArray()
	m, isObject := v.AsObject()
	text, isText := v.AsString()
	switch {
	case c.Function == expr.Length && isText:
		n, ok := e.characters(c, text)
		return p.Wrap(property.Number(float64(n))), ok
	case c.Function == expr.Length && isObject:
		return p.Wrap(property.Number(float64(m.Len()))), true
	case c.Function == expr.Length && !isArray:
		e.errorf(c.Args[0], "%s: the argument must be a list, a mapping, or text, not %s", c.Function, articled(v))
		return property.Null, false
	case c.Function == expr.Length:
		return p.Wrap(property.Number(float64(len(elements)))), true
	case !isArray:
		e.errorf(c.Args[0], "%s: the argument must be a list, not %s", c.Function, articled(v))
		return property.Null, false
	case len(elements) > 1:
		e.errorf(c.Args[0], "%s: the list has %s, and can have only one", c.Function, countElements(len(elements)))
		return property.Null, false
	case len(elements) == 0:
		return p.Wrap(property.Null), true
	}
	return p.Wrap(p.Peel(elements[0])), true
}

// ofResource returns the name or type of a resource, which are known before it is registered.
func (e *evaluator) ofResource(c *expr.Call, arg property.Value) (property.Value, bool) {
	var p derivation.Derivation
	v := p.Peel(arg)
	if v.IsUnknown() && e.static {
		return property.Unknown, true
	}
	ref, _ := v.AsReference()
	i := e.scope.instance(ref.URN)
	switch {
	case i == nil:
		e.errorf(c.Args[0], "%s: the argument must be a resource, as in ${name}, not %s", c.Function, articled(v))
		return property.Null, false
	case c.Function == expr.ResourceName && e.static && i.decl.nameExpr != nil:
		return property.Unknown, true
	case c.Function == expr.ResourceName && i.decl.nameExpr != nil:
		return property.String(i.urn.Name()), true
	case c.Function == expr.ResourceName:
		return property.String(i.decl.logicalName), true
	}
	return property.String(i.decl.token), true
}

func fromBase64(text string) (property.Value, *argumentError) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return property.Null, &argumentError{0, "the argument is not base64"}
	}
	if !utf8.Valid(data) {
		return property.Null, &argumentError{0, "what the base64 encodes is not UTF-8 text"}
	}
	return property.String(string(data)), nil
}

func remote(f expr.Function, uri string) (property.Value, *argumentError) {
	scheme, rest, _ := strings.Cut(uri, "://")
	if rest == "" || (scheme != "http" && scheme != "https" && scheme != "file") {
		return property.Null, &argumentError{0, "the argument must be an http, https, or file URL"}
	}
	if f == expr.RemoteAsset {
		return property.AssetOf(property.Asset{Source: property.SourceURI, URI: uri}), nil
	}
	return property.ArchiveOf(property.Archive{Source: property.SourceURI, URI: uri}), nil
}

func assetArchive(v property.Value) (property.Value, *argumentError) {
	m, ok := v.AsObject()
	if !ok {
		return property.Null, &argumentError{0, "the argument must be a mapping of paths to assets and archives, not " + articled(v)}
	}
	for _, key := range m.Keys() {
		if kind := m.Get(key).Kind(); kind != property.KindAsset && kind != property.KindArchive {
			return property.Null, &argumentError{0, "under " + property.Path{property.Key(key)}.String() + " is " + articled(m.Get(key)) + ", not an asset or archive"}
		}
	}
	return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: m}), nil
}
