package yamlprogram

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/measure"
)

// growing is a program of variables v0 to v60, each of which is computed of the one before, and
// of a resource that is given the last.
func growing(first, next string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "variables:\n  v0: %s\n", first)
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&b, "  v%d: %s\n", i, strings.ReplaceAll(next, "$V", fmt.Sprintf("${v%d}", i-1)))
	}
	b.WriteString("resources:\n  probe: {type: bare:index:Probe, properties: {value: \"${v60}\"}}\n")
	return b.String()
}

// A program of 60 lines can describe a value of 2^60 parts. It ends with an error at the place
// where the value becomes too large.
func TestValuesThatGrowWithoutBound(t *testing.T) {
	if testing.Short() {
		t.Skip("makes values of hundreds of megabytes")
	}
	const resource = "  server: {type: cloud:Server, properties: {size: 2, tags: {a: x}}}\n"
	for name, c := range map[string]struct{ first, next string }{
		"lists":                {`[1, 1]`, `["$V", "$V"]`},
		"objects":              {`{a: 1}`, `{a: "$V", b: "$V"}`},
		"texts":                {`text`, `"$V$V"`},
		"keys":                 {`text`, `{fn::join: ["", ["$V", "$V"]]}`},
		"delimiters":           {`text`, `{fn::join: ["$V", [a, "$V", b, c]]}`},
		"JSON":                 {`'"'`, `{fn::toJSON: "$V"}`},
		"JSON of lists":        {`[1]`, `{fn::toJSON: ["$V", "$V"]}`},
		"base64":               {`text`, `{fn::toBase64: "$V$V"}`},
		"archives":             {`{fn::assetArchive: {a: {fn::stringAsset: x}}}`, `{fn::assetArchive: {a: "$V", b: "$V"}}`},
		"secrets":              {`{fn::secret: [1]}`, `{fn::secret: ["$V", "$V"]}`},
		"of a resource":        {`"${server.tags}"`, `["$V", "$V"]`},
		"texts of a resource":  {`"${server.tags.a}"`, `"$V$V"`},
		"selected out of two":  {`[[1]]`, `{fn::select: [0, [["$V", "$V"], "$V"]]}`},
		"texts without length": {`"${server.address}"`, `"$V$V"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := growing(c.first, c.next) + resource
			monitor := &fakeMonitor{state: map[string]property.Map{"server": entries("address", "", "tags", property.Object(entries("a", "x")))}}
			err := loadIn(t, t.TempDir(), text).Run(t.Context(), runContext(), monitor)
			if name == "texts without length" { // it is empty, and so are its dependencies but for one
				require.NoError(t, err)
				require.Equal(t, `<server>""`, show(monitor.request(t, "probe").Inputs.Get("value")))
				return
			}
			require.ErrorContains(t, err, "the value is too large: it would have more than 1048576 parts, or more than 64 MiB of text, and a provider takes no more")
			require.Regexp(t, `Husk\.yaml:\d+:\d+`, err.Error())
		})
	}
}

// Functions of one value each are bounded before they make anything.
func TestFunctionsThatWouldMakeTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("makes values of hundreds of megabytes")
	}
	big := `{fn::readFile: big.txt}`
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/big.txt", []byte(strings.Repeat("a,", measure.MaxText/2)), 0o600))
	for _, x := range []string{
		`{fn::split: [",", ` + big + `]}`, `{fn::split: ["", ` + big + `]}`,
		`{fn::join: [` + big + `, [a, b, c]]}`, `{fn::toBase64: ` + big + `}`,
	} {
		_, err := probe(t, dir, false, x)
		require.ErrorContains(t, err, tooLarge, x)
	}
	// All of a program together, too: each of the variables is small enough.
	var b strings.Builder
	b.WriteString("variables:\n  big: " + big + "\n")
	for i := range 20 {
		fmt.Fprintf(&b, "  v%d: {fn::join: [\"%d\", [\"\", \"${big}\"]]}\n", i, i)
	}
	b.WriteString("resources: {}\n")
	require.NoError(t, os.WriteFile(dir+"/big.txt", []byte(strings.Repeat("a", measure.MaxText-2)), 0o600))
	err := loadIn(t, dir, b.String()).Run(t.Context(), runContext(), &fakeMonitor{})
	require.ErrorContains(t, err, "the values of the program take more than the 1024 MiB that they may take, written out (evaluation-memory)")
}

// Nothing is evaluated any more once the deployment is over.
func TestEvaluationHeedsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	monitor := &fakeMonitor{}
	monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		cancel()
		return abi.MonitorInvokeResponse{Result: entries("id", "ami-1")}, nil
	}
	p := loadIn(t, t.TempDir(), `
variables:
  image: {fn::invoke: {function: cloud:findImage, arguments: {name: x}, return: id}}
resources:
  probe: {type: bare:index:Probe, properties: {value: ["${image}"]}}
`)
	require.ErrorIs(t, p.Run(ctx, runContext(), monitor), context.Canceled)
}

// grown are programs whose size is in proportion to n.
var grown = map[string]func(n int) string{
	"interpolations": func(n int) string {
		return "variables: {v: a}\nresources:\n  r: {type: bare:index:T, properties: {p: \"" + strings.Repeat("${v}", n) + "\"}}\n"
	},
	"keys": func(n int) string {
		return "resources:\n  r: {type: bare:index:T, properties: {" + numbered(n, "k#: 1, ") + "}}\n"
	},
	"resources": func(n int) string { return "resources:\n" + numbered(n, "  r#: {type: bare:index:T}\n") },
	"a resource that depends on all others": func(n int) string {
		return "resources:\n" + numbered(n, "  r#: {type: bare:index:T}\n") + "  all: {type: bare:index:T, options: {dependsOn: [" + numbered(n, "\"${r#}\", ") + "]}}\n"
	},
	"a variable of all resources, often": func(n int) string {
		return "resources:\n" + numbered(n, "  r#: {type: bare:index:T}\n") + "  all: {type: bare:index:T, properties: {p: \"" + strings.Repeat("${all}", n) + "\"}}\n" +
			"variables:\n  all: \"" + numbered(n, "${r#.id}") + "\"\n"
	},
	"outputs": func(n int) string { return "variables: {v: a}\noutputs:\n" + numbered(n, "  o#: \"${v}\"\n") },
	"components": func(n int) string {
		return "components:\n" + numbered(n, "  C#: {inputs: {a: {type: string}}, outputs: {o: \"${a}\"}}\n") + "resources:\n" + numbered(n, "  c#: {type: \"shop:C#\", properties: {a: x}}\n")
	},
	"lists in lists": func(n int) string {
		return "resources:\n  r: {type: bare:index:T, properties: {p: [" + strings.Repeat("[[1, 2], {a: [3]}], ", n) + "]}}\n"
	},
	"mistakes": func(n int) string {
		return "resources:\n  r: {type: bare:index:T, properties: {p: [" + numbered(n, "\"${nothing#}\", ") + "]}}\n"
	},
}

func numbered(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// taken returns what the evaluation of a program was charged.
func taken(t *testing.T, text string) (steps, memory int64) {
	t.Helper()
	p := loadIn(t, t.TempDir(), text)
	p.Limit(budget.Limits{Spent: func(s, m int64) { steps, memory = s, m }})
	err := p.Run(t.Context(), runContext(), &fakeMonitor{})
	if err != nil {
		require.IsType(t, source.Diagnostics{}, err)
	}
	return steps, memory
}

func TestAProgramIsChargedInProportionToItsSize(t *testing.T) {
	for name, write := range grown {
		t.Run(name, func(t *testing.T) {
			const few, many = 250, 2000
			steps, memory := taken(t, write(few))
			require.Greater(t, steps, int64(few))
			manySteps, manyMemory := taken(t, write(many))
			exponent := func(a, b int64) float64 { return math.Log(float64(b)/float64(a)) / math.Log(many/few) }
			require.Less(t, exponent(steps, manySteps), 1.1, "%d and %d steps", steps, manySteps)
			if name != "a variable of all resources, often" { // the text that is made is n texts of n
				require.Less(t, exponent(memory, manyMemory), 1.1, "%d and %d bytes", memory, manyMemory)
			}
		})
	}
}

func TestLimitsOfTheEvaluation(t *testing.T) {
	doubling := "variables:\n  v0: 0123456789abcdef\n" + func() (s string) {
		for i := range 40 {
			s += fmt.Sprintf("  v%d: \"${v%d}${v%d}\"\n", i+1, i, i)
		}
		return s
	}()
	many := "variables:\n  v: {" + numbered(100, "k#: 1, ") + "}\nresources:\n" + numbered(200, "  r#: {type: bare:index:T, properties: {p: \"${v}\"}}\n")
	for name, c := range map[string]struct {
		text   string
		limits budget.Limits
		limit  string
		line   string
	}{
		"texts that double":       {doubling, budget.Limits{Memory: 1 << 20}, budget.Memory, "Husk.yaml:18:"},
		"resources, written out":  {many, budget.Limits{Memory: 1 << 20}, budget.Memory, "Husk.yaml:"},
		"steps":                   {many, budget.Limits{Steps: 1000}, budget.Steps, "Husk.yaml:"},
		"steps, while it is read": {many, budget.Limits{Steps: 50}, budget.Steps, "Husk.yaml:3:"},
	} {
		t.Run(name, func(t *testing.T) {
			c.limits.Advice = func(e budget.ExceededError) string { return "ask for more " + e.Limit }
			p := loadIn(t, t.TempDir(), c.text)
			p.Limit(c.limits)
			err := p.Run(t.Context(), runContext(), &fakeMonitor{})
			require.ErrorContains(t, err, "ask for more "+c.limit)
			require.ErrorContains(t, err, c.line)
			exceeded, ok := errors.AsType[*budget.ExceededError](err)
			require.True(t, ok)
			require.Equal(t, c.limit, exceeded.Limit)
			require.Len(t, err, 1, "nothing is told that follows from it")
		})
	}
}

// What a function looks at is charged for, however small its result is.
func TestFunctionsAreChargedForWhatTheyLookAt(t *testing.T) {
	dir := t.TempDir()
	const size = 1 << 20
	require.NoError(t, os.WriteFile(dir+"/big.txt", []byte(strings.Repeat("abc,", size/4)), 0o600))
	variables := "variables:\n  file: big.txt\n  big: {fn::readFile: big.txt}\n  list: {fn::split: [\",\", {fn::fromBase64: \"" +
		strings.Repeat("YWEs", 10_000) + "\"}]}\n"
	for name, x := range map[string]string{
		"length":           `{fn::length: "${big}"}`,
		"sha1":             `{fn::sha1: "${big}"}`,
		"a hash of a file": `{fn::filebase64sha256: "${file}"}`,
		"join":             `{fn::length: {fn::join: ["", ["${big}", "${unknown.id}"]]}}`,
		"text":             `"${big}${unknown.id}"`,
		"toJSON":           `{fn::toJSON: ["${big}", "${unknown.id}"]}`,
		"parts":            `{fn::sha1: {fn::toJSON: "${list}"}}`,
		"stringAsset":      `{fn::stringAsset: "${big}${unknown.id}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			of := func(n int) (charged int64, err error) {
				text := variables + numbered(n, "  v#: "+x+"\n") + "resources: {unknown: {type: bare:index:T}}\n"
				p := loadIn(t, dir, text)
				p.Limit(budget.Limits{Steps: 1_000_000, Spent: func(s, _ int64) { charged = s }})
				run := runContext()
				run.DryRun = true
				return charged, p.Run(t.Context(), run, &fakeMonitor{})
			}
			_, err := of(1)
			require.NoError(t, err)
			_, err = of(100)
			exceeded, ok := errors.AsType[*budget.ExceededError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, budget.Steps, exceeded.Limit)
			require.Len(t, err, 1)
		})
	}
}

