package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/printable"
)

// Schemes are the schemes of the URLs that [Open] takes.
var Schemes = []string{"https", "http"}

// TokenVariable is the environment variable with the token that a server has issued.
const TokenVariable = "HUSK_ACCESS_TOKEN"

// KnownVariable is the environment variable that says that the server has been reached before from this machine: when it cannot
// be, it is waited for. Its value is how long at least, in seconds.
const KnownVariable = "HUSK_SERVER_KNOWN"

const (
	// attemptTime bounds one attempt of a call, and transferRate, in bytes per second, what a large text adds to that.
	attemptTime  = 15 * time.Second
	transferRate = 256 << 10
	// retryTime bounds all attempts of a call, unless the environment names more, and firstTime those before the server has ever answered.
	retryTime, firstTime = time.Minute, 5 * time.Second
	// firstPause is the pause after the first attempt. It doubles up to lastPause.
	firstPause, lastPause = 50 * time.Millisecond, 2 * time.Second
	maxReason             = 1 << 10 // bytes
)

var _ backend.Opener = Open

// client sends calls. It is safe for concurrent use.
type client struct {
	url, place, token string
	http              *http.Client
	// open ends as the backend is closed, and with it the signs of life of leases that nobody has released.
	open context.Context
	// reached says that the server has answered before.
	reached atomic.Bool
	// marks says that its answers come marked: see [backend.AnswerHeader]. Answers of earlier versions do not, nor do answers
	// from which a proxy removed the mark.
	marks atomic.Bool
	// patience bounds all attempts of a call.
	patience time.Duration
	// unrecorded is the file for records that the server does not take, empty for none.
	unrecorded string
}

// Open opens the backend of a server with a URL such as https://husk.example.com. The token is the password of the URL, or the
// environment's token if the operator has named the URL. Without encryption it goes to this machine only. Open does not connect
// yet.
func Open(_ context.Context, at named.URL, dir string) (*backend.Backend, error) {
	u, err := url.Parse(at.Text())
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the URL of the backend is not one of a server, which has the form https://host or https://:TOKEN@host")
	}
	if err := backend.CheckPlainHTTP(u, "the token and the state"); err != nil {
		return nil, fmt.Errorf("the URL of the backend is %w", err)
	}
	var token string
	if password, ok := u.User.Password(); ok {
		token = password
	} else if u.User != nil {
		token = u.User.Username()
	} else {
		token = at.Getenv(TokenVariable)
	}
	u.User = nil
	place := strings.TrimSuffix(u.String(), "/")
	open, end := context.WithCancel(context.Background())
	c := &client{open: open, url: place + Path, place: place, token: token, patience: retryTime, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8,
			TLSHandshakeTimeout: attemptTime, IdleConnTimeout: idleTime,
			HTTP2: backend.HTTP2(),
		},
		// The token is for this server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if known := os.Getenv(KnownVariable); at.IsOperators() && known != "" {
		c.reached.Store(true)
		c.marks.Store(true)
		if seconds, err := strconv.ParseUint(known, 10, 20); err == nil {
			c.patience = max(c.patience, time.Duration(seconds)*time.Second)
		}
		c.unrecorded = os.Getenv(UnrecordedVariable)
	}
	s := &store{client: c}
	return &backend.Backend{
		Place: place, Dir: dir, Remote: true,
		State: s, End: s.end, Modules: modules{c}, KV: values{c}, History: runs{c}, Keys: keys{c},
		Check: func(ctx context.Context) error {
			_, err := c.call(ctx, "check", request{})
			return err
		},
		Close: func() {
			end()
			c.http.CloseIdleConnections()
		},
	}, nil
}

