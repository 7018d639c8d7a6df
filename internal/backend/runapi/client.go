package runapi

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/printable"
)

const (
	callTime   = 30 * time.Second
	retryTime  = 2 * time.Minute
	firstPause = 100 * time.Millisecond
	lastPause  = 3 * time.Second
	maxAnswer  = 128 << 20 // bytes: a bundle
	maxReason  = 8 << 10   // bytes
	// A body of more than largeBody bytes is sent once the server has agreed to it, or has not said anything for agreeTime, as
	// a proxy that does not know the question.
	largeBody, agreeTime = 1 << 20, 3 * time.Second
)

// StatusError is an answer of the server that refuses something.
type StatusError struct {
	Status int
	Reason string
	// After is when the server wants to be asked again, 0 if it has not said.
	After time.Duration
	// Answered says that it is the server who refuses, and not what stands before it.
	Answered bool
}

func (e *StatusError) Error() string { return e.Reason }

// IsFinal reports whether the server would refuse the same call again.
func (e *StatusError) IsFinal() bool {
	return e.Answered && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

// ErrUnreachable says that the server has answered no attempt of a call.
var ErrUnreachable = errors.New("the server cannot be reached")

type unreachableError struct {
	place string
	err   error
}

func (e *unreachableError) Error() string   { return fmt.Sprintf("the server %s: %v", e.place, e.err) }
func (e *unreachableError) Unwrap() []error { return []error{ErrUnreachable, e.err} }

// Client calls a server. It is safe for concurrent use.
type Client struct {
	url, place, token string
	http              *http.Client
	// reached says that the server has answered before, this client or another with the same server.
	reached *atomic.Bool
	// attemptTime bounds an attempt without a large body.
	attemptTime time.Duration
}

// NewClient returns the client of the server at a URL such as https://husk.example.com, whose password is the token
// unless that is given. Without encryption, the server must be this machine.
func NewClient(text, token string) (*Client, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the URL of the server must have the form https://host or https://:TOKEN@host")
	}
	if err := backend.CheckPlainHTTP(u, "the token"); err != nil {
		return nil, fmt.Errorf("the URL of the server is %w", err)
	}
	if password, ok := u.User.Password(); ok {
		token = password
	}
	u.User = nil
	c := &Client{url: strings.TrimSuffix(u.String(), "/"), token: token, reached: new(atomic.Bool), attemptTime: 2 * callTime}
	c.place = c.url
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
			TLSHandshakeTimeout: callTime, IdleConnTimeout: time.Minute, ExpectContinueTimeout: agreeTime,
			HTTP2: backend.HTTP2(),
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server
	}
	return c, nil
}

// With returns the client of the same server with another token.
func (c *Client) With(token string) *Client {
	other := *c
	other.token = token
	return &other
}

// AttemptsOf returns the client with attempts of another time: whoever does not answer for that long, such as one server of several
// that hangs, is not waited for.
func (c *Client) AttemptsOf(long time.Duration) *Client {
	other := *c
	other.attemptTime = long
	return &other
}

// URL returns the server's URL, without the token.
func (c *Client) URL() string { return c.url }

// Token returns the token.
func (c *Client) Token() string { return c.token }

// Call sends a request with in as JSON, unless it is nil, and reads the answer into out, unless that is nil. It is sent
// again while the server cannot be reached or is overloaded, when the server says if it does: all requests may be repeated. It reports whether the server had
// anything to answer.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) (bool, error) {
	return c.CallFor(ctx, retryTime, method, path, in, out)
}

// CallFor is Call that gives up after a time.
func (c *Client) CallFor(ctx context.Context, long time.Duration, method, path string, in, out any) (bool, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return false, err
		}
	}
	answer, err := c.Send(ctx, long, method, path, "application/json", body)
	if err != nil || len(answer) == 0 || out == nil {
		return len(answer) > 0, err
	}
	if err := intake.AnswerJSON(answer, out); err != nil {
		return false, fmt.Errorf("the server %s: its answer cannot be understood: %w", c.place, err)
	}
	return true, nil
}

