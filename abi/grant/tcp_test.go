package grant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTCP(t *testing.T) {
	for text, want := range map[string]TCP{
		"db.example.org:5432":     {"db.example.org", 5432},
		"DB.example.org.:5432":    {"db.example.org", 5432},
		"*.example.org:5432":      {"*.example.org", 5432},
		"127.0.0.1:1":             {"127.0.0.1", 1},
		"[2001:DB8::1]:65535":     {"2001:db8::1", 65535},
		"[::ffff:127.0.0.1]:5432": {"127.0.0.1", 5432},
	} {
		got, err := ParseTCP(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseTCP(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again, "a grant can be read as it is shown")
	}
	for text, want := range map[string]string{
		"":                      "a grant is a host and a port",
		"example.org":           "a grant is a host and a port",
		"example.org:0":         `"0" is not a port`,
		"example.org:65536":     `"65536" is not a port`,
		"example.org:http":      `"http" is not a port`,
		":5432":                 `"" is not the name of a host`,
		"*:5432":                `"*" is not the name of a host`,
		"a.*.example.org:1":     "is not the name of a host",
		"*.10.0.0.1:1":          "a * stands for names, not for addresses",
		"[fe80::1%eth0]:1":      "an address with a zone",
		"tcp://example.org:1":   "a grant is a host and a port",
		"user@example.org:5432": "is not the name of a host",
	} {
		_, err := ParseTCP(text)
		require.ErrorContains(t, err, want, text)
	}
}
