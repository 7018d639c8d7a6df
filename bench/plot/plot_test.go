package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/bench/internal/figures"
)

func measurementOf(all ...figures.Figure) measurement {
	m := measurement{}
	for _, f := range all {
		m[f.Name] = f
	}
	return m
}

func TestStartShowsWhatWasMeasured(t *testing.T) {
	all, err := charts("start", measurementOf(
		figures.Of("native process", 20, "ms", 0),
		figures.Of("compiled code and image", 30, "ms", 0),
		figures.AtLeast("native process to compiled code and image", 0.67, "x", 2),
		figures.Of("warm host, another instance", 0.1, "ms", 0.5),
		figures.AtLeast("native process to warm host, another instance", 200, "x", 50),
	))
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, []group{
		{"native process, Pulumi's SDK", []bar{{native, 20, 0}}},
		{"new process, code and image", []bar{{module, 30, 10}}}, // half of the process's time
		{"warm host, instance", []bar{{module, 0.1, 0.4}}},       // the stricter of its two goals
	}, all[0].groups)
}

func TestFilesThatTellNothing(t *testing.T) {
	_, err := charts("start", measurementOf(figures.Of("something", 1, "ms", 0)))
	require.ErrorContains(t, err, "none of the figures of the benchmark start")
	_, err = charts("stop", measurement{})
	require.ErrorContains(t, err, `no charts of the benchmark "stop"`)
}

func TestBarsAreAsLongAsTheLogarithms(t *testing.T) {
	p := chart{groups: []group{{"a", []bar{{"s", 10, 0}, {"s", 100, 1000}}}, {"b", []bar{{"t", 1, 0}}}}}.picture()
	const decade = (width - left - right) / 4.0 // from 0.1 to 1,000
	require.InDelta(t, 2*decade, p.Bars[0].Width, 1e-6)
	require.InDelta(t, 3*decade, p.Bars[1].Width, 1e-6)
	require.InDelta(t, decade, p.Bars[2].Width, 1e-6)
	require.InDelta(t, left+4*decade, p.Goals[0].X, 1e-6)
	require.Equal(t, p.Bars[0].Colour, p.Bars[1].Colour)
	require.NotEqual(t, p.Bars[0].Colour, p.Bars[2].Colour)
}

func TestValuesAreShownWithThreeDigits(t *testing.T) {
	for want, v := range map[string]float64{"0.123": 0.12345, "4": 4, "56.8": 56.78, "123": 123.4, "1,000": 999.6, "1,234,568": 1234567.8} {
		require.Equal(t, want, digits(v))
	}
}

func TestChartsAreWrittenAsSVG(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "start.json")
	out, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, figures.Print(out, []figures.Figure{figures.Of("native process", 20, "ms", 0), figures.Of("cold compile", 2000, "ms", 0)}, true))
	require.NoError(t, out.Close())

	require.NoError(t, run(filepath.Join(dir, "charts"), []string{file}))

	svg, err := os.ReadFile(filepath.Join(dir, "charts", "start.svg"))
	require.NoError(t, err)
	var texts []string
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if words, ok := token.(xml.CharData); ok {
			texts = append(texts, string(words))
		}
	}
	for _, want := range []string{"From nothing to the first answer", "native process, Pulumi's SDK", "20", "2,000", "milliseconds, logarithmic"} {
		require.Contains(t, texts, want)
	}
	require.Error(t, run(dir, nil))
	require.ErrorContains(t, run(dir, []string{filepath.Join(dir, "missing.json")}), "missing.json")
}
