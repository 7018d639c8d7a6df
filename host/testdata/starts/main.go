// Starts is a provider that makes something of the clock or of random numbers as it starts,
// in one of many ways. Tests write the name of the way into the module's file.
package main

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/google/uuid"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// way names what the instance does, which tests write over the dots in the module's file.
var way = "way:........................................"

func chosen() string { return strings.TrimRight(strings.TrimPrefix(way, "way:"), ".") }

//go:linkname runtimeRand runtime.rand
func runtimeRand() uint64

//go:linkname runtimeFastrand runtime.fastrand64
func runtimeFastrand() uint64

//go:linkname runtimeCheaprand runtime.cheaprand
func runtimeCheaprand() uint32

//go:linkname runtimeNanotime runtime.nanotime
func runtimeNanotime() int64

// next is what the instance answers with, made as the package is initialized.
var next = begin(chosen())

// configured is the same, made in Configure.
var configured func() string

func fixed(value any) func() string { return func() string { return fmt.Sprint(value) } }

func numbers(r *rand.Rand) func() string { return func() string { return strconv.Itoa(r.Int()) } }

// seeded is a stack-allocated generator, whose words lie as the seed of a map does.
type seeded struct{ before, state, after uint64 }

func (s *seeded) next() uint64 {
	s.state = s.state*6364136223846793005 + s.after
	return s.state
}

var colours = map[string]int{"red": 1, "green": 2, "blue": 3, "yellow": 4, "pink": 5, "brown": 6, "grey": 7, "black": 8, "white": 9}

var ways = map[string]func() func() string{
	// What depends on nothing.
	"nothing":              func() func() string { return fixed("always") },
	"a seed of the author": func() func() string { return numbers(rand.New(rand.NewSource(42))) },
	"maps":                 func() func() string { return fixed(tables()) },
	"the order of a map": func() func() string {
		var order []string
		for name := range colours {
			order = append(order, name)
		}
		return fixed(order)
	},
	"a collection": func() func() string { runtime.GC(); return fixed("collected") },
	"a sleep":      func() func() string { time.Sleep(time.Millisecond); return fixed("slept") },
	"timers": func() func() string {
		ticker, timer := time.NewTicker(time.Hour), time.NewTimer(time.Hour)
		time.AfterFunc(time.Hour, func() {})
		return func() string { return fmt.Sprint(len(ticker.C), timer.Stop()) }
	},
	"a contended lock": func() func() string {
		var mu sync.Mutex
		var all sync.WaitGroup
		mu.Lock()
		all.Go(func() { mu.Lock(); defer mu.Unlock() })
		runtime.Gosched()
		mu.Unlock()
		all.Wait()
		return fixed("locked")
	},
	"a goroutine that waits": func() func() string {
		ask, answer := make(chan bool), make(chan string)
		go func() {
			for range ask {
				answer <- strconv.Itoa(rand.Int())
			}
		}()
		return func() string { ask <- true; return <-answer }
	},
	"a table of identifiers": func() func() string { return fixed(uuid.NewSHA1(uuid.NameSpaceDNS, []byte("example.org"))) },

	// What depends on the clock.
	"a seed of nanoseconds": func() func() string { return numbers(rand.New(rand.NewSource(time.Now().UnixNano()))) },
	"a seed of seconds":     func() func() string { return numbers(rand.New(rand.NewSource(time.Now().Unix()))) },
	"the year":              func() func() string { return fixed(time.Now().Year()) },
	"the time": func() func() string {
		started := time.Now()
		return func() string { return started.String() }
	},
	"a time that was compared": func() func() string {
		return fixed(time.Now().After(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)))
	},
	"time that has passed": func() func() string { return fixed(time.Since(time.Time{})) },
	"a deadline": func() func() string {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		return func() string { defer cancel(); return fmt.Sprint(ctx.Deadline()) }
	},
	"the time of a timer": func() func() string { return fixed(<-time.After(time.Millisecond)) },
	"a goroutine that reads the clock": func() func() string {
		var started time.Time
		go func() { started = time.Now() }()
		runtime.Gosched()
		return func() string { return started.String() }
	},
	"the runtime's clock": func() func() string { return fixed(runtimeNanotime()) },
	"a pool": func() func() string {
		var pool sync.Pool
		pool.Put(rand.New(rand.NewSource(time.Now().UnixNano())))
		return func() string { return strconv.Itoa(pool.Get().(*rand.Rand).Int()) }
	},

	// The time at which a file was written, where there is a directory.
	"the time of a file": func() func() string {
		if err := os.WriteFile("/data/file", []byte("x"), 0o600); err != nil {
			return fixed(err)
		}
		info, err := os.Stat("/data/file")
		if err != nil {
			return fixed(err)
		}
		return fixed(info.ModTime())
	},
	"a file": func() func() string {
		if _, err := os.Stat("/data/file"); err != nil {
			return fixed(err)
		}
		content, err := os.ReadFile("/data/file")
		return fixed(string(content) + fmt.Sprint(err))
	},
	// Whether an hour has passed since.
	"an alarm": func() func() string {
		rung := false
		time.AfterFunc(time.Hour, func() { rung = true })
		return func() string { time.Sleep(time.Millisecond); return strconv.FormatBool(rung) }
	},

	// What depends on random numbers.
	"a number":       func() func() string { return fixed(rand.Int()) },
	"a number of v2": func() func() string { return fixed(randv2.Uint64()) },
	"a coin":         func() func() string { return fixed(randv2.IntN(2)) },
	"a permutation":  func() func() string { return fixed(rand.Perm(10)) },
	"a shuffled list": func() func() string {
		l := strings.Split("abcdefgh", "")
		rand.Shuffle(8, func(i, j int) { l[i], l[j] = l[j], l[i] })
		return fixed(l)
	},
	"a generator": func() func() string { return numbers(rand.New(rand.NewSource(rand.Int63()))) },
	"a generator of v2": func() func() string {
		r := randv2.New(randv2.NewPCG(randv2.Uint64(), 1))
		return func() string { return strconv.FormatUint(r.Uint64(), 10) }
	},
	"a seed of a hash": func() func() string {
		s := maphash.MakeSeed()
		return func() string { return strconv.FormatUint(maphash.String(s, "x"), 10) }
	},
	"a hash":             func() func() string { return fixed(new(maphash.Hash).Sum64()) },
	"the runtime's":      func() func() string { return fixed(runtimeRand()) },
	"the runtime's old":  func() func() string { return fixed(runtimeFastrand()) },
	"the runtime's fast": func() func() string { return fixed(runtimeCheaprand()) },
	"a seed on the stack": func() func() string {
		s := seeded{before: 1, after: 3}
		s.state = runtimeRand()
		return fixed(s.next())
	},
	"a name of a file": func() func() string { _, err := os.CreateTemp("", "x"); return fixed(err) },
	"a key":            func() func() string { return fixed(crand.Text()) },
	"an identifier":    func() func() string { return fixed(uuid.New()) },
	"a pool of identifiers": func() func() string {
		uuid.EnableRandPool()
		uuid.New()
		return func() string { return uuid.NewString() }
	},
}

