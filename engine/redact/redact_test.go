package redact_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/redact"
)

const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2\nOF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r\n-----END PRIVATE KEY-----\n"

// long is a secret of one line that is longer than what is looked for at once.
var long = "eyJhbGciOiJSUzI1NiJ9." + strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", 5) + ".end-of-it"

func secrets(texts ...string) *redact.Secrets {
	var s redact.Secrets
	for _, text := range texts {
		s.Learn(text)
	}
	return &s
}

func TestSecretsAreHidden(t *testing.T) {
	s := secrets("hunter2", "1234", `pass"word\with é & <more>`, key, long, "correct horse battery staple", "secret", "true", "abc", "  padded-secret\n")
	quoted := func(text string, html bool) string {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(html)
		require.NoError(t, encoder.Encode(text))
		return strings.TrimSpace(b.String())
	}
	const special = `pass"word\with é & <more>`
	base := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for given, want := range map[string]string{
		"":                                      "",
		"nothing":                               "nothing",
		"hunter2":                               "[secret]",
		"the password is hunter2, or hunter22":  "the password is [secret], or [secret]2",
		"xhunter2x":                             "x[secret]x",
		"hunter2hunter2":                        "[secret]",
		"hunter2 hunter2":                       "[secret] [secret]",
		"HUNTER2":                               "HUNTER2",
		"pin 1234, 12345, x1234, 1234_":         "pin [secret], 12345, x1234, 1234_",
		"1234":                                  "[secret]",
		"postgres://u:hunter2@db:1234/x":        "postgres://u:[secret]@db:[secret]/x",
		special:                                 "[secret]",
		"JSON " + quoted(special, false):        `JSON "[secret]"`,
		"JSON " + quoted(special, true):         `JSON "[secret]"`,
		fmt.Sprintf("Go %q", special):           `Go "[secret]"`,
		"?p=" + url.QueryEscape(special) + "&x": "?p=[secret]&x",
		"/" + url.PathEscape(special) + "/x":    "/[secret]/x",
		// In base64 the first and last character tell of what is before and behind it, too.
		base("correct horse battery staple"):                                             "[secret]Q==",
		"Basic " + base("me:correct horse battery staple"):                               "Basic bWU6[secret]Q==",
		"Basic " + base("you:correct horse battery staple:and more"):                     "Basic eW91Om[secret]U6YW5kIG1vcmU=",
		"Basic " + base("x:correct horse battery staple!"):                               "Basic eDp[secret]IQ==",
		hex.EncodeToString([]byte("correct horse battery staple")):                       "[secret]",
		fmt.Sprintf("%X", "correct horse battery staple"):                                "[secret]",
		"the key:\n  " + strings.ReplaceAll(key, "\n", "\n  "):                           "the key:\n  -----BEGIN PRIVATE KEY-----\n  [secret]\n  [secret]\n  -----END PRIVATE KEY-----\n  ",
		"a line of it: OF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r": "a line of it: [secret]",
		strings.ReplaceAll(key, "\n", `\n`):                                              `-----BEGIN PRIVATE KEY-----\n[secret]\n[secret]\n-----END PRIVATE KEY-----\n`,
		long:                                                                             "[secret]",
		"all of it: " + long + long:                                                      "all of it: [secret]",
		"the begin: " + long[:100] + " of it":                                            "the begin: [secret]" + long[64:100] + " of it",
		// Texts are cut short in places.
		"cut off: correct ho":            "cut off: [secret]",
		"cut off: correct ho… more":      "cut off: [secret]… more",
		`"correct horse ba…" (28 bytes)`: `"[secret]…" (28 bytes)`,
		"cut off: correct ho...":         "cut off: [secret]...",
		"cut off: corre":                 "cut off: corre",
		"not cut off: correct hoof":      "not cut off: correct hoof",
		"cut off: " + long[:90]:          "cut off: [secret]",
		"padded-secret":                  "[secret]",
		// What stands in all texts is no secret.
		"[secret] secret true abc": "[secret] secret true abc",
	} {
		require.Equal(t, want, s.In(given), given)
		require.Equal(t, want, s.In(want), "what was hidden stays as it is")
	}
}

