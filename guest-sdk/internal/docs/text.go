package docs

// Text holds the comments, one a line, sorted: the name of the described declaration, a tab, and the comment in Markdown with
// vertical tabs in place of line ends. It is empty, and with it goes what looks things up, unless this file was replaced in the
// build.
const Text = ""
