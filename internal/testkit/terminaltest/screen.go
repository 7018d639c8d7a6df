package terminaltest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// defaultColor is the color of text that has none.
const defaultColor = -1

// cell is a place on a screen. Colors are the sixteen of a terminal, in the order of their codes.
type cell struct {
	char  rune
	color int
}

// screen obeys the control sequences of an xterm that the commands of tests write. Each character takes one cell.
type screen struct {
	columns int
	rows    [][]cell
	x, y    int
	color   int
	bold    bool
	// cut says that a line that is too long ends at the edge.
	cut bool
	// rest is the beginning of a sequence, or of a character, that is not yet written whole.
	rest []byte
	// unknown are the sequences that are not emulated.
	unknown []string
}

func newScreen(columns, rows int) *screen {
	s := &screen{color: defaultColor}
	s.resize(columns, rows)
	return s
}

func blank(columns int) []cell { return slices.Repeat([]cell{{' ', defaultColor}}, columns) }

// resize keeps what fits, with the line of the cursor.
func (s *screen) resize(columns, rows int) {
	if above := s.y - rows + 1; above > 0 {
		s.rows, s.y = s.rows[above:], rows-1
	}
	for len(s.rows) < rows {
		s.rows = append(s.rows, nil)
	}
	s.rows = s.rows[:rows]
	for i, row := range s.rows {
		s.rows[i] = append(slices.Clip(row[:min(len(row), columns)]), blank(max(0, columns-len(row)))...)
	}
	s.columns, s.x = columns, min(s.x, columns-1)
}

// sequence is a control sequence, with its parameters and its last letter, or another one that begins with an escape: a title, a
// link, a character set.
var sequence = regexp.MustCompile(`(?s)^\x1b(?:\[([0-?]*)[ -/]*([@-~])|\].*?(?:\a|\x1b\\)|[()].|[^\[\]()])`)

func (s *screen) write(text []byte) {
	text = append(s.rest, text...)
	for len(text) > 0 {
		size := 0
		if text[0] == '\x1b' {
			if found := sequence.FindSubmatch(text); found != nil {
				size = len(found[0])
				if !s.obey(string(found[1]), string(found[2])) {
					s.unknown = append(s.unknown, string(found[0]))
				}
			}
		} else if utf8.FullRune(text) {
			var char rune
			char, size = utf8.DecodeRune(text)
			s.put(char)
		}
		if size == 0 {
			break
		}
		text = text[size:]
	}
	s.rest = bytes.Clone(text)
}

func (s *screen) put(char rune) {
	switch {
	case char == '\r':
		s.x = 0
	case char == '\n':
		s.down()
	case char == '\b':
		s.x = max(0, min(s.x, s.columns-1)-1)
	case char == '\t':
		s.x = min(s.x/8*8+8, s.columns-1)
	case char < ' ' || char == '\x7f':
	default:
		if s.x == s.columns { // the character before was in the last column
			if s.cut {
				s.x--
			} else {
				s.x = 0
				s.down()
			}
		}
		color := s.color
		if s.bold && color != defaultColor && color < 8 {
			color += 8
		}
		s.rows[s.y][s.x] = cell{char, color}
		s.x++
	}
}

func (s *screen) down() {
	if s.y++; s.y == len(s.rows) {
		s.rows = append(s.rows[1:], blank(s.columns))
		s.y--
	}
}

// obey obeys a control sequence, and reports whether it is known. A sequence without a letter changes nothing that is seen.
func (s *screen) obey(parameters, letter string) bool {
	var numbers []int
	for _, one := range strings.Split(strings.TrimPrefix(parameters, "?"), ";") {
		number, err := strconv.Atoi(one)
		if err != nil && one != "" {
			return false
		}
		numbers = append(numbers, number)
	}
	first := numbers[0]
	switch {
	case letter == "":
	case letter == "h" || letter == "l":
		if parameters == "?7" {
			s.cut = letter == "l"
		}
	case letter == "m":
		return s.paint(numbers)
	case letter == "H":
		s.y, s.x = first-1, 0
		if len(numbers) > 1 {
			s.x = numbers[1] - 1
		}
	case letter == "G":
		s.x = first - 1
	case letter == "A":
		s.y -= max(1, first)
	case letter == "B":
		s.y += max(1, first)
	case letter == "C":
		s.x += max(1, first)
	case letter == "D":
		s.x = min(s.x, s.columns-1) - max(1, first)
	case letter == "K" && first <= 2, letter == "J" && first <= 3:
		s.clear(letter == "J", first)
	default:
		return false
	}
	if strings.Contains("HGABCD", letter) {
		s.x, s.y = min(max(0, s.x), s.columns-1), min(max(0, s.y), len(s.rows)-1)
	}
	return true
}

// clear clears the line, or all lines: from the cursor (0), up to it (1), or both. 3 clears the lines that scrolled away,
// which are not kept.
func (s *screen) clear(all bool, which int) {
	if which == 3 {
		return
	}
	at := min(s.x, s.columns-1)
	for y, row := range s.rows {
		for x := range row {
			behind := y > s.y || y == s.y && x >= at
			before := y < s.y || y == s.y && x <= at
			if (all || y == s.y) && (which == 2 || which == 0 && behind || which == 1 && before) {
				row[x] = cell{' ', defaultColor}
			}
		}
	}
}

// paint sets the color, and whether it is bold.
func (s *screen) paint(codes []int) bool {
	for _, code := range codes {
		switch {
		case code == 0:
			s.color, s.bold = defaultColor, false
		case code == 1:
			s.bold = true
		case code == 22:
			s.bold = false
		case code == 39:
			s.color = defaultColor
		case code >= 30 && code <= 37:
			s.color = code - 30
		case code >= 90 && code <= 97:
			s.color = code - 90 + 8
		case code >= 2 && code <= 4, code == 24: // faint, italic, underlined, and not
		default:
			return false
		}
	}
	return true
}

// text returns the text, without spaces at the ends of lines and empty lines at the end.
func (s *screen) text() string {
	var b strings.Builder
	for _, row := range s.rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteRune(c.char)
		}
		fmt.Fprintln(&b, strings.TrimRight(line.String(), " "))
	}
	return strings.TrimRight(b.String(), "\n")
}
