package host

import (
	"errors"
	"path"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/base/printable"
)

// Limits on a provider's open objects. Bytes are bounded too; see package limit.
const (
	// MaxHTTPExchanges and MaxOpenAssets are for one call.
	MaxHTTPExchanges = capability.MaxHTTPExchanges
	MaxOpenAssets    = capability.MaxOpenAssets
	// MaxTCPConnections is for one instance.
	MaxTCPConnections = capability.MaxTCPConnections
)

// AuditEvent is a use, or an attempt, of a capability that needs a grant. Its texts are safe to print, and
// hold no part of a URL's query.
type AuditEvent struct {
	Time time.Time `json:"time"`
	// Provider and Version used it, in a method of that WIT name, or in start.
	Provider string `json:"provider"`
	Version  string `json:"version,omitempty"`
	Method   string `json:"method"`
	// Capability is its name, see [grant.Names].
	Capability string `json:"capability"`
	// Target is the variable, file, request, host and port, or key.
	Target string `json:"target"`
	// Allowed is false if no grant covers it; Reason says why.
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}

// maxUses bounds the uses that one call lists. A last one, of the capability audit, says if there were more.
const maxUses = 10_000

// maxUseText bounds each text of a use in bytes.
const maxUseText = 1 << 10

// used lists the uses of the instance's calls.
func (i *instance) used() capability.Uses {
	if i.sandbox.audit == nil && i.sandbox.learn == nil {
		return nil
	}
	return i.use
}

func (i *instance) use(use capability.Use) {
	p := i.sandbox
	who := p.identity.Load()
	if p.learn != nil && use.Err == nil {
		for _, needs := range use.Needs {
			p.learn(who.name, needs)
		}
	}
	if p.audit == nil || i.listed > maxUses || use.Looks && use.Err == nil {
		return
	}
	u := AuditEvent{
		Time: p.module.host.config.clock.Now(), Provider: who.name, Version: who.version, Method: string(i.call.Method),
		Capability: use.Needs[0].Capability, Target: brief(use.Target), Allowed: !errors.Is(use.Err, abi.ErrDenied),
	}
	if i.listed++; i.listed > maxUses {
		u.Capability, u.Target, u.Allowed = "audit", "further uses in this call are not listed", true
	}
	if !u.Allowed {
		reason := use.Err.Error()
		if denied, ok := errors.AsType[*abi.Error](use.Err); ok {
			reason = denied.Message
		}
		reason, _, _ = strings.Cut(reason, "\n")
		u.Reason = brief(reason)
	}
	p.audit(u)
}

// whyNotGranted is the reason that a file was refused, which WASI has only a number for.
const whyNotGranted = "it is in no directory that is granted for that"

var errNotGranted = capability.Failure(abi.ErrorKindDenied, whyNotGranted)

// usesFile notes a use of a file.
func (i *instance) usesFile(u wasi.Use) {
	if u.Denied && len(i.call.DeniedFiles) < maxDeniedFiles {
		i.call.DeniedFiles = append(i.call.DeniedFiles, u)
	}
	used := i.used()
	if used == nil {
		return
	}
	use, mode := capability.Use{Target: u.What, Looks: u.Looks}, grant.ModeReadOnly
	if u.Write {
		mode = grant.ModeReadWrite
	}
	for _, path := range u.Paths {
		use.Needs = append(use.Needs, grant.Text{Capability: grant.NameFS, Scope: path + ":" + mode})
	}
	if u.Denied {
		use.Err = errNotGranted
	}
	used(use)
}

// maxDeniedFiles bounds the uses of files that a call notes for its error.
const maxDeniedFiles = 16

// fileDenial returns an error that says how to grant what a call needed that failed with an error, nil if it did
// not fail for want of a file. WASI has only a number for a guest to report.
func (s *sandbox) fileDenial(denied []wasi.Use, failure *abi.Error) error {
	text := failure.Message
	if failure.InitFailure != nil {
		text += strings.Join(failure.InitFailure.Reasons, "\n")
	}
	if strings.Contains(text, wasi.HowToGrant) {
		return nil // the guest has asked why
	}
	missing := func(use wasi.Use) error {
		for _, file := range use.Paths {
			if !strings.Contains(text, path.Base(file)) {
				continue
			}
			named := wasi.Written(file)
			if !strings.Contains(text, named) { // without a directory of the project, relative paths begin at the root
				named = strings.TrimPrefix(named, "/")
			}
			dir, mode := named, grant.ModeReadOnly
			if !use.Directory {
				dir = path.Dir(named)
			}
			verb := "read"
			if use.Write {
				verb, mode = "write", grant.ModeReadWrite
			}
			return s.advice.Denied("the provider may not "+verb+" "+printable.Line(named)+": "+whyNotGranted,
				grant.Text{Capability: grant.NameFS, Scope: dir + ":" + mode})
		}
		return nil
	}
	// Programs look for a file before they make it.
	for _, looks := range []bool{false, true} {
		for _, use := range denied {
			if err := missing(use); err != nil && use.Looks == looks {
				return err
			}
		}
	}
	return nil
}

// brief returns the begin of a guest's text, for an audit.
func brief(text string) string {
	text = printable.Line(text[:min(len(text), maxUseText+1)])
	if len(text) > maxUseText {
		text = strings.ToValidUTF8(text[:maxUseText], "") + "..."
	}
	return text
}
