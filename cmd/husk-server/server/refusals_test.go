package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/cmd/husk-server/identity/identitytest"
	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/strictcbor"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// An admin of some projects neither changes what is of others, nor has anything to do with tokens.
func TestAdminsOfSomeProjects(t *testing.T) {
	b := open(t, server.Options{})
	admin, shop := b.client("acme", "admin", runapi.Admin), b.client("acme", "shop admin", runapi.Admin, "shop")
	require.NoError(t, admin.SendBundle(t.Context(), digest("files"), []byte("files")))
	set := func(c *runapi.Client, name, project string) error {
		schedule := runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: project, Stack: "s", Operation: "refresh", Bundle: digest("files")}}
		_, err := c.CallFor(t.Context(), 0, http.MethodPut, "/v1/schedules/"+name, schedule, nil)
		return err
	}
	remove := func(c *runapi.Client, path string) error {
		_, err := c.CallFor(t.Context(), 0, http.MethodDelete, path, nil, nil)
		return err
	}
	require.NoError(t, set(admin, "nightly", "bank"))
	require.Equal(t, http.StatusForbidden, status(set(shop, "nightly", "shop")), "it would replace that of another project")
	require.Equal(t, http.StatusForbidden, status(remove(shop, "/v1/schedules/nightly")))
	require.NoError(t, set(shop, "shops", "shop"))
	require.NoError(t, remove(shop, "/v1/schedules/shops"))
	_, err := shop.CallFor(t.Context(), 0, http.MethodGet, "/v1/tokens", nil, nil)
	require.Equal(t, http.StatusForbidden, status(err))
	require.Equal(t, http.StatusForbidden, status(remove(shop, "/v1/tokens/admin")))
	require.NoError(t, remove(admin, "/v1/schedules/nightly"))
}

// text collects what is logged.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *text) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *text) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// logs returns the log of the server during a test.
func logs(t *testing.T) *text {
	logged := &text{}
	logTo(t, slog.NewTextHandler(logged, nil))
	return logged
}

// logTo has the server log to a handler during a test.
func logTo(t *testing.T, to slog.Handler) {
	before := slog.Default()
	slog.SetDefault(slog.New(to))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// Whatever is refused is in the log, with who was refused what, and nothing else is.
func TestRefusalsAreLogged(t *testing.T) {
	logged := logs(t)
	b := open(t, server.Options{})
	ann, shop, reader := b.client("acme", "ann", runapi.Request), b.client("acme", "shop", runapi.Request, "shop"), b.client("acme", "reader", runapi.Read)
	worker, eve := b.client("acme", "w", runapi.Work), b.client("evil", "eve", runapi.Admin)
	bank := state.StackName{Project: "bank", Name: "dev"}
	require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), bank, []byte("{}")))
	run := b.asked(ann, runapi.NewRun{Project: "bank", Stack: "dev"})
	logged.take()

	stacks, err := b.stacks(shop.Token()).State.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, stacks)
	require.NotContains(t, logged.take(), "refused", "a list that leaves something out refuses nothing")
	module := []byte("\x00asm")
	for _, refused := range []struct {
		who, what string
		do        func() error
	}{
		{"shop", "to read the stack bank/dev", func() error { _, err := b.stacks(shop.Token()).State.Load(t.Context(), bank); return err }},
		{"w", "the token of a worker", func() error { _, err := b.stacks(worker.Token()).State.List(t.Context()); return err }},
		{"reader", "which decrypting", func() error { _, err := b.stacks(reader.Token()).Keys.Encrypt(t.Context(), []byte("k")); return err }},
		{"reader", "which modules are stored for", func() error {
			return b.stacks(reader.Token()).Modules.Put(t.Context(), digest(string(module)), func() ([]byte, error) { return module, nil })
		}},
		{"eve", "there is no run", func() error {
			_, err := eve.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
			return err
		}},
		{"shop", "there is no run", func() error {
			_, err := shop.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs/"+run.ID, nil, nil)
			return err
		}},
	} {
		require.Error(t, refused.do(), refused.what)
		said := logged.take()
		require.Contains(t, said, "msg=refused token="+refused.who, refused.what)
		require.Contains(t, said, refused.what)
	}
	_, err = eve.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs/NONE", nil, nil)
	require.Equal(t, http.StatusNotFound, status(err))
	require.NotContains(t, logged.take(), "refused", "there is nothing")
}

// endless is a body without an end, which nobody should read.
type endless struct{ n atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.n.Add(int64(len(b)))
	return len(b), nil
}

// What a token does not allow is refused before it is read.
func TestLargeBodies(t *testing.T) {
	b := open(t, server.Options{})
	reader, worker := b.client("acme", "reader", runapi.Read), b.client("acme", "w", runapi.Work)
	for path, token := range map[string]string{
		remote.Path + "modules/put": reader.Token(), remote.Path + "append": reader.Token(), remote.Path + "load": reader.Token(),
		"/v1/runs": reader.Token(), "/v1/work/beat": worker.Token(), "/v1/work/next": reader.Token(), "/v1/work/report": reader.Token(),
	} {
		body := &endless{}
		req, err := http.NewRequest(http.MethodPost, b.url+path, body)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		if strings.HasPrefix(path, remote.Path) {
			req.Header.Set("Content-Type", "application/cbor")
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil { // else the connection was closed while it was sent
			require.Contains(t, []int{http.StatusForbidden, http.StatusRequestEntityTooLarge}, resp.StatusCode, path)
			require.NoError(t, resp.Body.Close())
		}
		const most = 16 << 20 // also what is on its way
		require.Less(t, body.n.Load(), int64(most), path)
	}
}

// A team keeps no more than it may. What it has goes on.
func TestQuotas(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Quota = 4 << 20
		b := open(t, o)
		ann, eve := b.client("acme", "ann", runapi.Request), b.client("evil", "eve", runapi.Request)
		large := strings.Repeat("bundle", 600_000)
		name := state.StackName{Project: "shop", Name: "dev"}
		stacks := b.stacks(ann.Token())
		require.NoError(t, stacks.State.Create(t.Context(), name, []byte("{}")))
		lease, err := stacks.State.Lease(t.Context(), name, state.Holder{Command: "up"})
		require.NoError(t, err)
		_, err = lease.Load(t.Context())
		require.NoError(t, err)
		put := func(content string) error { return ann.SendBundle(t.Context(), digest(content), []byte(content)) }
		require.NoError(t, put(large))
		require.Equal(t, http.StatusForbidden, status(put(large+"more")))
		module := []byte(large)
		err = stacks.Modules.Put(t.Context(), digest(large), func() ([]byte, error) { return module, nil })
		require.ErrorContains(t, err, "the team acme keeps ")
		require.ErrorContains(t, err, "and may keep 4 MiB: who runs the server sets --quota")
		require.NoError(t, lease.Append(t.Context(), 1, []byte("what a run has done is recorded")))
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, eve.SendBundle(t.Context(), digest(large), []byte(large)), "others have their own")

		// Logs count, and those of runs that are over can be refused.
		worker := b.client("logs", "w", runapi.Work)
		report := runapi.Report{
			Run: runapi.Run{
				NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "shop", Stack: "till", Operation: "up", Bundle: digest("files")},
				State:  runapi.Succeeded, Worker: "edge-1", Made: time.Now(), Began: time.Now(), Ended: time.Now(),
			},
		}
		for i := range int64(12) {
			report.Lines = append(report.Lines, runapi.Line{Number: i + 1, Stream: runapi.Out, Text: strings.Repeat("x", 256<<10)})
		}
		send := func(id string) error {
			report.ID = id
			_, err := worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/report", report, nil)
			return err
		}
		require.NoError(t, send("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		require.Equal(t, http.StatusForbidden, status(send("BBCDEFGHIJKLMNOPQRSTUVWXYZ")))
	})
}

