package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/husk-dev/husk/engine/projectroot"
)

// The limits on registries' answers.
const (
	// listLimit bounds a page of tags, in bytes: some 100,000 tags.
	listLimit = 4 << 20
	// pageLimit bounds the pages of tags, because a registry can go on forever.
	pageLimit = 1000
	// redirectLimit bounds redirects of a request. Registries use one, to their storage.
	redirectLimit = 5
)

// The times that a client waits.
const (
	// headerTime is how long a server may take to answer a request.
	headerTime = time.Minute
	// stallTime is how long a server may send nothing within an answer.
	stallTime = time.Minute
	// longestWait is the longest pause before a request is repeated, also if Retry-After asks for more.
	longestWait = 10 * time.Second
	// retries bounds how often a request is repeated after the status 429, 5xx, or a timeout.
	retries = 4
)

// Options say how modules are fetched.
type Options struct {
	// Cache is the directory of fetched modules, empty for none: then only layouts have modules.
	Cache string
	// Layouts are directories with OCI layouts, which are asked before the network.
	Layouts []Directory
	// Root opens the layouts that sources name; nil for the file system.
	Root *projectroot.Root
	// Offline allows no use of the network.
	Offline bool
	// MaxSize bounds modules, in bytes.
	MaxSize int64
	// Mirrors are the registries that are asked in place of others, in this order. Others are asked if they fail.
	Mirrors []Mirror
	// Credential returns the credentials for a registry; nil for none. See [DockerCredentials].
	Credential auth.CredentialFunc
	// Digest returns the digest of a file. It may remember digests of files that have not changed. Nil reads the file.
	Digest func(path string) (string, error)
	// Progress is called while a module is received or sent; nil for nobody. It may be called concurrently.
	Progress func(Progress)
	// Stall is how long a server may send nothing; 0 for a minute.
	Stall time.Duration
	// Transport returns the transport of requests, with the settings of base; nil for base itself.
	Transport func(base *http.Transport) http.RoundTripper
	// Seal returns the key that seals the records of where modules come from; nil for none. Without it nothing is recorded.
	Seal func() []byte
	// Entrusted reports whether a URL of a registry may be asked with credentials; nil for all.
	Entrusted func(u *url.URL) bool
	// Realms are where registries issue tokens, beside [knownRealms].
	Realms []Realm
	// Pause is the longest pause before a request is repeated; 0 for 10 seconds.
	Pause time.Duration
}

// Directory is a directory with an OCI layout, and the root that opens it.
type Directory struct {
	Path string
	Root *projectroot.Root
	// Operator says that the operator has named it, so that it is believed where its modules come from: see [Client.Confirm].
	Operator bool
}

// Progress is how much of a module was received or sent.
type Progress struct {
	// Source is the text of the source, or of where the module is sent.
	Source string
	// Sent says that the module is sent.
	Sent bool
	// Moved and Size are in bytes. Size is 0 if it is not known.
	Moved, Size int64
	// Over is set at the end, also of a transfer that failed.
	Over bool
}

// Mirror has the repositories of a registry under another name.
type Mirror struct {
	// Registry is the host of the registry, or * for all. A mirror of all has each below the name of its host, so a module of one
	// registry is not taken for a module of another.
	Registry string
	// Prefix is the mirror's host, and its namespace for the mirrored modules.
	Prefix string
}

// of returns the repository of the mirror that has one of a registry; ok is false if it has none.
func (m Mirror) of(host, name string) (repository string, ok bool) {
	switch m.Registry {
	case host:
		return m.Prefix + "/" + name, true
	case "*":
		// A name has no colon, and a host no underscore.
		repository = m.Prefix + "/" + strings.ReplaceAll(host, ":", "_") + "/" + name
		_, err := orasregistry.ParseReference(repository)
		return repository, err == nil
	}
	return "", false
}

