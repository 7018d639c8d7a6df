package walktest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is an object of the cloud.
type object struct {
	ID, Kind, Region string
	// Maker is the name of the resource that made it, empty for one that nobody's stack made.
	Maker        string
	Key, Subkind int
	Label, Owner string
	From         []string
}

// typ is the type of the resource that an object is.
func (o object) typ() string { return "world:index:" + o.Kind }

// request is one of the provider: see testdata/world.
type request struct {
	Method, Kind, Name, ID, Region string
	Version, Key, Subkind          int
	Label, Owner                   string
	From                           []string
}

// answer is the cloud's.
type answer struct {
	ID         string
	Key, Kind  int
	Name, Note string
	Owner      string
	From       []string
	Fault      string
}

// fault is how calls of a method for a resource fail, or for each one if it has no name.
type fault struct{ Method, Name, How string }

// The ways to fail: those before the call has its effect, and those after.
var (
	before = []string{"refused", "not found", "unimplemented", "unavailable"}
	after  = []string{"lost", "half", "nameless", "damaged", "crash"}
)

// call is a request that changed the world.
type call struct {
	Method, ID, Name string
	// Users are the objects that were made from one that is deleted.
	Users []string `json:",omitempty"`
}

// cloud is a world of objects, in this process. Each creation makes another object, and none is ever made or deleted by itself,
// so what is left over, or is there twice, shows.
type cloud struct {
	address string

	mu      sync.Mutex
	made    int
	objects map[string]*object // by ID
	calls   []call
	faults  []fault
	// at is called with each request, before and after it is done; it may kill the process that waits for the answer.
	at func(done bool)
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cloud{address: listener.Addr().String(), objects: map[string]*object{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				line, err := bufio.NewReader(conn).ReadBytes('\n')
				var r request
				if err != nil || json.Unmarshal(line, &r) != nil {
					return
				}
				if a, answers := c.serve(r); answers {
					_ = json.NewEncoder(conn).Encode(a) // who was killed gets no answer
				}
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		serving.Wait()
	})
	return c
}

// serve does what a request asks for. Some answers never arrive.
func (c *cloud) serve(r request) (a answer, answers bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at != nil {
		c.at(false)
		defer c.at(true)
	}
	how := ""
	for _, f := range c.faults {
		if f.Method == r.Method && (f.Name == "" || f.Name == r.Name) {
			how = f.How
		}
	}
	if slices.Contains(before, how) {
		return answer{Fault: how}, true
	}
	if a = c.do(r); a.Fault == "" {
		a.Fault = how
	}
	return a, a.Fault != "lost"
}

// do has the effect of a request.
func (c *cloud) do(r request) answer {
	o := c.objects[r.ID]
	if r.Method != "create" {
		switch {
		case o == nil && r.Method == "update":
			return answer{Fault: "refused"}
		case o == nil:
			return answer{Fault: "gone"}
		case o.Region != r.Region:
			return answer{Fault: "not found"} // as in another project
		}
	}
	if owner, ok := strings.CutPrefix(r.Owner, "address of "); ok && c.objects[owner] == nil {
		return answer{Fault: "refused"} // nothing can belong to what is not there
	}
	switch r.Method {
	case "create":
		c.made++
		id := fmt.Sprintf("o%d", c.made)
		if r.Kind == "Named" {
			if id = r.Region + "/" + r.Label; c.objects[id] != nil {
				return answer{Fault: "exists"}
			}
		}
		o = &object{ID: id, Kind: r.Kind, Region: r.Region, Maker: r.Name}
		c.objects[id] = o
		o.set(r)
	case "update":
		o.set(r)
	case "delete":
		c.remove(r.ID)
	}
	if r.Method != "read" {
		c.calls = append(c.calls, call{r.Method, o.ID, r.Name, nil})
	}
	if r.Method == "delete" {
		for id, other := range c.objects {
			if slices.Contains(other.From, "address of "+r.ID) {
				users := &c.calls[len(c.calls)-1].Users
				*users = append(*users, id)
			}
		}
	}
	return answer{ID: o.ID, Key: o.Key, Kind: o.Subkind, Name: o.Label, Owner: o.Owner, From: o.From}
}

func (o *object) set(r request) {
	o.Key, o.Subkind, o.Label, o.Owner, o.From = r.Key, r.Subkind, r.Label, r.Owner, r.From
}

// remove removes an object and what belongs to it. The caller holds the lock.
func (c *cloud) remove(id string) {
	delete(c.objects, id)
	for other, o := range c.objects {
		if o.Owner == "address of "+id {
			c.remove(other)
		}
	}
}

// change changes the world behind everybody's back.
func (c *cloud) change(f func(objects map[string]*object)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.objects)
}

// there returns the objects that there are.
func (c *cloud) there() map[string]object {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]object, len(c.objects))
	for id, o := range c.objects {
		out[id] = *o
	}
	return out
}

// taken returns the calls since the last time.
func (c *cloud) taken() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls
	c.calls = nil
	return out
}

// show is the world in lines, for comparisons and people.
func show(objects map[string]object) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		fmt.Fprintf(&b, "%+v\n", objects[id])
	}
	return b.String()
}
