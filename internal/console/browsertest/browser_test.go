package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/backend/runlog"
)

// program deploys with two providers, one of which may write files.
const program = `name: shop
plugins:
  providers:
    - {name: random, path: PROVIDERS/random}
    - {name: local, path: PROVIDERS/local, grants: {fs: [{path: public, mode: rw}]}}
resources:
  password: {type: random:RandomPassword, properties: {length: 30}}
  site: {type: local:Directory, properties: {path: public/site}}
  page: {type: local:File, properties: {path: "${site.path}/index.html", content: "<h1>Hello</h1>\n"}}
  keys: {type: local:File, properties: {path: "${site.path}/keys", sensitiveContent: "${password.result}", filePermission: "0600"}}
outputs:
  password: ${password.result}
  site: ${site.path}
`

// console is a console in another process, and a browser that was let in.
type console struct {
	t       *testing.T
	dir     string
	base    string
	browser context.Context
}

// timeout bounds what a test waits for.
const timeout = 2 * time.Minute

// open deploys a stack, and opens its console in a browser.
func open(t *testing.T) *console {
	t.Helper()
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	if chromium == "" {
		t.Skip("there is no Chromium: install the package chromium")
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	bin := filepath.Join(t.TempDir(), "husk")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/husk/husk-full")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	t.Setenv("HUSK_CONFIG_PASSPHRASE", "of the tests")
	c := &console{t: t, dir: t.TempDir()}
	c.write(strings.ReplaceAll(program, "PROVIDERS", filepath.Join(root, "examples", "providers")))
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "public"), 0o700))
	up := exec.CommandContext(t.Context(), bin, "up", "--yes", "-C", c.dir)
	out, err = up.CombinedOutput()
	require.NoError(t, err, string(out))

	serve := exec.CommandContext(t.Context(), bin, "console", "--json", "--allow-writes", "-C", c.dir)
	serve.Stderr = os.Stderr
	pipe, err := serve.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, serve.Start())
	t.Cleanup(func() {
		_ = serve.Process.Kill()
		_ = serve.Wait()
	})
	line, err := bufio.NewReader(pipe).ReadString('\n')
	require.NoError(t, err)
	var told struct{ URL string }
	require.NoError(t, json.Unmarshal([]byte(line), &told))
	c.base, _, _ = strings.Cut(told.URL, "/?")

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	browser, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	browser, end = context.WithTimeout(browser, timeout)
	t.Cleanup(end)
	c.browser = browser
	require.NoError(t, chromedp.Do(browser, chromedp.Navigate(told.URL)))
	return c
}

func (c *console) write(text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, "Husk.yaml"), []byte(text), 0o600))
}

// visit opens a page, and waits until it is kept up to date.
func (c *console) visit(path string) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.browser, chromedp.Navigate(c.base+path)))
	c.until(`document.getElementById("live").textContent === "live"`)
}

// until waits until an expression is true in the page.
func (c *console) until(expression string) {
	c.t.Helper()
	_, err := chromedp.Run(c.browser, chromedp.Poll[bool](expression))
	for err != nil && (strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "target navigated")) {
		// Another page was loaded meanwhile.
		_, err = chromedp.Run(c.browser, chromedp.Poll[bool](expression))
	}
	if err != nil {
		text, _ := chromedp.Run(c.browser, chromedp.Evaluate[string](`document.body.innerText`))
		require.NoError(c.t, err, "%s is never true of:\n%s", expression, text)
	}
}

// shows waits until the page has a text.
func (c *console) shows(text string) {
	c.t.Helper()
	c.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

func eval[T any](c *console, expression string) T {
	c.t.Helper()
	value, err := chromedp.Run(c.browser, chromedp.Evaluate[T](expression))
	require.NoError(c.t, err)
	return value
}

func (c *console) press(keys string) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.browser, chromedp.KeyEvent(keys)))
}

