// A plugin of toolhost with one tool. toolhost.mjs says what else there is: tool() and plugin() have it all.
import fs from "node:fs";
import { checkWrite, plugin, Result, tool, ToolError } from "./toolhost.mjs";

const NAME = "notes", FILE = "NOTES.md"; // in the workspace, where the plugin is started

/** @returns {number} how many notes there are */
function count() {
  checkWrite(FILE);
  const found = fs.lstatSync(FILE, { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) {
    throw new ToolError("permission_denied", `${FILE} is a link`, { hint: "Choose another workspace." });
  }
  return found ? fs.readFileSync(FILE, "utf8").split("\n").length - 1 : 0;
}

tool({
  name: `${NAME}.add`, description: `Adds a note to ${FILE} in the workspace.`,
  safety: "cautious", permission: "fs:write",
  schema: { type: "object", required: ["text"], additionalProperties: false, properties: {
    text: { type: "string", minLength: 1, maxLength: 500, pattern: "^[^\\r\\n]*$", description: "One line." },
    priority: { enum: ["low", "normal", "high"], default: "normal", description: "How urgent it is." } } },
  output: { type: "object", required: ["notes"], properties: {
    notes: { type: "integer", description: "How many notes there are now." } } },
  preview: ({ text, priority }) => {
    const notes = count();
    return `--- ${FILE}\n+++ ${FILE}\n@@ -${notes},0 +${notes + 1} @@\n+- [${priority}] ${text}\n`;
  },
}, ({ text, priority }) => {
  const notes = count() + 1, { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = fs.constants;
  const file = fs.openSync(FILE, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW);
  fs.writeSync(file, `- [${priority}] ${text}\n`);
  fs.closeSync(file);
  return new Result({ text: `added note ${notes}`, structured: { notes } });
});

plugin({ name: NAME, version: "0.1.0", needs: { write: ["workspace"] } });