// call sends a call until it is answered, and returns the store's error if the answer has one.
func (c *client) call(ctx context.Context, name string, r request) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Call = rand.Text()
	body, err := encoder.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the backend %s takes at most %d MiB at once, and this has %d", c.place, maxBody>>20, len(body)>>20)
	}
	limit := attemptTime + time.Duration(len(body)/transferRate)*time.Second
	begin, pause := time.Now(), firstPause
	for repeated := false; ; repeated = true {
		attempt, cancel := context.WithTimeout(ctx, limit)
		out, again, err := c.attempt(attempt, name, body, repeated)
		cancel()
		if err == nil {
			return out, out.Failure.err()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		last := c.patience + limit
		if !c.reached.Load() {
			last = firstTime
		}
		if again && time.Since(begin) > last {
			return nil, backend.Unreachable(c.failed(err))
		}
		if !again {
			return nil, c.failed(err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// failed returns the error of a call that was not answered, with advice for the user.
func (c *client) failed(err error) error {
	var certificate *tls.CertificateVerificationError
	var otherHost x509.HostnameError
	var network *net.OpError
	advice := ""
	switch {
	case errors.As(err, &otherHost):
		advice = "; name the host in the URL as its certificate does"
	case errors.As(err, &certificate):
		advice = "; if an authority of your own has signed the certificate, set SSL_CERT_FILE to a file with the authority's certificate"
	case errors.Is(err, http.ErrSchemeMismatch):
		advice = "; the server speaks no TLS, which husk needs unless the server is on this machine"
	case errors.As(err, &network) && network.Op == "dial":
		advice = "; check the host and the port in the URL, and whether the server runs"
	}
	return fmt.Errorf("the backend %s: %w%s", c.place, err, advice)
}

// attempt sends a call once. again says that another attempt may be answered: what stands between client and server, such as a
// balancer, may answer anything while the server cannot be reached.
func (c *client) attempt(ctx context.Context, name string, body []byte, repeated bool) (out *answer, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+name, bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Content-Type", contentType)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if repeated {
		req.Header.Set(attemptHeader, "again")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var asked *url.Error
		if errors.As(err, &asked) {
			err = asked.Err // without the method, which says nothing
		}
		return nil, c.again(err), err
	}
	defer func() { _ = resp.Body.Close() }()
	marked := backend.IsAnswer(resp.Header)
	if marked || resp.Header.Get("Content-Type") == contentType {
		c.reached.Store(true)
		c.marks.Store(marked)
	} else {
		again = c.reached.Load() && c.marks.Load()
	}
	if resp.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
		return nil, again || resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, c.refused(resp, printable.Line(strings.TrimSpace(string(reason))))
	}
	if is := resp.Header.Get("Content-Type"); is != contentType {
		return nil, again, fmt.Errorf("it answered with %q, and a server of husk answers with %q: check the URL", is, contentType)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, true, err
	}
	if len(data) > maxBody {
		return nil, false, fmt.Errorf("its answer has more than %d MiB", maxBody>>20)
	}
	out = new(answer)
	if err := intake.CBOR(decoder, nil, data, out); err != nil {
		return nil, false, fmt.Errorf("its answer cannot be understood: client and server may be of different versions of husk: %w", err)
	}
	return out, false, nil
}

// again reports whether another attempt may reach the server, after none was reached: a name or a port may be wrong, and a
// certificate does not change.
func (c *client) again(err error) bool {
	var connecting *net.OpError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &connecting) && connecting.Op == "dial" {
		return c.reached.Load()
	}
	return !errors.As(err, &certificate) && !errors.Is(err, http.ErrSchemeMismatch)
}

// refused returns the error of an answer that is none of a call.
func (c *client) refused(resp *http.Response, reason string) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized && c.token == "":
		return fmt.Errorf("it asks for a token: set %s, or log in with husk login https://:TOKEN@host", TokenVariable)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("it does not accept the token: %s; %s", reason, backend.TokenAdvice(resp.Header))
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("it says that it is at %s: use that URL", printable.Line(resp.Header.Get("Location")))
	case resp.StatusCode == http.StatusForbidden, strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") && reason != "":
		return fmt.Errorf("%s (%s)", reason, printable.Line(resp.Status))
	}
	if resp.StatusCode == http.StatusRequestEntityTooLarge {
		return errors.New(backend.TooLarge(resp.Request.ContentLength))
	}
	return fmt.Errorf("it answered %s: check the URL", printable.Line(resp.Status))
}

// unfit is the error of an answer with an invalid name. The names in an answer become file names here.
func (c *client) unfit(err error) error {
	return fmt.Errorf("the backend %s: its answer cannot be used: %w", c.place, err)
}

// names returns names of an answer that have a form.
func (c *client) names(all []string, f form) ([]string, error) {
	for _, name := range all {
		if !f.is(name) {
			return nil, c.unfit(notForm(f, name))
		}
	}
	return all, nil
}

// store implements [state.Store].
type store struct {
	*client
	updates backend.Updates
}

