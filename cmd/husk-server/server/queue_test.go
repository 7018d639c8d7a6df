package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/cmd/husk-server/webhook"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// A run whose stack another run has is tried again, later and not for ever.
func TestTriedAgain(t *testing.T) {
	b := open(t, server.Options{Lease: time.Second})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	later := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	claim := b.wait(worker)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "another run has the lock"}))
	again := b.run(ann, run.ID)
	require.Equal(t, runapi.Queued, again.State)
	require.Empty(t, again.Reason)
	tries := 1
	for ; ; tries++ {
		claim := b.wait(worker)
		if claim.ID == later.ID {
			break
		}
		require.Equal(t, 1, claim.Attempt, "no worker was lost")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "another run has the lock"}))
	}
	require.Equal(t, 10, tries)
	failed := b.run(ann, run.ID)
	require.Equal(t, runapi.Failed, failed.State)
	require.Equal(t, "another run has the lock", failed.Reason)
	require.Equal(t, "worker: another run has the lock", b.log(ann, run.ID)[0])
	require.Regexp(t, `^server: The run is tried again in [0-9.]+m?s\.$`, b.log(ann, run.ID)[1])
}

// A preview that was cancelled while it ended waits for nobody's approval.
func TestCancelledPreview(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Approval: true})
	claim := b.next(worker, "w", nil)
	require.True(t, claim.Previewing)
	_, err := ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
	require.NoError(t, err)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("{}")}))
	require.Equal(t, runapi.Cancelled, b.run(ann, run.ID).State)
}

// A worker whose token is for some projects takes the runs of these.
func TestProjectsOfWorkers(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, shops := b.client("acme", "ann", runapi.Request), b.client("acme", "shops", runapi.Work, "shop-*")
		b.asked(ann, runapi.NewRun{Project: "bank", Stack: "dev"})
		require.Nil(t, b.next(shops, "w", nil))
		run := b.asked(ann, runapi.NewRun{Project: "shop-eu", Stack: "dev"})
		require.Equal(t, run.ID, b.next(shops, "w", nil).ID)
		require.Nil(t, b.next(shops, "w", nil))
	})
}

// A run that waits wakes the workers that can take it, and a run that ends those of the next of its stack.
func TestWaking(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	claims := make(chan *runapi.Claim)
	wait := func(name string, labels map[string]string) {
		go func() {
			var claim runapi.Claim
			if some, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: name, Labels: labels, Slots: 1, Seconds: 50}, &claim); some && err == nil {
				claims <- &claim
			}
		}()
	}
	eu := map[string]string{"region": "eu"}
	wait("plain", nil)
	first := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s"})
	claim := <-claims
	require.Equal(t, first.ID, claim.ID)
	wait("plain", nil)
	wait("eu", eu)
	second := b.asked(ann, runapi.NewRun{Project: "a", Stack: "s", Labels: eu})
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	claim = <-claims
	require.Equal(t, second.ID, claim.ID)
	require.Equal(t, "eu", claim.Worker)
	other := b.asked(ann, runapi.NewRun{Project: "a", Stack: "t"})
	require.Equal(t, other.ID, (<-claims).ID)
}

// A list has as many runs of the caller's projects as were asked for, whatever came between.
func TestListsOfSomeProjects(t *testing.T) {
	b := open(t, server.Options{})
	ann, shop := b.client("acme", "ann", runapi.Request), b.client("acme", "shop", runapi.Read, "shop")
	want := []string{b.asked(ann, runapi.NewRun{Project: "shop", Stack: "one"}).ID, b.asked(ann, runapi.NewRun{Project: "shop", Stack: "two"}).ID}
	for range 250 {
		b.asked(ann, runapi.NewRun{Project: "bank", Stack: "dev", Bundle: digest("files")})
	}
	var all []runapi.Run
	_, err := shop.Call(t.Context(), http.MethodGet, "/v1/runs?limit=2", nil, &all)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, want, []string{all[1].ID, all[0].ID})
}

// A destruction that was approved is not done to a stack which was changed after its preview.
func TestApprovalOfWhatIsThere(t *testing.T) {
	b := open(t, server.Options{})
	ann, bob, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Admin), b.client("acme", "w", runapi.Work)
	name, people := state.StackName{Project: "shop", Name: "dev"}, b.stacks(bob.Token()).State
	require.NoError(t, people.Create(t.Context(), name, []byte("{}")))
	write := func(store state.Store) error {
		l, err := store.Lease(t.Context(), name, state.Holder{Command: "up"})
		if err != nil {
			return err
		}
		c, err := l.Load(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Append(t.Context(), c.Sequence+uint64(len(c.Records))+1, []byte("record")))
		return l.Release(t.Context())
	}
	for _, operation := range []string{"up", "destroy", "refresh"} {
		approved := func() *runapi.Claim {
			run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Operation: operation, Approval: true})
			claim := b.wait(worker)
			require.True(t, claim.Previewing)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
			_, err := bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil, nil)
			require.NoError(t, err)
			return b.wait(worker)
		}
		claim := approved()
		require.NoError(t, write(b.stacks(claim.Token).State), "nobody has changed it")
		require.NoError(t, write(b.stacks(claim.Token).State), "the run itself has")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))

		claim = approved()
		require.NoError(t, write(people))
		require.ErrorContains(t, write(b.stacks(claim.Token).State), "the stack dev was changed after the preview that bob has approved: ask for the run "+operation+" again")
		require.NoError(t, write(people), "the lease has ended")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	}
}

// TestApprovalIsOfTheWholeState has a state replaced by another one of as many steps, and a stack made that was not there.
func TestApprovalIsOfTheWholeState(t *testing.T) {
	b := open(t, server.Options{})
	ann, bob, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
	direct := b.stacks(ann.Token()).State
	approved := func(stack string) *backend.Backend {
		t.Helper()
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: stack, Approval: true})
		claim := b.wait(worker)
		require.True(t, claim.Previewing)
		previewing := b.stacks(claim.Token)
		name := state.StackName{Project: "shop", Name: stack}
		_, err := previewing.State.Lease(t.Context(), name, state.Holder{})
		require.ErrorContains(t, err, "does not allow to write the stack shop/"+stack, "a preview writes nothing")
		require.ErrorContains(t, previewing.State.Create(t.Context(), name, []byte("{}")), "does not allow to write")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		_, err = bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil, nil)
		require.NoError(t, err)
		return b.stacks(b.wait(worker).Token)
	}
	lease := func(of *backend.Backend, stack string) error {
		l, err := of.State.Lease(t.Context(), state.StackName{Project: "shop", Name: stack}, state.Holder{Command: "up"})
		if err == nil {
			err = l.Release(t.Context())
		}
		return err
	}
	one := state.StackName{Project: "shop", Name: "one"}
	require.NoError(t, direct.Create(t.Context(), one, []byte(`{"a":1}`)))
	run := approved("one")
	l, err := direct.Lease(t.Context(), one, state.Holder{})
	require.NoError(t, err)
	_, err = l.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.Checkpoint(t.Context(), 0, []byte(`{"forged":1}`)))
	require.NoError(t, l.Release(t.Context()))
	require.ErrorContains(t, lease(run, "one"), "the stack one was changed after the preview that bob has approved")

	run = approved("two")
	require.NoError(t, direct.Create(t.Context(), state.StackName{Project: "shop", Name: "two"}, []byte(`{"forged":1}`)))
	require.ErrorContains(t, lease(run, "two"), "the stack two was changed")

	run = approved("three")
	require.NoError(t, run.State.Create(t.Context(), state.StackName{Project: "shop", Name: "three"}, []byte(`{}`)), "it makes the stack itself")
	require.NoError(t, lease(run, "three"))
	require.NoError(t, lease(run, "three"))
}