// look sets the width and the theme.
func (c *console) look(width int64, theme string) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.browser,
		chromedp.EmulateViewport(width, 900),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
			})
			return err
		})))
}

// latest returns the path of the page of the last run.
func (c *console) latest() string {
	c.t.Helper()
	records, err := runlog.List(filepath.Join(c.dir, ".husk", "runs", "shop", "dev"))
	require.NoError(c.t, err)
	return "/stack/dev/runs/" + records[0].ID
}

// contrast returns texts whose contrast with what is behind them is less than WCAG's AA asks for: 4.5.
const contrast = `(() => {
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return {rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1}; };
  const lum = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a === 1) return c.rgb; } return [255, 255, 255]; };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest("svg, .unseen, .skip") || !e.checkVisibility()) continue;
    const a = lum(parse(getComputedStyle(e).color).rgb), b = lum(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(n.textContent.trim().slice(0, 40) + " " + ratio.toFixed(2));
  }
  return bad;
})()`

// unnamed returns controls, pictures, and scrolled regions that a screen reader could only call by their kind.
const unnamed = `[...document.querySelectorAll("a, button, summary, svg, [tabindex='0']")]
  .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim()) || (e.matches("svg") && e.getAttribute("role") !== "img") || (e.matches("[tabindex='0']") && !e.getAttribute("aria-label")))
  .map((e) => e.outerHTML.slice(0, 90))`

// overflowing returns what makes a page wider than its window.
const overflowing = `document.documentElement.scrollWidth > innerWidth ? [...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 60)) : []`

// Each page fits its window, has enough contrast, and names its controls, in both themes and at both widths. Nothing
// of it breaks the Content-Security-Policy.
func TestPagesInBothThemesAndAtBothWidths(t *testing.T) {
	c := open(t)
	pages := map[string]string{
		"stacks": "/", "resources": "/stack/dev", "graph": "/stack/dev/graph", "runs": "/stack/dev/runs",
		"run": c.latest(), "providers": "/stack/dev/providers", "missing": "/stack/dev/none",
		"resource": "/stack/dev/resource?urn=" + url.QueryEscape("urn:pulumi:dev::shop::local:index/file:File::page"),
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{400, 1600} {
			c.look(width, theme)
			for name, path := range pages {
				if name == "missing" {
					require.NoError(t, chromedp.Do(c.browser, chromedp.Navigate(c.base+path)))
				} else {
					c.visit(path)
				}
				at := fmt.Sprintf("%s, %s, %d", name, theme, width)
				require.Empty(t, eval[[]string](c, overflowing), at)
				require.Empty(t, eval[[]string](c, contrast), at)
				require.Empty(t, eval[[]string](c, unnamed), at)
				require.Equal(t, 1, eval[int](c, `document.querySelectorAll("h1").length`), at)
				require.Equal(t, "en", eval[string](c, `document.documentElement.lang`))
				dark := eval[string](c, `getComputedStyle(document.body).backgroundColor`) != "rgb(255, 255, 255)"
				require.Equal(t, theme == "dark", dark, at)
				c.screenshot(fmt.Sprintf("%s-%s-%d", name, theme, width))
			}
		}
	}
	require.False(t, eval[bool](c, `document.cookie.includes("husk")`), "scripts cannot read the cookie")
}

