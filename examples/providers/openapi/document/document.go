// Package document reads OpenAPI documents, as far as the provider uses them. Of a large document, most is left out
// before it is parsed.
package document

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/files"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// maxDocument bounds a document in bytes. The largest that are published have some 15 MB.
const maxDocument = 32 << 20

// Document has the parts of an OpenAPI document, and of the documents that it refers to, that the provider uses.
type Document struct {
	Spec *openapi3.T
	// Server is the URL of the service, empty if the document does not say it.
	Server string
	// Overrides are the user's words about resources.
	Overrides Overrides
	// Skipped are operations that cannot be understood, with the reason.
	Skipped []Skipped
	// Value makes the document again, without the files that it was made from.
	Value []byte
}

// Skipped is an operation that is left out.
type Skipped struct {
	// Method is empty if it is about the whole path.
	Method, Path string
	Reason       string
}

func (s Skipped) String() string {
	place := strings.TrimPrefix(strings.ToUpper(s.Method)+" "+s.Path, " ")
	return place + " is left out: " + s.Reason
}

// extension is the part of an extension's value beside the document.
type extension struct {
	Server    string    `json:"server,omitempty"`
	Overrides Overrides `json:"overrides"`
}

// Extension is the name of the extension.
const Extension = "x-husk"

// Load reads a document from a file or a URL, with the documents that it refers to. Errors name the source.
func Load(ctx context.Context, source string, overrides Overrides) (*Document, error) {
	at, err := url.Parse(source)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		at = &url.URL{Path: source}
	}
	fail := func(err error) error { return describe(err, source) }
	data, err := fetch(ctx, at)
	if err != nil {
		return nil, fail(err)
	}
	x, err := indexOf(data)
	if err != nil {
		return nil, fail(err)
	}
	if err := x.keep(overrides.Paths); err != nil {
		return nil, err
	}
	d := &Document{Overrides: overrides}
	if err := d.parse(ctx, x, at); err != nil {
		return nil, fail(err)
	}
	if d.Value, err = d.value(ctx, x, at); err != nil {
		return nil, fail(err)
	}
	return d, nil
}

// parse parses the operations that can be understood.
func (d *Document) parse(ctx context.Context, x *index, at *url.URL) error {
	good, err := x.understood(func(operations []*operation) error {
		text, err := x.write(operations)
		if err == nil {
			d.Spec, err = parse(ctx, text, at, x.external)
		}
		return err
	})
	if err != nil {
		return err
	}
	d.Skipped = x.skipped
	x.operations = good
	return d.resolveServer(at)
}

// value returns the document in a form that refers to nothing else.
func (d *Document) value(ctx context.Context, x *index, at *url.URL) ([]byte, error) {
	if x.external {
		d.Spec.InternalizeRefs(ctx, internalNames(d.Spec, at))
		text, err := json.Marshal(d.Spec)
		if err != nil {
			return nil, err
		}
		x = newIndex()
		if err := x.read(text); err != nil {
			return nil, err
		}
	}
	more, err := json.Marshal(extension{d.Server, d.Overrides})
	if err != nil {
		return nil, err
	}
	text, err := x.write(x.operations, named{Extension, more})
	if err != nil {
		return nil, err
	}
	// Most states would have little else in them.
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// Parse reads the value of a document.
func Parse(ctx context.Context, value []byte) (*Document, error) {
	fail := func(err error) error { return describe(err, "the document in the state") }
	text := value
	if len(value) > 1 && value[0] == 0x1f && value[1] == 0x8b {
		r, err := gzip.NewReader(bytes.NewReader(value))
		if err != nil {
			return nil, fail(err)
		}
		if text, err = io.ReadAll(io.LimitReader(r, maxDocument+1)); err != nil {
			return nil, fail(err)
		}
		if len(text) > maxDocument {
			return nil, fail(tooLarge())
		}
	}
	var more struct {
		Husk extension `json:"x-husk"`
	}
	if err := json.Unmarshal(text, &more); err != nil {
		return nil, fail(err)
	}
	spec, err := parse(ctx, text, &url.URL{}, false)
	if err != nil {
		return nil, fail(err)
	}
	d := &Document{Spec: spec, Overrides: more.Husk.Overrides, Value: value}
	if err := d.resolveServer(&url.URL{}); err != nil {
		return nil, fail(err)
	}
	if more.Husk.Server != "" {
		d.Server = more.Husk.Server
	}
	return d, nil
}

// describe says which document an error is about, and keeps its kind.
func describe(err error, source string) error {
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e
	}
	if ctx, ok := errors.AsType[*url.Error](err); ok {
		err = ctx.Err
	}
	return guest.InvalidArgument("", source+": "+err.Error())
}

