package provider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/yaml"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/files"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// maxDocument bounds a document in bytes. The largest that are published have some 10 MB.
const maxDocument = 16 << 20

// document is an OpenAPI 3 document that refers to nothing outside of itself.
type document struct {
	spec *openapi3.T
	// normal is the document in a deterministic JSON form, without what the provider does not use.
	normal []byte
}

// load reads a document from a file or a URL, with the documents that it refers to.
func load(ctx context.Context, source string) (*document, error) {
	at, err := url.Parse(source)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		at = &url.URL{Path: source}
	}
	fail := func(err error) error { return describe(err, source) }
	data, err := fetch(ctx, at)
	if err != nil {
		return nil, fail(err)
	}
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.ReadFromURIFunc = readFrom(ctx, at)
	spec, err := read(loader, data, at)
	if err != nil {
		return nil, fail(err)
	}
	if err := checkWhole(spec); err != nil {
		return nil, fail(err)
	}
	pruneUnused(spec)
	spec.InternalizeRefs(ctx, internalNames(spec, at))
	if err := resolveServers(spec, at); err != nil {
		return nil, fail(err)
	}
	prune(spec)
	normal, err := json.Marshal(spec)
	if err != nil {
		return nil, fail(err)
	}
	return &document{spec, normal}, nil
}

// readFrom reads what the document at a place refers to. The network gets no files.
func readFrom(ctx context.Context, at *url.URL) openapi3.ReadFromURIFunc {
	return func(_ *openapi3.Loader, other *url.URL) ([]byte, error) {
		if isFile := other.Scheme != "http" && other.Scheme != "https"; isFile && at.Scheme != "" {
			return nil, errors.New("a document on the network cannot refer to the file " + other.Path)
		}
		return fetch(ctx, other)
	}
}

