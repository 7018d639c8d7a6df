package conformance

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/excerpt"
)

// resourceName is the name of all resources of a run, because only one exists at a time.
const resourceName = "conformance"

func urnOf(token string) urn.URN { return urn.New("test", "conformance", "", token, resourceName) }

func (r *run) providerURN() urn.URN { return urnOf(r.providerType()) }

func (r *run) checkRequest(subject, token string, news property.Map, olds *property.Map, seed []byte) abi.CheckRequest {
	request := abi.CheckRequest{URN: urnOf(token), Name: resourceName, Type: token, News: news, Olds: olds, RandomSeed: seed}
	if subject == Configuration {
		request.Name = "default"
	}
	return request
}

func failuresText(failures []abi.CheckFailure) string {
	texts := make([]string, 0, len(failures))
	for i, f := range failures {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		if f.Path == "" {
			texts = append(texts, f.Reason)
		} else {
			texts = append(texts, f.Path+": "+f.Reason)
		}
	}
	return strings.Join(texts, "; ")
}

// maxListed is how many failures or differences a message lists.
const maxListed = 4

// startsWith reports whether the text of a path leads to a property or a part of it.
func startsWith(text, name string) bool {
	return name != "" && firstKey(text) == name
}

// differences returns an error that lists the differences of two maps; nil for none.
func differences(changes []property.Change, was, is property.Map, wasName, isName string) error {
	if len(changes) == 0 {
		return nil
	}
	texts := make([]string, 0, maxListed)
	for i, c := range changes {
		if i == maxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		before, after, where := excerpt.Pair(at(was, c.Path), at(is, c.Path))
		if before == after {
			after = "another " + after // secrets look alike
		}
		texts = append(texts, fmt.Sprintf("%s is %s in %s and %s in %s%s", c.Path, before, wasName, after, isName, excerpt.Where(where)))
	}
	return fmt.Errorf("%s", strings.Join(texts, "; "))
}

// at returns the text of the value at a path.
func at(m property.Map, path property.Path) string {
	v, ok := path.Get(property.Object(m))
	if !ok {
		return "absent"
	}
	return property.Render(v)
}