// A team that sends the states of its stacks slowly keeps no other team from sending theirs.
func TestSlowStatesOfOthers(t *testing.T) {
	b := open(t, server.Options{})
	ann, eve := b.client("acme", "ann", runapi.Request), b.client("evil", "eve", runapi.Request)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var bodies []io.Closer
	taken := make(chan struct{}, 8)
	for range 8 {
		body, w := io.Pipe()
		bodies = append(bodies, w)
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { taken <- struct{}{} }})
		req, err := http.NewRequestWithContext(traced, http.MethodPost, b.url+remote.Path+"append", body)
		require.NoError(t, err)
		req.ContentLength = 2 << 20
		req.Header.Set("Authorization", "Bearer "+eve.Token())
		req.Header.Set("Content-Type", "application/cbor")
		req.Header.Set("Expect", "100-continue")
		all.Go(func() {
			resp, err := (&http.Transport{ExpectContinueTimeout: time.Hour}).RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	<-taken
	<-taken
	large := strings.Repeat("x", 2<<20)
	require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), state.StackName{Project: "shop", Name: "dev"}, []byte(large)))
	require.Empty(t, taken)
	stop()
	for _, body := range bodies {
		_ = body.Close() // a request that is cancelled waits for its body
	}
	all.Wait()
}

// What a worker says of itself and of a run is as long as it may be, and of what it may be.
func TestWhatWorkersSay(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		for _, ask := range []runapi.Ask{{Worker: "w", Slots: -1}, {Worker: "w", Slots: 1 << 40}, {Worker: "w", Running: -1}, {Worker: "w", Running: 1 << 40}, {Worker: "w\n"}} {
			_, err := worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/next", ask, nil)
			require.Equal(t, http.StatusBadRequest, status(err), ask)
		}
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Approval: true})
		claim := b.next(worker, "w", nil)
		_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: []runapi.Line{{Number: 1, Stream: "forged"}}}, nil)
		require.Equal(t, http.StatusBadRequest, status(err))
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed, Reason: "it\x00 failed \nserver | Approved by bob. " + strings.Repeat("é", 1<<20)}))
		failed := b.run(ann, run.ID)
		require.True(t, strings.HasPrefix(failed.Reason, `it� failed \nserver | Approved by bob. `), failed.Reason[:100])
		require.LessOrEqual(t, len(failed.Reason), 4096)
		require.Equal(t, runapi.Failed, failed.State)
		report := runapi.Report{Run: failed}
		report.ID, report.Approval, report.Worker = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", false, strings.Repeat("w", 1000)
		_, err = worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/report", report, nil)
		require.Equal(t, http.StatusBadRequest, status(err))
		report.Worker, report.Reason = "w", strings.Repeat("x", 1<<20)
		_, err = worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/report", report, nil)
		require.NoError(t, err)
		require.Len(t, b.run(ann, report.ID).Reason, 4096)

		var options []string
		for range 100 {
			options = append(options, "--target="+strings.Repeat("x", 4000))
		}
		_, err = b.ask(ann, runapi.NewRun{Project: "shop", Stack: "dev", Options: options})
		require.Equal(t, http.StatusBadRequest, status(err))
	})
}

// A token for a project is for the one with that name, and for none that is written in another way.
func TestNamesOfProjects(t *testing.T) {
	b := open(t, server.Options{})
	shop, all := b.client("acme", "shop", runapi.Admin, "shop", "café-*"), b.client("acme", "all", runapi.Admin)
	require.NoError(t, all.SendBundle(t.Context(), digest("files"), []byte("files")))
	for name, want := range map[string]int{
		"shop": 0, "Shop": http.StatusForbidden, "SHOP": http.StatusForbidden, "shop.": http.StatusBadRequest, "shop/": http.StatusBadRequest, "shop/dev": http.StatusBadRequest,
		"../shop": http.StatusBadRequest, "shop\x00": http.StatusBadRequest, "shop ": http.StatusBadRequest, "ѕhop": http.StatusBadRequest, "shop%2f": http.StatusBadRequest,
		"café-1": http.StatusBadRequest, "cafe\u0301-1": http.StatusBadRequest, "": http.StatusBadRequest, "*": http.StatusBadRequest,
	} {
		n := runapi.NewRun{Project: name, Stack: "dev", Operation: "refresh", Bundle: digest("files")}
		_, err := b.ask(shop, n)
		require.Equal(t, want, status(err), "%q", name)
		_, err = shop.CallFor(t.Context(), 0, http.MethodPut, "/v1/schedules/s", runapi.Schedule{Cron: "0 4 * * *", Run: n}, nil)
		require.Equal(t, want, status(err), "%q", name)
		_, err = b.ask(all, runapi.NewRun{Project: "shop", Stack: name, Operation: "refresh", Bundle: digest("files")})
		require.Equal(t, want == http.StatusBadRequest, err != nil, "%q", name)
		err = b.stacks(shop.Token()).State.Create(t.Context(), state.StackName{Project: name, Name: "dev"}, []byte("{}"))
		require.Equal(t, want == 0, err == nil, "%q: %v", name, err)
	}
}

// The log of the server says who issues and revokes which token, and has no secret.
func TestTokensAreLogged(t *testing.T) {
	logged := logs(t)
	b := open(t, server.Options{})
	ann := b.client("acme", "ann", runapi.Admin)
	var issued runapi.Token
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "laptop", Role: runapi.Approve, Projects: []string{"shop"}}, &issued)
	require.NoError(t, err)
	b.revoke(ann, "laptop")
	_, err = ann.CallFor(t.Context(), 0, http.MethodDelete, "/v1/tokens/laptop", nil, nil)
	require.Error(t, err)
	text := logged.take()
	for _, want := range []string{
		`msg="a token was issued" tenant=acme token=ann role=admin projects=[] person=ann`, `by="who runs the server"`,
		`msg="a token was issued" tenant=acme token=laptop role=approve projects=[shop] person=ann`, "by=ann",
		`msg="a token was revoked" tenant=acme token=laptop by=ann`,
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 1, strings.Count(text, "was revoked"))
	for _, secret := range []string{ann.Token(), issued.Secret} {
		require.NotContains(t, text, secret)
	}
}

