'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** The files that belong to a project, also to one that keeps its program in another file. */
const documentSelector = [
  '**/{Husk,Pulumi}.{yaml,yml}',
  '**/{Husk,Pulumi}.*.{yaml,yml}',
  '**/Main.{yaml,yml,json}',
].map((pattern) => ({ scheme: 'file', pattern }));

let client;

function newClient() {
  const settings = vscode.workspace.getConfiguration('husk');
  const args = ['lsp'];
  if (!vscode.workspace.isTrusted) {
    args.push('--untrusted-project');
  }
  if (settings.get('stack')) {
    args.push('--stack', settings.get('stack'));
  }
  return new LanguageClient('husk', 'Husk', { command: settings.get('path') || 'husk', args }, {
    documentSelector,
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/{*.wasm,Husk*.y*ml,Pulumi*.y*ml,Main.*}') },
  });
}

async function start() {
  client = newClient();
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(
      `Husk's language server does not start: ${error.message}. Install husk, or name it in the setting husk.path.`,
      'Open Settings',
    );
    if (choice) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'husk.path');
    }
  }
}

async function restart() {
  await deactivate();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('husk.restart', restart),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('husk.path') || event.affectsConfiguration('husk.stack')) {
        return restart();
      }
    }),
  );
  await start();
}

async function deactivate() {
  const running = client;
  client = undefined;
  if (running && running.isRunning()) {
    await running.stop();
  }
}

module.exports = { activate, deactivate };
