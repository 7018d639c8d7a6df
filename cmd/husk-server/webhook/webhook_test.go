package webhook_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3" of database/sql
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

const (
	secret = "a secret of sixteen bytes"
	commit = "0123456789abcdef0123456789abcdef01234567"
	merge  = "fedcba9876543210fedcba9876543210fedcba98"
)

// entries are files of an archive, and links if they begin with ->.
type entries map[string]string

var project = entries{"infra/Husk.yaml": "name: shop\nruntime: yaml\nresources: {}\n", "README.md": "about"}

// bench is a server with a hook, and the host of its repository.
type bench struct {
	*testing.T
	host   string
	server *server.Server
	url    string
	// calls are what the server has asked of the host, as "METHOD PATH BODY".
	calls chan string
	// files are in the repository, and change is what the host says of the change request.
	files  entries
	change string
	worker *runapi.Client
	// cut has the next archive end early: with its connection, or as if it was whole.
	cut atomic.Pointer[string]
	// down has each archive be answered with 503.
	down atomic.Bool
	// elsewhere is another server that has the archives, empty for none.
	elsewhere string
	// statuses are the statuses that commits have.
	statuses sync.Map
	// database is the file of the server's.
	database string
}

const brokenConnection, shortFile = "with its connection", "as a shorter file"

