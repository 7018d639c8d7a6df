package provider

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

const (
	// maxBody bounds a response in bytes.
	maxBody = 16 << 20
	// maxRedirects is how often a service may send a request elsewhere in itself.
	maxRedirects = 5

	// A request is repeated after firstDelay, doubled each time up to maxDelay, or as the service says,
	// up to maxRetryAfter.
	defaultRetries  = 5
	maxRetriesLimit = 20
	firstDelay      = 250 * time.Millisecond
	maxDelay        = 30 * time.Second
	maxRetryAfter   = 5 * time.Minute
)

// client sends the operations of a service. It is configured once, before it is used.
type client struct {
	pkg     string
	auth    *auth
	base    *url.URL
	headers http.Header
	retries int
}

type message struct {
	// path are the values in the path, in its order.
	path   []string
	query  url.Values
	header http.Header
	// body is the request's body; nil for none. update says that it changes an existing object.
	body   map[string]any
	update bool
	// gone are the values of the answer if the object is deleted.
	gone document.Conditions
	// page is the URL to send a GET to in place of the operation's own.
	page *url.URL
}

// answer is the response to a successful operation.
type answer struct {
	url    *url.URL
	status int
	header http.Header
	// body is null if there was none.
	body property.Value
}

// send does an operation. Errors have method, URL, status, and message; 404 and 410 are not-found.
func (c *client) send(ctx context.Context, o *operation, m message) (*answer, error) {
	if c.base == nil {
		return nil, abi.NewError(abi.ErrorKindInternal, "the provider is used before it is configured")
	}
	u, err := c.url(o, m)
	if err != nil {
		return nil, err
	}
	var body []byte
	mediaType := ""
	if m.body != nil {
		if body, mediaType, err = o.encode(m.body, m.update); err != nil {
			return nil, err
		}
	}
	for attempt := 0; ; attempt++ {
		request, err := http.NewRequestWithContext(ctx, o.method, u.String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if m.body == nil {
			request.Body, request.ContentLength, request.GetBody = http.NoBody, 0, nil
		} else {
			request.Header.Set("Content-Type", mediaType)
		}
		request.Header.Set("Accept", "application/json, */*;q=0.5")
		for name, values := range m.header {
			request.Header[name] = values
		}
		for name, values := range c.headers {
			request.Header[name] = values
		}
		if err := c.authorize(request, o); err != nil {
			return nil, err
		}
		x := &exchange{method: o.method, url: u}
		got, err := x.do(request)
		// With a key, the service knows a request again that it may have had.
		again := errors.Is(err, abi.ErrUnavailable) && x.response == nil && m.header.Get(keyHeader) != "" && attempt < c.retries
		if err != nil && !again {
			return nil, err
		}
		if got != nil {
			return got, x.judge(o, m, got)
		}
		if attempt == c.retries {
			return nil, x.refused(" after " + strconv.Itoa(attempt+1) + " attempts")
		}
		if err := x.wait(ctx, attempt); err != nil {
			return nil, err
		}
	}
}

// url returns the URL of an operation. Values in the path are escaped, and stay in their segment.
func (c *client) url(o *operation, m message) (*url.URL, error) {
	if m.page != nil {
		return m.page, nil
	}
	path := o.path
	for _, value := range m.path {
		begin, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		if begin < 0 || end < begin {
			break
		}
		if value == "" || value == "." || value == ".." {
			return nil, guest.InvalidArgument("", o.method+" "+o.path+": \""+value+"\" cannot stand in a path")
		}
		// A brace in the value is escaped, and not taken for a parameter.
		path = path[:begin] + url.PathEscape(value) + path[end+1:]
	}
	u, err := url.Parse(c.base.String() + path)
	if err != nil {
		return nil, guest.InvalidArgument("", o.method+" "+o.path+": "+err.Error())
	}
	u.RawQuery = m.query.Encode()
	return u, nil
}

// exchange is one attempt of an operation.
type exchange struct {
	method   string
	url      *url.URL
	response *http.Response
	message  string
}

// inside follows the redirects of a GET within the service, because credentials are for nobody else.
func inside(request *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || first.Method != http.MethodGet || request.URL.Scheme != first.URL.Scheme || request.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// do sends the request. Without a response and an error, the service asks for a retry.
func (x *exchange) do(request *http.Request) (*answer, error) {
	client := http.Client{CheckRedirect: inside}
	response, err := client.Do(request)
	if err != nil {
		return nil, x.fail(err)
	}
	defer response.Body.Close()
	x.response = response
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, x.fail(err)
	case len(body) > maxBody:
		return nil, x.failure(abi.ErrorKindInternal, response.Status+", but the answer has more than "+strconv.Itoa(maxBody)+" bytes")
	}
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		got := &answer{url: response.Request.URL, status: status, header: response.Header}
		if len(bytes.TrimSpace(body)) > 0 {
			if got.body, err = decodeJSON(body); err != nil {
				return nil, x.failure(abi.ErrorKindInternal, response.Status+", but the answer is not JSON: "+err.Error())
			}
		}
		return got, nil
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		x.message = messageOf(body)
		return nil, nil
	case status >= 300 && status < 400:
		return nil, x.failure(abi.ErrorKindInvalidArgument, response.Status+" to "+response.Header.Get("Location")+"; is "+keyBaseURL+" right?")
	}
	x.message = messageOf(body)
	return nil, x.refused("")
}

