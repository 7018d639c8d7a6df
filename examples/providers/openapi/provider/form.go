package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// formField is a pair of a form.
type formField struct {
	name, text string
	// mediaType is the media type of the text if it is not plain text.
	mediaType string
}

const mediaJSON = "application/json"

// styleDeep writes a[b][0]=c for a value inside of others.
const styleDeep = "deepObject"

// encode returns a body as the operation takes it, and its media type. In an update of a form, null and an empty list or
// object are sent as an empty text, by which forms remove a value.
func (o *operation) encode(body map[string]any, update bool) (text []byte, mediaType string, err error) {
	if !document.IsForm(o.mediaType) {
		text, err = json.Marshal(body)
		return text, o.mediaType, err
	}
	var fields []formField
	for _, name := range slices.Sorted(maps.Keys(body)) {
		list, err := fieldsOf(name, body[name], o.encoding[name])
		if err != nil {
			return nil, "", err
		}
		for _, f := range list {
			if update || f.text != "" || !empty(body[name]) {
				fields = append(fields, f)
			}
		}
	}
	if document.IsMultipart(o.mediaType) {
		return parts(fields)
	}
	pairs := make([]string, len(fields))
	for i, f := range fields {
		pairs[i] = url.QueryEscape(f.name) + "=" + url.QueryEscape(f.text)
	}
	return []byte(strings.Join(pairs, "&")), o.mediaType, nil
}

// parts returns a form as multipart/form-data (RFC 7578).
func parts(fields []formField) (text []byte, mediaType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		header := textproto.MIMEHeader{"Content-Disposition": {mime.FormatMediaType("form-data", map[string]string{"name": f.name})}}
		if f.mediaType != "" {
			header.Set("Content-Type", f.mediaType)
		}
		part, err := w.CreatePart(header)
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write([]byte(f.text)); err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// empty reports whether a value says nothing: null, a list, or an object without anything in it.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// fieldsOf returns a value as pairs of a form. Without a style, lists are a pair for each element, and objects are JSON
// (OpenAPI 3.0.4, 4.8.15).
func fieldsOf(name string, v any, e *openapi3.Encoding) ([]formField, error) {
	if e == nil {
		e = &openapi3.Encoding{}
	}
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	explode := e.Explode != nil && *e.Explode || e.Explode == nil && (e.Style == "" || e.Style == openapi3.SerializationForm)
	styled := e.Style != "" || e.Explode != nil
	switch {
	case empty(v):
		return []formField{{name: name}}, nil
	case e.Style == styleDeep:
		return deepFields(name, v), nil
	case !isList && !isObject:
		return []formField{{name: name, text: scalarText(v)}}, nil
	case !styled && (isObject || e.ContentType == mediaJSON):
		return jsonField(name, v)
	case !styled || isList && explode:
		fields := make([]formField, 0, len(list))
		for _, element := range list {
			switch element.(type) {
			case []any, map[string]any:
				f, err := jsonField(name, element)
				if err != nil {
					return nil, err
				}
				fields = append(fields, f...)
			default:
				fields = append(fields, formField{name: name, text: scalarText(element)})
			}
		}
		return fields, nil
	case isObject && explode:
		var fields []formField
		for _, key := range slices.Sorted(maps.Keys(object)) {
			text, err := flat(name+"."+key, object[key])
			if err != nil {
				return nil, err
			}
			fields = append(fields, formField{name: key, text: text})
		}
		return fields, nil
	}
	var texts []string
	for i, element := range list {
		text, err := flat(name+"["+strconv.Itoa(i)+"]", element)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		text, err := flat(name+"."+key, object[key])
		if err != nil {
			return nil, err
		}
		texts = append(texts, key, text)
	}
	return []formField{{name: name, text: strings.Join(texts, separatorOf(e.Style))}}, nil
}

// separatorOf returns the separator that a style writes between the elements of a list.
func separatorOf(style string) string {
	switch style {
	case openapi3.SerializationSpaceDelimited:
		return " "
	case openapi3.SerializationPipeDelimited:
		return "|"
	}
	return ","
}

// deepFields returns a value as pairs whose names say where each scalar is.
func deepFields(name string, v any) (fields []formField) {
	if empty(v) {
		return []formField{{name: name}}
	}
	switch v := v.(type) {
	case []any:
		for i, element := range v {
			fields = append(fields, deepFields(name+"["+strconv.Itoa(i)+"]", element)...)
		}
		return fields
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, deepFields(name+"["+key+"]", v[key])...)
		}
		return fields
	}
	return []formField{{name: name, text: scalarText(v)}}
}

func jsonField(name string, v any) ([]formField, error) {
	text, err := json.Marshal(v)
	return []formField{{name: name, text: string(text), mediaType: mediaJSON}}, err
}

// flat returns an element that a style can write only if it is a scalar.
func flat(at string, v any) (string, error) {
	switch v.(type) {
	case []any, map[string]any:
		return "", guest.InvalidArgument(at, "the service takes only text, numbers, and bools here, because its form has no way to write what is inside of others")
	}
	return scalarText(v), nil
}

// scalarText returns a scalar as forms have it, and null as an empty text.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// withoutFiles returns the schema of a form without its files, which no property can hold; nil if it needs one.
func withoutFiles(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	if ref == nil || ref.Value == nil {
		return ref
	}
	m := merge(ref.Value)
	fields := openapi3.Schemas{}
	for name, p := range m.properties {
		switch isFile := p.Value.Format == "binary" || p.Value.Type.Is("file"); {
		case isFile && m.required[name]:
			return nil
		case !isFile:
			fields[name] = p
		}
	}
	if len(fields) == len(m.properties) {
		return ref
	}
	s := *ref.Value
	s.AllOf, s.Properties, s.Required = nil, fields, slices.Sorted(maps.Keys(m.required))
	s.Type = &openapi3.Types{cmp.Or(strings.Join(m.types, ""), openapi3.TypeObject)}
	return &openapi3.SchemaRef{Value: &s}
}
