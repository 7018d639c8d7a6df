// Package fetch is a provider that sends requests, for the tests of package http.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http"
)

// Args is a request.
type Args struct {
	URL    string `husk:"url"`
	Method string `husk:"method,default=GET"`
	Header string `husk:"header,optional" doc:"The value of the header X-Test."`
	Host   string `husk:"host,optional"`
	Body   string `husk:"body,optional"`
	// Repeat sends the body so often.
	Repeat int `husk:"repeat,default=1"`
	// Declared says the body's length beforehand.
	Declared bool `husk:"declared,optional"`
	// TimeoutMs bounds the request.
	TimeoutMs int `husk:"timeoutMs,optional"`
	// Times does the same so often; bodies are not closed but for their end.
	Times int `husk:"times,default=1"`
	// Open returns without reading the body.
	Open bool `husk:"open,optional"`
}

// Result is the answer.
type Result struct {
	Status  string `husk:"status"`
	Type    string `husk:"type"`
	Length  int    `husk:"length"`
	Trailer string `husk:"trailer"`
	Size    int    `husk:"size"`
	Sum     string `husk:"sum"`
	Text    string `husk:"text" doc:"The body, if it is short."`
	Failure string `husk:"failure" doc:"Which errors the error is."`
}

// Provider returns a provider whose function fetches a URL.
func Provider() guest.Provider {
	return guest.Provider{Name: "fetch", Version: "1.0.0", Functions: []guest.Function{
		guest.FunctionOf("fetch:index:fetch", fetch),
	}}
}

func fetch(ctx context.Context, a Args) (r Result, err error) {
	for range a.Times {
		if r, err = once(ctx, a); err != nil {
			break
		}
	}
	if err == nil {
		return r, nil
	}
	var failure net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Result{Failure: "deadline, timeout: " + strconv.FormatBool(errors.As(err, &failure) && failure.Timeout())}, nil
	case errors.Is(err, context.Canceled):
		return Result{Failure: "cancelled"}, nil
	}
	return Result{}, err
}

func once(ctx context.Context, a Args) (Result, error) {
	if a.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	var sent io.Reader
	if a.Body != "" {
		sent = bytes.NewReader(bytes.Repeat([]byte(a.Body), a.Repeat))
		if !a.Declared {
			sent = io.MultiReader(sent) // of a type whose length package net/http cannot tell
		}
	}
	request, err := http.NewRequestWithContext(ctx, a.Method, a.URL, sent)
	if err != nil {
		return Result{}, err
	}
	if a.Header != "" {
		request.Header.Set("X-Test", a.Header)
	}
	request.Host = a.Host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Result{}, err
	}
	r := Result{Status: response.Status, Type: response.Header.Get("Content-Type"), Length: int(response.ContentLength)}
	if a.Open {
		return r, nil
	}
	sum, text := sha256.New(), new(strings.Builder)
	size, err := io.Copy(io.MultiWriter(sum, text), response.Body)
	if err != nil {
		return Result{}, err
	}
	r.Size, r.Sum, r.Trailer = int(size), hex.EncodeToString(sum.Sum(nil)), response.Trailer.Get("X-Sum")
	if size < 1000 {
		r.Text = text.String()
	}
	if err := response.Body.Close(); err != nil {
		return Result{}, err
	}
	if _, err := response.Body.Read(make([]byte, 1)); err == nil {
		return Result{}, errors.New("a closed body can be read")
	}
	return r, nil
}