// sameModules says why one mirror would answer for modules of two registries, nil if none does.
func sameModules(all []Mirror) error {
	for i, a := range all {
		for _, b := range all[:i] {
			if (orasregistry.Reference{Registry: a.Registry}).Host() == (orasregistry.Reference{Registry: b.Registry}).Host() {
				continue
			}
			if strings.HasPrefix(a.Prefix+"/", b.Prefix+"/") || strings.HasPrefix(b.Prefix+"/", a.Prefix+"/") {
				return fmt.Errorf("the mirrors %s of %s and %s of %s have modules in common, so that one of either registry would be taken for the other's: give each registry a namespace of its own, or have * stand for both",
					b.Prefix, b.Registry, a.Prefix, a.Registry)
			}
		}
	}
	return nil
}

// ParseMirrors reads mirrors as HUSK_REGISTRY_MIRRORS has them: REGISTRY=MIRROR, separated by commas.
func ParseMirrors(text string) ([]Mirror, error) {
	var all []Mirror
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		registry, prefix, ok := strings.Cut(one, "=")
		prefix = strings.TrimSuffix(strings.TrimPrefix(prefix, schemeOCI), "/")
		if _, err := orasregistry.ParseReference(prefix + "/name"); !ok || registry == "" || err != nil {
			return nil, fmt.Errorf("the mirror %q does not have the form registry.example.com=mirror.example.com/namespace", one)
		}
		all = append(all, Mirror{registry, prefix})
	}
	if err := sameModules(all); err != nil {
		return nil, err
	}
	return all, nil
}

// Client fetches and publishes modules. It is safe for concurrent use.
type Client struct {
	options Options
	web     *http.Client
	// auth asks with credentials, and anonymous without any.
	auth, anonymous *auth.Client
}

// New returns a client.
func New(o Options) *Client {
	if o.Stall == 0 {
		o.Stall = stallTime
	}
	if o.Pause == 0 {
		o.Pause = longestWait
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = headerTime
	base.DisableCompression = true // sizes and digests count the bytes as sent
	sending := http.RoundTripper(counter{base})
	if o.Transport != nil {
		sending = o.Transport(base)
	}
	repeated := retry.NewTransport(guard{sending, o.Stall})
	policy := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff, MinWait: min(200*time.Millisecond, o.Pause), MaxWait: o.Pause, MaxRetry: retries,
	}
	repeated.Policy = func() retry.Policy { return policy }
	web := &http.Client{Transport: repeated, CheckRedirect: checkRedirect}
	asking := func(credential auth.CredentialFunc) *auth.Client {
		return &auth.Client{Client: web, Credential: credential, Cache: auth.NewCache(), ClientID: "husk"}
	}
	return &Client{options: o, web: web, auth: asking(o.Credential), anonymous: asking(nil)}
}

// progressKey is the key of a function in a context.
type progressKey struct{}

// OnProgress returns a context for [Client.Fetch] and [Client.Push], which report to a function in place of [Options.Progress].
func OnProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// reporter returns the function to which transfers are reported, which does nothing if nobody wants to know.
func (c *Client) reporter(ctx context.Context) func(Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		return report
	}
	if c.options.Progress != nil {
		return c.options.Progress
	}
	return func(Progress) {}
}

// sentKey is the key of a function in the context of a request, which gets the bytes of the body that were sent, and its size.
type sentKey struct{}

// counter reports how much of the bodies of requests was sent, to the functions in their contexts.
type counter struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	report, ok := r.Context().Value(sentKey{}).(func(sent, size int64))
	if !ok || r.Body == nil || r.ContentLength <= 0 {
		return c.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Body = &counted{ReadCloser: r.Body, report: report, size: r.ContentLength}
	return c.next.RoundTrip(r)
}

// counted is a body that reports how much of it was read.
type counted struct {
	io.ReadCloser
	report     func(read, size int64)
	read, size int64
}

// Read implements [io.Reader].
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read += int64(n)
	c.report(c.read, c.size)
	return n, err
}

