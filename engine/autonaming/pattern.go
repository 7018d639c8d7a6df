package autonaming

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// maxRandom bounds the random characters of one expression: more than any service takes in a name.
const maxRandom = 256

// alphabets holds the characters of each function for random characters.
var alphabets = map[string]string{
	"hex": "0123456789abcdef", "num": "0123456789",
	"string": "abcdefghijklmnopqrstuvwxyz", "alphanum": "abcdefghijklmnopqrstuvwxyz0123456789",
}

// pattern is a name with expressions in it: ${name}-${hex(7)}.
type pattern []part

// part is literal text, the logical name, or random characters.
type part struct {
	text     string
	isName   bool
	isUUID   bool
	alphabet string
	count    int
}

// parsePattern reads a pattern, and fills in the parts that are the same for all resources of the stack.
func parsePattern(text string, names Names) (pattern, error) {
	if text == "" {
		return nil, errors.New("the pattern is empty")
	}
	var out pattern
	for {
		before, rest, found := strings.Cut(text, "${")
		if before != "" {
			out = append(out, part{text: before})
		}
		if !found {
			return out, nil
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, fmt.Errorf("the pattern has a ${ without a }: ${%s", rest)
		}
		p, err := parsePart(expression, names)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
		text = after
	}
}

func parsePart(expression string, names Names) (part, error) {
	switch expression {
	case "name":
		return part{isName: true}, nil
	case "uuid":
		return part{isUUID: true}, nil
	case "organization":
		return part{text: names.Organization}, nil
	case "project":
		return part{text: names.Project}, nil
	case "stack":
		return part{text: names.Stack}, nil
	}
	if key, ok := strings.CutPrefix(expression, "config."); ok {
		return configured(key, names)
	}
	function, argument, _ := strings.Cut(expression, "(")
	alphabet := alphabets[function]
	number, closed := strings.CutSuffix(argument, ")")
	if alphabet == "" || !closed {
		return part{}, fmt.Errorf("unknown expression ${%s}: there are ${name}, ${organization}, ${project}, ${stack}, "+
			"${config.<key>}, ${uuid}, and, for random characters, ${hex(<n>)}, ${alphanum(<n>)}, ${string(<n>)}, ${num(<n>)}", expression)
	}
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || count > maxRandom {
		return part{}, fmt.Errorf("${%s}: the number of characters must be from 1 to %d", expression, maxRandom)
	}
	return part{alphabet: alphabet, count: count}, nil
}

// configured returns the value of a configuration key, by its full name or its name within the project. It refuses secrets,
// because names are public.
func configured(key string, names Names) (part, error) {
	full := key
	if !strings.Contains(key, ":") {
		full = names.Project + ":" + key
	}
	entry, ok := names.Config(full)
	switch {
	case !ok:
		return part{}, fmt.Errorf("${config.%s}: the configuration key %s is not set", key, full)
	case entry.Secret:
		return part{}, fmt.Errorf("${config.%s}: the configuration key %s is secret, and names are not", key, full)
	}
	return part{text: entry.Value}, nil
}

// random reports whether the pattern gives each resource a name of its own.
func (p pattern) random() bool {
	for _, part := range p {
		if part.count > 0 || part.isUUID {
			return true
		}
	}
	return false
}

// name returns the name of a resource.
func (p pattern) name(logical string, seed []byte) string {
	random := rand.New(rand.NewChaCha8(sha256.Sum256(seed)))
	var b strings.Builder
	for _, part := range p {
		switch {
		case part.isName:
			b.WriteString(logical)
		case part.isUUID:
			b.WriteString(drawUUID(random).String())
		default:
			b.WriteString(part.text)
		}
		for range part.count {
			b.WriteByte(part.alphabet[random.IntN(len(part.alphabet))])
		}
	}
	return b.String()
}

// drawUUID draws a UUID of version 4.
func drawUUID(random *rand.Rand) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}