// audit returns the audit log of a team from its oldest entry on, a line for each, with IDs of runs replaced by names.
func (b *bench) audit(c *runapi.Client, runs ...*runapi.Run) (lines []string) {
	b.t.Helper()
	var all []runapi.AuditEntry
	_, err := c.Call(b.t.Context(), http.MethodGet, "/v1/audit", nil, &all)
	require.NoError(b.t, err)
	for _, e := range slices.Backward(all) {
		require.WithinDuration(b.t, time.Now(), e.Time, time.Hour)
		line := strings.Join([]string{e.Token, e.Person, e.From, e.Action, e.Subject, e.Detail}, "|")
		for i, run := range runs {
			line = strings.ReplaceAll(line, run.ID, fmt.Sprint("RUN", i))
		}
		lines = append(lines, line)
	}
	return lines
}

// Who has decided, changed, or was refused something is in the audit log, which only admins of the whole team read, and nobody
// changes.
func TestAudit(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, bob, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
		eve, shop := b.client("evil", "eve", runapi.Admin), b.client("acme", "shop", runapi.Admin, "shop")
		call := func(c *runapi.Client, method, path string, in any) error {
			_, err := c.CallFor(t.Context(), 0, method, path, in, nil)
			return err
		}
		laptop := runapi.Token{}
		_, err := ann.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "laptop", Role: runapi.Request, Projects: []string{"s*"}, Expires: time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)}, &laptop)
		require.NoError(t, err)
		mine := ann.With(laptop.Secret)
		var runs []*runapi.Run
		for _, stack := range []string{"a", "b"} {
			runs = append(runs, b.asked(mine, runapi.NewRun{Project: "shop", Stack: stack, Approval: true}))
			require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		}
		require.Equal(t, http.StatusForbidden, status(call(ann, http.MethodPost, "/v1/runs/"+runs[0].ID+"/approve", nil)))
		require.NoError(t, call(bob, http.MethodPost, "/v1/runs/"+runs[0].ID+"/approve", nil))
		require.NoError(t, call(bob, http.MethodPost, "/v1/runs/"+runs[1].ID+"/reject", nil))
		require.Error(t, call(bob, http.MethodPost, "/v1/runs/"+runs[1].ID+"/reject", nil), "which decides nothing")
		claim := b.wait(worker)
		id := rand.Text()
		for range 2 { // the answer was lost
			require.NoError(t, call(mine, http.MethodPost, "/v1/runs/"+runs[0].ID+"/cancel?call="+id, nil))
		}
		a, dev := state.StackName{Project: "shop", Name: "a"}, state.StackName{Project: "shop", Name: "dev"}
		require.NoError(t, b.stacks(claim.Token).State.Create(t.Context(), a, []byte("{}")), "a run is recorded elsewhere")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
		own := b.stacks(mine.Token()).State
		require.NoError(t, own.Create(t.Context(), dev, []byte("{}")))
		l, err := own.Lease(t.Context(), dev, state.Holder{PID: 1, Command: "husk stack rm", User: "root", Host: "vm"})
		require.NoError(t, err)
		require.NoError(t, l.Remove(t.Context()))
		_, err = b.setSchedule(ann, "drift", nightly("dev"))
		require.NoError(t, err)
		require.NoError(t, call(ann, http.MethodDelete, "/v1/schedules/drift", nil))
		require.NoError(t, call(ann, http.MethodDelete, "/v1/tokens/laptop", nil))
		require.Error(t, call(eve, http.MethodGet, "/v1/runs/"+runs[0].ID, nil))
		for _, c := range []*runapi.Client{bob, shop} {
			require.Equal(t, http.StatusForbidden, status(call(c, http.MethodGet, "/v1/audit", nil)))
		}
		before := []string{
			"|||token.issue|ann|role admin, for ann, projects []", "|||token.issue|bob|role approve, for bob, projects []",
			"|||token.issue|w|role work, for w, projects []", `|||token.issue|shop|role admin, for shop, projects ["shop"]`,
			`ann|ann|127.0.0.1|token.issue|laptop|role request, for ann, projects ["s*"], until 2100-01-02T03:04:05Z`,
			"ann|ann|127.0.0.1|refused|POST /v1/runs/RUN0/approve|laptop asked for the run RUN0, which somebody else is to approve: the token ann is one of the same person, ann, who has issued it, or has it of the same one",
			"bob|bob|127.0.0.1|run.approve|RUN0|up of shop/a, asked for by laptop of ann",
			"bob|bob|127.0.0.1|run.reject|RUN1|up of shop/b, asked for by laptop of ann",
			"laptop|ann|127.0.0.1|run.cancel|RUN0|up of shop/a, asked for by laptop of ann",
			"laptop|ann|127.0.0.1|state.create|shop/dev|",
			"laptop|ann|127.0.0.1|state.lease|shop/dev|husk stack rm by root on vm",
			"laptop|ann|127.0.0.1|state.remove|shop/dev|",
			`ann|ann|127.0.0.1|schedule.set|drift|"0 4 * * *": refresh of shop/dev`, "ann|ann|127.0.0.1|schedule.remove|drift|",
			"ann|ann|127.0.0.1|token.revoke|laptop|",
			"bob|bob|127.0.0.1|refused|GET /v1/audit|the token bob does not allow this: it needs the role admin",
			"shop|shop|127.0.0.1|refused|GET /v1/audit|the token shop is for some projects only, and can neither see, issue, nor revoke tokens",
		}
		require.Equal(t, before, b.audit(ann, runs...))
		require.Equal(t, []string{"|||token.issue|eve|role admin, for eve, projects []",
			"eve|eve|127.0.0.1|refused|GET /v1/runs/RUN0|there is no run RUN0: husk remote ls lists them"}, b.audit(eve, runs...))

		// Pages of it.
		var all, page []runapi.AuditEntry
		for last := int64(math.MaxInt64); ; last = page[len(page)-1].Number {
			page = nil
			_, err := ann.Call(t.Context(), http.MethodGet, fmt.Sprintf("/v1/audit?limit=4&before=%d", last), nil, &page)
			require.NoError(t, err)
			if all = append(all, page...); len(page) < 4 {
				break
			}
		}
		require.Len(t, all, len(before))
		for _, query := range []string{"limit=0", "limit=x", "before=-1"} {
			require.Equal(t, http.StatusBadRequest, status(call(ann, http.MethodGet, "/v1/audit?"+query, nil)))
		}
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPost, http.MethodPatch} {
			for _, path := range []string{"/v1/audit", fmt.Sprint("/v1/audit/", all[0].Number)} {
				require.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusNotFound}, status(call(ann, method, path, nil)), "%s %s", method, path)
			}
		}
		require.Equal(t, before, b.audit(ann, runs...))

		// Nothing is done that is not recorded.
		_, err = b.setSchedule(ann, "drift", nightly("dev"))
		require.NoError(t, err)
		open := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "c", Approval: true})
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		require.NoError(t, b.server.Exec(t.Context(), "ALTER TABLE husk_audit RENAME TO husk_other"))
		require.Error(t, call(ann, http.MethodPost, "/v1/tokens", runapi.Token{Name: "x", Role: runapi.Read}))
		require.Error(t, call(ann, http.MethodDelete, "/v1/tokens/bob", nil))
		require.Error(t, call(bob, http.MethodPost, "/v1/runs/"+open.ID+"/approve", nil))
		require.Error(t, call(ann, http.MethodDelete, "/v1/schedules/drift", nil))
		code, _ := b.state(ann.Token(), "create", fields{"stack": stackField(dev), "call": rand.Text(), "content": []byte("{}")})
		require.Equal(t, http.StatusInternalServerError, code)
		require.NoError(t, b.server.Exec(t.Context(), "ALTER TABLE husk_other RENAME TO husk_audit"))
		var tokens []runapi.Token
		_, err = ann.Call(t.Context(), http.MethodGet, "/v1/tokens", nil, &tokens)
		require.NoError(t, err)
		require.Len(t, tokens, 4)
		require.Equal(t, runapi.Waiting, b.run(ann, open.ID).State)
		require.Equal(t, "drift", b.schedule(ann, "drift").Name)
		_, err = b.stacks(ann.Token()).State.Load(t.Context(), dev)
		require.ErrorIs(t, err, state.ErrStackNotFound)

		// Only age removes an entry, and of refusals there are no more than the newest 10,000.
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_audit SET at = at - ? WHERE subject = 'bob'", (server.DefaultKeepAudit+time.Minute).Milliseconds()))
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_audit (tenant, at, token, person, address, action, subject, detail)"+
			" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12500) SELECT 'acme', at, 't', '', '', 'refused', 's', '' FROM n, (SELECT max(at) AS at FROM husk_audit) l"))
		require.NoError(t, b.server.PruneAudit(t.Context()))
		for condition, want := range map[string]int{"subject = 'bob'": 0, "token = 't'": 10_000, "token <> 't' AND action = 'refused'": 1, "action = 'token.issue'": 5} {
			n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_audit WHERE "+condition)
			require.NoError(t, err)
			require.Equal(t, want, n, condition)
		}
	})
}