func begin(name string) func() string {
	if name == "" {
		name = "the time"
	}
	if in, ok := strings.CutPrefix(name, "main: "); ok && in != "" {
		return nil // main does it
	}
	if in, ok := strings.CutPrefix(name, "configure: "); ok && in != "" {
		return nil // Configure does it
	}
	make, ok := ways[name]
	if !ok {
		panic("there is no way " + name)
	}
	return make()
}

// tables has maps that the compiler puts on the stack, and in which the runtime finds things.
func tables() int {
	seen, sum := make(map[string]bool), 0
	for _, word := range strings.Fields("a b c d e f g h i j k a b c") {
		if !seen[word] {
			seen[word] = true
			sum += len(seen)
		}
	}
	var shared sync.Map
	shared.Store(sum, colours)
	all := make(map[float64]string, sum)
	for name, number := range colours {
		all[float64(number)] = name
	}
	clear(all)
	return sum
}

type doInputs struct {
	What string   `husk:"what"`
	Args []string `husk:"args,optional"`
}

type doOutputs struct {
	Answer string `husk:"answer"`
}

func do(_ context.Context, in doInputs) (doOutputs, error) {
	switch in.What {
	case "next":
		return doOutputs{next()}, nil
	case "configured":
		return doOutputs{configured()}, nil
	case "choices": // of 64 choices between two
		ready := make(chan bool)
		close(ready)
		var choices [8]byte
		for n := range 64 {
			select {
			case <-ready:
				choices[n/8] |= 1 << (n % 8)
			case <-ready:
			}
		}
		return doOutputs{hex.EncodeToString(choices[:])}, nil
	}
	return doOutputs{}, fmt.Errorf("no action %s", in.What)
}

type config struct{}

func main() {
	if name, ok := strings.CutPrefix(chosen(), "main: "); ok {
		next = ways[name]()
	}
	guest.Serve(guest.Provider{
		Name: "starts", Version: "1.0.0",
		Config: guest.ConfigOf(func(context.Context, config) error {
			if name, ok := strings.CutPrefix(chosen(), "configure: "); ok {
				configured = ways[name]()
			}
			os.Stdout.WriteString("configured\n")
			return nil
		}),
		Functions: []guest.Function{guest.FunctionOf("starts:index:do", do)},
	})
}