// An approved run that needed attention goes on with the state that it has left, and not with one that another run has changed meanwhile.
func TestApprovalOfWhatNeedsAttention(t *testing.T) {
	b := open(t, server.Options{RequireApproval: true})
	ann, bob, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
	name := state.StackName{Project: "shop", Name: "dev"}
	do := func(c *runapi.Client, run, what string) {
		t.Helper()
		_, err := c.Call(t.Context(), http.MethodPost, "/v1/runs/"+run+"/"+what, nil, nil)
		require.NoError(t, err)
	}
	approved := func() *runapi.Claim {
		t.Helper()
		run := b.asked(ann, runapi.NewRun{Project: name.Project, Stack: name.Name})
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		do(bob, run.ID, "approve")
		return b.wait(worker)
	}
	lease := func(claim *runapi.Claim) error {
		l, err := b.stacks(claim.Token).State.Lease(t.Context(), name, state.Holder{Command: "up"})
		if err == nil {
			err = l.Release(t.Context())
		}
		return err
	}
	claim := approved()
	pending := `{"version":3,"deployment":{"manifest":{"time":"2026-11-23T00:00:00Z","magic":"","version":""},"pending_operations":[{"type":"creating","resource":{"urn":"urn:pulumi:dev::shop::a:b:C::d","custom":true,"type":"a:b:C"}}]}}`
	require.NoError(t, b.stacks(claim.Token).State.Create(t.Context(), name, []byte(pending)))
	require.NoError(t, lease(claim))
	attention := func(claim *runapi.Claim) {
		t.Helper()
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "it could not be recorded"}))
		require.Equal(t, runapi.Attention, b.run(ann, claim.ID).State)
		do(ann, claim.ID, "retry?pending")
	}
	attention(claim)
	claim = b.wait(worker)
	require.NoError(t, lease(claim), "nobody has changed it")
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "it could not be recorded"}))

	other := approved()
	require.NotEqual(t, claim.ID, other.ID)
	require.NoError(t, b.end(other, runapi.End{Outcome: runapi.Succeeded}))
	do(ann, claim.ID, "retry?pending")
	claim = b.wait(worker)
	require.ErrorContains(t, lease(claim), "the stack dev was changed after the preview that bob has approved")
}

// TestFourEyes has an admin try all ways around the approval of another person.
func TestFourEyes(t *testing.T) {
	b := open(t, server.Options{RequireApproval: true})
	ann, bob, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
	approve := func(c *runapi.Client, run *runapi.Run) error {
		_, err := c.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil, nil)
		return err
	}
	issue := func(by *runapi.Client, token runapi.Token) (*runapi.Client, error) {
		var issued runapi.Token
		_, err := by.CallFor(t.Context(), 0, http.MethodPost, "/v1/tokens", token, &issued)
		return by.With(issued.Secret), err
	}
	previewed := func(c *runapi.Client, n runapi.NewRun) *runapi.Run {
		t.Helper()
		n.Project, n.Stack = "shop", "dev"
		run := b.asked(c, n)
		require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		return run
	}
	second, err := issue(ann, runapi.Token{Name: "friend", Role: runapi.Admin})
	require.NoError(t, err)
	third, err := issue(second, runapi.Token{Name: "friend of the friend", Role: runapi.Approve})
	require.NoError(t, err)
	_, err = issue(ann, runapi.Token{Name: "x", Role: runapi.Approve, Person: "bob"})
	require.Equal(t, http.StatusForbidden, status(err), "she issues none for others")
	_, err = issue(ann, runapi.Token{Name: "y", Role: runapi.Approve, By: "bob"})
	require.NoError(t, err)
	var tokens []runapi.Token
	_, err = ann.Call(t.Context(), http.MethodGet, "/v1/tokens", nil, &tokens)
	require.NoError(t, err)
	by := map[string]string{}
	for _, token := range tokens {
		by[token.Name] = token.By + " for " + token.Person
	}
	require.Equal(t, map[string]string{"ann": " for ann", "bob": " for bob", "w": " for w", "friend": "ann for ann", "friend of the friend": "friend for ann", "y": "ann for ann"}, by)

	// Her tokens are her, in whatever direction.
	all := map[string]*runapi.Client{"ann": ann, "friend": second, "friend of the friend": third}
	for asks, c := range map[string]*runapi.Client{"ann": ann, "friend": second} {
		run := previewed(c, runapi.NewRun{})
		require.Equal(t, asks+" of ann", run.By+" of "+run.Person)
		for approves, other := range all {
			require.Equal(t, http.StatusForbidden, status(approve(other, run)), "%s asks, %s approves", asks, approves)
		}
		require.ErrorContains(t, approve(third, run), "the token friend of the friend is one of the same person, ann")
		_, err := ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/reject", nil, nil)
		require.NoError(t, err)
	}
	// A token with the name of one that was revoked is still hers.
	require.NotNil(t, b.client("acme", "carl", runapi.Approve))
	_, err = ann.Call(t.Context(), http.MethodDelete, "/v1/tokens/carl", nil, nil)
	require.NoError(t, err)
	carl, err := issue(ann, runapi.Token{Name: "carl", Role: runapi.Approve})
	require.NoError(t, err)
	run := previewed(ann, runapi.NewRun{})
	require.Equal(t, http.StatusForbidden, status(approve(carl, run)))
	require.NoError(t, approve(bob, run))
	claim := b.wait(worker)
	require.Equal(t, run.ID, claim.ID)
	require.Contains(t, strings.Join(b.lines(bob, run.ID), "\n"), "server: Approved by bob.")

	// A chain of tokens stays hers when those before it are revoked.
	fourth, err := issue(second, runapi.Token{Name: "her other friend", Role: runapi.Admin})
	require.NoError(t, err)
	fifth, err := issue(fourth, runapi.Token{Name: "a friend of that", Role: runapi.Approve})
	require.NoError(t, err)
	for _, name := range []string{"friend", "her other friend"} {
		b.revoke(ann, name)
	}
	chained := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "chained"})
	require.NoError(t, b.end(b.wait(worker), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
	for _, c := range []*runapi.Client{third, fifth} {
		require.Equal(t, http.StatusForbidden, status(approve(c, chained)))
	}
	second = fifth // which is left

	// What a schedule of hers asks for is asked for by her.
	schedule := nightly("nightly")
	schedule.Run.Options = nil
	_, err = b.setSchedule(ann, "nightly", schedule)
	require.NoError(t, err)
	require.NoError(t, b.server.Due(t.Context(), "acme", "nightly"))
	scheduled := b.wait(worker)
	require.NoError(t, b.end(scheduled, runapi.End{Outcome: runapi.Succeeded}))
	require.Equal(t, http.StatusForbidden, status(approve(third, &scheduled.Run)))
	_, err = ann.Call(t.Context(), http.MethodDelete, "/v1/schedules/nightly", nil, nil)
	require.NoError(t, err)
	_, err = bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+scheduled.ID+"/reject", nil, nil)
	require.NoError(t, err)

	// No role writes a state directly: neither that of a stack, nor a new stack that is not empty.
	name := state.StackName{Project: "shop", Name: "new"}
	for who, c := range map[string]*runapi.Client{"ann": ann, "friend": second, "bob": bob} {
		stacks := b.stacks(c.Token())
		own := state.StackName{Project: "shop", Name: strings.ReplaceAll("new-"+who, " ", "-")}
		require.NoError(t, state.Create(t.Context(), stacks.State, own, passphrase{}), "an empty stack is no change")
		forged := `{"version":3,"deployment":{"manifest":{"time":"2026-11-23T00:00:00Z","magic":"","version":""},"resources":[{"urn":"urn:pulumi:new::shop::pulumi:pulumi:Stack::shop-new","custom":false,"type":"pulumi:pulumi:Stack"}]}}`
		for what, do := range map[string]func() error{
			"create":           func() error { return stacks.State.Create(t.Context(), name, []byte(forged)) },
			"what is no state": func() error { return stacks.State.Create(t.Context(), name, []byte("forged")) },
			"lease":            func() error { _, err := stacks.State.Lease(t.Context(), own, state.Holder{}); return err },
			"break":            func() error { return stacks.State.Break(t.Context(), own) },
			"history":          func() error { return stacks.State.SetHistory(t.Context(), own, nil) },
			"values":           func() error { _, err := stacks.KV.Save(t.Context(), own, "random", []byte("x"), ""); return err },
			"records":          func() error { return stacks.History.Put(t.Context(), own, "run", []byte("x")) },
			"modules": func() error {
				return stacks.Modules.Put(t.Context(), digest("x"), func() ([]byte, error) { return []byte("x"), nil })
			},
		} {
			require.Error(t, do(), "%s: %s", who, what)
		}
		_, err := stacks.Keys.Encrypt(t.Context(), []byte("key"))
		require.NoError(t, err, "configuration is encrypted, and part of what is previewed")
	}
	_, err = b.stacks(bob.Token()).State.Load(t.Context(), name)
	require.ErrorIs(t, err, state.ErrStackNotFound)

	// A worker of hers does nothing of what she asks for: it could show another preview, and do something else.
	_, err = issue(ann, runapi.Token{Name: "another worker", Role: runapi.Work})
	require.Equal(t, http.StatusForbidden, status(err), "it would write what nobody has approved")
	hersOf, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "her worker", Role: runapi.Work, Person: "ann"})
	require.NoError(t, err)
	hers := ann.With(hersOf.Secret)
	run = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "own"})
	require.Nil(t, b.next(hers, "hers", nil))
	bobs, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "bob's worker", Role: runapi.Work, Person: "bob"})
	require.NoError(t, err)
	require.NoError(t, b.end(b.next(bob.With(bobs.Secret), "bobs", nil), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
	require.ErrorContains(t, approve(bob, run), "a worker of bob made the preview")
	_, err = bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/reject", nil, nil)
	require.NoError(t, err)
	run = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "own"})
	require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
	// Who has approved is a person, also once the token is gone, and whatever its name was.
	_, err = b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "eve", Role: runapi.Read})
	require.NoError(t, err)
	_, err = ann.Call(t.Context(), http.MethodDelete, "/v1/tokens/eve", nil, nil)
	require.NoError(t, err)
	named, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "eve", Role: runapi.Approve, Person: "bob"})
	require.NoError(t, err)
	require.NoError(t, approve(bob.With(named.Secret), run))
	require.Equal(t, "bob", b.run(ann, run.ID).ApprovedBy)
	require.Nil(t, b.next(hers, "hers", nil))
	require.Nil(t, b.next(bob.With(bobs.Secret), "bobs", nil), "nor one of who has approved it")
	b.revoke(ann, "eve")
	require.Nil(t, b.next(worker, "w", nil))
	require.NoError(t, approve(bob, run), "with the token that is left")
	require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))

	// Who runs the server says that two tokens are of one person.
	laptop, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: "acme", Name: "bob's laptop", Role: runapi.Request, Person: "bob"})
	require.NoError(t, err)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	run = previewed(bob.With(laptop.Secret), runapi.NewRun{Operation: "destroy"})
	require.Equal(t, http.StatusForbidden, status(approve(bob, run)))
	require.NoError(t, approve(ann, run))
}