// endless is a file that has no end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// A file is charged for while it is read, and not when all of it is in memory.
func TestAFileIsChargedWhileItIsRead(t *testing.T) {
	for _, f := range []expr.Function{expr.ReadFile, expr.FileBase64} {
		b := budget.New(t.Context(), budget.Limits{Memory: 1 << 20})
		e := &evaluator{ctx: t.Context(), c: &compilation{template: &template{report: &source.Report{File: source.NewFile("Husk.yaml", nil), Budget: b}}}}
		file := &endless{}
		_, problem, err := e.readFile(&expr.Call{Function: f}, file)
		require.NoError(t, err)
		require.NotEmpty(t, problem)
		require.Less(t, file.read, 2<<20)
		require.Equal(t, budget.Memory, b.Exceeded().Limit)
	}
	ctx := &ending{Context: t.Context()}
	ctx.left.Store(10)
	e := &evaluator{ctx: ctx, c: &compilation{template: &template{report: &source.Report{File: source.NewFile("Husk.yaml", nil)}}}}
	file := &endless{}
	_, problem, err := e.readFile(&expr.Call{Function: expr.FileBase64SHA256}, file)
	require.NoError(t, err)
	require.NotEmpty(t, problem)
	require.Less(t, file.read, 2<<20)
}

// ending is a context that ends when it was looked at for a number of times.
type ending struct {
	context.Context
	left atomic.Int64
}