// get returns the status of an answer to who has no token.
func (b *bench) get(path string) int {
	b.t.Helper()
	resp, err := http.Get(b.url + path)
	require.NoError(b.t, err)
	require.NoError(b.t, resp.Body.Close())
	return resp.StatusCode
}

// What the runs of a team keep is counted as they go, and not added up.
func TestKeptBytes(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Keep = time.Millisecond
		b := open(t, o)
		ann, bob, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
		counted := func(when string) int {
			t.Helper()
			is, err := b.server.Count(t.Context(), "SELECT COALESCE(SUM(bytes), 0) FROM husk_kept WHERE tenant = 'acme'")
			require.NoError(t, err)
			runs, err := b.server.Count(t.Context(), "SELECT COALESCE(SUM(256 + logged + octet_length(request)), 0) FROM husk_runs WHERE tenant = 'acme'")
			require.NoError(t, err)
			entries, err := b.server.Count(t.Context(), "SELECT COALESCE(SUM(256 + octet_length(subject) + octet_length(detail)), 0) FROM husk_audit WHERE tenant = 'acme'")
			require.NoError(t, err)
			require.Positive(t, entries)
			require.Equal(t, runs+entries, is, when)
			return runs
		}
		first := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Approval: true, Options: []string{"--target=x"}})
		second := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Operation: "destroy"})
		require.Positive(t, counted("queued"))
		say := func(claim *runapi.Claim) {
			_, err := b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: []runapi.Line{{Number: claim.Next, Stream: runapi.Out, Text: "line"}}}, nil)
			require.NoError(t, err)
		}
		claim := b.next(worker, "w", nil)
		say(claim)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		counted("waits for approval")
		_, err := bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+first.ID+"/approve", nil, nil)
		require.NoError(t, err)
		claim = b.next(worker, "w", nil)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued}))
		counted("its worker has stopped")
		claim = b.next(worker, "w", nil)
		require.Equal(t, first.ID, claim.ID)
		say(claim)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
		counted("failed")
		_, err = ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+second.ID+"/cancel", nil, nil)
		require.NoError(t, err)
		counted("cancelled")
		report := runapi.Report{Run: runapi.Run{NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "shop", Stack: "till", Operation: "up", Bundle: digest("files")},
			State: runapi.Succeeded, Worker: "edge-1", Made: time.Now(), Began: time.Now(), Ended: time.Now()}, Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Text: "line"}}}
		_, err = worker.Call(t.Context(), http.MethodPost, "/v1/work/report", report, nil)
		require.NoError(t, err)
		counted("reported")
		require.Eventually(t, func() bool {
			require.NoError(t, b.server.Prune(t.Context()))
			return counted("removed") == 0
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_audit SET at = at - ? WHERE action <> 'token.issue' OR subject = 'ann'", (server.DefaultKeepAudit+time.Minute).Milliseconds()))
		require.NoError(t, b.server.PruneAudit(t.Context()))
		counted("old entries removed")
	})
}

// A server forgets the tokens of logins, which may be many, a week after their end: until then, they tell that a
// run may begin.
func TestTokensOfLoginsAreForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann := b.client("acme", "ann", runapi.Admin)
		old, fresh := time.Now().Add(-(7*24+1)*time.Hour).UnixMilli(), time.Now().Add(-(7*24-1)*time.Hour).UnixMilli()
		for name, row := range map[string]struct {
			kind, by string
			expires  int64
		}{
			"old login": {"login", "https://login.example", old}, "fresh login": {"login", "https://login.example", fresh}, "lasting login": {"login", "https://login.example", 0},
			"old token of ann": {"issued", "ann", old}, "old token of https://ann": {"issued", "https://ann", old}, "old token": {"issued", "", old},
		} {
			require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_tokens (hash, kind, tenant, name, person, issued_by, role, projects, made, expires) VALUES (?, ?, 'acme', ?, 'x', ?, 'read', '[]', 1, ?)",
				name, row.kind, name, row.by, row.expires))
		}
		require.NoError(t, b.server.Prune(t.Context()))
		var all []runapi.Token
		_, err := ann.Call(t.Context(), http.MethodGet, "/v1/tokens", nil, &all)
		require.NoError(t, err)
		var left []string
		for _, token := range all {
			left = append(left, token.Name)
		}
		require.Equal(t, []string{"ann", "fresh login", "lasting login", "old token", "old token of ann", "old token of https://ann"}, left)
	})
}

