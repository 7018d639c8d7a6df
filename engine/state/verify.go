package state

import (
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
)

// ProblemKind says which rule of a snapshot's integrity does not hold.
type ProblemKind string

// The kinds of problems.
const (
	ProblemMagic            ProblemKind = "magic"             // the manifest was altered
	ProblemNoURN            ProblemKind = "no-urn"            // a resource lacks its URN
	ProblemNoType           ProblemKind = "no-type"           // a resource lacks its type
	ProblemComponentID      ProblemKind = "component-id"      // a component has an ID
	ProblemNoID             ProblemKind = "no-id"             // a custom resource has no ID
	ProblemNoProvider       ProblemKind = "no-provider"       // a custom resource names no provider
	ProblemUnknownProvider  ProblemKind = "unknown-provider"  // the provider that a resource names is missing
	ProblemExtension        ProblemKind = "extension"         // the extension that a resource names is missing or damaged
	ProblemDuplicate        ProblemKind = "duplicate"         // two resources, not to be deleted, have one URN
	ProblemMissingReference ProblemKind = "missing-reference" // a resource that is named is missing
	ProblemCycle            ProblemKind = "cycle"             // resources depend on each other
)

// Problem is one rule that does not hold.
type Problem struct {
	Kind ProblemKind
	// URN is the resource's, empty if it has none or the problem is the snapshot's.
	URN urn.URN
	// Message describes the fault.
	Message string
}

// An IntegrityError reports a snapshot that does not hold together.
type IntegrityError struct {
	// Problems are all that were found, at least one, in the order of the resources.
	Problems []Problem
}

// maxProblemsShown keeps the message of a badly damaged state readable.
const maxProblemsShown = 10

func (e *IntegrityError) Error() string {
	var b strings.Builder
	b.WriteString("the state does not hold together: ")
	for i, p := range e.Problems {
		if i == maxProblemsShown {
			fmt.Fprintf(&b, "; and %d more", len(e.Problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Message)
	}
	return b.String()
}

// Verify checks that the snapshot holds together, or returns an *IntegrityError.
func (s *Snapshot) Verify() error {
	v := verifier{}
	extensions, err := DecodeExtensions(s.Extensions)
	if err != nil {
		v.add(ProblemExtension, "", err.Error())
	}
	if m := s.Manifest; m.Magic != "" && m.Magic != magic(m.Version) {
		v.add(ProblemMagic, "", "the manifest's magic does not match its version: the file may be damaged")
	}
	resources := resourcesOf(s.list())
	ix := newIndex(resources)
	for i, r := range resources {
		v.resource(ix, i, r)
		if r.ExtensionRef == "" || err != nil {
			continue
		}
		if _, ok := extensions[r.ExtensionRef]; !ok {
			v.add(ProblemExtension, r.URN, fmt.Sprintf("%s names the extension %s, which is missing", r.URN, r.ExtensionRef))
		}
	}
	if _, err := sortResources(resources, ix); err != nil {
		var cycle *CycleError
		if errors.As(err, &cycle) {
			v.add(ProblemCycle, cycle.URNs[0], err.Error())
		}
	}
	if len(v.problems) > 0 {
		return &IntegrityError{Problems: v.problems}
	}
	return nil
}

type verifier struct {
	problems []Problem
}

func (v *verifier) add(kind ProblemKind, u urn.URN, message string) {
	v.problems = append(v.problems, Problem{Kind: kind, URN: u, Message: message})
}

func (v *verifier) resource(ix index, i int, r *Resource) {
	addf := func(kind ProblemKind, format string, args ...any) {
		v.add(kind, r.URN, fmt.Sprintf(format, args...))
	}
	if r.URN == "" {
		addf(ProblemNoURN, "resource %d has no URN", i)
		return
	}
	if r.Type == "" {
		addf(ProblemNoType, "%s has no type", r.URN)
	}
	switch {
	case !r.Custom && r.ID != "":
		addf(ProblemComponentID, "%s is a component and has the ID %q", r.URN, r.ID)
	case r.Custom && r.ID == "" && !r.PendingReplacement:
		addf(ProblemNoID, "%s has no ID", r.URN)
	}
	if r.Provider != "" {
		// The provider of a resource that waits to be made again may be gone.
		if _, ok := ix.providers[r.Provider]; !ok && !r.PendingReplacement {
			addf(ProblemUnknownProvider, "%s names the provider %s, which is missing", r.URN, r.Provider)
		}
	} else if r.Custom && !r.IsProvider() {
		addf(ProblemNoProvider, "%s names no provider", r.URN)
	}
	if first := ix.live[r.URN]; !r.Delete && first != i {
		addf(ProblemDuplicate, "%s is there more than once", r.URN)
	}
	r.VisitNeeds(func(m Mention) {
		if _, ok := ix.mentioned(r, m); !ok && m.Role != RoleProvider {
			addf(ProblemMissingReference, "%s names %s as %s, which is missing", r.URN, m.URN, m)
		}
	})
}