func open(t *testing.T, host, more string, o server.Options) *bench {
	log := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	b := &bench{T: t, host: host, calls: make(chan string, 100), files: project}
	api := httptest.NewServer(b)
	dir := t.TempDir()
	for name, content := range map[string]string{"secret": secret + "\n", "token": "token of the host\n", "hooks.yaml": fmt.Sprintf(
		"hooks:\n  - {name: shop, host: %s, api: %q, repository: acme/shop, branch: main, secretFile: %s, tokenFile: %s, directory: infra,\n     team: acme, project: shop, stack: dev, labels: {region: eu},\n"+
			"     people: [{login: Ann, person: ann, role: request}, {login: pat, person: pat, role: preview}]%s}\n", host, api.URL, filepath.Join(dir, "secret"), filepath.Join(dir, "token"), more)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	var err error
	o.Webhooks, err = webhook.Load(filepath.Join(dir, "hooks.yaml"))
	require.NoError(t, err)
	o.Dir = filepath.Join(dir, "server")
	b.database = filepath.Join(o.Dir, "server.db")
	b.server, err = server.Open(t.Context(), o)
	require.NoError(t, err)
	h := httptest.NewServer(b.server)
	t.Cleanup(func() {
		b.server.Stop()
		h.Close()
		require.NoError(t, b.server.Close())
		api.Close()
		slog.SetDefault(log)
	})
	b.url = h.URL
	b.worker = b.client("w", runapi.Work)
	return b
}

func (b *bench) client(name string, role runapi.Role) *runapi.Client {
	b.Helper()
	token, err := b.server.IssueToken(b.Context(), runapi.Token{Tenant: "acme", Name: name, Role: role})
	require.NoError(b, err)
	client, err := runapi.NewClient(b.url, token.Secret)
	require.NoError(b, err)
	return client
}

// ServeHTTP is the API of the host.
func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != map[string]string{"github": "Bearer token of the host", "gitea": "token token of the host"}[b.host] || b.host == "gitlab" && r.Header.Get("PRIVATE-TOKEN") != "token of the host" {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	switch body, _ := io.ReadAll(r.Body); {
	case r.Method == http.MethodPost:
		b.calls <- r.URL.EscapedPath() + " " + string(body)
		var status struct{ State string }
		if _ = json.Unmarshal(body, &status); status.State != "" {
			if was, _ := b.statuses.Swap(r.URL.Path, status.State); was == status.State && b.host == "gitlab" {
				http.Error(w, `{"message":"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via \"enqueue\")"}`, http.StatusBadRequest)
				return
			}
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "{}")
	case strings.Contains(r.URL.Path, "/pulls/"):
		_, _ = io.WriteString(w, b.change)
	case !strings.Contains(r.URL.String(), commit) && !strings.Contains(r.URL.String(), merge):
		http.NotFound(w, r)
	case b.down.Load():
		http.Error(w, "later", http.StatusServiceUnavailable)
	case b.elsewhere != "":
		http.Redirect(w, r, b.elsewhere, http.StatusFound)
	default:
		b.sendArchive(w)
	}
}

func (b *bench) sendArchive(w http.ResponseWriter) {
	var content bytes.Buffer
	z := gzip.NewWriter(&content)
	archive := tar.NewWriter(z)
	_ = archive.WriteHeader(&tar.Header{Name: "pax_global_header", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": commit}})
	_ = archive.WriteHeader(&tar.Header{Name: "acme-shop-0123456/", Typeflag: tar.TypeDir, Mode: 0o755})
	for name, content := range b.files {
		header := &tar.Header{Name: "acme-shop-0123456/" + name, Size: int64(len(content)), Mode: 0o644, Typeflag: tar.TypeReg}
		if target, is := strings.CutPrefix(content, "->"); is {
			header.Typeflag, header.Size, header.Linkname, content = tar.TypeSymlink, 0, target, ""
		}
		_ = archive.WriteHeader(header)
		_, _ = io.WriteString(archive, content)
	}
	_, _ = archive.Close(), z.Close()
	cut := b.cut.Swap(nil)
	if cut != nil {
		content.Truncate(content.Len() / 2)
	}
	_, _ = w.Write(content.Bytes())
	if cut != nil && *cut == brokenConnection {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// kinds are the events of GitHub, and of GitLab in its words.
var kinds = map[string]map[string]string{"gitlab": {"pull_request": "Merge Request Hook", "issue_comment": "Note Hook"}}

// send sends a delivery, and returns the status of the answer and whether the server does something about it.
func (b *bench) send(event, delivery, body string, headers ...string) (status int, accepted bool) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url+"/webhooks/shop", strings.NewReader(body))
	require.NoError(b, err)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	signature := hex.EncodeToString(mac.Sum(nil))
	for name, value := range map[string]map[string]string{
		"github": {"X-GitHub-Event": event, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": "sha256=" + signature},
		"gitea":  {"X-Gitea-Event": event, "X-Gitea-Delivery": delivery, "X-Gitea-Signature": signature},
		"gitlab": {"X-Gitlab-Event": kinds["gitlab"][event], "X-Gitlab-Event-UUID": delivery, "X-Gitlab-Token": secret},
	}[b.host] {
		req.Header.Set(name, value)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	defer resp.Body.Close()
	var answer struct{ Accepted bool }
	_ = json.NewDecoder(resp.Body).Decode(&answer)
	return resp.StatusCode, answer.Accepted
}

// change is the delivery of what happened to a change request.
func (b *bench) changed(action, by string, fork, merged bool) string {
	if b.host == "gitlab" {
		source, commitOf := 1, ""
		if fork {
			source = 2
		}
		if merged {
			action, commitOf = "merge", merge
		}
		action = map[string]string{"opened": "open"}[action] + map[string]string{"merge": "merge"}[action]
		return fmt.Sprintf(`{"object_kind":"merge_request","user":{"username":%q},"project":{"path_with_namespace":"acme/shop"},"object_attributes":{"iid":7,"action":%q,"state":"opened","source_project_id":%d,"target_project_id":1,"target_branch":"main","last_commit":{"id":%q},"merge_commit_sha":%q}}`,
			by, action, source, commit, commitOf)
	}
	return fmt.Sprintf(`{"action":%q,"number":7,"pull_request":%s,"repository":{"full_name":"acme/shop"},"sender":{"login":%q}}`, action, pull(fork, merged), by)
}

func pull(fork, merged bool) string {
	from, state := "acme/shop", "open"
	if fork {
		from = "eve/shop"
	}
	if merged {
		state = "closed"
	}
	return fmt.Sprintf(`{"number":7,"state":%q,"merged":%v,"merge_commit_sha":%q,"user":{"login":"somebody"},"head":{"ref":"topic","sha":%q,"repo":{"full_name":%q}},"base":{"ref":"main","repo":{"full_name":"acme/shop"}}}`,
		state, merged, merge, commit, from)
}

// commented is the delivery of a comment.
func (b *bench) commented(by, text string, fork bool) string {
	if b.host == "gitlab" {
		return fmt.Sprintf(`{"object_kind":"note","user":{"username":%q},"project":{"path_with_namespace":"acme/shop"},"object_attributes":{"action":"create","note":%q,"noteable_type":"MergeRequest"},"merge_request":{"iid":7,"state":"opened","source_project_id":1,"target_project_id":1,"target_branch":"main","last_commit":{"id":%q}}}`, by, text, commit)
	}
	b.change = pull(fork, false)
	return fmt.Sprintf(`{"action":"created","issue":{"number":7,"pull_request":{"url":"x"}},"comment":{"body":%q,"user":{"login":%q}},"repository":{"full_name":"acme/shop"},"sender":{"login":%q}}`, text, by, by)
}

// told waits for the next call of the host's API, which must have all texts.
func (b *bench) told(texts ...string) {
	b.Helper()
	call := <-b.calls
	for _, text := range texts {
		require.Contains(b, call, text)
	}
}

// take waits for the next run, as a worker with labels.
func (b *bench) take(labels map[string]string) *runapi.Claim {
	b.Helper()
	for {
		var claim runapi.Claim
		some, err := b.worker.Call(b.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "w", Labels: labels, Slots: 1, Seconds: 30}, &claim)
		require.NoError(b, err)
		if some {
			return &claim
		}
	}
}

func (b *bench) end(claim *runapi.Claim, e runapi.End, lines ...string) {
	b.Helper()
	var beat runapi.Beat
	for i, text := range lines {
		beat.Lines = append(beat.Lines, runapi.Line{Number: claim.Next + int64(i), Stream: runapi.Out, Text: text})
	}
	own := b.worker.With(claim.Token)
	_, err := own.Call(b.Context(), http.MethodPost, "/v1/work/beat", beat, nil)
	require.NoError(b, err)
	_, err = own.CallFor(b.Context(), 0, http.MethodPost, "/v1/work/end", e, nil)
	require.NoError(b, err)
}

// audit returns the audit log of the team.
func (b *bench) audit() string {
	var text strings.Builder
	require.NoError(b, b.server.AuditLog(b.Context(), &text, "acme"))
	return text.String()
}

var eu = map[string]string{"region": "eu"}

func everywhere(t *testing.T, test func(t *testing.T, host string)) {
	for _, host := range []string{"github", "gitea", "gitlab"} {
		t.Run(host, func(t *testing.T) { test(t, host) })
	}
}

// A change request gets a preview of its commit, once, however often the host sends it.
func TestChangeRequests(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		body := b.changed("opened", "somebody", false, false)
		for i, delivery := range []string{"one", "one", "two"} { // the last is sent again by somebody else
			status, accepted := b.send("pull_request", delivery, body)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, i != 1, accepted, i)
		}
		b.told("/statuses/"+commit, `"pending"`, "husk/shop")
		claim := b.take(eu)
		require.Equal(t, []any{"preview", "shop", "dev", false, false}, []any{claim.Operation, claim.Project, claim.Stack, claim.Withheld, claim.Approval})
		content, err := b.worker.With(claim.Token).Send(t.Context(), 0, http.MethodGet, "/v1/work/bundle", "", nil)
		require.NoError(t, err)
		var files bytes.Buffer
		_, err = bundle.Decompress(&files, bytes.NewReader(content), claim.Bundle)
		require.NoError(t, err)
		require.Contains(t, files.String(), "name: shop")
		b.told("pending") // of the delivery that was sent again
		b.end(claim, runapi.End{Outcome: runapi.Succeeded}, "+ a bucket", "``` @everybody")
		comments := 0
		for range 4 { // two for each delivery, of the same run
			if call := <-b.calls; !strings.Contains(call, "/statuses/"+commit) || !strings.Contains(call, `"success"`) {
				comments++
				for _, want := range []string{"7/", "preview", "has succeeded", "+ a bucket", "````"} {
					require.Contains(t, call, want)
				}
			}
		}
		require.Equal(t, 2, comments)
		require.Equal(t, 2, strings.Count(b.audit(), `"webhook.preview"`))
		for _, other := range []string{strings.ReplaceAll(body, `"main"`, `"other"`), strings.ReplaceAll(body, `"open`, `"label`)} {
			_, accepted := b.send("pull_request", "three", other)
			require.False(t, accepted, other)
		}
	})
}

// GitLab sends a delivery again with another UUID and the same Idempotency-Key, which means nothing at other hosts.
func TestDeliveriesSentAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		body := b.changed("opened", "somebody", false, false)
		for i, delivery := range []string{"one", "two"} {
			_, accepted := b.send("pull_request", delivery, body, "Idempotency-Key", "key")
			require.Equal(t, i == 0 || host != "gitlab", accepted, delivery)
		}
	})
}