// flags are the properties by which some services say, with a status of success, whether they have executed the request.
var flags = []string{"ok", "success"}

// judge returns the error of an answer with a status of success that says that there is none.
func (x *exchange) judge(o *operation, m message, got *answer) error {
	if len(m.gone) > 0 && hold(m.gone, got.body) {
		return x.failure(abi.ErrorKindNotFound, x.response.Status+": "+observed(m.gone, got.body))
	}
	body, ok := got.body.AsObject()
	if !ok || o.response == nil || o.response.Value == nil {
		return nil
	}
	declared := merge(o.response.Value).properties
	for _, flag := range flags {
		if said, isBool := body.Get(flag).AsBool(); declared[flag] != nil && isBool && !said && (body.Has("error") || body.Has("errors")) {
			text := x.response.Status + ", but " + flag + " is false"
			if message := messageText(got.body, 0); message != "" {
				text += ": " + message
			}
			return x.failure(abi.ErrorKindInvalidArgument, text)
		}
	}
	return nil
}

// refused returns the error of a status that is none of success; circumstances come behind it.
func (x *exchange) refused(circumstances string) error {
	kind := abi.ErrorKindInvalidArgument
	switch status := x.response.StatusCode; {
	case status == http.StatusNotFound || status == http.StatusGone:
		kind = abi.ErrorKindNotFound
	case status == http.StatusTooManyRequests || status >= 500:
		kind = abi.ErrorKindUnavailable
	}
	text := x.response.Status + circumstances
	if message := strings.TrimPrefix(x.message, http.StatusText(x.response.StatusCode)); message != "" {
		text += ": " + strings.TrimPrefix(message, ": ")
	}
	return x.failure(kind, text)
}

// failure returns an error about the exchange, with the URL without its query, which may hold a key.
func (x *exchange) failure(kind abi.ErrorKind, text string) error {
	u := *x.url
	u.RawQuery, u.User = "", nil
	e := abi.NewError(kind, x.method+" "+u.String()+": "+text)
	e.Origin = abi.ErrorOriginRemote
	return e
}

// fail returns the error of a request that had no answer.
func (x *exchange) fail(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // it has the URL in it
	}
	denial, byHost := errors.AsType[*abi.Error](err)
	done := ""
	if x.method != http.MethodGet {
		done = "; whether it was done is not known"
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return x.failure(abi.ErrorKindCancelled, "no answer in the time that is allowed"+done)
	case errors.Is(err, context.Canceled):
		return x.failure(abi.ErrorKindCancelled, "cancelled"+done)
	case byHost:
		return denial // it names the request
	}
	return x.failure(abi.ErrorKindUnavailable, err.Error())
}

func (x *exchange) wait(ctx context.Context, attempt int) error {
	delay := min(firstDelay<<attempt, maxDelay)
	delay = delay/2 + random(delay/2)
	if x.response == nil { // the connection was lost
		return sleep(ctx, delay)
	}
	if asked, ok := retryAfter(x.response.Header.Get("Retry-After"), guest.Now(ctx)); ok {
		delay = asked
	}
	if deadline, ok := ctx.Deadline(); delay > maxRetryAfter || ok && guest.Now(ctx).Add(delay).After(deadline) {
		return x.refused("; it asks to be left alone for " + delay.Round(time.Millisecond).String())
	}
	guest.Log(ctx).Status(x.method + " " + x.url.Path + ": " + x.response.Status + "; trying again in " + delay.Round(time.Millisecond).String())
	return sleep(ctx, delay)
}

func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter reads the header Retry-After (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) (delay time.Duration, ok bool) {
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// random returns a duration below the limit, so that clients do not all retry together.
func random(limit time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(limit)+1))
	if err != nil {
		return limit
	}
	return time.Duration(n.Int64())
}