// Send sends a body and returns the answer's body, as Call does.
func (c *Client) Send(ctx context.Context, long time.Duration, method, path, contentType string, body []byte) ([]byte, error) {
	end, pause := time.Now().Add(long), firstPause
	for {
		answer, again, err := c.attempt(ctx, method, path, contentType, body)
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !again {
			return nil, fmt.Errorf("the server %s: %w", c.place, err)
		}
		wait := pause
		var refused *StatusError
		if errors.As(err, &refused) && refused.After > 0 {
			wait = refused.After + rand.N(refused.After/4+1) // others were told the same
		}
		if time.Now().Add(wait).After(end) {
			return nil, &unreachableError{c.place, err}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		pause = min(2*pause, lastPause)
	}
}

func (c *Client) request(ctx context.Context, method, path, contentType string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if len(body) > largeBody {
		req.Header.Set("Expect", "100-continue")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

func (c *Client) attempt(ctx context.Context, method, path, contentType string, body []byte) (answer []byte, again bool, err error) {
	const perSecond = 256 << 10
	ctx, cancel := context.WithTimeout(ctx, c.attemptTime+time.Duration(len(body)/perSecond)*time.Second)
	defer cancel()
	req, err := c.request(ctx, method, path, contentType, body)
	if err != nil {
		return nil, false, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var asked *url.Error
		if errors.As(err, &asked) {
			err = asked.Err
		}
		var certificate *tls.CertificateVerificationError
		return nil, !errors.As(err, &certificate), err
	}
	defer func() { _ = resp.Body.Close() }()
	// A balancer or proxy between client and server may answer anything while the server cannot be reached.
	between := !backend.IsAnswer(resp.Header)
	if !between {
		c.reached.Store(true)
	}
	between = between && c.reached.Load()
	if resp.StatusCode/100 != 2 || between {
		again := between || resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout
		return nil, again, c.refused(resp)
	}
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if len(answer) > maxAnswer {
		return nil, false, fmt.Errorf("its answer has more than %d MiB", maxAnswer>>20)
	}
	return answer, true, err
}

func (c *Client) refused(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	var problem Problem
	if err := intake.AnswerJSON(text, &problem); err != nil || problem.Error == "" {
		problem.Error = fmt.Sprintf("it answered %s: check that the URL names a husk server", resp.Status)
		if c.reached.Load() {
			problem.Error = fmt.Sprintf("what stands before it, such as a balancer, answered %s", resp.Status)
		}
		if resp.StatusCode == http.StatusRequestEntityTooLarge {
			problem.Error = backend.TooLarge(resp.Request.ContentLength)
		}
	}
	problem.Error = printable.Line(problem.Error) // it says what it likes
	if resp.StatusCode == http.StatusUnauthorized {
		problem.Error += "; " + backend.TokenAdvice(resp.Header)
	}
	seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 20) // a date is for caches
	if err != nil {
		seconds = 0
	}
	return &StatusError{resp.StatusCode, problem.Error, time.Duration(seconds) * time.Second, backend.IsAnswer(resp.Header) || !c.reached.Load()}
}

// Follow calls do with the lines of a run's log after a number, as they come, and with each state of the run, until do
// returns false or an error, or the run is final. A connection that ends is made again.
func (c *Client) Follow(ctx context.Context, id string, after int64, do func(*Line, *Run) (bool, error)) error {
	silent := time.Now()
	var failed error
	for {
		on, err := c.follow(ctx, id, &after, func(l *Line, r *Run) bool {
			silent = time.Now()
			on, err := do(l, r)
			failed = err
			return on && err == nil
		})
		var refused *StatusError
		switch {
		case failed != nil || err == nil && !on:
			return failed
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && refused.IsFinal():
			return fmt.Errorf("the server %s: %w", c.place, err)
		case errors.Is(err, errStopped):
			return err
		case time.Since(silent) > retryTime:
			return fmt.Errorf("the server %s: %w", c.place, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

var errStopped = errors.New("following the log was stopped")

func (c *Client) follow(ctx context.Context, id string, after *int64, do func(*Line, *Run) bool) (on bool, err error) {
	req, err := c.request(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(id)+"/log", "", nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", strconv.FormatInt(*after, 10))
	resp, err := c.http.Do(req)
	if err != nil {
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK || !backend.IsAnswer(resp.Header) && c.reached.Load() {
		return true, c.refused(resp)
	}
	const maxLine = 4 << 20
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	var event, data string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			event = value
		case "data":
			data = value
		case "":
			if data == "" {
				continue
			}
			var line *Line
			var run *Run
			switch event {
			case "line":
				line = new(Line)
				err = intake.AnswerJSON([]byte(data), line)
			case "run":
				run = new(Run)
				err = intake.AnswerJSON([]byte(data), run)
			}
			if err != nil {
				return false, fmt.Errorf("%w: what it sent cannot be understood: %w", errStopped, err)
			}
			if line != nil {
				*after = line.Number
			}
			if line != nil || run != nil {
				if !do(line, run) {
					return false, nil
				}
			}
			event, data = "", ""
		}
	}
	return true, lines.Err()
}

// SendBundle sends the files of a project, unless the server has them.
func (c *Client) SendBundle(ctx context.Context, digest string, content []byte) error {
	path := "/v1/bundles/" + digest
	_, err := c.Send(ctx, retryTime, http.MethodHead, path, "", nil)
	var refused *StatusError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		_, err = c.Send(ctx, retryTime, http.MethodPut, path, "application/gzip", content)
	}
	return err
}