// An archive that does not arrive as a whole is fetched again: nothing is wrong with the project. GitLab answers 400 to the status that
// the commit has already by then.
func TestArchivesThatEndEarly(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		cut := map[string]string{"github": brokenConnection, "gitea": shortFile, "gitlab": brokenConnection}[host]
		b.cut.Store(&cut)
		b.send("pull_request", "one", b.changed("opened", "ann", false, false))
		b.told("/statuses/"+commit, `"pending"`)
		b.told("/statuses/"+commit, `"pending"`)
		require.Equal(t, "preview", b.take(eu).Operation)
	})
}

// A commit whose run is refused does not wait for it, nor one whose files were not to be had for hours.
func TestRunsThatAreRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		failure := map[string]string{"github": "failure", "gitea": "failure", "gitlab": "failed"}[host]
		b := open(t, host, "", server.Options{Quota: 1})
		b.send("pull_request", "one", b.changed("opened", "ann", false, false))
		b.told("/statuses/"+commit, `"pending"`)
		b.told("/statuses/"+commit, failure, "not run: the team acme keeps")

		b = open(t, host, "", server.Options{})
		b.down.Store(true)
		b.send("pull_request", "one", b.changed("opened", "ann", false, false))
		b.told("/statuses/"+commit, `"pending"`)
		db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(b.database)+"?_pragma=busy_timeout(15000)")
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), "UPDATE river_job SET max_attempts = attempt + 1 WHERE kind = 'husk_webhook'")
		require.NoError(t, err)
		b.told("/statuses/"+commit, `"pending"`)
		b.told("/statuses/"+commit, failure, "not followed any more: the server's log says why")
	})
}