func parse(normal []byte) (*document, error) {
	spec, err := complete(openapi3.NewLoader().LoadFromData(normal))
	if err == nil {
		err = checkWhole(spec)
	}
	if err != nil {
		return nil, describe(err, "the document in the state")
	}
	return &document{spec, normal}, nil
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

// read reads an OpenAPI 3 document, or converts a Swagger 2.0 one.
func read(loader *openapi3.Loader, data []byte, at *url.URL) (*openapi3.T, error) {
	var version struct{ Swagger, OpenAPI string }
	asJSON := data
	if json.Unmarshal(data, &version) != nil {
		var err error
		if asJSON, err = yaml.YAMLToJSON(data); err != nil {
			return nil, errors.New("it is neither JSON nor YAML: " + err.Error())
		}
		if err := json.Unmarshal(asJSON, &version); err != nil {
			return nil, errors.New("it is not an OpenAPI document: " + err.Error())
		}
	}
	var spec *openapi3.T
	var err error
	switch {
	case strings.HasPrefix(version.Swagger, "2."):
		var old openapi2.T
		if err := json.Unmarshal(asJSON, &old); err != nil {
			return nil, err
		}
		if err := checkConvertible(&old); err != nil {
			return nil, err
		}
		spec, err = openapi2conv.ToV3WithLoader(&old, loader, at)
	case strings.HasPrefix(version.OpenAPI, "3."):
		spec, err = loader.LoadFromDataWithPath(data, at)
	case version.Swagger+version.OpenAPI != "":
		return nil, errors.New("its version is " + version.Swagger + version.OpenAPI + "; versions 2.0 (Swagger) and 3 (OpenAPI) can be read")
	default:
		return nil, errors.New("it is not an OpenAPI document: it has no openapi or swagger version")
	}
	return complete(spec, err)
}

// complete checks that a document that was read has what each must have.
func complete(spec *openapi3.T, err error) (*openapi3.T, error) {
	switch {
	case err != nil:
		return nil, err
	case spec.Info == nil:
		return nil, errors.New("it has no info with a title and a version")
	case spec.Paths.Len() == 0:
		return nil, errors.New("it has no paths")
	}
	if spec.Components == nil {
		spec.Components = &openapi3.Components{}
	}
	return spec, nil
}

func fetch(ctx context.Context, at *url.URL) ([]byte, error) {
	var body io.ReadCloser
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
		body = response.Body
	} else {
		file, err := os.Open(at.Path)
		if err != nil {
			return nil, fileError(ctx, at.Path, err)
		}
		body = file
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = errors.New("it has more than " + strconv.Itoa(maxDocument) + " bytes")
	}
	return data, err
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

// resolveServers makes the servers' URLs absolute if the document's own URL allows it, with the
// defaults of their variables.
func resolveServers(spec *openapi3.T, at *url.URL) error {
	for _, server := range spec.Servers {
		text := server.URL
		for name, variable := range server.Variables {
			text = strings.ReplaceAll(text, "{"+name+"}", variable.Default)
		}
		u, err := url.Parse(text)
		if err != nil {
			return errors.New("the server " + text + " is not a URL: " + err.Error())
		}
		if !u.IsAbs() && at.Scheme != "" {
			u = at.ResolveReference(u)
		}
		server.URL, server.Variables = u.String(), nil
	}
	return nil
}

// pruneUnused removes what the provider does not use and what may refer to anything. The library
// follows a path that calls back to itself without an end.
func pruneUnused(spec *openapi3.T) {
	spec.Tags, spec.ExternalDocs, spec.Extensions = nil, nil, nil
	spec.Components.Examples, spec.Components.Callbacks, spec.Components.Links, spec.Components.Headers = nil, nil, nil, nil
	for _, item := range spec.Paths.Map() {
		for _, op := range item.Operations() {
			op.Callbacks, op.ExternalDocs, op.Tags = nil, nil, nil
		}
	}
}

// prune removes what else the provider does not use. Both make most documents less than half as large.
func prune(spec *openapi3.T) {
	for _, item := range spec.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if !strings.HasPrefix(status, "2") && status != "default" {
					op.Responses.Delete(status)
				} else if response.Value != nil {
					pruneContent(response.Value.Content)
					response.Value.Headers, response.Value.Links = nil, nil
				}
			}
			if body := op.RequestBody; body != nil && body.Value != nil {
				pruneContent(body.Value.Content)
			}
			for _, parameter := range op.Parameters {
				if parameter.Value != nil {
					parameter.Value.Example, parameter.Value.Examples = nil, nil
				}
			}
		}
	}
	for _, s := range spec.Components.Schemas {
		if s.Value != nil {
			s.Value.Example, s.Value.Examples, s.Value.XML, s.Value.ExternalDocs = nil, nil, nil, nil
			for _, property := range s.Value.Properties {
				if property.Value != nil {
					property.Value.Example, property.Value.Examples, property.Value.XML = nil, nil, nil
				}
			}
		}
	}
	pruneComponents(spec)
}

func pruneContent(content openapi3.Content) {
	for _, media := range content {
		media.Example, media.Examples, media.Encoding = nil, nil, nil
	}
}

// pruneComponents takes out the components that nothing refers to any more.
func pruneComponents(spec *openapi3.T) {
	for {
		text, err := json.Marshal(spec)
		if err != nil {
			return // it will not be kept either
		}
		used := func(kind, name string) bool {
			reference := `"#/components/` + kind + "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
			return strings.Contains(string(text), reference+`"`) || strings.Contains(string(text), reference+"/")
		}
		before := len(text)
		c := spec.Components
		dropUnused(c.Schemas, "schemas", used)
		dropUnused(c.Parameters, "parameters", used)
		dropUnused(c.RequestBodies, "requestBodies", used)
		dropUnused(c.Responses, "responses", used)
		if after, err := json.Marshal(spec); err != nil || len(after) == before {
			return
		}
	}
}

func dropUnused[V any](components map[string]V, kind string, used func(kind, name string) bool) {
	for name := range components {
		if !used(kind, name) {
			delete(components, name)
		}
	}
}