// screenshot writes a picture of the page if the environment names a directory.
func (c *console) screenshot(name string) {
	c.t.Helper()
	dir := os.Getenv("HUSK_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(c.browser, chromedp.FullScreenshot(100))
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// A page follows a run without being loaded again. What was opened stays open, and the focus stays.
func TestAPageFollowsARun(t *testing.T) {
	c := open(t)
	r, err := runlog.Begin(filepath.Join(c.dir, ".husk", "runs", "shop", "dev"),
		runlog.Header{Kind: "up", Project: "shop", Stack: "dev", Start: time.Now(), User: "ada", PID: 7}, runlog.Options{})
	require.NoError(t, err)
	step := func(name string) engine.StepInfo {
		return engine.StepInfo{
			Op: engine.OpUpdate, URN: urn.URN("urn:pulumi:dev::shop::lab:index:Thing::" + name), Resource: "lab:index:Thing", Name: name, Custom: true,
			Diff: []engine.PropertyChange{{Path: "size", Kind: "update", Old: "1", New: "2"}},
		}
	}
	c.visit("/stack/dev/runs")
	c.shows("running")
	c.visit("/stack/dev/runs/" + r.ID())
	eval[bool](c, `(window.loaded = "once", true)`)
	r.Event(engine.Started{Operation: "up", Project: "shop", Stack: "dev"})
	r.Event(engine.StepStarted{Step: step("one")})
	c.shows("lab:Thing one")
	c.shows("update: running…")
	eval[bool](c, `(document.querySelector(".step details").open = true, document.querySelector(".step summary").focus(), true)`)
	r.Event(engine.StepDone{Step: step("one"), DurationMs: 1200})
	r.Event(engine.StepStarted{Step: step("two")})
	c.shows("lab:Thing two")
	c.shows("updated")
	require.True(t, eval[bool](c, `document.querySelector(".step details").open`))
	require.Equal(t, "SUMMARY", eval[string](c, `document.activeElement.tagName`))
	r.Event(engine.StepFailed{Step: step("two"), Error: "the lab is <closed>"})
	require.NoError(t, r.Close(runlog.End{Result: runlog.Failed}))
	c.until(`document.querySelector("#run-status .state.failed") !== null`)
	require.Equal(t, "once", eval[string](c, `window.loaded`))
	require.Contains(t, eval[string](c, `document.body.innerText`), "the lab is <closed>")
}

// The keyboard is enough: to skip the head of a page, to begin an update, to read its plan, and to confirm it.
func TestTheKeyboardIsEnough(t *testing.T) {
	c := open(t)
	text, err := os.ReadFile(filepath.Join(c.dir, "Husk.yaml"))
	require.NoError(t, err)
	c.write(strings.ReplaceAll(string(text), "Hello", "Goodbye"))
	c.visit("/stack/dev")
	c.press(kb.Tab)
	require.Equal(t, "Skip to the content", eval[string](c, `document.activeElement.textContent`))
	require.GreaterOrEqual(t, eval[float64](c, `document.activeElement.getBoundingClientRect().left`), 0.0, "it is seen when it has the focus")
	c.press(kb.Enter)
	require.Equal(t, "main", eval[string](c, `document.activeElement.id`))
	c.tabTo("Update…")
	c.press(kb.Enter)
	c.shows("Make these changes?")
	c.tabTo("Yes, make these changes")
	c.press(kb.Enter)
	c.until(`document.querySelector("#run-status .state.done") !== null`)
	page, err := os.ReadFile(filepath.Join(c.dir, "public", "site", "index.html"))
	require.NoError(t, err)
	require.Equal(t, "<h1>Goodbye</h1>\n", string(page))
}

// tabTo presses the tab key until a control has the focus.
func (c *console) tabTo(name string) {
	c.t.Helper()
	for range 60 {
		if eval[string](c, `document.activeElement.textContent.trim()`) == name {
			outline := eval[string](c, `getComputedStyle(document.activeElement).outlineStyle`)
			require.Equal(c.t, "solid", outline, "the focus is seen")
			return
		}
		c.press(kb.Tab)
	}
	require.Fail(c.t, "the tab key does not reach "+name)
}

// Pages are whole without scripts: these only keep them up to date.
func TestWithoutScriptsThePagesAreWhole(t *testing.T) {
	c := open(t)
	require.NoError(t, chromedp.Do(c.browser, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}), chromedp.Navigate(c.base+c.latest())))
	text, err := chromedp.Run(c.browser, chromedp.InnerHTML("main"))
	require.NoError(t, err)
	require.Contains(t, text, "What was done")
	require.Contains(t, text, "local:File page")
}