// Code of strangers gets workers of its own, and no secrets.
func TestForks(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		b.send("pull_request", "one", b.changed("opened", "Ann", true, false))
		b.told("/statuses/"+commit, "no workers for forks")
		b = open(t, host, ", forkLabels: {forks: yes}", server.Options{PreviewSecrets: true})
		b.send("pull_request", "one", b.changed("opened", "Ann", true, false))
		b.told("pending")
		claim := b.take(map[string]string{"forks": "yes"})
		require.Equal(t, []any{"preview", true, map[string]string{"forks": "yes"}}, []any{claim.Operation, claim.Withheld, claim.Labels})
	})
}

// Another server that has the archives, be it only another port, gets no token.
func TestArchivesElsewhere(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		got := make(chan http.Header, 1)
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header
			b.sendArchive(w)
		}))
		t.Cleanup(elsewhere.Close)
		b.elsewhere = elsewhere.URL
		b.send("pull_request", "one", b.changed("opened", "ann", false, false))
		header := <-got
		require.Empty(t, header.Get("Authorization"))
		require.Empty(t, header.Get("PRIVATE-TOKEN"))
		require.Equal(t, "preview", b.take(eu).Operation)
	})
}

// Hosts take the comment about a stranger's run, no matter how long a fence its output needs.
func TestOutputThatIsAllFence(t *testing.T) {
	b := open(t, "github", ", forkLabels: {forks: yes}", server.Options{})
	b.send("pull_request", "one", b.changed("opened", "eve", true, false))
	b.told("pending")
	var lines []string
	for range 40 {
		lines = append(lines, strings.Repeat("`", 1000))
	}
	b.end(b.take(map[string]string{"forks": "yes"}), runapi.End{Outcome: runapi.Succeeded}, lines...)
	comment := <-b.calls
	require.Contains(t, comment, "preview")
	require.Contains(t, comment, "''''")
	require.Less(t, len(comment), 65_536)
}

