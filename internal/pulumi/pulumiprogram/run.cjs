// Loaded before a program in Node.js. The SDK prints an error that ends the program with colors, and its
// source maps place its own frames at paths such as node_modules/@pulumi/resource.ts. On a frame with a
// scope and no package, Node.js 20 searches for the name of the package until its memory is full, which
// takes a minute. Such errors are printed without colors.
const util = require("util");
const inspect = util.inspect;
const endless = /node_modules[/\\]@[^/\\\n]+[/\\][^/\\\n]+$/m;
util.inspect = Object.assign(function (value, options, ...rest) {
  if (options && options.colors && value instanceof Error && endless.test(String(value.stack))) {
    options = { ...options, colors: false };
  }
  return inspect.call(this, value, options, ...rest);
}, inspect);

// When the deployment has failed, the SDK closes its connection, and then complains of each message that it
// could not send. What has failed is reported already.
const complain = console.error;
console.error = function (first, ...rest) {
  if (rest.length === 0 && String(first).startsWith("failed to deliver log message") && first.includes("Channel has been shut down")) {
    return;
  }
  complain.call(this, first, ...rest);
};
