package hostile_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

// TestPropertyValues has a module answer each of inputs/properties.txt as the state of a
// resource.
func TestPropertyValues(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus, "inputs", "properties.txt"))
	require.NoError(t, err)
	roomy := usual
	roomy.pages = 4096 // so that what is wrong with a value is told, and not that it is large
	n := newNeighbour(t, newHost(t, roomy.config(host.NewConfig())))
	for line := range strings.Lines(string(text)) {
		input, want, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(input, func(t *testing.T) {
			state, err := parseBytes(input)
			require.NoError(t, err)
			data := fmt.Sprintf("(data (i32.const 4092) %s)", quoteBytes(binary.LittleEndian.AppendUint32(nil, uint32(len(state)))))
			data += fmt.Sprintf("(data (i32.const 4096) %s)", quoteBytes(state))
			p := provide(t, n.host, assemble(t, "inputs/create.wat", data), host.ProviderOptions{})
			_, err = p.Create(t.Context(), abi.CreateRequest{Name: "thing"})
			require.ErrorIs(t, err, abi.ErrInitFailed)
			require.Equal(t, "id", abi.AsError(err).InitFailure.ID, "the object exists")
			const path = "the provider's answer is not what the contract asks for: create-response.state: cannot decode properties: "
			require.Equal(t, path+want, abi.AsError(err).Message)
			require.NoError(t, n.answers())
		})
	}
}

// parseBytes reads bytes in hexadecimal. (nothing) stands for none.
func parseBytes(text string) (data []byte, err error) {
	for part := range strings.FieldsSeq(text) {
		digits, times, repeated := strings.Cut(part, "*")
		count := 1
		if repeated {
			if count, err = strconv.Atoi(times); err != nil {
				return nil, err
			}
		}
		if digits == "(nothing)" {
			digits = ""
		}
		once, err := hex.DecodeString(digits)
		if err != nil {
			return nil, err
		}
		data = append(data, strings.Repeat(string(once), count)...)
	}
	return data, nil
}

// quoteBytes writes a string of the text format.
func quoteBytes(data []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range data {
		fmt.Fprintf(&b, "\\%02x", c)
	}
	b.WriteByte('"')
	return b.String()
}