// Gitea takes a change from whoever can read the repository, without a fork: by a push to refs/for/main.
func TestChangesWithoutAFork(t *testing.T) {
	b := open(t, "gitea", ", forkLabels: {forks: yes}", server.Options{PreviewSecrets: true})
	const branch, pushed = `"ref":"topic"`, `"ref":"refs/pull/7/head"`
	body := b.changed("opened", "eve", false, false)
	require.Contains(t, body, branch)
	b.send("pull_request", "one", strings.Replace(body, branch, pushed, 1))
	b.told("pending")
	claim := b.take(map[string]string{"forks": "yes"})
	require.Equal(t, []any{"preview", true}, []any{claim.Operation, claim.Withheld})
	b.end(claim, runapi.End{Outcome: runapi.Succeeded})
	b.told("has succeeded")
	b.told("success")
	comment := b.commented("ann", "husk up", false)
	b.change = strings.Replace(b.change, branch, pushed, 1)
	b.send("issue_comment", "two", comment)
	b.send("issue_comment", "three", strings.Replace(comment, "husk up", "husk preview", 1))
	b.told("pending")
	require.True(t, b.take(map[string]string{"forks": "yes"}).Withheld)
	require.Eventually(t, func() bool { return strings.Contains(b.audit(), "a change from a fork is merged before it is run") }, time.Minute, time.Millisecond)
}

// A merge is planned, and applied once somebody other than who has merged approves the plan.
func TestMerges(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		b.send("pull_request", "one", b.changed("closed", "eve", false, true))
		b.told("/statuses/"+merge, "eve is not among the people of the hook with the role request")
		require.Contains(t, b.audit(), "merged by eve, !7")
		b.send("pull_request", "two", b.changed("closed", "ann", true, true))
		b.told("/statuses/"+merge, "pending")
		claim := b.take(eu)
		require.Equal(t, []any{"up", true}, []any{claim.Operation, claim.Previewing})
		b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}, "+ a bucket")
		b.told("7/", "waits for the approval of another person than ann", "husk remote approve "+claim.ID, "+ a bucket")
		approve := func(c *runapi.Client) error {
			_, err := c.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+claim.ID+"/approve", nil, nil)
			return err
		}
		require.ErrorContains(t, approve(b.client("ann", runapi.Approve)), "somebody else is to approve")
		require.NoError(t, approve(b.client("bob", runapi.Approve)))
		claim = b.take(eu)
		require.Equal(t, "plan", string(claim.Plan))
		b.end(claim, runapi.End{Outcome: runapi.Failed, Reason: "no @room"})
		b.told("7/", "has failed", "no  room")
		b.told("/statuses/"+merge, `"fail`)
	})
}

// Comments ask for runs if the hook knows who writes them.
func TestComments(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, ", forkLabels: {forks: yes}", server.Options{})
		for text, accepted := range map[string]bool{"looks good": false, "please husk up": false, "husk destroy": false, "husk upgrade": false} {
			_, is := b.send("issue_comment", text, b.commented("ann", text, false))
			require.Equal(t, accepted, is, text)
		}
		b.send("issue_comment", "eve", b.commented("eve", "husk preview", false))
		b.send("issue_comment", "pat", b.commented("pat", "husk up", false))
		b.send("issue_comment", "pat too", b.commented("pat", "husk preview\r\nplease", false))
		b.told("/statuses/"+commit, "pending")
		claim := b.take(eu)
		require.Equal(t, []any{"preview", "pat", true}, []any{claim.Operation, claim.Person, claim.Withheld})
		b.end(claim, runapi.End{Outcome: runapi.Succeeded})
		b.told("has succeeded")
		b.told("success")
		b.send("issue_comment", "ann", b.commented("ann", "/husk up", false))
		b.told("pending")
		require.Equal(t, []any{"up", "ann", true}, func() []any { c := b.take(eu); return []any{c.Operation, c.Person, c.Approval} }())
		for _, want := range []string{"commented by eve, !7: eve is not among the people of the hook", "commented by pat, !7: pat is not among the people of the hook with the role request"} {
			require.Eventually(t, func() bool { return strings.Contains(b.audit(), want) }, time.Minute, time.Millisecond, want)
		}
	})
}

