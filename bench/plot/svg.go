package main

import (
	"io"
	"math"
	"slices"
	"strconv"
	"text/template"
)

// chart shows groups of bars with a logarithmic axis, since what is compared differs by
// orders of magnitude.
type chart struct {
	// file is the name of the file, without its suffix.
	file, title, axis string
	// more says that more is better. Goals are the least that is wanted then.
	more   bool
	groups []group
}

// group is bars under one label.
type group struct {
	label string
	bars  []bar
}

// bar is one value. A goal of 0 is none.
type bar struct {
	series      string
	value, goal float64
}

// measured returns the chart without what has no value.
func (c chart) measured() chart {
	var groups []group
	for _, g := range c.groups {
		g.bars = slices.DeleteFunc(slices.Clone(g.bars), func(b bar) bool { return !(b.value > 0) })
		if len(g.bars) > 0 {
			groups = append(groups, g)
		}
	}
	c.groups = groups
	return c
}

// Sizes, in units of the picture.
const (
	width     = 820
	left      = 220 // where bars begin
	right     = 90  // left free beside them, for values
	top       = 84  // where groups begin
	thickness = 14  // of a bar
	spacing   = 12  // between groups
)

// colours are those of the series, in their order. They are told apart in grey as well.
var colours = [...]string{"#1f4e79", "#5b9bd5", "#bdd7ee", "#e39b3b", "#7f7f7f"}

const goalColour = "#b00020"

// Shapes of the picture.
type (
	text struct {
		X, Y            float64
		Anchor, Content string
	}
	rectangle struct {
		X, Y, Width, Height float64
		Colour              string
	}
	line struct {
		X, Y1, Y2 float64
		Colour    string
	}
)

type picture struct {
	Width, Height float64
	Title         string
	Texts         []text
	Bars          []rectangle
	Grid, Goals   []line
}

// draw writes the chart as SVG.
func (c chart) draw(w io.Writer) error { return svg.Execute(w, c.picture()) }

func (c chart) picture() picture {
	p := picture{Width: width, Title: c.title}
	first, last := c.decades()
	x := func(value float64) float64 {
		return left + (width-left-right)*(math.Log10(value)-float64(first))/float64(last-first)
	}
	series := c.series()
	y := float64(top)
	for _, g := range c.groups {
		p.Texts = append(p.Texts, text{left - 10, y + thickness*float64(len(g.bars))/2 + 4, "end", g.label})
		for _, b := range g.bars {
			end := x(b.value)
			colour := colours[slices.Index(series, b.series)%len(colours)]
			p.Bars = append(p.Bars, rectangle{left, y + 1, end - left, thickness - 2, colour})
			beside := end
			if b.goal > 0 {
				goal := x(b.goal)
				p.Goals = append(p.Goals, line{goal, y - 1, y + thickness + 1, goalColour})
				if goal > end-4 && goal < end+50 {
					beside = goal
				}
			}
			p.Texts = append(p.Texts, text{beside + 5, y + thickness - 3, "start", digits(b.value)})
			y += thickness
		}
		y += spacing
	}
	for decade := first; decade <= last; decade++ {
		at := x(math.Pow10(decade))
		p.Grid = append(p.Grid, line{at, top - 6, y, "#dddddd"})
		p.Texts = append(p.Texts, text{at, y + 16, "middle", digits(math.Pow10(decade))})
	}
	p.Texts = append(p.Texts, text{left + (width-left-right)/2, y + 36, "middle", c.axis})
	p.Height = y + 50
	c.legend(&p, series)
	return p
}

// legend says what colours mean, and what a goal is.
func (c chart) legend(p *picture, series []string) {
	const y, letter = 56, 6.5 // a letter's width, about
	at := 20.0
	if len(series) > 1 {
		for i, name := range series {
			p.Bars = append(p.Bars, rectangle{at, y - 11, 12, 12, colours[i%len(colours)]})
			p.Texts = append(p.Texts, text{at + 18, y, "start", name})
			at += 42 + letter*float64(len(name))
		}
	}
	if len(p.Goals) > 0 {
		bound := "goal: at most"
		if c.more {
			bound = "goal: at least"
		}
		p.Goals = append(p.Goals, line{at + 6, y - 13, y + 3, goalColour})
		p.Texts = append(p.Texts, text{at + 18, y, "start", bound})
	}
}

// series are the names of all series, as they first occur.
func (c chart) series() (names []string) {
	for _, g := range c.groups {
		for _, b := range g.bars {
			if !slices.Contains(names, b.series) {
				names = append(names, b.series)
			}
		}
	}
	return names
}

// decades are the powers of ten where the axis begins and ends.
func (c chart) decades() (first, last int) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, g := range c.groups {
		for _, b := range g.bars {
			least, most = min(least, b.value), max(most, b.value)
			if b.goal > 0 {
				least, most = min(least, b.goal), max(most, b.goal)
			}
		}
	}
	first, last = int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most)))
	if math.Pow10(first) == least {
		first-- // a bar needs some length
	}
	return first, max(last, first+1)
}

// digits shows a value with about three digits, those of large ones in threes.
func digits(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

var svg = template.Must(template.New("svg").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{printf "%.0f" .Height}}" font-family="system-ui, sans-serif" font-size="12">
<title>{{html .Title}}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="20" y="30" font-size="18" font-weight="bold">{{html .Title}}</text>
{{range .Grid}}<path d="M{{printf "%.1f" .X}} {{printf "%.1f" .Y1}}V{{printf "%.1f" .Y2}}" stroke="{{.Colour}}"/>
{{end}}{{range .Bars}}<rect x="{{printf "%.1f" .X}}" y="{{printf "%.1f" .Y}}" width="{{printf "%.1f" .Width}}" height="{{.Height}}" fill="{{.Colour}}"/>
{{end}}{{range .Goals}}<path d="M{{printf "%.1f" .X}} {{printf "%.1f" .Y1}}V{{printf "%.1f" .Y2}}" stroke="{{.Colour}}" stroke-width="3"/>
{{end}}{{range .Texts}}<text x="{{printf "%.1f" .X}}" y="{{printf "%.1f" .Y}}" text-anchor="{{.Anchor}}">{{html .Content}}</text>
{{end}}</svg>
`))