// A passphrase such as "test" is a word of much that is public: it hides no part of a name.
func TestSecretsThatAreWords(t *testing.T) {
	s := secrets("test", "prod", "admin", "server", "s3cr", "passwords-are-long", "abcdefghijkl")
	for given, want := range map[string]string{
		"my-test-stack, test, prod/admin":                 "my-test-stack, test, prod/admin",
		"my-server-stack, server.key, a.server, -server-": "my-server-stack, server.key, a.server, -[secret]-",
		"the password is server. Or \"server\", server=x": "the password is [secret]. Or \"[secret]\", [secret]=x",
		"u:server@host, u:s3cr@host, s3cr-1, as3cr":       "u:[secret]@host, u:[secret]@host, s3cr-1, as3cr",
		"xpasswords-are-longx xabcdefghijklx":             "x[secret]x x[secret]x",
	} {
		require.Equal(t, want, s.In(given), given)
	}
}

// The texts in a secret list or object are shown one by one.
func TestSecretsInJSON(t *testing.T) {
	s := secrets(`{"user": "someone", "deep": [{"password": "hunter2"}, 1, null]}`, `[broken json`)
	require.Equal(t, "[secret]: [secret], user", s.In("someone: hunter2, user"))
	require.Equal(t, "[secret]", s.In("[broken json"))
}

// A program makes JSON of a secret and of what is none. The provider's answer repeats it.
func TestSecretsInComputedJSON(t *testing.T) {
	const computed = `{"file": "server.key", "password": "hunter2", "literal": "correct-horse-battery"}`
	made := property.MapOf(map[string]property.Value{"content": property.Secret(property.String(computed))})
	var s redact.Secrets
	s.LearnFrom(property.MapOf(map[string]property.Value{"result": property.Secret(property.String("hunter2"))}))
	s.LearnComputed(made)
	s.LearnFrom(made)
	require.Equal(t, "server.key [secret] [secret] [secret]", s.In("server.key hunter2 correct-horse-battery "+computed))

	s.LearnFrom(property.MapOf(map[string]property.Value{"credentials": property.Secret(property.String(`{"key": "short-key"}`))}))
	require.Equal(t, "[secret] of a provider", s.In("short-key of a provider"))
}

func TestNothingIsHidden(t *testing.T) {
	var none *redact.Secrets
	none.Learn("hunter2")
	none.LearnFrom(property.Map{})
	require.Equal(t, "hunter2", none.In("hunter2"))
	require.Equal(t, "hunter2", redact.Copy(none, "hunter2"))
	require.Equal(t, `"hunter2"`, string(none.InJSON([]byte(`"hunter2"`))))

	s := secrets("hunter2")
	s.Show()
	require.Equal(t, "hunter2", s.In("hunter2"), "the user has asked for it")
}

func TestSecretsInValues(t *testing.T) {
	var s redact.Secrets
	text := property.String
	s.LearnFrom(property.MapOf(map[string]property.Value{
		"plain":  text("plain-text"),
		"secret": property.Secret(text("secret-text")),
		"deep": property.Array(property.Object(property.MapOf(map[string]property.Value{
			"key-of-it": property.Secret(property.Array(text("in a list"), property.Number(987654321), property.Number(443), property.Bool(true), property.Null)),
			"beside":    text("beside-it"),
		}))),
		"output":  property.OutputOf(property.Output{Value: text("of-a-resource"), Secret: true}),
		"asset":   property.Secret(property.AssetOf(property.Asset{Source: property.SourceText, Text: "text of an asset"})),
		"archive": property.Secret(property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.MapOf(map[string]property.Value{"file": property.AssetOf(property.Asset{Source: property.SourceText, Text: "in an archive"})})})),
		"unknown": property.Secret(property.Unknown),
	}))
	require.Equal(t, "plain-text [secret] [secret] [secret] 443 key-of-it beside-it [secret] [secret] [secret]",
		s.In("plain-text secret-text in a list 987654321 443 key-of-it beside-it of-a-resource text of an asset in an archive"))
}

type event struct {
	Name   string            `json:"name"`
	Names  []string          `json:"names"`
	Map    map[string]any    `json:"map"`
	Next   *event            `json:"next"`
	Any    any               `json:"any"`
	Texts  map[string]string `json:"texts"`
	Number int               `json:"number"`
	hidden string
}

