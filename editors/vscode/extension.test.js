'use strict';

// The extension runs here against what it uses of VS Code and of the client of the language server.

const assert = require('node:assert');
const Module = require('node:module');
const test = require('node:test');

const settings = { path: '/opt/husk', stack: '' };
const clients = [];
const commands = new Map();
let settingsChanged;
let trusted;

const vscode = {
  workspace: {
    isTrusted: false,
    onDidGrantWorkspaceTrust: (listener) => (trusted = listener),
    getConfiguration: () => ({ get: (name) => settings[name] }),
    createFileSystemWatcher: (pattern) => pattern,
    onDidChangeConfiguration: (listener) => (settingsChanged = listener),
  },
  window: { showErrorMessage: async (message) => { vscode.shown = message; } },
  commands: { registerCommand: (name, run) => commands.set(name, run), executeCommand: async () => {} },
};

class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { id, name, server, options, running: false });
    clients.push(this);
  }
  async start() {
    if (this.server.command === 'missing') {
      throw new Error('spawn missing ENOENT');
    }
    this.running = true;
  }
  isRunning() { return this.running; }
  async stop() { this.running = false; }
}

const load = Module._load;
Module._load = (name, ...rest) => ({ vscode, 'vscode-languageclient/node': { LanguageClient } }[name] ?? load(name, ...rest));
const extension = require('./extension.js');
const manifest = require('./package.json');

test('the server builds nothing until the workspace is trusted', async () => {
  await extension.activate({ subscriptions: [] });
  assert.deepStrictEqual(clients[0].server, { command: '/opt/husk', args: ['lsp', '--untrusted-project'] });
  vscode.workspace.isTrusted = true;
  await trusted();
  assert.ok(!clients[0].running);
  assert.deepStrictEqual(manifest.capabilities.untrustedWorkspaces.supported, 'limited');
  assert.deepStrictEqual(manifest.contributes.configuration.properties['husk.path'].scope, 'machine');
  clients.shift();
});

test('the server runs while the extension is active', async () => {
  assert.deepStrictEqual(clients[0].server, { command: '/opt/husk', args: ['lsp'] });
  assert.ok(clients[0].running);
  assert.ok(clients[0].options.documentSelector.every((selector) => selector.scheme === 'file'));
  for (const { command } of manifest.contributes.commands) {
    assert.ok(commands.has(command), command);
  }
});

test('a changed setting restarts the server', async () => {
  settings.stack = 'prod';
  await settingsChanged({ affectsConfiguration: (name) => name === 'husk.stack' });
  assert.ok(!clients[0].running);
  assert.deepStrictEqual(clients[1].server.args, ['lsp', '--stack', 'prod']);
  await extension.deactivate();
  assert.ok(!clients[1].running);
});

test('a missing command is told of, with what to do', async () => {
  settings.path = 'missing';
  await commands.get('husk.restart')();
  assert.match(vscode.shown, /spawn missing ENOENT.*husk\.path/);
});

test('the settings that the extension reads are declared', () => {
  for (const name of Object.keys(settings)) {
    assert.ok(manifest.contributes.configuration.properties[`husk.${name}`], name);
  }
});
