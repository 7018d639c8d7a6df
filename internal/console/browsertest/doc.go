// Package browsertest has the tests of the console in a browser, Chromium. It is a module of its own, so that Husk does not
// depend on the driver of the browser.
//
// HUSK_SCREENSHOTS names a directory for pictures of all pages, in both themes and at two widths.
package browsertest
