package canontest

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Draw returns a number from 0 to below n.
type Draw func(n int) int

// Seeded returns a Draw whose numbers follow from the text.
func Seeded(text string) Draw {
	h := fnv.New64a()
	h.Write([]byte(text))
	state := h.Sum64()
	return func(n int) int {
		state += 0x9e3779b97f4a7c15 // SplitMix64
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return int((z ^ z>>31) % uint64(n))
	}
}

// Fill sets *v, a value of the contract, to one that draw chooses.
func Fill(draw Draw, v any) { fill(draw, reflect.ValueOf(v).Elem()) }

func fill(draw Draw, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *property.Map:
		*p = properties(draw, 3)
		return
	case *property.Value:
		*p = value(draw, 3)
		return
	case *abi.PolicyActions:
		*p = abi.PolicyActions(draw(int(abi.PolicyActionsAnalyzeStack) << 1))
		return
	case *abi.Features:
		*p = abi.Features(draw(int(abi.FeaturesReadFirst) << 1))
		return
	case **abi.Error:
		*p = Failure(draw)
		return
	}
	if _, ok := v.Interface().(fmt.Stringer); ok && v.Kind() == reflect.Uint8 {
		cases := 0
		for v.SetUint(0); v.Interface().(fmt.Stringer).String() != "invalid"; v.SetUint(uint64(cases)) {
			cases++
		}
		v.SetUint(uint64(draw(cases)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if c := v.FieldByName("Case"); c.IsValid() {
			fill(draw, c)
			if _, field := chosen(v); field.IsValid() {
				fill(draw, field)
			}
			return
		}
		for i := range v.NumField() {
			fill(draw, v.Field(i))
		}
	case reflect.Pointer:
		if draw(2) == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(draw, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), draw(4), 8))
		for i := range v.Len() {
			fill(draw, v.Index(i))
		}
	case reflect.String:
		v.SetString(text(draw))
	case reflect.Bool:
		v.SetBool(draw(2) == 1)
	case reflect.Float64:
		v.SetFloat(number(draw))
	case reflect.Uint8:
		v.SetUint(uint64(draw(256)))
	case reflect.Uint16:
		v.SetUint(uint64(draw(1 << 16)))
	case reflect.Uint32:
		v.SetUint(uint64(draw(1<<16))<<16 | uint64(draw(1<<16)))
	case reflect.Uint64:
		v.SetUint(uint64(draw(1<<32))<<32 | uint64(draw(1<<32)))
	default:
		panic("canontest: the contract has no " + v.Kind().String())
	}
}

// Failure returns an error of a provider or an interface of the host.
func Failure(draw Draw) *abi.Error {
	e := &abi.Error{Origin: abi.ErrorOriginGuest, Message: text(draw), Path: text(draw)}
	Fill(draw, &e.Kind)
	Fill(draw, &e.MissingKeys)
	if draw(2) == 1 {
		e.Origin = abi.ErrorOriginRemote
	}
	if e.Kind == abi.ErrorKindInitFailed {
		e.InitFailure = new(abi.InitFailure)
		Fill(draw, e.InitFailure)
	}
	return e
}

func text(draw Draw) string {
	alphabet := []string{"", "a", "Z9", " ", "\x00", "é", "世界", "🐚", "\"\n", strings.Repeat("long ", 20)}
	var b strings.Builder
	for range draw(4) {
		b.WriteString(alphabet[draw(len(alphabet))])
	}
	return b.String()
}

func number(draw Draw) float64 {
	numbers := []float64{0, math.Copysign(0, -1), 1, -1.5, 1e300, 5e-324, math.Inf(1), math.Inf(-1), math.Pi}
	return numbers[draw(len(numbers))]
}

func properties(draw Draw, depth int) property.Map {
	var entries []property.Entry
	for range draw(4) {
		entries = append(entries, property.Entry{Key: text(draw), Value: value(draw, depth-1)})
	}
	return property.NewMap(entries...)
}

func value(draw Draw, depth int) property.Value {
	kinds := 8
	if depth > 0 {
		kinds = 12
	}
	switch draw(kinds) {
	case 0:
		return property.Bool(draw(2) == 1)
	case 1:
		return property.Number(number(draw))
	case 2:
		return property.String(text(draw))
	case 3:
		return property.AssetOf(property.Asset{Hash: text(draw), Source: property.SourceText, Text: text(draw)})
	case 4:
		return property.ArchiveOf(property.Archive{Source: property.SourceURI, URI: text(draw)})
	case 5:
		return property.Reference(property.ResourceReference{URN: text(draw), HasID: true, ID: text(draw)})
	case 6:
		return property.Unknown
	case 8:
		return property.Array(value(draw, depth-1), value(draw, depth-1))
	case 9:
		return property.Object(properties(draw, depth-1))
	case 10:
		return property.Secret(property.String(text(draw)))
	case 11:
		return property.OutputOf(property.Output{Value: property.Number(number(draw)), Secret: draw(2) == 1, Dependencies: []string{"urn:a", "urn:b"}})
	}
	return property.Null
}
