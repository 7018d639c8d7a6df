package pack

import (
	"context"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/husk-dev/husk/guest-sdk/policy"
)

type namingConfig struct {
	Pattern string `husk:"pattern,default='^[a-z][a-z0-9-]*$'" doc:"A regular expression (RE2) that names in programs must match."`
	Longest int    `husk:"longest,default=40,min=1" doc:"The most characters of a name."`
}

var naming = policy.Of(policy.Rule[namingConfig]{
	Name:        "naming",
	Description: "Resources have names that keep to one style.",
	Level:       policy.Advisory,
	Resource: func(_ context.Context, r policy.ResourceRequest[namingConfig]) ([]policy.Violation, error) {
		if ofEngine(r.Resource.Type) {
			return nil, nil
		}
		pattern, err := regexp.Compile(r.Config.Pattern)
		if err != nil {
			return nil, err
		}
		var found []policy.Violation
		name := r.Resource.Name
		if !pattern.MatchString(name) {
			found = append(found, policy.Violation{Message: "its name does not match " + r.Config.Pattern})
		}
		if n := utf8.RuneCountInString(name); n > r.Config.Longest {
			found = append(found, policy.Violation{
				Message: "its name has " + strconv.Itoa(n) + " characters, and at most " + strconv.Itoa(r.Config.Longest) + " are allowed",
			})
		}
		return found, nil
	},
})
