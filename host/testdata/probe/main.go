// Probe is the provider that package host is tested with: its functions do what
// providers do well and badly.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand"
	randv2 "math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/guest-sdk/files"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Config is the provider's configuration.
type Config struct {
	Greeting string `husk:"greeting,optional"`
}

// What the instance is and has done.
var (
	greeting string
	served   int
	kept     *os.File
	madeMap  map[int]int
	// name is drawn when it is first asked for, since an instance may begin as another one was.
	name = sync.OnceValue(instanceName)
)

func instanceName() string {
	p := make([]byte, 8)
	if _, err := rand.Read(p); err != nil {
		panic(err)
	}
	return hex.EncodeToString(p)
}

// ThingInputs are the inputs of a thing.
type ThingInputs struct {
	Text string `husk:"text"`
}

// ThingState is the state of a thing.
type ThingState struct {
	ThingInputs
	Greeted string `husk:"greeted"`
}

// Thing is a resource.
type Thing struct{}

// Create makes a thing.
func (Thing) Create(_ context.Context, r guest.CreateRequest[ThingInputs]) (guest.CreateResponse[ThingState], error) {
	return guest.CreateResponse[ThingState]{ID: r.Name, State: ThingState{r.Inputs, greeting + " " + r.Inputs.Text}}, nil
}

// Do is a function's command.
type Do struct {
	What string   `husk:"what"`
	Args []string `husk:"args,optional"`
}

// Done is what came of it.
type Done struct {
	Answer   string `husk:"answer"`
	Instance string `husk:"instance"`
	Served   int    `husk:"served"`
}

func do(ctx context.Context, d Do) (Done, error) {
	served++
	act, ok := actions[d.What]
	if !ok {
		return Done{}, errors.New("no action " + d.What)
	}
	answer, err := act(ctx, d.Args)
	return Done{answer, name(), served}, err
}