// TestWaysAroundFourEyes tries more ways to have a run begin that nobody else has approved, or to change it once it is approved.
func TestWaysAroundFourEyes(t *testing.T) {
	quiet(t)
	b := open(t, server.Options{RequireApproval: true})
	ann, bob, worker := b.client("acme", "ann", runapi.Admin), b.client("acme", "bob", runapi.Approve), b.client("acme", "w", runapi.Work)
	call := func(c *runapi.Client, method, path string, body any) int {
		_, err := c.CallFor(t.Context(), 0, method, path, body, nil)
		return status(err)
	}
	previewed := func(n runapi.NewRun) *runapi.Run {
		t.Helper()
		n.Project = "shop"
		run := b.asked(ann, n)
		claim := b.wait(worker)
		require.True(t, claim.Previewing, "%v", n)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		return run
	}
	// Whatever the options and the operation, what may change something is previewed.
	for i, n := range []runapi.NewRun{
		{Operation: "up"}, {Operation: "destroy"}, {Operation: "refresh"},
		{Operation: "destroy", Options: []string{"--preview-only", "--preview-only=false"}},
		{Operation: "refresh", Options: []string{"--preview-only=true", "--preview-only=0"}},
		{Operation: "destroy", Options: []string{"--preview-only=F"}},
	} {
		n.Stack = fmt.Sprint("options-", i)
		require.Zero(t, call(bob, http.MethodPost, "/v1/runs/"+previewed(n).ID+"/reject", nil))
	}
	for _, options := range [][]string{{"--preview-only=x"}, {"--preview-only="}, {"--plan=x"}, {"--yes"}, {"-y"}, {"--preview-only", "false"}} {
		_, err := b.ask(ann, runapi.NewRun{Project: "shop", Stack: "dev", Operation: "destroy", Options: options})
		require.Equal(t, http.StatusBadRequest, status(err), "%q", options)
	}
	// Nobody but an approver of its team and project approves it, and only while it waits for that.
	run := previewed(runapi.NewRun{Stack: "dev"})
	path := "/v1/runs/" + run.ID
	asked := b.asked(ann, runapi.NewRun{Project: "other", Stack: "dev"})
	require.Equal(t, http.StatusConflict, call(bob, http.MethodPost, "/v1/runs/"+asked.ID+"/approve", nil), "it is queued")
	held := b.wait(worker)
	require.Equal(t, http.StatusConflict, call(bob, http.MethodPost, "/v1/runs/"+asked.ID+"/approve", nil), "it is previewed")
	for who, c := range map[string]*runapi.Client{
		"a worker": worker, "a run": b.of(held), "who may request": b.client("acme", "r", runapi.Request), "another project": b.client("acme", "p", runapi.Approve, "other"),
		"another team": b.client("evil", "bob", runapi.Admin), "nobody": bob.With("husk_x"), "ann": ann,
	} {
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, call(c, http.MethodPost, path+"/approve", nil), who)
	}
	require.Equal(t, http.StatusConflict, call(ann, http.MethodPost, path+"/retry?pending", nil))
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, call(bob, method, path, run), method)
	}
	// A person is not named by who asks for a token, in whatever way it is written.
	for _, body := range []string{`"person":"bob"`, `"Person":"bob"`, `"person":"ann","PERSON":"bob"`, `"person":"bob","tenant":"evil"`} {
		code, answer := b.raw("Bearer "+ann.Token(), http.MethodPost, "/v1/tokens", `{"name":"x","role":"approve",`+body+"}")
		require.Contains(t, []int{http.StatusForbidden, http.StatusBadRequest}, code, "%s: %s", body, answer)
	}
	require.Equal(t, http.StatusForbidden, call(ann, http.MethodPost, "/v1/tokens", runapi.Token{Name: "w2", Role: runapi.Work}))
	// The name of who has asked is not for another's approval either.
	require.Zero(t, call(bob, http.MethodPost, path+"/reject", nil))
	require.Equal(t, http.StatusConflict, call(bob, http.MethodPost, path+"/approve", nil), "it is rejected")
	// Once it is approved, it is as it was, and nobody else speaks for its worker.
	run = previewed(runapi.NewRun{Stack: "approved"})
	require.Zero(t, call(bob, http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil))
	other := digest("others")
	require.NoError(t, ann.SendBundle(t.Context(), other, []byte("others")))
	again, err := b.ask(ann, runapi.NewRun{ID: run.ID, Project: "shop", Stack: "approved", Operation: "destroy", Bundle: other})
	require.NoError(t, err)
	require.Equal(t, "up "+digest("files"), again.Operation+" "+again.Bundle)
	claim := b.wait(worker)
	require.Equal(t, "plan", string(claim.Plan))
	require.Equal(t, "up "+digest("files"), claim.Operation+" "+claim.Bundle)
	for at, body := range map[string]any{
		"next": runapi.Ask{Worker: "w", Slots: 1}, "beat": runapi.Beat{}, "end": runapi.End{Outcome: runapi.Succeeded},
		"unrecorded": runapi.Unrecorded{Run: run.ID, Token: claim.Token, Records: []runapi.StateRecord{{Sequence: 1}}},
		"report":     runapi.Report{Run: runapi.Run{NewRun: runapi.NewRun{ID: rand.Text(), Project: "shop", Stack: "x", Operation: "up", Bundle: other}, State: runapi.Succeeded, Worker: "w"}},
	} {
		require.Equal(t, http.StatusForbidden, call(ann, http.MethodPost, "/v1/work/"+at, body), at)
	}
	require.Zero(t, call(ann, http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil))
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
	require.Equal(t, http.StatusConflict, call(bob, http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil), "it was cancelled")
}

