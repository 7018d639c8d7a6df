// Package otlp sends spans and metrics to a collector of OpenTelemetry, by OTLP over HTTP in JSON, as the environment
// variables of OpenTelemetry say. Packages trace and server make the requests.
package otlp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scope is the name of the instrumentation that makes spans and metrics.
const Scope = "github.com/husk-dev/husk"

// Environment returns the value of an environment variable, "" for none.
type Environment func(name string) string

// A Signal is a kind of telemetry, such as traces, as paths and variables name it.
type Signal string

// The signals.
const (
	Traces  Signal = "traces"
	Metrics Signal = "metrics"
)

// variable returns the variable of a signal, and its value, or those for all signals.
func (s Signal) variable(env Environment, name string) (variable, value string) {
	own := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(string(s)) + "_" + name
	if value := env(own); value != "" {
		return own, value
	}
	return "OTEL_EXPORTER_OTLP_" + name, env("OTEL_EXPORTER_OTLP_" + name)
}

// Named reports whether the environment names a collector for a signal.
func (s Signal) Named(env Environment) bool {
	_, endpoint := s.variable(env, "ENDPOINT")
	return endpoint != ""
}

// Send sends a request to a collector. It ends with its context, or after the time that a request may take.
type Send func(ctx context.Context, request []byte) error

// defaultTimeout bounds a request to a collector.
const defaultTimeout = 10 * time.Second

// Open returns a function that sends a signal to the collector that the environment names, else to the one of this machine.
func Open(env Environment, signal Signal) (Send, error) {
	if name, protocol := signal.variable(env, "PROTOCOL"); protocol != "" && !strings.HasPrefix(protocol, "http/") {
		return nil, fmt.Errorf("%s is %s; husk sends http/json: name a collector's port for HTTP, usually 4318", name, protocol)
	}
	name, endpoint := signal.variable(env, "ENDPOINT")
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		endpoint = strings.TrimRight(cmp.Or(endpoint, "http://localhost:4318"), "/") + "/v1/" + string(signal)
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the endpoint %q is not a URL such as http://localhost:4318: see %s", endpoint, name)
	}
	header := http.Header{}
	name, pairs := signal.variable(env, "HEADERS")
	for pair := range strings.SplitSeq(pairs, ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			text, err := url.PathUnescape(value)
			if err != nil {
				return nil, fmt.Errorf("%s: the header %s is not escaped as in a URL", name, key)
			}
			header.Set(strings.TrimSpace(key), strings.TrimSpace(text))
		}
	}
	header.Set("Content-Type", "application/json")
	timeout := defaultTimeout
	if name, text := signal.variable(env, "TIMEOUT"); text != "" {
		var err error
		if timeout, err = Milliseconds(name, text); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, text []byte) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(text))
		if err != nil {
			return err
		}
		request.Header = header.Clone()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
		if response.StatusCode/100 != 2 {
			return fmt.Errorf("%s answered %s", endpoint, response.Status)
		}
		return nil
	}, nil
}

// Milliseconds reads a time of a variable.
func Milliseconds(variable, text string) (time.Duration, error) {
	ms, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s is %q; it is a number of milliseconds", variable, text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// Attribute is a fact about a span or metric. Value is a string, bool, int, or uint64.
type Attribute struct {
	Key   string
	Value any
}

// Resource describes the sender: a service, and more attributes, which the environment may replace and add to.
func Resource(env Environment, more ...Attribute) []Attribute {
	resource := append([]Attribute{{"service.name", cmp.Or(env("OTEL_SERVICE_NAME"), "husk")}}, more...)
	for pair := range strings.SplitSeq(env("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		text, err := url.PathUnescape(value)
		if !ok || err != nil || key == "service.name" {
			continue
		}
		if i := slices.IndexFunc(resource, func(a Attribute) bool { return a.Key == key }); i >= 0 {
			resource[i].Value = text
			continue
		}
		resource = append(resource, Attribute{key, text})
	}
	return resource
}

// KeyValue is an attribute in the JSON of OTLP.
type KeyValue struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// Attributes returns attributes as the JSON of OTLP has them: numbers are texts.
func Attributes(list []Attribute) []KeyValue {
	var out []KeyValue
	for _, a := range list {
		var value any
		switch v := a.Value.(type) {
		case bool:
			value = map[string]bool{"boolValue": v}
		case int:
			value = map[string]string{"intValue": strconv.Itoa(v)}
		case uint64:
			value = map[string]string{"intValue": strconv.FormatUint(v, 10)}
		default:
			value = map[string]string{"stringValue": fmt.Sprint(v)}
		}
		out = append(out, KeyValue{a.Key, value})
	}
	return out
}

// Request returns the JSON of a request with all that a signal has, spans or metrics, of one resource.
func Request(signal Signal, resource []Attribute, items any) ([]byte, error) {
	kind := map[Signal]string{Traces: "Spans", Metrics: "Metrics"}[signal]
	scope := map[string]any{"scope": map[string]string{"name": Scope}, strings.ToLower(kind): items}
	return json.Marshal(map[string]any{"resource" + kind: []any{
		map[string]any{"resource": map[string]any{"attributes": Attributes(resource)}, "scope" + kind: []any{scope}},
	}})
}

// Nanos returns a time as the JSON of OTLP has it.
func Nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