func TestCopies(t *testing.T) {
	s := secrets("hunter2", "type1")
	clean := &event{Name: "a", Names: []string{"b"}, Next: &event{}, Any: 1.0, hidden: "hunter2"}
	require.Same(t, clean, redact.Copy(s, clean), "there is nothing to hide")

	given := event{
		Name: "a hunter2", Names: []string{"b", "hunter2"}, Map: map[string]any{"hunter2": []any{"hunter2", 1.0, nil}},
		Next: &event{Name: "hunter2"}, Any: map[string]any{"x": "hunter2"}, Number: 7, hidden: "kept",
	}
	require.Equal(t, event{
		Name: "a [secret]", Names: []string{"b", "[secret]"}, Map: map[string]any{"[secret]": []any{"[secret]", 1.0, nil}},
		Next: &event{Name: "[secret]"}, Any: map[string]any{"x": "[secret]"}, Number: 7, hidden: "kept",
	}, redact.Copy(s, given))
	require.Equal(t, "a hunter2", given.Name, "what was given is as it was")
	require.Equal(t, "hunter2", given.Next.Name)

	require.Equal(t, `{"type1": "[secret]", "a [secret]": ["x [secret]", "\"[secret]\\", 1, true], "no": {"é\u202e": ""}}`,
		string(s.InJSON([]byte(`{"type1": "type1", "a hunter2": ["x hunter2", "\"hunter2\\", 1, true], "no": {"é\u202e": ""}}`))))
	for _, broken := range []string{``, `"`, `"hunter2`, `{"a": "\`, `{"a": "\x hunter2"}`} {
		require.Equal(t, broken, string(s.InJSON([]byte(broken))))
	}
}

// Whatever the secrets are, none is left in a text that has some, and nothing else is changed.
func TestAnySecretsInAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("abAB1é ")), 6, 200, -1)
		texts := rapid.SliceOfN(letters, 1, 20).Draw(t, "secrets")
		s := secrets(texts...)
		plain := rapid.StringMatching(`[.:;,xyz]{0,20}`)
		var given, want strings.Builder
		for _, at := range rapid.SliceOf(rapid.IntRange(0, len(texts)-1)).Draw(t, "order") {
			between := plain.Draw(t, "between") + "|"
			given.WriteString(between + texts[at])
			want.WriteString(between + redact.Mask)
		}
		hidden := s.In(given.String())
		for _, text := range texts {
			if text = strings.TrimSpace(text); len(text) >= 6 && strings.Contains(hidden, text) {
				t.Fatalf("%q is left in %q", text, hidden)
			}
		}
		kept := func(text string) string {
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(".:;,xyz|", r) {
					return r
				}
				return -1
			}, text)
		}
		if kept(hidden) != kept(want.String()) {
			t.Fatalf("%q became %q", given.String(), hidden)
		}
	})
}

func TestSecretsAreLearnedWhileTextsAreHidden(t *testing.T) {
	var s redact.Secrets
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				text := fmt.Sprintf("secret-%d-%d", i, j)
				s.Learn(text)
				if got := s.In("<" + text + ">"); got != "<[secret]>" {
					t.Errorf("%s: %s", text, got)
				}
			}
		})
	}
	all.Wait()
}

// FuzzIn hides a secret in a text that was made of anything.
func FuzzIn(f *testing.F) {
	f.Add("hunter2", "the password is hunter2")
	f.Add("babababa[", "ababababababababababababababa......babababx abababababab… abab")
	f.Add(key, key)
	f.Add(long, long[:90]+"…")
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaab", strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, secret, text string) {
		s := secrets(secret)
		hidden := s.In(text)
		if again := s.In(hidden); !strings.Contains(hidden, "secret") && again != hidden {
			t.Fatalf("%q is hidden as %q, and that as %q", text, hidden, again)
		}
		s.InJSON([]byte(text))
		sought := strings.TrimSpace(secret)
		if len(secret) > 64<<10 || len(sought) < 6 || strings.ContainsAny(secret, "\n ") || strings.HasPrefix(sought, "-----") ||
			strings.Contains(redact.Mask, sought) || strings.Contains(text, redact.Mask) {
			return
		}
		for _, shown := range strings.Split(hidden, redact.Mask) { // what a mask adds to its neighbours is no secret
			if strings.Contains(shown, sought) {
				t.Fatalf("%q is left in %q", secret, hidden)
			}
		}
	})
}

func sha(i int) [16]byte { return md5.Sum([]byte(strconv.Itoa(i))) }

// BenchmarkIn hides thousands of secrets in the text of an event.
func BenchmarkIn(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var s redact.Secrets
			for i := range n {
				s.Learn(fmt.Sprintf("%x", sha(i)))
			}
			text := strings.Repeat("urn:pulumi:dev::website::random:index/randomPassword:RandomPassword::password ", 13)
			s.In(text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.In(text)
			}
		})
	}
	b.Run("learn 1000", func(b *testing.B) {
		for b.Loop() {
			var s redact.Secrets
			for i := range 1000 {
				s.Learn(fmt.Sprintf("%x", sha(i)))
			}
			s.In("text")
		}
	})
}