// TestWorkersOfAdmins has the worker of an admin ask a server that has come to want approval.
func TestWorkersOfAdmins(t *testing.T) {
	o := server.Options{Dir: t.TempDir()}
	var ann *runapi.Client
	var hers runapi.Token
	t.Run("before", func(t *testing.T) {
		b := open(t, o)
		ann = b.client("acme", "ann", runapi.Admin)
		_, err := ann.Call(t.Context(), http.MethodPost, "/v1/tokens", runapi.Token{Name: "hers", Role: runapi.Work}, &hers)
		require.NoError(t, err)
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "one"})
		require.NotNil(t, b.next(ann.With(hers.Secret), "hers", nil))
	})
	o.RequireApproval = true
	b := open(t, o)
	client, err := runapi.NewClient(b.url, hers.Secret)
	require.NoError(t, err)
	b.asked(client.With(ann.Token()), runapi.NewRun{Project: "shop", Stack: "two"})
	for path, body := range map[string]any{
		"next": runapi.Ask{Worker: "hers", Slots: 1},
		"report": runapi.Report{Run: runapi.Run{
			NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "shop", Stack: "two", Operation: "up", Bundle: digest("files")}, State: runapi.Succeeded, Worker: "hers",
		}},
	} {
		_, err := client.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/"+path, body, nil)
		require.Equal(t, http.StatusForbidden, status(err), path)
		require.ErrorContains(t, err, "who runs it issues the tokens of workers")
	}
	require.True(t, b.next(b.client("acme", "w", runapi.Work), "w", nil).Previewing)
}

// TestManyProjectsWait has more projects wait than a statement has arguments: those of one team keep no worker of another from
// its runs, nor its own.
func TestManyProjectsWait(t *testing.T) {
	dir := t.TempDir()
	b := open(t, server.Options{Dir: dir})
	ann, own := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work, "*")
	eve, others := b.client("other", "eve", runapi.Request), b.client("other", "w", runapi.Work, "*")
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "server.db"))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	const columns = "tenant, stack, request, selector, state, previewing, requested_by, requested_projects, approved_by, worker, attempt, token, lease, not_before, cancel, lines, reason, made, began, ended"
	_, err = db.Exec("/* test */ WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 33000) INSERT INTO husk_runs (id, project, "+columns+")"+
		" SELECT 'run-' || i, 'project-' || i, "+columns+" FROM husk_runs, n WHERE id = ?", run.ID)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	other := b.asked(eve, runapi.NewRun{Project: "shop", Stack: "dev"})
	require.Equal(t, other.ID, b.next(others, "w", nil).ID)
	require.Equal(t, run.ID, b.next(own, "w", nil).ID)
}

// passphrase is a [state.KeySource].
type passphrase struct{}

func (passphrase) New(context.Context) (secrets.Provider, error) {
	return secrets.NewPassphrase(secrets.Passphrase{Text: "word"})
}

func (passphrase) Open(context.Context, string, json.RawMessage) (secrets.Provider, error) {
	return nil, errors.ErrUnsupported
}

// lines returns the log of a run as it is now.
func (b *bench) lines(c *runapi.Client, id string) (lines []string) {
	b.t.Helper()
	require.NoError(b.t, c.Follow(b.t.Context(), id, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
		if l != nil {
			lines = append(lines, l.Stream+": "+l.Text)
		}
		return r == nil, nil
	}))
	return lines
}

// Schedules that were set before --require-approval need approval, unless they change nothing.
func TestSchedulesNeedApproval(t *testing.T) {
	dir := t.TempDir()
	s, err := server.Open(t.Context(), server.Options{Dir: dir})
	require.NoError(t, err)
	h := httptest.NewServer(s)
	b := &bench{t, s, h.URL}
	admin, work := b.client("acme", "admin", runapi.Admin), b.client("acme", "w", runapi.Work)
	require.NoError(t, admin.SendBundle(t.Context(), digest("files"), []byte("files")))
	for stack, options := range map[string][]string{"changes": nil, "looks": {"--preview-only=true"}} {
		schedule := nightly(stack)
		schedule.Run.Options = options
		_, err := b.setSchedule(admin, stack, schedule)
		require.NoError(t, err)
	}
	s.Stop()
	h.Close()
	require.NoError(t, s.Close())

	b = open(t, server.Options{Dir: dir, RequireApproval: true})
	worker, err := runapi.NewClient(b.url, work.Token())
	require.NoError(t, err)
	for _, stack := range []string{"changes", "looks"} {
		require.NoError(t, b.server.Due(t.Context(), "acme", stack))
		claim := b.wait(worker)
		require.Equal(t, stack, claim.Stack)
		require.Equal(t, stack == "changes", claim.Previewing)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	}
}

// Runs that were queued before --require-approval are held, also when their worker was lost.
func TestQueuedRunsNeedApproval(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Dir, o.Lease = t.TempDir(), time.Second
		var ann, worker *runapi.Client
		runs := map[string]*runapi.Run{}
		t.Run("before", func(t *testing.T) {
			b := open(t, o)
			ann, worker = b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
			runs["lost"] = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "lost"})
			require.False(t, b.next(worker, "gone", nil).Previewing)
			for _, operation := range runapi.Operations {
				runs[operation] = b.asked(ann, runapi.NewRun{Project: "shop", Stack: operation, Operation: operation})
			}
			runs["looks"] = b.asked(ann, runapi.NewRun{Project: "shop", Stack: "looks", Operation: "destroy", Options: []string{"--preview-only"}})
		})
		o.RequireApproval = true
		b := open(t, o)
		bob := b.client("acme", "bob", runapi.Approve)
		ann, worker = bob.With(ann.Token()), bob.With(worker.Token())
		for range runs {
			claim := b.wait(worker)
			held := claim.Stack != "preview" && claim.Stack != "looks"
			require.Equal(t, held, claim.Previewing, claim.Stack)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan of " + claim.Stack)}))
			run := b.run(ann, claim.ID)
			require.Equal(t, held, run.Approval)
			if !held {
				require.Equal(t, runapi.Succeeded, run.State)
				continue
			}
			require.Equal(t, runapi.Waiting, run.State, claim.Stack)
		}
		_, err := bob.Call(t.Context(), http.MethodPost, "/v1/runs/"+runs["up"].ID+"/approve", nil, nil)
		require.NoError(t, err)
		claim := b.wait(worker)
		require.Equal(t, runs["up"].ID, claim.ID)
		require.False(t, claim.Previewing)
		require.Equal(t, "plan of up", string(claim.Plan))
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.Equal(t, "server: The server has been started with --require-approval since this was asked for: it is previewed first.", b.log(ann, claim.ID)[0])
	})
}

// The times of a report of a machine whose clock is wrong are those of now.
func TestReportsOfWrongClocks(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "edge", runapi.Work)
	for id, began := range map[string]time.Time{
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ": time.UnixMilli(0), "BBCDEFGHIJKLMNOPQRSTUVWXYZ": time.Now().Add(1000 * time.Hour), "CBCDEFGHIJKLMNOPQRSTUVWXYZ": {},
	} {
		report := runapi.Report{
			Run: runapi.Run{
				NewRun: runapi.NewRun{ID: id, Project: "shop", Stack: "till", Operation: "up", Bundle: digest("files")},
				State:  runapi.Succeeded, Worker: "edge-1", Made: began, Began: began, Ended: began.Add(time.Minute),
			},
			Lines: []runapi.Line{{Number: 1, Stream: runapi.Out, Time: began, Text: "done"}},
		}
		_, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/report", report, nil)
		require.NoError(t, err)
		run := b.run(ann, id)
		require.WithinDuration(t, time.Now(), run.Ended, time.Minute)
		require.Equal(t, time.Minute, run.Ended.Sub(run.Began))
	}
	// The end of a run that the server knows is not reported again.
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "till"})
	claim := b.next(worker, "edge-1", nil)
	require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
	report := runapi.Report{Run: claim.Run, Of: run.ID}
	report.ID, report.State, report.Ended = "DBCDEFGHIJKLMNOPQRSTUVWXYZ", runapi.Succeeded, time.Now()
	_, err := worker.Call(t.Context(), http.MethodPost, "/v1/work/report", report, nil)
	require.NoError(t, err)
	_, err = ann.CallFor(t.Context(), 0, http.MethodGet, "/v1/runs/"+report.ID, nil, nil)
	require.Equal(t, http.StatusNotFound, status(err))
}