// guard refuses connections that others can read or change, and credentials that would go elsewhere, says who asks, and ends answers that send nothing for a while.
type guard struct {
	next  http.RoundTripper
	stall time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkScheme(r.URL); err != nil {
		return nil, err
	}
	if err := checkCredentials(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	r = r.Clone(ctx)
	r.Header.Set("User-Agent", "husk")
	response, err := g.next.RoundTrip(r)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &watched{from: response.Body, stall: g.stall, ctx: ctx, cancel: cancel}
	body.timer = time.AfterFunc(g.stall, body.stalled)
	body.timer.Stop() // it runs while a read waits
	response.Body = body
	return response, nil
}

// watched is a body that ends with a [stallError] if it sends nothing for a while.
type watched struct {
	from   io.ReadCloser
	stall  time.Duration
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (w *watched) stalled() { w.cancel(stallError{w.stall}) }

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.stall)
	n, err := w.from.Read(p)
	w.timer.Stop()
	if stall, ok := errors.AsType[stallError](context.Cause(w.ctx)); ok && err != nil && !errors.Is(err, io.EOF) {
		err = stall
	}
	return n, err
}

// Close implements [io.Closer].
func (w *watched) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.from.Close()
}

// checkRedirect refuses redirects that a registry elsewhere has no reason for. Credentials do not go along: they are
// for one registry, and [auth.Client] drops them.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= redirectLimit {
		return fmt.Errorf("more than %d redirects", redirectLimit)
	}
	r.Header.Del("Referer") // the URL before may have a key in it
	if err := checkScheme(r.URL); err != nil {
		return fmt.Errorf("a redirect leads to %w", err)
	}
	if isLoopback(r.URL.Host) && !isLoopback(via[0].URL.Host) {
		return fmt.Errorf("a redirect leads to this machine (%s)", r.URL.Host)
	}
	return nil
}

// DockerCredentials returns the credentials that "docker login" has stored, also with credential helpers. A file that
// cannot be read is an error only if a registry asks for credentials.
func DockerCredentials() auth.CredentialFunc {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return func(context.Context, string) (auth.Credential, error) {
			return auth.EmptyCredential, fmt.Errorf("reading Docker's credentials: %w", err)
		}
	}
	return credentials.Credential(store)
}

// endpoints returns the repositories to ask for one: its mirrors, and itself.
func (c *Client) endpoints(repository string) (all []string) {
	host, name, _ := strings.Cut(repository, "/")
	for _, m := range c.options.Mirrors {
		if mirrored, ok := m.of(host, name); ok {
			all = append(all, mirrored)
		}
	}
	return append(all, repository)
}

// at calls do with a repository's endpoints, until one succeeds. A repository or tag that does not exist at any of
// them is [ErrNotFound].
func (c *Client) at(ctx context.Context, repository string, do func(repository string, r *remote.Repository) error) error {
	if c.options.Offline {
		return fmt.Errorf("%s: %w", repository, ErrOffline)
	}
	var failed []error
	for _, endpoint := range c.endpoints(repository) {
		r, err := c.repository(endpoint)
		if err == nil {
			err = do(endpoint, r)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failed = append(failed, c.withheld(err))
	}
	return errors.Join(failed...)
}

// withheld adds to an error of a registry that wants credentials why it got none.
func (c *Client) withheld(err error) error {
	status := statusOf(err)
	if c.options.Entrusted == nil || !errors.Is(err, auth.ErrBasicCredentialNotFound) && status != http.StatusUnauthorized && status != http.StatusForbidden {
		return err
	}
	return fmt.Errorf("%w\nthe project is not trusted, and gets your credentials only for what HUSK_REGISTRIES or HUSK_REGISTRY_MIRRORS names", err)
}

// repository returns a repository of a registry. One on this machine is asked with plain HTTP.
func (c *Client) repository(name string) (*remote.Repository, error) {
	r, err := remote.NewRepository(name)
	if err != nil {
		return nil, err
	}
	r.Client, r.PlainHTTP = authorized{c, r.Reference.Host()}, isLoopback(r.Reference.Host())
	r.MaxMetadataBytes, r.TagListMaxPages = listLimit, pageLimit
	r.SkipReferrersGC = true
	return r, nil
}