// Whoever looks after the process of a server needs no token to see whether it lives, and whether to send it requests. While its database
// is away, clients are told to come again.
func TestProbes(t *testing.T) {
	p := postgrestest.Start(t)
	b := open(t, server.Options{Database: p.URL("postgres", 0)})
	ann := b.client("acme", "ann", runapi.Admin)
	call := func() error {
		_, err := ann.CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
		return err
	}
	require.NoError(t, call())
	require.Equal(t, []int{http.StatusOK, http.StatusOK}, []int{b.get("/livez"), b.get("/readyz")})
	give := b.server.TakeConnections(t.Context())
	require.Equal(t, http.StatusOK, b.get("/readyz"), "it waits for no request")
	give()
	p.Stop()
	var refused *runapi.StatusError
	require.ErrorAs(t, call(), &refused)
	require.Equal(t, http.StatusServiceUnavailable, refused.Status)
	require.Positive(t, refused.After)
	require.ErrorContains(t, refused, "cannot reach its database")
	status, answer := b.state(ann.Token(), "list", fields{})
	require.Equal(t, http.StatusServiceUnavailable, status, answer)
	require.Equal(t, []int{http.StatusOK, http.StatusServiceUnavailable}, []int{b.get("/livez"), b.get("/readyz")})
	p.Restart(t)
	require.Eventually(t, func() bool { return call() == nil && b.get("/readyz") == http.StatusOK }, time.Minute, 10*time.Millisecond)

	b.server.Stop()
	require.Equal(t, []int{http.StatusOK, http.StatusServiceUnavailable}, []int{b.get("/livez"), b.get("/readyz")}, "balancers send it nothing more")
}

// What is no text is refused before a database is asked, which would fail.
func TestPathsThatAreNoText(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{})
	for _, path := range []string{"/v1/schedules/%00", "/v1/tokens/a%00b", "/%00", "/v1/runs/%ff", "/v1/runs?project=%00", "/v1/runs?project=%ff", "/v1/runs?project=%zz", "/v1/state/%00"} {
		require.Equal(t, http.StatusBadRequest, b.get(path), path)
	}
}

// Servers that start at once on an empty database, with one directory that is empty as well, all serve, and have one key.
func TestServersStartAtOnce(t *testing.T) {
	p := postgrestest.Start(t)
	for n := range 5 {
		database := fmt.Sprintf("husk_%d", n)
		t.Run(database, func(t *testing.T) {
			p.Execute(t, "postgres", "CREATE DATABASE "+database)
			dir := t.TempDir()
			var opened [3]*server.Server
			var errs [len(opened)]error
			var starting sync.WaitGroup
			for i := range opened {
				starting.Go(func() {
					opened[i], errs[i] = server.Open(t.Context(), server.Options{Dir: dir, Database: p.URL(database, 0)})
				})
			}
			starting.Wait()
			require.NoError(t, errors.Join(errs[:]...))
			for _, s := range opened {
				defer func() { require.NoError(t, s.Close()) }()
			}
			token, err := opened[0].IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "ann", Role: runapi.Admin})
			require.NoError(t, err)
			for _, s := range opened {
				h := httptest.NewServer(s)
				defer h.Close()
				_, err := (&bench{t, s, h.URL}).stacks(token.Secret).Keys.Encrypt(t.Context(), []byte("key"))
				require.NoError(t, err)
			}
		})
	}
}

// A server that hangs in the middle of a step does not keep others waiting for ever.
func TestTransactionsThatHangEnd(t *testing.T) {
	b := open(t, server.Options{Database: postgrestest.Start(t).URL("postgres", 0)})
	n, err := b.server.Count(t.Context(), "SELECT CAST(setting AS bigint) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'")
	require.NoError(t, err)
	require.Equal(t, 60_000, n)
}

// loggingIn starts a server with a good and a broken issuer. login sends an identity token to it.
func loggingIn(t *testing.T, o server.Options, broken string) (b *bench, good *identitytest.Issuer, login func(ctx context.Context, token string) *httptest.ResponseRecorder) {
	good = identitytest.Start(t)
	file := filepath.Join(t.TempDir(), "identity.yaml")
	rule := "    audience: husk\n    rules: [{claims: {sub: '*'}, team: acme, role: work}]\n"
	require.NoError(t, os.WriteFile(file, []byte("issuers:\n  - issuer: "+good.URL+"\n"+rule+"  - issuer: "+broken+"\n"+rule), 0o600))
	var err error
	o.Identity, err = identity.Load(file)
	require.NoError(t, err)
	b = open(t, o)
	return b, good, func(ctx context.Context, token string) *httptest.ResponseRecorder {
		body, err := json.Marshal(runapi.Login{IdentityToken: token})
		require.NoError(t, err)
		answer := httptest.NewRecorder()
		b.server.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/login", bytes.NewReader(body)))
		return answer
	}
}

// An issuer that does not answer keeps nobody from logging in at another.
func TestAnIssuerThatHangs(t *testing.T) {
	quiet(t)
	ended := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(hanging.Close)
	t.Cleanup(sync.OnceFunc(func() { close(ended) }))
	_, good, login := loggingIn(t, server.Options{}, hanging.URL)
	claims := map[string]any{"sub": "ann", "aud": "husk", "iss": hanging.URL}
	ctx, stop := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range 32 {
		waiting.Go(func() { login(ctx, good.Token(claims)) })
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		if answer := login(gone, good.Token(claims)); answer.Code == http.StatusTooManyRequests {
			require.Equal(t, "2", answer.Header().Get("Retry-After"))
			break
		}
	}
	delete(claims, "iss")
	answer := login(t.Context(), good.Token(claims))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	stop()
	waiting.Wait()
}