// parse parses an OpenAPI 3 document, or converts a Swagger 2.0 one, with the documents that it refers to: external says
// whether there are some.
func parse(ctx context.Context, text []byte, at *url.URL, external bool) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.ReadFromURIFunc = readFrom(ctx, at)
	var version struct{ Swagger, OpenAPI string }
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, errors.New("it is not an OpenAPI document: " + err.Error())
	}
	var spec *openapi3.T
	var err error
	switch {
	case external && strings.HasPrefix(version.Swagger, "2."):
		var old openapi2.T
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, err
		}
		if err := checkConvertible(&old); err != nil {
			return nil, err
		}
		spec, err = openapi2conv.ToV3WithLoader(&old, loader, at)
	case external && strings.HasPrefix(version.OpenAPI, "3."):
		spec, err = loader.LoadFromDataWithPath(text, at)
	case strings.HasPrefix(version.Swagger, "2."), strings.HasPrefix(version.OpenAPI, "3."):
		spec, err = decode(ctx, text)
	case version.Swagger+version.OpenAPI != "":
		return nil, errors.New("its version is " + version.Swagger + version.OpenAPI + "; versions 2.0 (Swagger) and 3 (OpenAPI) can be read")
	default:
		return nil, errors.New("it is not an OpenAPI document: it has no openapi or swagger version")
	}
	switch {
	case err != nil:
		return nil, err
	case spec.Info == nil:
		return nil, errors.New("it has no info with a title and a version")
	}
	if spec.Components == nil {
		spec.Components = &openapi3.Components{}
	}
	if external {
		err = checkWhole(spec)
	}
	return spec, err
}

// readFrom reads what the document at a place refers to. The network gets no files.
func readFrom(ctx context.Context, at *url.URL) openapi3.ReadFromURIFunc {
	// One document may be read again and again, to find which operation cannot be understood.
	type read struct {
		text []byte
		err  error
	}
	known := map[string]read{}
	return func(_ *openapi3.Loader, other *url.URL) ([]byte, error) {
		if isFile := other.Scheme != "http" && other.Scheme != "https"; isFile && at.Scheme != "" {
			return nil, errors.New("a document on the network cannot refer to the file " + other.Path)
		}
		r, ok := known[other.String()]
		if !ok {
			r.text, r.err = fetch(ctx, other)
			known[other.String()] = r
		}
		return r.text, r.err
	}
}

func tooLarge() error {
	return errors.New("it has more than " + strconv.Itoa(maxDocument) + " bytes")
}

func fetch(ctx context.Context, at *url.URL) ([]byte, error) {
	var body io.ReadCloser
	size := int64(0)
	if at.Scheme == "http" || at.Scheme == "https" {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusOK {
			response.Body.Close()
			return nil, errors.New("GET " + at.Redacted() + ": " + response.Status)
		}
		body, size = response.Body, response.ContentLength
	} else {
		file, err := os.Open(at.Path)
		if err != nil {
			return nil, fileError(ctx, at.Path, err)
		}
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
		body = file
	}
	defer body.Close()
	// The memory of a growing buffer could be had several times over.
	var text bytes.Buffer
	text.Grow(int(min(max(size, 0), maxDocument)) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(body, maxDocument+1))
	if err == nil && text.Len() > maxDocument {
		err = tooLarge()
	}
	return text.Bytes(), err
}

// fileError says what to grant where the host, who knows, says that something must be.
func fileError(ctx context.Context, name string, err error) error {
	if _, asked := files.Mode(ctx, name); errors.Is(asked, abi.ErrDenied) {
		denial := abi.AsError(asked)
		return abi.NewError(abi.ErrorKindDenied, denial.Message+
			"\nto grant it, add to this provider's grants, in the project file or with --grant:\n"+
			"  fs:\n    - path: "+path.Dir(name))
	}
	return err
}

// resolveServer finds the URL of the first server, with the defaults of its variables. The document's own URL makes it
// absolute.
func (d *Document) resolveServer(at *url.URL) error {
	if len(d.Spec.Servers) == 0 || d.Spec.Servers[0] == nil {
		return nil
	}
	server := d.Spec.Servers[0]
	text := server.URL
	for name, variable := range server.Variables {
		if variable != nil {
			text = strings.ReplaceAll(text, "{"+name+"}", variable.Default)
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("the server " + text + " is not a URL: " + err.Error())
	}
	if !u.IsAbs() && at.Scheme != "" {
		u = at.ResolveReference(u)
	}
	if u.IsAbs() && u.Host != "" {
		d.Server = strings.TrimRight(u.String(), "/")
	}
	return nil
}

// understood returns the operations that can be parsed, and notes the others. All are parsed together, and only if that
// fails the halves of them.
func (x *index) understood(parse func([]*operation) error) ([]*operation, error) {
	// Mistakes in the rest of the document belong to no operation.
	if err := parse(nil); err != nil {
		return nil, err
	}
	if len(x.operations) == 0 {
		return nil, errors.New("it has no paths")
	}
	var search func(list []*operation) []*operation
	search = func(list []*operation) []*operation {
		err := parse(list)
		switch {
		case err == nil:
			return list
		case len(list) == 1:
			x.skipped = append(x.skipped, Skipped{list[0].method, list[0].path, err.Error()})
			return nil
		}
		half := len(list) / 2
		return slices.Concat(search(list[:half]), search(list[half:]))
	}
	good := search(x.operations)
	if len(good) == 0 {
		return nil, errors.New(x.skipped[0].String())
	}
	if len(x.skipped) == 0 {
		return good, nil
	}
	return good, parse(good)
}
