package provider

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/examples/providers/pulumi-nodejs/internal/quickjs"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/js"
)

//go:embed node.js
var node string

//go:embed dynamic.js
var dynamic string

// runner runs the closures of dynamic providers. It keeps loaded ones.
type runner struct {
	js *quickjs.Engine
	// The state of the running call.
	ctx    context.Context
	answer string
	err    *failure
	ended  bool
	// stale is set once something of a call that has ended may still run. It would run, and answer, in the next call.
	stale bool
}

// failure is the error that a closure threw.
type failure struct {
	Name       string         `json:"name"`
	Message    string         `json:"message"`
	Stack      string         `json:"stack"`
	ID         string         `json:"id"`
	Properties map[string]any `json:"properties"`
	Reasons    []string       `json:"reasons"`
}

func (f *failure) Error() string {
	message := f.Message
	if f.Name != "" && f.Name != "Error" {
		message = f.Name + ": " + message
	}
	for _, line := range strings.Split(f.Stack, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "at ") {
			message += "\n    " + line
		}
	}
	return message
}

func newRunner() (*runner, error) {
	r := &runner{ctx: context.Background()}
	engine, err := quickjs.New(r.host)
	if err != nil {
		return nil, err
	}
	r.js = engine
	for _, script := range [...]struct{ name, text string }{{"runtime.js", js.Runtime}, {"streams.js", js.Streams}, {"intl.js", js.Intl}, {"node.js", node}, {"dynamic.js", dynamic}} {
		if _, err := engine.Evaluate(script.text, script.name); err != nil {
			return nil, fmt.Errorf("the runtime of dynamic providers has not started: %w", err)
		}
	}
	engine.Watch()
	return r, nil
}

// run calls a method of a dynamic provider, and everything that it waits for.
func (r *runner) run(ctx context.Context, request map[string]any) ([]byte, error) {
	env := map[string]string{}
	for _, v := range os.Environ() {
		if name, value, ok := strings.Cut(v, "="); ok && sandboxed {
			env[name] = value
		}
	}
	request["env"] = env
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return nil, err
	}
	r.ctx, r.answer, r.err, r.ended = ctx, "", nil, false
	defer func() { r.ctx = context.Background() }()
	if _, err := r.js.Evaluate("__begin("+string(quoted)+")", "call.js"); err != nil {
		return nil, err
	}
	for !r.ended {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ran, err := r.js.Job()
		if err != nil {
			return nil, err
		}
		if ran || r.ended {
			continue
		}
		text, err := r.js.Evaluate("__idle()", "call.js")
		if err != nil {
			return nil, err
		}
		wait, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		if wait < 0 && !r.ended {
			// A job may have been queued by the last timer.
			if ran, err := r.js.Job(); err != nil || ran {
				if err != nil {
					return nil, err
				}
				continue
			}
			return nil, errors.New("the dynamic provider waits for a promise that nothing is going to resolve: no timer and no request is pending")
		}
		if wait > 0 {
			t := time.NewTimer(time.Duration(wait * float64(time.Millisecond)))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return nil, ctx.Err()
			}
		}
	}
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	return []byte(r.answer), nil
}

// mostLeft is how many jobs of a call may run after its answer.
const mostLeft = 10_000

// end runs what a call that has its answer has left behind, so that nothing of it runs in the next one.
func (r *runner) end() {
	for left := 0; !r.stale; left++ {
		ran, err := r.js.Job()
		r.stale = err != nil || left == mostLeft
		if !ran {
			break
		}
	}
	if !r.stale {
		_, err := r.js.Evaluate("__end()", "call.js")
		r.stale = err != nil
	}
}

// host answers what the runtime asks for.
func (r *runner) host(name, argument string) string {
	log := guest.Log(r.ctx)
	switch name {
	case "debug":
		log.Debug(argument)
	case "info":
		log.Info(argument)
	case "warning":
		log.Warning(argument)
	case "error":
		log.Error(argument)
	case "done":
		if !r.ended {
			r.answer, r.ended = argument, true
		}
	case "failed", "uncaught":
		f := &failure{}
		if err := json.Unmarshal([]byte(argument), f); err != nil {
			f.Message = argument
		}
		switch {
		case !r.ended && name == "uncaught":
			r.stale = true // the call goes on, although it has failed
			f.Message = "an error that nothing in the dynamic provider catches: " + f.Message
			fallthrough
		case !r.ended:
			r.err, r.ended = f, true
		case name == "uncaught":
			log.Warning("an error that nothing in the dynamic provider catches, after the call had its answer: " + f.Message)
		}
	case "random":
		n, err := strconv.Atoi(argument)
		if err != nil || n < 0 || n > 1<<20 {
			return ""
		}
		b := make([]byte, n)
		rand.Read(b)
		return hex.EncodeToString(b)
	case "hash":
		return answer(digest(argument))
	case "url":
		return answer(parse(argument))
	case "fetch":
		return answer(fetch(r.ctx, argument))
	case "fs":
		return answer(files(argument))
	case "zlib":
		return answer(compress(argument))
	case "crypto":
		return answer(ciphers(argument))
	}
	return ""
}

