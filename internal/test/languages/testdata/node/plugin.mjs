// The plugin with which TestNodeEdges looks at what toolhost.mjs does beyond the plugin ten.
import { execFileSync } from "node:child_process";
import { checkWrite, log, plugin, Result, sessions, tool, ToolError } from "./toolhost.mjs";

let problem = "";
const turns = sessions(() => ({ taken: 0 }), { most: 2, drop: ({ taken }) => console.log(`dropped after ${taken}`) });
const text = { type: "object", required: ["text"], properties: { text: { type: "string" } } };
const times = { type: "object", required: ["n"], properties: { n: { type: "integer" } } };
const form = { type: "object", required: ["size"], properties: { size: { type: "string", enum: ["s", "m"] } } };
/** @param {string} name @param {import("./toolhost.mjs").Handler} handler @param {Record<string, any>} [schema] */
const safe = (name, handler, schema) => tool({ name, description: "Is tried.", safety: "safe", schema }, handler);

safe("length", (args) => ({ length: args.text.length }), text);
safe("long", ({ n }) => "é".repeat(n), times);
safe("written", async ({ n }, call) => {
  for (let i = 0; i < n; i++) {
    call.write("é\ud83d"); // half of a character
    call.write("\ude00界");
    if (i % 100 === 0) await new Promise(setImmediate);
  }
  call.write("\ud83d");
}, times);
safe("image", () => new Result({ content: [{ image: { data: Buffer.from("abc"), mimeType: "image/png" } }], isError: true }));
safe("misfit", () => new Result({ content: [{ text: 5 }] }));
safe("circular", () => {
  /** @type {Record<string, any>} */
  const value = {};
  return (value.value = value);
});
safe("thrown", () => { throw null; });
safe("coded", () => { throw new ToolError("", "no code", { retryAfter: NaN }); });
safe("turn", (_, call) => ++turns(call).taken);
safe("guarded", (args) => checkWrite(args.text), text);
safe("form", async (_, call) => (await call.ask("Which?", form)).content.size);
safe("descriptors", () => execFileSync("/bin/ls", ["/proc/self/fd"]).toString().trim().replaceAll("\n", " "));
safe("sicken", (args) => {
  log("not well", "warn");
  problem = args.text;
}, text);

plugin({
  name: "edges", version: "0.1.0", needs: { read: ["workspace"], exec: ["any"] }, health: () => problem, shutdown: () => console.log("finished"),
  config: { type: "object", properties: { refuse: { type: "boolean", description: "Whether to refuse.", default: false } } },
  configure: ({ refuse }) => { if (refuse) throw new Error("configured to refuse"); },
});