// Nobody but the host has the server do something, and only for the hook's own repository.
func TestProofs(t *testing.T) {
	everywhere(t, func(t *testing.T, host string) {
		b := open(t, host, "", server.Options{})
		body := b.changed("opened", "ann", false, false)
		proof := map[string]string{"github": "X-Hub-Signature-256", "gitea": "X-Gitea-Signature", "gitlab": "X-Gitlab-Token"}[host]
		delivery := map[string]string{"github": "X-GitHub-Delivery", "gitea": "X-Gitea-Delivery", "gitlab": "X-Gitlab-Event-UUID"}[host]
		for want, headers := range map[int][]string{
			http.StatusUnauthorized: {proof, "", proof, strings.Repeat("0", 64), proof, "sha256=" + strings.Repeat("0", 64), proof, secret + "x"},
			http.StatusBadRequest:   {delivery, "", delivery, strings.Repeat("x", 1000)},
		} {
			for i := 0; i < len(headers); i += 2 {
				status, _ := b.send("pull_request", "one", body, headers[i], headers[i+1])
				require.Equal(t, want, status, headers[i:i+2])
			}
		}
		status, _ := b.send("pull_request", "one", strings.ReplaceAll(body, `"acme/shop"`, `"acme/other"`))
		require.Equal(t, http.StatusForbidden, status)
		status, _ = b.send("pull_request", "one", body[1:])
		require.Equal(t, http.StatusBadRequest, status)
		resp, err := http.Post(b.url+"/webhooks/none", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusNotFound, resp.StatusCode)
		require.Empty(t, b.calls)
	})
}

// What is wrong with the files of a commit is its status, and nothing of them is run or read elsewhere.
func TestFilesOfStrangers(t *testing.T) {
	b := open(t, "github", "", server.Options{})
	number := 0
	for want, files := range map[string]entries{
		"neither a file nor a link in it":               {"infra/Husk.yaml": project["infra/Husk.yaml"], "x": "->../../x"},
		"it has the name":                               {"../../x": "x"},
		"the headers of a file have more":               {strings.Repeat("x", 70_000): "x"},
		"the hook is for shop":                          {"infra/Husk.yaml": "name: other\nruntime: yaml\nresources: {}\n"},
		"no project":                                    {"README.md": "x"},
		"is source code, which a server does not build": {"infra/Husk.yaml": "name: shop\nruntime: yaml\nplugins: {providers: [{name: x, path: x}]}\nresources: {}\n", "infra/x/main.go": "package main"},
		"the project is not trusted":                    {"infra/Husk.yaml": "name: shop\nruntime: yaml\nplugins: {providers: [{name: x, path: ../../../../etc/passwd}]}\nresources: {}\n"},
	} {
		b.files = files
		number++
		b.send("pull_request", want, b.changed("opened", "ann", false, false)+strings.Repeat(" ", number))
		b.told("pending")
		b.told(`"failure"`, want)
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"secret": secret, "short": "short", "token": "x"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	right := "{name: shop, host: github, repository: acme/shop, branch: main, secretFile: secret, tokenFile: token, team: acme, project: shop, stack: dev}"
	t.Chdir(dir)
	for _, c := range []struct{ from, to, wrong string }{
		{"", "", ""},
		{"name: shop", "name: a/b", "a name has letters"},
		{"host: github", "host: sourcehut", `the host "sourcehut"`},
		{"host: github", "host: gitea", "name the URL of the host's API"},
		{"host: github", "host: gitea, api: 'http://git.example'", "it is an https URL"},
		{"acme/shop", "shop", "it needs a repository"},
		{"team: acme", "team: A", "is not the name of a team"},
		{"stack: dev", "stack: ../x", "stack"},
		{"stack: dev", "stack: dev, directory: ../x", "is not one of a repository"},
		{"stack: dev", "stack: dev, directory: x/../y", "is not one of a repository"},
		{"stack: dev", "stack: dev, directory: x/", "is not one of a repository"},
		{"stack: dev", "stack: dev, directory: /x", "is not one of a repository"},
		{"stack: dev", "stack: dev, directory: ..x/y", ""},
		{"stack: dev", "stack: dev, directory: .", ""},
		{"stack: dev", "stack: dev, people: [{login: a, person: a, role: admin}]", "needs a login, a person, and the role preview or request"},
		{"secretFile: secret", "secretFile: short", "fewer than 16 bytes"},
		{"secretFile: secret", "secretFile: none", "none"},
		{"stack: dev", "stack: dev, secret: x", "field secret not found"},
		{right, right + "\n  - " + right, `two hooks have the name "shop"`},
	} {
		require.NoError(t, os.WriteFile("hooks.yaml", []byte("hooks:\n  - "+strings.Replace(right, c.from, c.to, 1)), 0o600))
		_, err := webhook.Load("hooks.yaml")
		if c.wrong == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.wrong)
	}
}