// While no server was there, or none had a database, no worker could be heard of. That time is counted for no lease, and neither is
// what a clock is set by. A worker that is silent afterwards loses its run.
func TestTheTimeWithoutAServerIsNotCounted(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Lease = time.Minute
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		claim := b.next(worker, "w", nil)
		const now = "(SELECT at FROM husk_counted)"
		left := func() int {
			n, err := b.server.Count(t.Context(), "SELECT lease - "+now+" FROM husk_runs")
			require.NoError(t, err)
			return n
		}
		for _, long := range []time.Duration{time.Hour, -time.Hour, 10 * time.Minute} {
			require.NoError(t, b.server.Away(t.Context(), long))
			require.Eventually(t, func() bool {
				at, err := b.server.Count(t.Context(), "SELECT at FROM husk_counted")
				return err == nil && time.Since(time.UnixMilli(int64(at))).Abs() < 5*time.Minute
			}, time.Minute, 10*time.Millisecond)
			require.Positive(t, left(), long)
			require.LessOrEqual(t, left(), int(o.Lease.Milliseconds()), long)
		}
		_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{}, nil)
		require.NoError(t, err)
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_runs SET lease = lease - 100000"))
		require.Equal(t, 2, b.wait(worker).Attempt)
	})
}

// A worker hands in what it has made for a run that was cancelled meanwhile: it is in the state once, whatever answers get lost. It is
// not, if the stack was changed since, and nobody else hands in anything.
func TestWhatIsHandedIn(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker, other := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work), b.client("other", "w", runapi.Work)
		name := state.StackName{Project: "shop", Name: "dev"}
		run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		claim := b.next(worker, "w", nil)
		stacks := b.stacks(claim.Token)
		require.NoError(t, stacks.State.Create(t.Context(), name, []byte("{}")))
		l, _, err := stacks.State.LeaseAndLoad(t.Context(), name, state.Holder{PID: 1})
		require.NoError(t, err)
		require.NoError(t, l.Append(t.Context(), 1, []byte("one")))
		left := runapi.Unrecorded{Run: run.ID, Token: claim.Token, Lease: l.Token(), Records: []runapi.StateRecord{{Sequence: 2, Record: []byte("two")}, {Sequence: 3, Record: []byte("three")}}}
		handIn := func(by *runapi.Client, u runapi.Unrecorded) int {
			_, err := by.CallFor(t.Context(), 0, http.MethodPost, "/v1/work/unrecorded", u, nil)
			return status(err)
		}
		require.Equal(t, http.StatusServiceUnavailable, handIn(worker, left), "it has the run still")
		_, err = ann.Call(t.Context(), http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil, nil)
		require.NoError(t, err)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "it could not be recorded"}))
		require.Equal(t, runapi.Cancelled, b.run(ann, run.ID).State)

		stranger, gap, none := left, left, left
		stranger.Token = "husk_another"
		gap.Records = []runapi.StateRecord{left.Records[0], {Sequence: 4}}
		none.Records = nil
		require.Equal(t, http.StatusNotFound, handIn(other, left))
		require.Equal(t, http.StatusForbidden, handIn(ann, left))
		require.Equal(t, http.StatusGone, handIn(worker, stranger))
		require.Equal(t, http.StatusBadRequest, handIn(worker, gap))
		require.Equal(t, http.StatusBadRequest, handIn(worker, none))
		own := b.stacks(ann.Token())
		is := func(want ...string) {
			t.Helper()
			c, err := own.State.Load(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, strings.Join(want, " "), string(bytes.Join(c.Records, []byte(" "))))
		}
		is("one")
		for range 2 {
			require.Zero(t, handIn(worker, left))
			is("one", "two", "three")
		}
		require.Equal(t, runapi.Cancelled, b.run(ann, run.ID).State)
		require.Contains(t, b.log(ann, run.ID), "server: A worker that was lost has handed in what it has made.")

		l, _, err = own.State.LeaseAndLoad(t.Context(), name, state.Holder{PID: 2})
		require.NoError(t, err)
		left.Records = []runapi.StateRecord{{Sequence: 4, Record: []byte("four")}}
		require.Equal(t, http.StatusConflict, handIn(worker, left))
		require.NoError(t, l.Rename(t.Context(), state.StackName{Project: "shop", Name: "renamed"}, []byte("{}")))
		require.Equal(t, http.StatusGone, handIn(worker, left))
	})
}

// A server that wakes late from taking a run from one worker takes nothing from the next.
func TestWhatIsLateForAWorkerIsNotForTheNext(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	name := state.StackName{Project: "shop", Name: "dev"}
	b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
	first := b.next(worker, "one", nil)
	require.NoError(t, b.stacks(first.Token).State.Create(t.Context(), name, []byte("{}")))
	late := b.server.EndLater(first.Token)
	require.NoError(t, b.end(first, runapi.End{Outcome: runapi.Queued}))
	second := b.next(worker, "two", nil)
	require.Equal(t, first.ID, second.ID)
	l, _, err := b.stacks(second.Token).State.LeaseAndLoad(t.Context(), name, state.Holder{PID: 1})
	require.NoError(t, err)
	late(t.Context())
	require.NoError(t, l.Append(t.Context(), 1, []byte("record")))
	require.NoError(t, l.Release(t.Context()))
}

// Files of projects are kept for a day, and as long as an open run or a schedule needs them.
func TestBundlesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	var ann, worker *runapi.Client
	t.Run("before", func(t *testing.T) {
		b := open(t, server.Options{Dir: dir})
		ann, worker = b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work)
		for _, content := range []string{"ended", "queued", "scheduled", "new", "unused"} {
			require.NoError(t, ann.SendBundle(t.Context(), digest(content), []byte(content)))
		}
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "ended", Bundle: digest("ended")})
		require.NoError(t, b.end(b.next(worker, "w", nil), runapi.End{Outcome: runapi.Succeeded}))
		// A text that names another one does not keep that.
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "queued", Bundle: digest("queued"), Message: digest("unused")})
		schedule := runapi.Schedule{Cron: "0 4 * * *", Run: runapi.NewRun{Project: "shop", Stack: "s", Operation: "refresh", Bundle: digest("scheduled")}}
		_, err := ann.Call(t.Context(), http.MethodPut, "/v1/schedules/nightly", schedule, nil)
		require.NoError(t, err)
	})
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(dir, "server.db"))+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	_, err = db.Exec("/* test */ UPDATE husk_bundles SET made = ? WHERE digest <> ?", time.Now().Add(-25*time.Hour).UnixMilli(), digest("new"))
	require.NoError(t, err)
	kept := func() (all []string) {
		for _, content := range []string{"ended", "queued", "scheduled", "new", "unused"} {
			var n int
			require.NoError(t, db.QueryRow("/* test */ SELECT count(*) FROM husk_bundles WHERE digest = ?", digest(content)).Scan(&n))
			if n > 0 {
				all = append(all, content)
			}
		}
		return all
	}
	require.Len(t, kept(), 5)
	open(t, server.Options{Dir: dir})
	require.Eventually(t, func() bool { return len(kept()) <= 3 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"queued", "scheduled", "new"}, kept())
	require.NoError(t, db.Close())
}