// Who may be anybody hears nothing of the network of the server, nor what an issuer has answered.
func TestAnIssuerThatIsBroken(t *testing.T) {
	quiet(t)
	whole := false
	var broken *httptest.Server
	broken = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if whole && strings.HasPrefix(r.URL.Path, "/.well-known/") {
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"id_token_signing_alg_values_supported":["RS256"]}`, broken.URL, broken.URL+"/canary")
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(bytes.Repeat([]byte("canary"), 100))
	}))
	t.Cleanup(broken.Close)
	_, good, login := loggingIn(t, server.Options{}, broken.URL)
	for _, whole = range []bool{false, true} {
		answer := login(t.Context(), good.Token(map[string]any{"sub": "ann", "aud": "husk", "iss": broken.URL}))
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.NotEmpty(t, answer.Header().Get("Retry-After"))
		require.NotContains(t, answer.Body.String(), "canary")
		require.Contains(t, answer.Body.String(), "cannot be asked now")
	}
}

// A token of a login is one for what it is, not for who has issued it. It is kept as long as a worker has a run with it.
func TestTokensOfLogins(t *testing.T) {
	b, good, login := loggingIn(t, server.Options{}, "https://issuer.example")
	ann := b.client("acme", "https://issuer.example/ann", runapi.Admin)
	var issued runapi.Token
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "laptop", Role: runapi.Request}, &issued)
	require.NoError(t, err)
	logIn := func(subject string) runapi.Token {
		var in runapi.LoggedIn
		require.NoError(t, json.Unmarshal(login(t.Context(), good.Token(map[string]any{"sub": subject, "aud": "husk"})).Body.Bytes(), &in))
		return *in.Token
	}
	client := func(token runapi.Token) *runapi.Client {
		c, err := runapi.NewClient(b.url, token.Secret)
		require.NoError(t, err)
		return c
	}
	idle, busy := logIn("idle"), logIn("busy")
	b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.next(client(busy), "w", nil)
	require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET expires = 1 WHERE name NOT LIKE 'https:%'"))
	ended := func(token runapi.Token) string {
		_, err := client(token).CallFor(t.Context(), 0, http.MethodGet, "/v1/whoami", nil, nil)
		require.Equal(t, http.StatusUnauthorized, status(err))
		return err.Error()
	}
	require.Regexp(t, "log in again, with husk login --sso or --identity-token$", ended(idle))
	_, err = b.stacks(idle.Secret).State.List(t.Context())
	require.ErrorContains(t, err, "log in again")
	require.NotContains(t, err.Error(), "ask for a new")
	require.NotContains(t, ended(issued), "log in again")
	require.Contains(t, ended(issued), "ask for a new token")
	_, err = b.stacks(issued.Secret).State.List(t.Context())
	require.ErrorContains(t, err, "has expired; ask for a new token, and set HUSK_ACCESS_TOKEN")
	require.NoError(t, b.server.Prune(t.Context()))
	require.Contains(t, ended(idle), "is not one of this server")
	require.Contains(t, ended(issued), "has expired")
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	require.NoError(t, b.server.Prune(t.Context()))
	require.Contains(t, ended(busy), "is not one of this server")
}

// A run whose token expires in the middle goes on under its lease, for a day, and records what it has made. Nothing else begins with such a
// token.
func TestATokenThatExpiresDuringARun(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		quiet(t)
		o.Dir = t.TempDir()
		b := open(t, o)
		ann := b.client("acme", "ann", runapi.Request)
		states := b.stacks(ann.Token())
		ctx, name, other := t.Context(), state.StackName{Project: "shop", Name: "dev"}, state.StackName{Project: "shop", Name: "other"}
		require.NoError(t, states.State.Create(ctx, name, []byte("{}")))
		require.NoError(t, states.State.Create(ctx, other, []byte("{}")))
		l, c, err := states.State.LeaseAndLoad(ctx, name, state.Holder{})
		require.NoError(t, err)
		expire := func(ago time.Duration) {
			require.NoError(t, b.server.Exec(ctx, "UPDATE husk_tokens SET expires = ? WHERE name = 'ann'", time.Now().Add(-ago).UnixMilli()))
		}
		expire(time.Second)
		require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("made")))
		for what, do := range map[string]func() error{
			"a lease": func() error { _, err := states.State.Lease(ctx, other, state.Holder{}); return err },
			"a break": func() error { return states.State.Break(ctx, name) },
			"a read":  func() error { _, err := states.State.Load(ctx, name); return err },
			"a stack": func() error {
				return states.State.Create(ctx, state.StackName{Project: "shop", Name: "new"}, []byte("{}"))
			},
			"a module": func() error {
				return states.Modules.Put(ctx, digest("x"), func() ([]byte, error) { return []byte("x"), nil })
			},
			"a run": func() error { _, err := ann.CallFor(ctx, 0, http.MethodGet, "/v1/runs", nil, nil); return err },
		} {
			require.ErrorContains(t, do(), "the token ann of acme has expired", what)
		}
		require.NoError(t, l.Checkpoint(ctx, c.Sequence+1, []byte(`{"made":1}`)))
		require.NoError(t, l.Release(ctx))
		require.Error(t, l.Append(ctx, c.Sequence+2, []byte("after its end")))
		expire(-time.Hour)
		is, err := states.State.Load(ctx, name)
		require.NoError(t, err)
		require.Equal(t, `{"made":1}`, string(is.Checkpoint))
		require.Empty(t, is.Records)
		l, c, err = states.State.LeaseAndLoad(ctx, name, state.Holder{})
		require.NoError(t, err)
		expire(25 * time.Hour)
		require.ErrorContains(t, l.Append(ctx, c.Sequence+1, []byte("late")), "the token ann of acme has expired")
	})
}

// Whoever has no token gets nothing but what is for all.
func TestRoutesWithoutAToken(t *testing.T) {
	quiet(t)
	b, _, _ := loggingIn(t, server.Options{}, "https://issuer.example")
	open := []string{"GET /openapi.json", "GET /livez", "GET /readyz", "GET /healthz", "POST /v1/login", "POST /v1/login/device",
		"POST /webhooks/{hook}"} // which asks for a proof by the secret of the hook
	source, err := os.ReadFile("http.go")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`"([A-Z]+ /[^"]*)"`).FindAllStringSubmatch(string(source), -1) {
		method, path, _ := strings.Cut(found[1], " ")
		for _, authorization := range []string{"", "Bearer ", "Bearer husk_run_x", "Basic eDp5"} {
			code, answer := b.raw(authorization, method, regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "x"), nil)
			require.Equal(t, slices.Contains(open, found[1]), code != http.StatusUnauthorized, "%s: %d %s", found[1], code, answer)
		}
	}
	for _, call := range remote.Operations() {
		code, _ := b.state("", call, fields{})
		require.Equal(t, http.StatusUnauthorized, code, call)
	}
	require.ErrorContains(t, server.CheckRoute("GET /v1/new"), "does not say whether it needs a token")
}

// What is sent without a token takes none of the memory that teams have.
func TestMemoryOfStrangers(t *testing.T) {
	quiet(t)
	b, _, _ := loggingIn(t, server.Options{}, "https://issuer.example")
	for _, path := range []string{"/v1/login", "/v1/login/device"} {
		body, w := io.Pipe()
		answered := make(chan int)
		go func() {
			answer := httptest.NewRecorder()
			b.server.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, body))
			answered <- answer.Code
		}()
		_, err := w.Write(bytes.Repeat([]byte(" "), 900_000))
		require.NoError(t, err)
		require.Zero(t, b.server.MemoryInUse(), path)
		require.NoError(t, w.Close())
		require.Equal(t, http.StatusBadRequest, <-answered)
	}
}

