package state

import (
	"fmt"
	"path/filepath"
	"strings"
)

// StackName names a stack: the project, and the stack within it.
type StackName struct {
	Project, Name string
}

// maxNameLength is in bytes. Pulumi allows as much, and with an extension it
// fits the file names of every file system.
const maxNameLength = 100

// String returns project/name.
func (n StackName) String() string { return n.Project + "/" + n.Name }

// Organization is that of every stack that no service keeps, as in Pulumi's own file
// backend.
const Organization = "organization"

// Qualified returns the name as a checkpoint has it: organization/project/name.
func (n StackName) Qualified() string { return Organization + "/" + n.String() }

// checkQualified checks the name of a stack that a checkpoint has: Pulumi's are
// organization/project/name, older ones leave out what comes before the name. The error is a
// *StackNameError.
func checkQualified(text string) error {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "/")
	if len(parts) > 3 {
		return &StackNameError{What: "stack's full name", Name: text, Reason: "it must have the form organization/project/name"}
	}
	for i, what := range []string{"organization", "project name", "stack name"}[3-len(parts):] {
		if err := validatePart(what, parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// A StackNameError says why a name cannot be a stack's. It is ErrStackName.
type StackNameError struct {
	// What is "project name" or "stack name", or what else of a full name cannot be.
	What, Name, Reason string
}

func (e *StackNameError) Error() string {
	return fmt.Sprintf("%q cannot be a %s: %s", e.Name, e.What, e.Reason)
}

func (e *StackNameError) Unwrap() error { return ErrStackName }

// Validate checks that both parts are letters, digits, "-", "_", and ".", do not
// begin with "." or "-", and are names of files on every system. The error is a
// *StackNameError.
func (n StackName) Validate() error {
	if err := validatePart("project name", n.Project); err != nil {
		return err
	}
	return validatePart("stack name", n.Name)
}

func validatePart(what, name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "it is empty"
	case len(name) > maxNameLength:
		reason = fmt.Sprintf("it is longer than %d characters", maxNameLength)
	case name[0] == '.' || name[0] == '-':
		reason = fmt.Sprintf("it begins with %q", name[:1])
	case strings.HasSuffix(name, "."):
		reason = `it ends with "."`
	case strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }):
		reason = `only letters, digits, "-", "_", and "." are allowed`
	case !filepath.IsLocal(name):
		reason = "the operating system reserves it"
	}
	if reason == "" {
		return nil
	}
	return &StackNameError{What: what, Name: name, Reason: reason}
}

func nameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.'
}
