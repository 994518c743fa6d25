// Starts `parc lsp` over standard input and output for job files.

const { window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const command = workspace.getConfiguration("parc").get("command");
  client = new LanguageClient("parc", { command, args: ["lsp"] }, { documentSelector: [{ language: "parc" }] });
  try {
    await client.start();
  } catch (error) {
    const cure = "Install parc with its extra `lsp`, or say in the setting parc.command where it is.";
    window.showErrorMessage(`\`${command} lsp\` does not start: ${error.message}. ${cure}`);
  }
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