// Runs of schedules and entries of the audit log count in what a team keeps. Small requests have some room beyond the quota and no more, and who
// stops or removes something is not refused.
func TestRunsAndEntriesAreBounded(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Quota = 64 << 20
		const reserve = 4 << 20
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		require.NoError(t, ann.SendBundle(t.Context(), digest("files"), []byte("files")))
		stacks, small := b.stacks(ann.Token()), runapi.NewRun{Project: "shop", Stack: "dev", Operation: "up", Bundle: digest("files")}
		first := b.asked(ann, small)
		claim := b.next(worker, "w", nil)
		require.Equal(t, first.ID, claim.ID)
		_, err := b.setSchedule(ann, "drift", nightly("nightly"))
		require.NoError(t, err)
		_, err = ann.CallFor(t.Context(), 0, http.MethodPost, "/v1/tokens", runapi.Token{Name: "old", Role: runapi.Read}, nil)
		require.NoError(t, err)
		keeps := func(bytes int64) {
			require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_kept SET bytes = ? WHERE tenant = 'acme'", bytes))
			b.server.CountAgain()
		}
		name := state.StackName{Project: "shop", Name: "other"}
		requests := map[string]func() error{
			"a run":      func() error { _, err := b.ask(ann, small); return err },
			"a schedule": func() error { _, err := b.setSchedule(ann, "more", nightly("dev")); return err },
			"a token": func() error {
				_, err := ann.CallFor(t.Context(), 0, http.MethodPost, "/v1/tokens", runapi.Token{Name: rand.Text(), Role: runapi.Read}, nil)
				return err
			},
			"a write of a state": func() error {
				lease, err := stacks.State.Lease(t.Context(), name, state.Holder{})
				if err == nil {
					err = lease.Release(t.Context())
				}
				if errors.Is(err, state.ErrStackNotFound) {
					return nil
				}
				return err
			},
		}
		eve := webhook.Asker{Team: "acme", Name: "webhook shop", Project: "shop", Stranger: true}
		keeps(o.Quota/2 + 1)
		_, err = b.server.KeepBundle(t.Context(), eve, []byte("stranger"))
		require.ErrorContains(t, err, "--quota")
		eve.Stranger = false
		_, err = b.server.KeepBundle(t.Context(), eve, []byte("pusher"))
		require.NoError(t, err)
		keeps(o.Quota + 1)
		for what, request := range requests {
			require.NoError(t, request(), what)
		}
		keeps(o.Quota + reserve)
		for what, request := range requests {
			require.ErrorContains(t, request(), "entries of the audit log, and may keep 64 MiB: who runs the server sets --quota", what)
		}
		require.NoError(t, b.server.Due(t.Context(), "acme", "drift"))
		require.Eventually(t, func() bool { return strings.Contains(b.schedule(ann, "drift").Reason, "--quota") }, time.Minute, 10*time.Millisecond)
		require.Empty(t, b.schedule(ann, "drift").Last)
		for _, path := range []string{"/v1/tokens/old", "/v1/schedules/drift"} {
			_, err = ann.CallFor(t.Context(), 0, http.MethodDelete, path, nil, nil)
			require.NoError(t, err, path)
		}
		// A run that is cancelled as far as it can be says so no more.
		entries := func() int {
			n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_audit WHERE action = 'run.cancel'")
			require.NoError(t, err)
			return n
		}
		for range 4 {
			_, err = ann.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+first.ID+"/cancel?call="+rand.Text(), nil, nil)
			require.NoError(t, err)
		}
		require.Equal(t, 2, entries())
	})
}

// A token that is revoked while the body of its request comes gets nothing: no other token, no run, no file, no state.
func TestTokensRevokedWhileABodyComes(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		b.server.LookAgain()
		ann, w := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		require.NoError(t, b.stacks(ann.Token()).State.Create(t.Context(), state.StackName{Project: "shop", Name: "dev"}, []byte("{}")))
		call, err := strictcbor.Marshal(map[string]any{"stack": stackField(state.StackName{Project: "shop", Name: "dev"})})
		require.NoError(t, err)
		text := func(v any) string {
			text, err := json.Marshal(v)
			require.NoError(t, err)
			return string(text)
		}
		for path, c := range map[string]struct {
			method, body string
			role         runapi.Role
		}{
			"/v1/tokens":                 {http.MethodPost, text(runapi.Token{Name: "another", Role: runapi.Admin}), runapi.Admin},
			"/v1/runs":                   {http.MethodPost, text(runapi.NewRun{Project: "shop", Stack: "x", Operation: "up", Bundle: digest("files")}), runapi.Admin},
			"/v1/schedules/s":            {http.MethodPut, text(nightly("dev")), runapi.Admin},
			"/v1/bundles/" + digest("x"): {http.MethodPut, "x", runapi.Admin},
			"/v1/work/next":              {http.MethodPost, text(runapi.Ask{Worker: "w", Slots: 1}), runapi.Work},
			remote.Path + "load":         {http.MethodPost, string(call), runapi.Admin},
		} {
			for _, revoked := range []bool{true, false} {
				if !revoked && c.role == runapi.Work {
					continue // it takes the run
				}
				eve := b.client("acme", "eve", c.role)
				body, to := io.Pipe()
				answer, ended := httptest.NewRecorder(), make(chan struct{})
				request := httptest.NewRequest(c.method, path, body)
				request.Header.Set("Authorization", "Bearer "+eve.Token())
				request.Header.Set("Content-Type", "application/json")
				if strings.HasPrefix(path, remote.Path) {
					request.Header.Set("Content-Type", "application/cbor")
				}
				go func() {
					defer close(ended)
					b.server.ServeHTTP(answer, request)
					body.Close()
				}()
				_, err := io.WriteString(to, c.body[:len(c.body)-1])
				require.NoError(t, err)
				if revoked {
					_, err = ann.CallFor(t.Context(), 0, http.MethodDelete, "/v1/tokens/eve", nil, nil)
					require.NoError(t, err)
				}
				_, err = io.WriteString(to, c.body[len(c.body)-1:])
				require.NoError(t, err)
				require.NoError(t, to.Close())
				<-ended
				require.Equal(t, revoked, answer.Code == http.StatusUnauthorized, "%s: %d %s", path, answer.Code, answer.Body)
				if !revoked {
					require.Less(t, answer.Code, 300, "%s: %s", path, answer.Body)
					_, err = ann.CallFor(t.Context(), 0, http.MethodDelete, "/v1/tokens/eve", nil, nil)
					require.NoError(t, err)
				}
			}
		}
		require.NotNil(t, b.next(w, "w", nil))
	})
}

// The refusals of a team are bounded also between two times of pruning.
func TestRefusalsAreBoundedAsTheyCome(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		reader := b.client("acme", "rob", runapi.Read)
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_audit (tenant, at, token, person, address, action, subject, detail)"+
			" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12500) SELECT 'acme', at, 't', '', '', 'refused', 's', '' FROM n, (SELECT max(at) AS at FROM husk_audit) l"))
		for range server.PruneRefusals {
			_, err := reader.CallFor(t.Context(), 0, http.MethodPost, "/v1/tokens", runapi.Token{Name: "x", Role: runapi.Read}, nil)
			require.Equal(t, http.StatusForbidden, status(err))
		}
		n, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_audit WHERE action = 'refused'")
		require.NoError(t, err)
		require.Equal(t, 10_000, n)
	})
}