var actions = map[string]func(context.Context, []string) (string, error){
	"nothing":  func(context.Context, []string) (string, error) { return "", nil },
	"greeting": func(context.Context, []string) (string, error) { return greeting, nil },
	"fail":     func(_ context.Context, a []string) (string, error) { return "", errors.New(a[0]) },
	"panic":    func(_ context.Context, a []string) (string, error) { panic(a[0]) },
	"crash": func(_ context.Context, a []string) (string, error) {
		// A panic in another goroutine cannot be recovered.
		go func() { panic(a[0]) }()
		time.Sleep(time.Hour)
		return "", nil
	},
	"exit": func(_ context.Context, a []string) (string, error) {
		code, err := strconv.ParseUint(a[0], 0, 32)
		if err != nil {
			return "", err
		}
		os.Exit(int(int32(code)))
		return "", nil
	},
	"recurse": func(context.Context, []string) (string, error) { return strconv.Itoa(recurse(1)), nil },
	"hoard": func(context.Context, []string) (string, error) {
		var all [][]byte
		for {
			all = append(all, make([]byte, 8<<20))
		}
	},
	"deadlock": func(context.Context, []string) (string, error) { select {} },
	"print": func(_ context.Context, a []string) (string, error) {
		times, err := strconv.Atoi(a[1])
		if err != nil {
			return "", err
		}
		_, err = os.Stdout.WriteString(strings.Repeat(a[0], times))
		return "", err
	},
	"printerr": func(_ context.Context, a []string) (string, error) {
		_, err := os.Stderr.WriteString(a[0])
		return "", err
	},
	"log": func(ctx context.Context, a []string) (string, error) {
		log := guest.Log(ctx)
		log.Debug(a[0])
		log.Info(a[0])
		log.Warning(a[0])
		log.Error(a[0])
		log.Status(a[0])
		return "", nil
	},
	"flood": func(ctx context.Context, a []string) (string, error) {
		for ctx.Err() == nil || len(a) > 0 {
			guest.Log(ctx).Info("flood")
		}
		return "stopped: " + ctx.Err().Error(), nil
	},
	"sleep": func(_ context.Context, a []string) (string, error) {
		d, err := time.ParseDuration(a[0])
		time.Sleep(d)
		return "", err
	},
	"wait": func(ctx context.Context, a []string) (string, error) {
		os.Stdout.WriteString("waiting\n")
		for ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if len(a) > 0 {
			return "", errors.New(a[0])
		}
		return "waited until the call was cancelled", nil
	},
	"env": func(_ context.Context, a []string) (string, error) { return strings.Join(os.Environ(), " "), nil },
	"now": func(context.Context, []string) (string, error) {
		return time.Now().UTC().Format(time.RFC3339), nil
	},
	"random": func(context.Context, []string) (string, error) { return instanceName(), nil },
	// draw returns what Go's runtime draws by itself.
	"draw": func(context.Context, []string) (string, error) {
		numbers := make(map[int]bool)
		for n := range 64 {
			numbers[n] = true
		}
		var order []byte
		for n := range numbers {
			order = append(order, byte(n))
		}
		return fmt.Sprint(mathrand.Int63(), " ", randv2.Uint64(), " ", hex.EncodeToString(order)), nil
	},
	"read": func(_ context.Context, a []string) (string, error) {
		content, err := os.ReadFile(a[0])
		return string(content), err
	},
	"write": func(_ context.Context, a []string) (string, error) {
		return "", os.WriteFile(a[0], []byte(a[1]), 0o644)
	},
	// open opens the file so many times, and closes it again.
	"open": func(_ context.Context, a []string) (string, error) {
		times, err := strconv.Atoi(a[1])
		for range times {
			file, failed := os.Open(a[0])
			if err = failed; err != nil {
				break
			}
			defer file.Close()
		}
		return "", err
	},
	"setmode": func(ctx context.Context, a []string) (string, error) {
		mode, err := strconv.ParseUint(a[1], 0, 32)
		if err != nil {
			return "", err
		}
		return "", files.SetMode(ctx, a[0], fs.FileMode(mode))
	},
	// meet returns once as many calls as the number says are in it, with the same directory.
	"meet": func(ctx context.Context, a []string) (string, error) {
		number, err := strconv.Atoi(a[2])
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(a[0]+"/"+a[1], nil, 0o644); err != nil {
			return "", err
		}
		for ctx.Err() == nil {
			present, err := os.ReadDir(a[0])
			if err != nil || len(present) >= number {
				return "", err
			}
			time.Sleep(time.Millisecond)
		}
		return "", ctx.Err()
	},
	"mode": func(ctx context.Context, a []string) (string, error) {
		mode, err := files.Mode(ctx, a[0])
		return mode.String(), err
	},
}

func recurse(depth int) int {
	var room [512]byte
	room[depth%len(room)] = byte(depth)
	return recurse(depth+1) + int(room[(depth*7)%len(room)])
}

func main() {
	guest.Serve(guest.Provider{
		Name:    "probe",
		Version: "1.2.3",
		Config: guest.ConfigOf(func(_ context.Context, c Config) error {
			if c.Greeting == "refuse" {
				return errors.New("that is no greeting")
			}
			greeting = c.Greeting
			switch greeting {
			case "make many maps":
				for n := range 10_000 {
					madeMap = map[int]int{n: n} // for each of which Go's runtime draws
				}
			case "draw a key":
				instanceName()
			case "keep a file":
				var err error
				if kept, err = os.Open("/data/file"); err != nil {
					return err
				}
			}
			os.Stdout.WriteString("configured\n")
			return nil
		}),
		Resources: []guest.Resource{guest.ResourceOf("probe:index:Thing", Thing{})},
		Functions: []guest.Function{guest.FunctionOf("probe:index:do", do)},
		// A package with the function by another name.
		Extend: func(_ context.Context, p guest.Parameters) (guest.Parameterized, error) {
			if len(p.Args) > 0 {
				p.Name, p.Version = p.Args[0], "0.1.0"
			}
			if p.Name == "refuse" {
				return guest.Parameterized{}, errors.New("that is no package")
			}
			os.Stdout.WriteString("extended with " + p.Name + "\n")
			return guest.Parameterized{Provider: guest.Provider{
				Name: p.Name, Version: p.Version, Functions: []guest.Function{guest.FunctionOf(p.Name+":index:do", do)},
			}, Value: []byte("value")}, nil
		},
	})
}