// TestBehindPooler has PgBouncer give each transaction of the server to another connection, which knows no statements that
// were prepared before. The URL names two servers, the first of which is gone.
func TestBehindPooler(t *testing.T) {
	database := postgrestest.Start(t)
	pooled := database.URL("postgres", database.Pooler(t))
	pooled = strings.Replace(pooled, "@127.0.0.1:", "@127.0.0.1:1,127.0.0.1:", 1)
	dir := t.TempDir() // with the key of the server
	for mode, parameter := range map[string]string{"default": "", "exec": "&default_query_exec_mode=exec"} {
		t.Run(mode, func(t *testing.T) {
			b := open(t, server.Options{Database: pooled + parameter, Dir: dir})
			b.useBehindPooler(mode)
		})
	}
}

func (b *bench) useBehindPooler(tenant string) {
	t, ctx := b.t, b.t.Context()
	admin, requester, worker := b.client(tenant, "ann", runapi.Admin), b.client(tenant, "rob", runapi.Request), b.client(tenant, "w", runapi.Work)
	bundle := runapi.NewRun{Project: "shop", Bundle: digest("files"), Operation: "up"}
	require.NoError(t, requester.SendBundle(ctx, bundle.Bundle, []byte("files")))
	const runs = 12
	var work sync.WaitGroup
	errs := make([]error, runs)
	for n := range runs {
		work.Go(func() {
			run := bundle
			run.Stack = strings.Repeat("s", n+1)
			_, errs[n] = b.ask(requester, run)
		})
	}
	work.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for range runs {
		require.NotNil(t, b.next(worker, "one", nil))
	}
	_, err := b.setSchedule(admin, "drift", nightly("nightly"))
	require.NoError(t, err)
	require.NoError(t, b.server.Due(ctx, tenant, "drift"))
	for b.next(worker, "one", nil) == nil {
		time.Sleep(50 * time.Millisecond)
	}
	token, err := b.server.IssueToken(ctx, runapi.Token{Tenant: tenant, Name: "state", Role: runapi.Admin})
	require.NoError(t, err)
	states, err := remote.Open(ctx, named.ByOperator(strings.Replace(b.url, "//", "//:"+token.Secret+"@", 1), "the test"), t.TempDir())
	require.NoError(t, err)
	defer states.Close()
	require.NoError(t, states.State.Create(ctx, state.StackName{Project: "shop", Name: "dev"}, []byte("{}")))
	names, err := states.State.List(ctx)
	require.NoError(t, err)
	require.Len(t, names, 1)
}

// A run decrypts for whom the server decrypts: its project sends what it likes to whom it likes. Who may only preview gets no secrets
// by one, unless who runs the server allows it.
func TestRunsDecryptForWhoMay(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		b := open(t, server.Options{PreviewSecrets: allowed})
		worker, admin := b.client("acme", "w", runapi.Work), b.client("acme", "admin", runapi.Admin)
		key, err := b.stacks(admin.Token()).Keys.Encrypt(t.Context(), []byte("canary"))
		require.NoError(t, err)
		for _, role := range []runapi.Role{runapi.Preview, runapi.Request, runapi.Approve, runapi.Admin} {
			b.asked(b.client("acme", string(role)+"-of-all", role), runapi.NewRun{Project: "shop", Stack: "dev", Operation: "preview"})
			claim := b.next(worker, "w", nil)
			withheld := role == runapi.Preview && !allowed
			require.Equal(t, withheld, claim.Withheld, role)
			keys := b.stacks(claim.Token).Keys
			text, err := keys.Decrypt(t.Context(), key)
			if withheld {
				require.ErrorContains(t, err, "the token does not allow to ask for a run that changes something")
				_, err = keys.Encrypt(t.Context(), []byte("x"))
				require.ErrorContains(t, err, "the token does not allow to ask for a run that changes something")
			} else {
				require.NoError(t, err, role)
				require.Equal(t, "canary", string(text))
			}
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		}
	}
}

// What pruning has removed stays removed if it cannot go on: a run, and a part of a long log. What is needed stays.
func TestPruning(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Keep = time.Hour
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		exec := func(statement string, args ...any) {
			t.Helper()
			require.NoError(t, b.server.Exec(t.Context(), statement, args...))
		}
		count := func(query string) int {
			t.Helper()
			n, err := b.server.Count(t.Context(), query)
			require.NoError(t, err)
			return n
		}
		// A line of the second run cannot be removed.
		cannot := "CREATE TRIGGER cannot BEFORE DELETE ON husk_lines WHEN OLD.number = 1100 AND OLD.run IN (SELECT id FROM husk_runs WHERE stack = 'long') BEGIN SELECT RAISE(ABORT, 'cannot'); END"
		if o.Database != "" {
			exec("CREATE FUNCTION cannot() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.number = 1100 AND OLD.run IN (SELECT id FROM husk_runs WHERE stack = 'long') THEN RAISE 'cannot'; END IF; RETURN OLD; END $$")
			cannot = "CREATE TRIGGER cannot BEFORE DELETE ON husk_lines FOR EACH ROW EXECUTE FUNCTION cannot()"
		}
		exec(cannot)
		for n, stack := range []string{"first", "long", "kept"} {
			run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: stack})
			claim := b.next(worker, "w", nil)
			var lines []runapi.Line
			for n := range 1200 {
				lines = append(lines, runapi.Line{Number: int64(n) + 1, Stream: runapi.Out, Text: "x"})
			}
			_, err := b.of(claim).CallFor(t.Context(), 0, http.MethodPost, "/v1/work/beat", runapi.Beat{Lines: lines}, nil)
			require.NoError(t, err)
			require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
			if stack != "kept" {
				exec("UPDATE husk_runs SET ended = ? WHERE id = ?", n+1, run.ID)
			}
		}
		require.NoError(t, ann.SendBundle(t.Context(), digest("old"), []byte("old")))
		require.NoError(t, ann.SendBundle(t.Context(), digest("queued"), []byte("queued")))
		b.asked(ann, runapi.NewRun{Project: "shop", Stack: "queued", Bundle: digest("queued")})
		exec("UPDATE husk_bundles SET made = 1")

		require.ErrorContains(t, b.server.Prune(t.Context()), "cannot")
		require.Zero(t, count("SELECT count(*) FROM husk_runs WHERE stack = 'first'"))
		require.Equal(t, 1, count("SELECT count(*) FROM husk_runs WHERE stack = 'long'"))
		left := count("SELECT count(*) FROM husk_lines WHERE run IN (SELECT id FROM husk_runs WHERE stack = 'long')")
		require.Greater(t, left, 100)
		require.Less(t, left, 1200)

		drop := "DROP TRIGGER cannot"
		if o.Database != "" {
			drop += " ON husk_lines"
		}
		exec(drop)
		require.NoError(t, b.server.Prune(t.Context()))
		require.Equal(t, 2, count("SELECT count(*) FROM husk_runs"), "one that ended lately, and one that waits")
		require.Equal(t, 1200, count("SELECT count(*) FROM husk_lines"))
		require.Equal(t, 1, count("SELECT count(*) FROM husk_bundles"), "that of the run that waits")
	})
}

// TestTeamsTakeTurns has a team ask for many runs before others ask for one.
func TestTeamsTakeTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.Weights = map[string]int{"late": 2}
		b := open(t, o)
		worker := b.client("*", "fleet", runapi.Work)
		ask := func(team *runapi.Client, runs int) {
			for n := range runs {
				b.asked(team, runapi.NewRun{Project: "shop", Stack: fmt.Sprint("s", n)})
			}
		}
		taken := func(runs int) (teams string) {
			for range runs {
				teams += b.next(worker, "w", nil).Team + " "
			}
			return teams
		}
		many, one, late := b.client("many", "ann", runapi.Request), b.client("b_one", "bob", runapi.Request), b.client("late", "carl", runapi.Request)
		ask(many, 200)
		require.Equal(t, "many ", taken(1))
		ask(one, 1)
		require.Equal(t, "b_one many many ", taken(3))
		ask(late, 4)
		require.Equal(t, "late late many late late many many ", taken(7), "a team of the weight 2 has two turns")
	})
}