// No team fills the database beside its quota: with requests, chunks of unknown length, schedules, names of workers, and tokens.
func TestWhatATeamKeepsIsBounded(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Quota = 1 << 20
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		require.NoError(t, ann.SendBundle(t.Context(), digest("files"), []byte("files")))
		options := slices.Repeat([]string{"--target=" + strings.Repeat("<", 4000)}, 60) // which are six times as long in JSON
		long := runapi.NewRun{Project: "shop", Stack: "dev", Operation: "up", Bundle: digest("files"), Options: options}
		_, err := b.ask(ann, long)
		require.Equal(t, http.StatusForbidden, status(err))
		require.ErrorContains(t, err, "--quota")
		schedule := nightly("dev")
		schedule.Run.Options = options
		_, err = b.setSchedule(ann, "s", schedule)
		require.Equal(t, http.StatusForbidden, status(err))
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		report := func(n int) int {
			run := runapi.Run{NewRun: runapi.NewRun{ID: rand.Text(), Project: "shop", Stack: "x", Operation: "up", Bundle: digest("files")}, State: runapi.Succeeded, Worker: "w"}
			body, err := json.Marshal(runapi.Report{Run: run, Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Text: strings.Repeat("x", n)}}})
			require.NoError(t, err)
			return b.post(worker.Token(), http.MethodPost, "/v1/work/report", io.MultiReader(bytes.NewReader(body))).StatusCode
		}
		require.Equal(t, http.StatusForbidden, report(2<<20), "its length is not said")

		const tokens, workers = 10_000, 10_000
		numbers := func(n int) string {
			return fmt.Sprintf(" FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n) AS n", n)
		}
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_workers (tenant, name, labels, slots, running, seen) SELECT 'acme', 'worker-' || i, '{}', 1, 0, 1"+numbers(workers)))
		require.NoError(t, b.server.Exec(t.Context(), "INSERT INTO husk_tokens (hash, tenant, name, person, issued_by, role, projects, made, expires) SELECT 'h' || i, 'acme', 'token-' || i, 'x', '', 'read', '[]', 0, 0"+numbers(tokens)))
		ask := func(name string) int {
			_, err := worker.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/next", runapi.Ask{Worker: name, Labels: map[string]string{"no": "run"}, Slots: 1}, nil)
			return status(err)
		}
		require.Equal(t, http.StatusTooManyRequests, ask("another"))
		require.Zero(t, ask("worker-7"))
		_, err = ann.CallFor(t.Context(), 0, http.MethodPost, "/v1/tokens", runapi.Token{Name: "more", Role: runapi.Read}, nil)
		require.Equal(t, http.StatusConflict, status(err))
		require.ErrorContains(t, err, "tokens already: revoke one")
	})
}

// A login is renewed as it is used, and what the issuer says of its person counts from then on.
func TestLoginsAreRenewed(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		issuer := identitytest.Start(t)
		file := filepath.Join(t.TempDir(), "identity.yaml")
		require.NoError(t, os.WriteFile(file, []byte("issuers:\n  - {issuer: "+issuer.URL+", audience: husk, people: true, name: preferred_username, scopes: [offline_access], lifetime: 1h, renew: 10m, rules: ["+
			"{claims: {groups: operators}, team: acme, role: admin}, {claims: {groups: guests}, team: acme, role: read, projects: [shop]}]}\n"), 0o600))
		var err error
		o.Identity, err = identity.Load(file)
		require.NoError(t, err)
		b := open(t, o)
		operator, worker := b.client("acme", "operator", runapi.Admin), b.client("acme", "w", runapi.Work)
		nobody, err := runapi.NewClient(b.url, "")
		require.NoError(t, err)
		logInAs := func(subject string) *runapi.Client {
			t.Helper()
			var begun runapi.DeviceLogin
			_, err := nobody.Call(t.Context(), http.MethodPost, "/v1/login/device", runapi.DeviceLogin{}, &begun)
			require.NoError(t, err)
			issuer.Confirm(begun.UserCode, map[string]any{"sub": subject, "preferred_username": "Ann", "groups": []string{"operators"}})
			var in runapi.LoggedIn
			_, err = nobody.Call(t.Context(), http.MethodPost, "/v1/login", runapi.Login{Issuer: begun.Issuer, Device: begun.Device}, &in)
			require.NoError(t, err)
			return nobody.With(in.Token.Secret)
		}
		logIn := func() *runapi.Client { return logInAs("ann") }
		asked := 0
		says := func(code int, groups ...string) {
			asked = 0
			issuer.OnRefresh(func(claims map[string]any) int {
				asked++
				if len(groups) > 0 {
					claims["groups"] = groups
				}
				return code
			})
		}
		call := func(c *runapi.Client, path string) int {
			_, err := c.CallFor(t.Context(), 0, http.MethodGet, path, nil, nil)
			return status(err)
		}
		// later has minutes pass.
		later := func(minutes int) {
			require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_tokens SET asked = asked - ?, expires = expires - ? WHERE asked > 0", minutes*60_000, minutes*60_000))
		}
		ann := logIn()
		// A name at the issuer is no person: one subject is one, whatever it is called, and another is another.
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Approval: true})
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded}))
		for _, subject := range []string{"ann", "ANN"} {
			_, err := logInAs(subject).CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil, nil)
			require.Equal(t, http.StatusForbidden, status(err), subject)
		}
		_, err = logInAs("bob").Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil, nil)
		require.NoError(t, err)
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded}))
		says(http.StatusOK)
		later(9)
		require.Zero(t, call(ann, "/v1/tokens"))
		require.Zero(t, asked)
		for range 20 { // many times its lifetime, each with the refresh token before
			later(50)
			asked = 0
			var many sync.WaitGroup
			for range 8 {
				many.Go(func() { require.Zero(t, call(ann, "/v1/tokens")) })
			}
			many.Wait()
			require.Equal(t, 1, asked, "one of them asks")
		}
		stored, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_tokens WHERE length(refresh) = 26")
		require.NoError(t, err)
		require.Zero(t, stored, "it is encrypted")

		// The rules count for what she is now.
		says(http.StatusOK, "guests")
		later(20)
		require.Equal(t, http.StatusForbidden, call(ann, "/v1/tokens"))
		require.Zero(t, call(ann, "/v1/runs"))
		says(http.StatusOK, "operators")
		later(20)
		require.Zero(t, call(ann, "/v1/tokens"))
		require.Contains(t, strings.Join(b.audit(ann), "\n"), "token.renew")

		// While the issuer cannot be asked, the token counts until it expires.
		says(http.StatusServiceUnavailable)
		for range 2 {
			later(20)
			require.Zero(t, call(ann, "/v1/runs"))
			require.Positive(t, asked)
		}
		later(20)
		require.Equal(t, http.StatusUnauthorized, call(ann, "/v1/runs"))

		// Who has left, or was disabled, and who would be another person, has no right any more.
		for what, do := range map[string]func(){
			"left":     func() { says(http.StatusOK, "others") },
			"disabled": func() { says(http.StatusBadRequest) },
			"another": func() {
				issuer.OnRefresh(func(claims map[string]any) int {
					claims["sub"] = "bob"
					return http.StatusOK
				})
			},
		} {
			gone := logIn()
			run := b.asked(gone, runapi.NewRun{Project: "shop", Stack: what})
			do()
			later(20)
			for range 2 { // for good
				_, err := gone.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs", nil, nil)
				require.Equal(t, http.StatusUnauthorized, status(err), what)
				require.ErrorContains(t, err, "log in again", what)
				says(http.StatusOK, "operators")
			}
			require.Zero(t, asked)
			require.Nil(t, b.next(worker, "w", nil), what)
			require.Contains(t, b.run(operator, run.ID).Reason, "was ended by the issuer of its login", what)
		}
	})
}
