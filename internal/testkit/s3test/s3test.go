// Package s3test is an S3 server for tests, with the requests that Husk's backend sends. internal/backend/s3 runs the same suites
// on MinIO's server.
package s3test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const bucket = "team"

// Server has a bucket in memory. It serves everybody.
type Server struct {
	mu      sync.Mutex
	objects map[string]object
	// ahead is how far its clock is ahead of this machine's.
	ahead time.Duration
}

type object struct {
	content  []byte
	etag     string
	modified time.Time
}

// New returns a server with nothing in its bucket.
func New() *Server { return &Server{objects: make(map[string]object)} }

// Start listens until the test ends, and returns the URL of the bucket.
func Start(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return URL(server)
}

// URL returns the URL of the bucket of a server.
func URL(server *httptest.Server) string {
	return "s3://" + bucket + "?region=eu-central-1&s3ForcePathStyle=true&disableSSL=true&endpoint=" + server.Listener.Addr().String()
}

// Jump sets the clock ahead.
func (s *Server) Jump(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += by
}

// Contents returns all objects.
func (s *Server) Contents() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string][]byte)
	for key, o := range s.objects {
		all[key] = o.content
	}
	return all
}

// refusal is an answer that is an error.
type refusal struct {
	XMLName xml.Name `xml:"Error"`
	status  int
	Code    string
	Message string
}

func (r *refusal) Error() string { return r.Code }

var (
	noBucket  = &refusal{status: http.StatusNotFound, Code: "NoSuchBucket", Message: "The specified bucket does not exist"}
	noKey     = &refusal{status: http.StatusNotFound, Code: "NoSuchKey", Message: "The specified key does not exist."}
	condition = &refusal{status: http.StatusPreconditionFailed, Code: "PreconditionFailed", Message: "At least one of the preconditions you specified did not hold."}
	cutOff    = &refusal{status: http.StatusBadRequest, Code: "IncompleteBody", Message: "You did not provide the number of bytes specified by the Content-Length HTTP header"}
	unknown   = &refusal{status: http.StatusNotImplemented, Code: "NotImplemented", Message: "This server has no such request."}
)

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder() // whoever reads slowly holds nobody up
	if err := s.answer(answer, r); err != nil {
		writeXML(answer, err.status, err)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // nothing, if only the head is asked for
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) *refusal {
	var content []byte
	if r.Method == http.MethodPut {
		var err error
		if content, err = body(r); err != nil {
			return cutOff
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().Add(s.ahead).UTC()
	w.Header().Set("Date", now.Format(http.TimeFormat))
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name != bucket {
		return noBucket
	}
	is, exists := s.objects[key]
	switch {
	case key == "" && r.Method == http.MethodGet && r.FormValue("list-type") == "2":
		s.list(w, r)
		return nil
	case key == "":
		return unknown
	case r.Method == http.MethodPut:
		match, noneMatch := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
		switch {
		case noneMatch != "" && noneMatch != "*":
			return unknown
		case match != "" && !exists:
			return noKey
		case noneMatch != "" && exists, match != "" && match != is.etag:
			return condition
		}
		sum := md5.Sum(content)
		is = object{content, `"` + hex.EncodeToString(sum[:]) + `"`, now}
		s.objects[key] = is
		w.Header().Set("ETag", is.etag)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return unknown
	case !exists:
		return noKey
	default:
		w.Header().Set("ETag", is.etag)
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(is.content)))
		w.Header().Set("Last-Modified", is.modified.Format(http.TimeFormat))
		_, _ = w.Write(is.content)
	}
	return nil
}

// body returns the content of an object. A client that signs each chunk sends their sizes and signatures, too.
func body(r *http.Request) ([]byte, error) {
	size, err := strconv.Atoi(r.Header.Get("X-Amz-Decoded-Content-Length"))
	if err != nil {
		return io.ReadAll(r.Body)
	}
	var content bytes.Buffer
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		chunk, err := strconv.ParseInt(digits, 16, 64)
		if err != nil {
			return nil, err
		}
		if chunk == 0 {
			break
		}
		if _, err := io.CopyN(&content, in, chunk); err != nil {
			return nil, err
		}
		if _, err := in.Discard(len("\r\n")); err != nil {
			return nil, err
		}
	}
	if content.Len() != size {
		return nil, errors.New("the content has another size than the header says")
	}
	return content.Bytes(), nil
}

type listed struct {
	Key, LastModified, ETag string
	Size                    int
}

type page struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name, Prefix          string
	KeyCount, MaxKeys     int
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listed
}

// list answers with a page of keys. The token of the next page is the last key.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	const most = 1000
	p := page{Name: bucket, Prefix: r.FormValue("prefix"), MaxKeys: most}
	if asked, err := strconv.Atoi(r.FormValue("max-keys")); err == nil {
		p.MaxKeys = min(asked, most)
	}
	after := max(r.FormValue("start-after"), r.FormValue("continuation-token"))
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if key <= after || !strings.HasPrefix(key, p.Prefix) {
			continue
		}
		if p.KeyCount == p.MaxKeys {
			p.IsTruncated, p.NextContinuationToken = true, p.Contents[p.KeyCount-1].Key
			break
		}
		o := s.objects[key]
		p.Contents = append(p.Contents, listed{key, o.modified.Format(time.RFC3339), o.etag, len(o.content)})
		p.KeyCount++
	}
	writeXML(w, http.StatusOK, p)
}

func writeXML(w http.ResponseWriter, status int, answer any) {
	text, err := xml.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("s3test: %v", err))
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), text...))
}