// answer returns a result as JSON, or the error.
func answer(v map[string]any, err error) string {
	if err != nil {
		v = map[string]any{"error": err.Error()}
		if errors.Is(err, context.DeadlineExceeded) {
			v["timedOut"] = true
		}
		if e, ok := errors.AsType[*errno](err); ok {
			v["code"] = e.code
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return `{"error":"it cannot be written as JSON"}`
	}
	return string(text)
}

var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

func digest(argument string) (map[string]any, error) {
	var q struct {
		Algorithm, Data, Key string
		Keyed                bool
	}
	if err := json.Unmarshal([]byte(argument), &q); err != nil {
		return nil, err
	}
	algorithm := hashes[q.Algorithm]
	if algorithm == nil {
		return nil, fmt.Errorf("there is no hash %q in the sandbox of a dynamic provider, but md5, sha1, sha224, sha256, sha384, and sha512", q.Algorithm)
	}
	data, err := hex.DecodeString(q.Data)
	if err != nil {
		return nil, err
	}
	h := algorithm()
	if q.Keyed {
		key, err := hex.DecodeString(q.Key)
		if err != nil {
			return nil, err
		}
		h = hmac.New(algorithm, key)
	}
	h.Write(data)
	return map[string]any{"sum": hex.EncodeToString(h.Sum(nil))}, nil
}

func parse(argument string) (map[string]any, error) {
	var q [2]string
	if err := json.Unmarshal([]byte(argument), &q); err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.ReplaceAll(q[0], " ", "%20"))
	if err != nil {
		return nil, err
	}
	if q[1] != "" {
		base, err := url.Parse(q[1])
		if err != nil {
			return nil, err
		}
		u = base.ResolveReference(u)
	}
	web := u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ws" || u.Scheme == "wss"
	if u.Scheme == "" || web && u.Hostname() == "" {
		return nil, errors.New("it is not absolute")
	}
	if web && u.Path != "" {
		u = u.ResolveReference(&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery, Fragment: u.Fragment, RawFragment: u.RawFragment})
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	parts := map[string]any{
		"protocol": strings.ToLower(u.Scheme) + ":", "hostname": strings.ToLower(host), "port": u.Port(), "pathname": u.EscapedPath(), "username": "", "password": "", "search": "", "hash": "",
	}
	if u.Opaque != "" {
		parts["pathname"] = u.Opaque
	}
	if u.User != nil {
		password, _ := u.User.Password()
		parts["username"], parts["password"] = url.QueryEscape(u.User.Username()), url.QueryEscape(password)
	}
	if u.RawQuery != "" {
		parts["search"] = "?" + u.RawQuery
	}
	if f := u.EscapedFragment(); f != "" {
		parts["hash"] = "#" + f
	}
	return parts, nil
}

// longestBody is how much of a response the engine takes, because it holds the bytes in several forms.
const longestBody = 8 << 20

func fetch(ctx context.Context, argument string) (map[string]any, error) {
	var q struct {
		URL, Method, Redirect, Body string
		Timeout                     float64
		Headers                     [][2]string
	}
	if err := json.Unmarshal([]byte(argument), &q); err != nil {
		return nil, err
	}
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(q.Timeout*float64(time.Millisecond)))
		defer cancel()
	}
	body, err := base64.StdEncoding.DecodeString(q.Body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, q.Method, q.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range q.Headers {
		if h[0] == "host" {
			return nil, errors.New("the header host cannot be set: it follows from the URL")
		}
		request.Header.Add(h[0], h[1])
	}
	client := http.Client{}
	redirected := false
	client.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
		switch {
		case q.Redirect == "manual":
			return http.ErrUseLastResponse
		case q.Redirect == "error":
			return errors.New("unexpected redirect")
		case len(via) > 20:
			return errors.New("redirect count exceeded")
		}
		redirected = true
		return nil
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, longestBody+1))
	if err != nil {
		return nil, err
	}
	if len(content) > longestBody {
		return nil, fmt.Errorf("the response is longer than %d MiB, which is all that a dynamic provider takes", longestBody>>20)
	}
	headers := [][2]string{}
	for name, values := range response.Header {
		for _, v := range values {
			headers = append(headers, [2]string{name, v})
		}
	}
	return map[string]any{
		"status": response.StatusCode, "statusText": http.StatusText(response.StatusCode), "url": response.Request.URL.String(),
		"redirected": redirected, "headers": headers, "body": base64.StdEncoding.EncodeToString(content),
	}, nil
}

// errorOf returns an error of the engine or a closure as an error of the contract.
func errorOf(err error) *abi.Error {
	var f *failure
	message := "the dynamic provider failed: " + err.Error()
	if errors.As(err, &f) {
		message = f.Error()
	}
	kind := abi.ErrorKindInternal
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = abi.ErrorKindCancelled
	}
	return abi.NewError(kind, message)
}
