package grant

import (
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/httprequest"
)

// Least returns the fewest grants that cover the uses and little else. Uses are written as grants are, with the mode of a
// directory in its scope. Parts that differ from one deployment to the next are left out of the paths of URLs: everything below a
// path with several used parts, or with one that looks like an ID.
func Least(uses []Text) []Text {
	byName := make(map[string][]Text)
	for _, use := range uses {
		byName[use.Capability] = append(byName[use.Capability], use)
	}
	var least []Text
	for _, c := range all {
		switch used := byName[c.Name]; c.Name {
		case NameFS:
			least = append(least, leastDirectories(used)...)
		case NameHTTP:
			least = append(least, leastServices(used)...)
		default:
			least = append(least, scopes(c.Name, used)...)
		}
	}
	return least
}

// scopes returns each scope once, in order.
func scopes(capability string, uses []Text) (least []Text) {
	var names []string
	for _, use := range uses {
		names = append(names, use.Scope)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		least = append(least, Text{Capability: capability, Scope: name})
	}
	return least
}

// leastDirectories leaves out directories that lie in another one of the same or the wider mode.
func leastDirectories(uses []Text) (least []Text) {
	writable := make(map[string]bool)
	for _, use := range uses {
		dir, mode := SplitMode(use.Scope)
		dir = path.Clean(dir)
		writable[dir] = writable[dir] || mode == ModeReadWrite
	}
	covered := func(dir string, write bool) bool {
		for other, otherWritable := range writable {
			if other != dir && contains(other, dir) && (otherWritable || !write) {
				return true
			}
		}
		return false
	}
	for _, use := range scopes(NameFS, uses) {
		dir, mode := SplitMode(use.Scope)
		write := mode == ModeReadWrite
		if dir = path.Clean(dir); write == writable[dir] && !covered(dir, write) {
			least = append(least, Text{Capability: NameFS, Scope: dir + ":" + mode})
		}
	}
	return slices.CompactFunc(least, func(a, b Text) bool { return a.Scope == b.Scope })
}

// contains reports whether a directory lies in another one. Relative ones lie in ".".
func contains(outer, inner string) bool {
	if outer == "." {
		return !path.IsAbs(inner) && inner != ".." && !strings.HasPrefix(inner, "../")
	}
	return strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}

// maxSiblings is how many different segments at one place of a path are taken for resources of the service
// rather than for its collections.
const maxSiblings = 8

// service is a part of the paths of one service.
type service struct {
	segments map[string]*service
	// methods are the methods of requests to this very path. If anyMethod is set, they are all methods.
	methods   []string
	anyMethod bool
}

func (s *service) at(segment string) *service {
	if s.segments == nil {
		s.segments = make(map[string]*service)
	}
	if s.segments[segment] == nil {
		s.segments[segment] = &service{}
	}
	return s.segments[segment]
}

// leastServices makes a tree of the paths of each service, and grants its branches.
func leastServices(uses []Text) (least []Text) {
	services := &service{}
	for _, use := range uses {
		u, err := url.Parse(use.Scope)
		if err != nil {
			continue // no such request was sent
		}
		at := services.at(u.Scheme + "://" + u.Host)
		if path := strings.TrimRight(u.EscapedPath(), "/"); path != "" {
			segments, err := httprequest.Segments(path)
			if err != nil {
				segments = nil // only a grant of the whole service covers such a path
			}
			for _, segment := range segments {
				at = at.at(segment)
			}
		}
		at.methods, at.anyMethod = append(at.methods, use.Methods...), at.anyMethod || len(use.Methods) == 0
	}
	for _, origin := range slices.Sorted(maps.Keys(services.segments)) {
		least = services.segments[origin].grant(least, origin)
	}
	return least
}

// apiVersion matches the segments that name a version of an API.
var apiVersion = regexp.MustCompile(`^v[0-9]+([a-z]+[0-9]*)?$`)

// maxWord is the length of the longest segment that is taken for a word, in bytes.
const maxWord = 24

// isID reports whether a segment is probably chosen anew for each resource.
func isID(segment string) bool {
	return len(segment) > maxWord || strings.ContainsAny(segment, "0123456789%:@") && !apiVersion.MatchString(segment)
}

// grant grants the paths at and below a prefix.
func (s *service) grant(least []Text, prefix string) []Text {
	requested := len(s.methods) > 0 || s.anyMethod
	if requested || len(s.segments) > maxSiblings || slices.ContainsFunc(slices.Collect(maps.Keys(s.segments)), isID) {
		methods, anyMethod := s.all()
		if anyMethod {
			methods = nil
		}
		slices.Sort(methods)
		return append(least, Text{Capability: NameHTTP, Scope: prefix, Methods: slices.Compact(methods)})
	}
	for _, segment := range slices.Sorted(maps.Keys(s.segments)) {
		least = s.segments[segment].grant(least, prefix+"/"+url.PathEscape(segment))
	}
	return least
}

// all returns the methods of the requests at and below.
func (s *service) all() (methods []string, anyMethod bool) {
	methods, anyMethod = slices.Clone(s.methods), s.anyMethod
	for _, below := range s.segments {
		m, anyBelow := below.all()
		methods, anyMethod = append(methods, m...), anyMethod || anyBelow
	}
	return methods, anyMethod
}