// TestProjectsTakeTurns has a project of a team ask for many runs before others ask for some, which are taken in the order of their stack.
func TestProjectsTakeTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
		for n := range 50 {
			b.asked(ann, runapi.NewRun{Project: "many", Stack: fmt.Sprint("s", n)})
		}
		next := func() *runapi.Claim {
			claim := b.next(worker, "w", nil)
			require.NotNil(t, claim)
			return claim
		}
		require.Equal(t, "s0", next().Stack)
		first, second := b.asked(ann, runapi.NewRun{Project: "few", Stack: "dev"}), b.asked(ann, runapi.NewRun{Project: "few", Stack: "dev"})
		other := b.asked(ann, runapi.NewRun{Project: "other", Stack: "dev", Labels: map[string]string{"region": "eu"}})
		claim := next()
		require.Equal(t, first.ID, claim.ID)
		require.Equal(t, "s1", next().Stack)
		require.Equal(t, "s2", next().Stack, "the stack of few is busy")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.Equal(t, second.ID, next().ID)
		require.Equal(t, "s3", next().Stack)
		require.Equal(t, other.ID, b.next(worker, "eu", map[string]string{"region": "eu"}).ID, "its worker takes turns as well")
	})
}

// TestLimitsOfRuns has no more runs of a team, or with a label, go at once than the server allows. The end of one wakes who waits.
func TestLimitsOfRuns(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.MaxRuns = map[string]int{"acme": 2, server.EachTeam: 1, "region=eu": 1}
		b := open(t, o)
		ann, eve, worker := b.client("acme", "ann", runapi.Request), b.client("other", "eve", runapi.Request), b.client("*", "fleet", runapi.Work)
		ask := func(c *runapi.Client, stack string, labels map[string]string) *runapi.Run {
			return b.asked(c, runapi.NewRun{Project: "shop", Stack: stack, Labels: labels})
		}
		eu := map[string]string{"region": "eu"}
		next := func() *runapi.Claim { return b.next(worker, "w", eu) }
		first := ask(ann, "one", eu)
		claim := next()
		require.Equal(t, first.ID, claim.ID)
		same := ask(ann, "two", eu)
		require.Nil(t, next(), "one run with the label goes")
		require.Contains(t, b.waits(ann, same.ID), runapi.Cause{For: runapi.ForLimit, Text: "one of 1 runs with region=eu to end: no more of them go at once"})
		plain := ask(ann, "three", nil)
		require.Equal(t, plain.ID, next().ID)
		late := ask(ann, "four", nil)
		require.Nil(t, next(), "two runs of the team go")
		require.Contains(t, b.waits(ann, late.ID), runapi.Cause{For: runapi.ForLimit, Text: "one of 2 runs of acme to end: no more of them go at once"})
		others := ask(eve, "one", nil)
		require.Equal(t, others.ID, next().ID)
		ask(eve, "two", nil)
		require.Nil(t, next(), "each other team has one")
		require.Contains(t, b.scrape(), `husk_runs_blocked{cause="limit"} 3`+"\n")

		got := make(chan string)
		go func() {
			var waiting runapi.Claim
			_, _ = worker.Call(t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: "waits", Labels: eu, Slots: 1, Seconds: 50}, &waiting)
			got <- waiting.ID
		}()
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))
		require.Equal(t, same.ID, <-got)
	})
	for name, o := range map[string]server.Options{
		`the limit of "Acme"`: {MaxRuns: map[string]int{"Acme": 1}}, `the limit of "a=b c"`: {MaxRuns: map[string]int{"a=b c": 1}}, `the weight of "*"`: {Weights: map[string]int{"*": 2}},
	} {
		o.Dir = t.TempDir()
		_, err := server.Open(t.Context(), o)
		require.ErrorContains(t, err, name)
	}
}

// Workers that ask at once get no more runs than the limit, also of two servers.
func TestLimitsHoldForAllAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		o.MaxRuns, o.Dir = map[string]int{"acme": 2}, t.TempDir()
		servers := []*bench{open(t, o)}
		if o.Database != "" {
			servers = append(servers, open(t, o))
		}
		ann, worker := servers[0].client("acme", "ann", runapi.Request), servers[0].client("acme", "w", runapi.Work)
		for n := range 30 {
			servers[0].asked(ann, runapi.NewRun{Project: "shop", Stack: fmt.Sprint("s", n)})
		}
		var taken atomic.Int64
		var all sync.WaitGroup
		for n := range 16 {
			client, err := runapi.NewClient(servers[n%len(servers)].url, worker.Token())
			require.NoError(t, err)
			all.Go(func() {
				var claim runapi.Claim
				some, err := client.Call(t.Context(), http.MethodPost, "/v1/work/next", runapi.Ask{Worker: fmt.Sprint("w", n), Slots: 1}, &claim)
				if err != nil {
					t.Error(err)
				}
				if some {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 2, taken.Load())
	})
}

// waits returns what a run waits for, which its list says as well.
func (b *bench) waits(c *runapi.Client, id string) []runapi.Cause {
	b.t.Helper()
	var all []runapi.Run
	_, err := c.Call(b.t.Context(), http.MethodGet, "/v1/runs?open", nil, &all)
	require.NoError(b.t, err)
	is := b.run(c, id).WaitsFor
	i := slices.IndexFunc(all, func(r runapi.Run) bool { return r.ID == id })
	require.Equal(b.t, is, all[i].WaitsFor)
	return is
}

// What a run waits for is told at once to who asks for it, and to who looks.
func TestWhatRunsWaitFor(t *testing.T) {
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, shops, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "shops", runapi.Work, "shop-*"), b.client("acme", "w", runapi.Work)
		eu, gpu := map[string]string{"region": "eu"}, map[string]string{"gpu": "1", "region": "eu"}
		noWorker := runapi.Cause{For: runapi.ForWorker, Text: "a worker: none is connected that takes it"}
		noGPU := runapi.Cause{For: runapi.ForLabels, Text: "a worker with gpu=1 and region=eu: none is connected that takes it"}

		plain, labelled := runapi.NewRun{Project: "shop", Stack: "dev"}, runapi.NewRun{Project: "shop", Stack: "gpu", Labels: gpu}
		first := b.asked(ann, plain)
		require.Equal(t, []runapi.Cause{noWorker}, first.WaitsFor)
		require.Nil(t, b.next(shops, "shops", gpu))
		require.Equal(t, []runapi.Cause{noWorker}, b.waits(ann, first.ID), "the worker is not for this project")
		others := b.client("other", "others", runapi.Work)
		require.Nil(t, b.next(others, "others", gpu))
		require.Equal(t, []runapi.Cause{noWorker}, b.waits(ann, first.ID), "the worker is not of this team")
		claim := b.next(worker, "eu", eu)
		require.Equal(t, first.ID, claim.ID)
		require.Empty(t, b.waits(ann, first.ID))

		run := b.asked(ann, labelled)
		require.Equal(t, []runapi.Cause{noGPU}, run.WaitsFor, "the worker that is connected is without gpu=1")
		again := b.asked(ann, labelled)
		behind := runapi.Cause{For: runapi.ForStack, Text: "the run " + run.ID + " of the same stack, which is queued"}
		require.Equal(t, []runapi.Cause{noGPU, behind}, again.WaitsFor)
		require.Contains(t, b.scrape(), `husk_runs_blocked{cause="labels"} 2`+"\n")
		told := make(chan []runapi.Cause, 1)
		require.NoError(t, ann.Follow(t.Context(), run.ID, 0, func(_ *runapi.Line, r *runapi.Run) (bool, error) {
			told <- r.WaitsFor
			return false, nil
		}))
		require.Equal(t, []runapi.Cause{noGPU}, <-told)

		after := b.asked(ann, plain)
		require.Equal(t, []runapi.Cause{{For: runapi.ForStack, Text: "the run " + first.ID + " of the same stack, which is running"}}, after.WaitsFor)
		require.Contains(t, b.scrape(), `husk_runs_blocked{cause="stack"} 1`+"\n")
		require.NoError(t, b.server.Exec(t.Context(), "UPDATE husk_workers SET seen = 0"))
		free := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "free"})
		require.Empty(t, free.WaitsFor, "a worker is connected as long as it has a run")
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Queued, Reason: "another run has the lock"}))
		require.NotNil(t, b.next(worker, "eu", nil), "it is heard of")
		waits := b.waits(ann, first.ID)
		require.Len(t, waits, 1)
		require.Regexp(t, `^the lock of its stack, which another run has: it is tried again at [0-9T:-]+Z$`, waits[0].Text)

		approval := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "approval", Approval: true})
		require.NoError(t, b.end(b.next(worker, "eu", nil), runapi.End{Outcome: runapi.Succeeded, Plan: []byte("plan")}))
		require.Equal(t, []runapi.Cause{{For: runapi.ForApproval, Text: "the approval of another person than ann"}}, b.waits(ann, approval.ID))

		require.Equal(t, run.ID, b.next(worker, "gpu", gpu).ID)
		require.Equal(t, []runapi.Cause{{For: runapi.ForStack, Text: "the run " + run.ID + " of the same stack, which is running"}}, b.waits(ann, again.ID))
	})
}

