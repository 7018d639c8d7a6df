package remote

import (
	"net/http"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// scope is the name space of a client's identifiers. The same identifier in another scope names something else, which cannot be
// found.
type scope struct {
	// owner is [Access.Owner].
	owner string
	// stack and other are the stacks of the call, empty for none.
	stack, other state.StackName
}

// leaseKey names a lease: one of another client, or of another stack, is not found with its identifier.
type leaseKey struct {
	owner string
	stack state.StackName
	id    string
	// token is its fencing token, 0 for any.
	token uint64
}

// key returns the name of a lease in the store.
func (k leaseKey) key() backend.LeaseKey { return backend.NewLeaseKey(k.owner, k.id) }

// leases returns the keys of the leases that a call names.
func (s scope) leases(r *request) []leaseKey {
	keys := []leaseKey{{s.owner, s.stack, r.Lease, r.Token}}
	if r.OtherLease != "" {
		keys = append(keys, leaseKey{s.owner, s.other, r.OtherLease, r.OtherToken})
	}
	return keys
}

// form is the syntax of an identifier.
type form struct {
	// what names it in a refusal.
	what string
	is   func(string) bool
}

// matches returns the test whether a text has a syntax.
func matches(syntax *lazyregexp.Regexp) func(string) bool {
	return func(text string) bool { return syntax.Get().MatchString(text) }
}

// secretID is the form of identifiers that a client chooses for a lease or a call. None can be guessed.
var secretID = form{"identifier of a lease or a call", matches(&lazyregexp.Regexp{Syntax: `^[A-Za-z0-9]{16,64}$`})}

// The forms of [request.ID].
var (
	noID       = form{"identifier here", func(id string) bool { return id == "" }}
	moduleID   = form{"digest of a module", matches(&lazyregexp.Regexp{Syntax: `^sha256:[0-9a-f]{64}$`})}
	providerID = form{"name of a provider", func(id string) bool { return backend.CheckProvider(id) == nil }}
	recordID   = form{"ID of the record of a run", func(id string) bool { return backend.CheckRecord(id) == nil }}
	endingID   = form{recordID.what, func(id string) bool { return id == "" || recordID.is(id) }}
	backupID   = form{"ID of a backup", matches(&lazyregexp.Regexp{Syntax: `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`})}
)

// versionForm is the form of [request.ExpectedVersion], which the server has given.
var versionForm = form{"version of values", func(text string) bool { return plain(text, maxVersion) }}

const (
	// maxVersion bounds a version, and maxHolder each text of a holder, in bytes.
	maxVersion, maxHolder = 256, 1 << 10
)

// plain reports whether a text is short, and nothing but text.
func plain(text string, most int) bool {
	if len(text) > most || !utf8.ValidString(text) {
		return false
	}
	for _, c := range text {
		if unicode.IsControl(c) {
			return false
		}
	}
	return true
}

func notForm(f form, text string) error {
	const shown = 40
	return &RefusedError{Status: http.StatusBadRequest, Reason: strconv.QuoteToASCII(text[:min(len(text), shown)]) + " is not a valid " + f.what}
}

// scoped returns the scope of a call by a client, once all of its identifiers have the forms that the operation has declared for
// them. Other identifiers must not be there.
func scoped(access *Access, op operation, r *request) (scope, error) {
	s := scope{owner: access.Owner}
	for i, one := range []struct {
		is   state.StackName
		into *state.StackName
	}{{r.Stack, &s.stack}, {r.Other, &s.other}} {
		switch {
		case i < op.stacks:
			if err := one.is.Validate(); err != nil {
				return s, &RefusedError{Status: http.StatusBadRequest, Reason: err.Error()}
			}
			*one.into = one.is
		case one.is != state.StackName{}:
			return s, &RefusedError{Status: http.StatusBadRequest, Reason: "the call names a stack that it is not about"}
		}
	}
	type named struct {
		form
		text string
	}
	all := []named{{op.id, r.ID}, {versionForm, r.ExpectedVersion}}
	if op.changes {
		all = append(all, named{secretID, r.Call})
	}
	for i, lease := range []string{r.Lease, r.OtherLease} {
		if i < op.leases {
			all = append(all, named{secretID, lease})
		} else {
			all = append(all, named{noID, lease})
		}
	}
	for _, digest := range r.Modules {
		all = append(all, named{moduleID, digest})
	}
	for _, text := range []string{r.Holder.Host, r.Holder.User, r.Holder.Command} {
		all = append(all, named{form{"holder of a lease", func(text string) bool { return plain(text, maxHolder) }}, text})
	}
	for _, one := range all {
		if !one.is(one.text) {
			return s, notForm(one.form, one.text)
		}
	}
	return s, nil
}