func (e *ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestAnEvaluationEndsWithItsContext(t *testing.T) {
	text := "variables: {v: a}\nresources:\n  r: {type: bare:index:T, properties: {p: [" + strings.Repeat("\"${v}\", ", 20_000) + "]}}\n"
	whole, _ := taken(t, text)
	for _, looks := range []int64{1, 10, 100, 1000, 10_000} { // while it is read, checked, and run
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(looks)
		p := loadIn(t, t.TempDir(), text)
		var steps int64
		p.Limit(budget.Limits{Spent: func(s, _ int64) { steps = s }})
		require.ErrorIs(t, p.Run(ctx, runContext(), &fakeMonitor{}), context.Canceled)
		require.Less(t, steps, whole/2+1000*looks)
	}
}

// A report has what somebody can read: not a line for each of 20,000 mistakes.
func TestManyMistakes(t *testing.T) {
	text := "resources:\n  r: {type: bare:index:T, properties: {p: [" + numbered(5000, "\"${nothing#}\", ") + "]}}\n"
	ds, err := loadIn(t, t.TempDir(), text).Check(t.Context(), runContext())
	require.NoError(t, err)
	require.Len(t, ds, 1001)
	require.Equal(t, "these are the first 1000 problems; there may be more", ds[1000].Summary)
	require.Equal(t, `there is no resource, variable, or configuration key "nothing0"`, ds[0].Summary)
	for i, d := range ds[:1000] {
		require.Equal(t, source.Position{Line: 3, Column: strings.Index(strings.Split(text, "\n")[1], fmt.Sprintf("nothing%d}", i)) + 1}, source.Position{Line: d.Line, Column: d.Column})
	}
}