// A worker of the person whose run is to be approved is none for it.
func TestRunsWaitForWorkersOfOthers(t *testing.T) {
	b := open(t, server.Options{})
	ann, own := b.client("acme", "ann", runapi.Request), b.client("acme", "bob", runapi.Work)
	var hers []*runapi.Client
	for _, team := range []string{"acme", "*"} {
		issued, err := b.server.IssueToken(t.Context(), runapi.Token{Tenant: team, Name: "w", Role: runapi.Work, Person: "Ann"})
		require.NoError(t, err)
		hers = append(hers, ann.With(issued.Secret))
		require.Nil(t, b.next(ann.With(issued.Secret), "w", nil))
	}
	run := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev", Approval: true})
	require.Equal(t, []runapi.Cause{{For: runapi.ForWorker, Text: "a worker: none is connected that takes it"}}, run.WaitsFor)
	for _, worker := range hers {
		require.Nil(t, b.next(worker, "w", nil))
	}
	require.Equal(t, run.ID, b.next(own, "w", nil).ID)
}

// An edge worker has the states of its own stacks only, and takes no run that does not ask for it.
func TestEdgeWorkersTakeTheirRuns(t *testing.T) {
	b := open(t, server.Options{})
	ann, worker := b.client("acme", "ann", runapi.Request), b.client("acme", "w", runapi.Work)
	pump := map[string]string{runapi.EdgeLabel: "pump", "region": "eu"}
	b.asked(ann, runapi.NewRun{Project: "a", Stack: "any"})
	b.asked(ann, runapi.NewRun{Project: "a", Stack: "eu", Labels: map[string]string{"region": "eu"}})
	require.Nil(t, b.next(worker, "pump", pump))
	run := b.asked(ann, runapi.NewRun{Project: "a", Stack: "pump", Labels: map[string]string{runapi.EdgeLabel: "pump"}})
	require.Equal(t, run.ID, b.next(worker, "pump", pump).ID)
}

// Runs that webhooks ask for strangers hold up nobody else's: whoever asks for a run of the stack cancels them, waiting or at a worker.
func TestStrangersMakeWay(t *testing.T) {
	quiet(t)
	everywhere(t, func(t *testing.T, o server.Options) {
		b := open(t, o)
		ann, worker, forks := b.client("acme", "ann", runapi.Admin), b.client("acme", "w", runapi.Work), b.client("acme", "forks", runapi.Work)
		require.NoError(t, ann.SendBundle(t.Context(), digest("files"), []byte("files")))
		eve := webhook.Asker{Team: "acme", Name: "webhook shop", Person: "github:eve", Role: runapi.Preview, Project: "shop", Stranger: true}
		labels := map[string]string{"forks": "yes"}
		preview := func(stack string) (*runapi.Run, error) {
			return b.server.Ask(t.Context(), eve, runapi.NewRun{Project: "shop", Stack: stack, Operation: "preview", Bundle: digest("files"), Labels: labels})
		}
		begun, err := preview("dev")
		require.NoError(t, err)
		claim := b.next(forks, "forks", labels)
		require.Equal(t, begun.ID, claim.ID)
		waiting, err := preview("dev")
		require.NoError(t, err)
		elsewhere, err := preview("other")
		require.NoError(t, err)
		if o.Database == "" { // others of the team wait from when its size changes
			require.NoError(t, b.server.Exec(t.Context(), "CREATE TABLE grown (queued INTEGER)"))
			require.NoError(t, b.server.Exec(t.Context(), "CREATE TRIGGER growing AFTER UPDATE ON husk_kept BEGIN INSERT INTO grown SELECT count(*) FROM husk_runs WHERE requested_by = 'ann'; END"))
		}
		asked := b.asked(ann, runapi.NewRun{Project: "shop", Stack: "dev"})
		if o.Database == "" {
			require.NoError(t, b.server.Exec(t.Context(), "DROP TRIGGER growing"))
			times, err := b.server.Count(t.Context(), "SELECT count(*) * 10 + min(queued) FROM grown")
			require.NoError(t, err)
			require.Equal(t, 11, times, "it changes once, after all else")
		}
		require.Equal(t, runapi.Cancelled, b.run(ann, waiting.ID).State)
		cancels, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_audit WHERE action = 'run.cancel'")
		require.NoError(t, err)
		require.Equal(t, 2, cancels, "each is cancelled once")
		if o.Database == "" { // a run is queued only with what it cancels
			require.NoError(t, b.server.Exec(t.Context(), "CREATE TRIGGER full BEFORE INSERT ON husk_audit BEGIN SELECT RAISE(ABORT, 'full'); END"))
			_, err := ann.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs", runapi.NewRun{Project: "shop", Stack: "other", Operation: "up", Bundle: digest("files")}, nil)
			require.Equal(t, http.StatusInternalServerError, status(err))
			require.NoError(t, b.server.Exec(t.Context(), "DROP TRIGGER full"))
			runs, err := b.server.Count(t.Context(), "SELECT count(*) FROM husk_runs WHERE stack = 'other'")
			require.NoError(t, err)
			require.Equal(t, 1, runs)
			require.Equal(t, runapi.Queued, b.run(ann, elsewhere.ID).State)
		}
		require.Equal(t, runapi.Queued, b.run(ann, elsewhere.ID).State)
		var answer runapi.Answer
		_, err = b.of(claim).Call(t.Context(), http.MethodPost, "/v1/work/beat", runapi.Beat{}, &answer)
		require.NoError(t, err)
		require.Equal(t, 2, answer.Cancel)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Failed}))
		claim = b.next(worker, "w", nil)
		require.Equal(t, asked.ID, claim.ID)
		require.NoError(t, b.end(claim, runapi.End{Outcome: runapi.Succeeded}))

		// A scheduled run does so, too, and strangers do not among themselves.
		for range 2 {
			waiting, err = preview("nightly")
			require.NoError(t, err)
		}
		_, err = b.setSchedule(ann, "drift", nightly("nightly"))
		require.NoError(t, err)
		require.Equal(t, runapi.Queued, b.run(ann, waiting.ID).State)
		require.NoError(t, b.server.Due(t.Context(), "acme", "drift"))
		claim = b.wait(worker)
		require.Equal(t, claim.ID, b.schedule(ann, "drift").Last)
		require.Equal(t, runapi.Cancelled, b.run(ann, waiting.ID).State)
		for range 99 {
			_, err = preview("third")
			require.NoError(t, err)
		}
		atOnce := func() error {
			_, err := preview("third")
			return err
		}
		if o.Database == "" {
			require.NoError(t, atOnce())
		} else {
			db, err := sql.Open("pgx", o.Database)
			require.NoError(t, err)
			defer db.Close()
			lock, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			_, err = lock.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "acme\nshop\nthird")
			require.NoError(t, err)
			both := make(chan error)
			for range 2 {
				go func() { both <- atOnce() }()
			}
			require.Eventually(t, func() bool {
				var waiting int
				err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&waiting)
				return err == nil && waiting == 2
			}, time.Minute, time.Millisecond)
			require.NoError(t, lock.Rollback())
			require.NotEqual(t, <-both == nil, <-both == nil, "one finds the place of the other taken")
		}
		_, err = preview("third")
		require.ErrorContains(t, err, "100 runs of strangers are waiting already")
	})
}
