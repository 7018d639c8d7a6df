package yamlprogram

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
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
			require.ErrorContains(t, err, "the value is too large: it would have more than 1048576 parts, or more than 64 MiB of text, which is what can be passed to a provider")
			require.Regexp(t, `Husk\.yaml:\d+:\d+`, err.Error())
		})
	}
}

// Functions of one value each are bounded before they make anything.
func TestFunctionsThatWouldMakeTooMuch(t *testing.T) {
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
	require.ErrorContains(t, err, "the program computes more than 1024 MiB in all")
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