// usable returns an error for a name that is none, before it is sent.
func usable(ctx context.Context, stacks ...state.StackName) error {
	for _, stack := range stacks {
		if err := stack.Validate(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// of sends a call about a stack.
func (c *client) of(ctx context.Context, name string, r request) (*answer, error) {
	if err := usable(ctx, r.Stack); err != nil {
		return nil, err
	}
	out, err := c.call(ctx, name, r)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *store) List(ctx context.Context) ([]state.StackName, error) {
	out, err := s.call(ctx, "list", request{})
	if err != nil {
		return nil, err
	}
	for _, name := range out.Stacks {
		if err := name.Validate(); err != nil {
			return nil, s.unfit(err)
		}
	}
	return out.Stacks, nil
}

func (s *store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	_, err := s.of(ctx, "create", request{Stack: name, Content: checkpoint})
	return err
}

// contents returns the contents in an answer.
func (out *answer) contents(err error) (*state.Contents, error) {
	if err != nil {
		return nil, err
	}
	if out.Contents == nil {
		return nil, errors.New("the answer of the server has no state")
	}
	return out.Contents.received(), nil
}

func (s *store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	out, err := s.of(ctx, "load", request{Stack: name})
	return out.contents(err)
}

func (s *store) Break(ctx context.Context, name state.StackName) error {
	// The call may arrive again, and must not break a lease that was taken since.
	is, err := s.of(ctx, "held", request{Stack: name})
	if err != nil || is.Token == 0 {
		return err
	}
	_, err = s.of(ctx, "break", request{Stack: name, Token: is.Token})
	return err
}

func (s *store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	out, err := s.of(ctx, "backups", request{Stack: name})
	if err != nil {
		return nil, err
	}
	for _, one := range out.Backups {
		if !backupID.is(one.ID) {
			return nil, s.unfit(notForm(backupID, one.ID))
		}
	}
	return out.Backups, nil
}

func (s *store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	if !backupID.is(id) {
		return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
	}
	out, err := s.of(ctx, "backup", request{Stack: name, ID: id})
	return out.contents(err)
}

func (s *store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if records, ok := s.updates.Take(ctx, name); ok {
		return records, nil
	}
	out, err := s.of(ctx, "history", request{Stack: name})
	if err != nil {
		return nil, err
	}
	return out.Records, nil
}

func (s *store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	_, _ = s.updates.Take(ctx, name) // the data read is out of date now
	_, err := s.of(ctx, "set-history", request{Stack: name, Records: records, Token: backend.Token(ctx)})
	return err
}

// modules implements [backend.Modules].
type modules struct{ *client }

func (m modules) Has(ctx context.Context, digest string) (bool, error) {
	out, err := m.call(ctx, "modules/has", request{ID: digest})
	if err != nil {
		return false, err
	}
	return out.Is, nil
}

func (m modules) Get(ctx context.Context, digest string) ([]byte, error) {
	out, err := m.call(ctx, "modules/get", request{ID: digest})
	if err != nil {
		return nil, err
	}
	return out.Content, nil
}

func (m modules) Put(ctx context.Context, digest string, content func() ([]byte, error)) error {
	kept, err := m.call(ctx, "modules/keep", request{ID: digest})
	if err != nil || kept.Is {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	_, err = m.call(ctx, "modules/put", request{ID: digest, Content: data})
	return err
}

// Collect implements [backend.Modules]. The server knows which modules are in use.
func (m modules) Collect(ctx context.Context, _ func() (map[string]bool, error)) error {
	_, err := m.call(ctx, "modules/collect", request{})
	return err
}

// values implements [backend.KV].
type values struct{ *client }

func (v values) List(ctx context.Context, stack state.StackName) ([]string, error) {
	out, err := v.of(ctx, "kv/list", request{Stack: stack})
	if err != nil {
		return nil, err
	}
	return v.names(out.Names, providerID)
}

func (v values) Load(ctx context.Context, stack state.StackName, provider string) (content []byte, version string, err error) {
	out, err := v.of(ctx, "kv/load", request{Stack: stack, ID: provider})
	if err != nil {
		return nil, "", err
	}
	return out.Content, out.Version, nil
}

func (v values) Save(ctx context.Context, stack state.StackName, provider string, content []byte, version string) (string, error) {
	out, err := v.of(ctx, "kv/save", request{Stack: stack, ID: provider, Content: content, ExpectedVersion: version, Token: backend.Token(ctx)})
	if err != nil {
		return "", err
	}
	return out.Version, nil
}

// runs implements [backend.History].
type runs struct{ *client }

func (h runs) List(ctx context.Context, stack state.StackName) ([]string, error) {
	out, err := h.of(ctx, "runs/list", request{Stack: stack})
	if err != nil {
		return nil, err
	}
	return h.names(out.Names, recordID)
}

func (h runs) Get(ctx context.Context, stack state.StackName, id string) ([]byte, error) {
	if err := backend.CheckRecord(id); err != nil {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	out, err := h.of(ctx, "runs/get", request{Stack: stack, ID: id})
	if err != nil {
		return nil, err
	}
	return out.Content, nil
}

func (h runs) Put(ctx context.Context, stack state.StackName, id string, content []byte) error {
	_, err := h.of(ctx, "runs/put", request{Stack: stack, ID: id, Content: content})
	return err
}

// keys implements [secrets.KeyService] with the key of the server.
type keys struct{ *client }

func (k keys) Encrypt(ctx context.Context, key []byte) ([]byte, error) {
	return k.content(ctx, "keys/encrypt", key)
}

func (k keys) Decrypt(ctx context.Context, ciphertext []byte) ([]byte, error) {
	return k.content(ctx, "keys/decrypt", ciphertext)
}

func (k keys) content(ctx context.Context, name string, in []byte) ([]byte, error) {
	out, err := k.call(ctx, name, request{Content: in})
	if err != nil {
		return nil, err
	}
	return out.Content, nil
}
