// A plugin of toolhost with one tool. docs/plugin-protocol.md describes all that it does.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import grpc from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import proto from "./plugin.proto"; // its text, which the build puts in

const NAME = "notes", VERSION = "0.1.0", LIMIT = 64 << 20; // of a message, in bytes
const INPUT = { type: "object", required: ["text"], additionalProperties: false, properties: {
  text: { type: "string", minLength: 1, maxLength: 500, pattern: "^[^\\r\\n]*$", description: "One line." },
  priority: { enum: ["low", "normal", "high"], default: "normal", description: "How urgent it is." } } };
const OUTPUT = { type: "object", required: ["notes"], properties: {
  notes: { type: "integer", description: "How many notes there are now." } } };
const json = (value) => Buffer.from(JSON.stringify(value));
const ADD = { name: NAME + ".add", description: "Adds a note to NOTES.md in the workspace.",
  input_schema_json: json(INPUT), output_schema_json: json(OUTPUT), safety: "cautious", permission: "fs:write" };
const DESCRIPTION = { name: NAME, version: VERSION, tools: [ADD], features: ["preview"],
  needs: { write: ["workspace"] } };
let config;

class Failure extends Error { // The call fails: a code of docs/reference/errors.md, what happened, what to do.
  constructor(code, message, hint) { super(message); Object.assign(this, { code, hint }); }
}

function notes() {
  const file = path.join(fs.realpathSync(config.root), "NOTES.md");
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  const isProtected = config.protected.some((p) => file.startsWith(p + ".") || (file + "/").startsWith(p + "/"));
  if (isProtected || found?.isSymbolicLink()) {
    throw new Failure("permission_denied", "NOTES.md is protected, or a link.", "Choose another workspace.");
  }
  return [file, found ? fs.readFileSync(file, "utf8").split("\n").length - 1 : 0];
}

function preview({ text, priority = "normal" }) {
  const [, count] = notes();
  return { text: `--- NOTES.md\n+++ NOTES.md\n@@ -${count},0 +${count + 1} @@\n+- [${priority}] ${text}\n` };
}

function add({ text, priority = "normal" }) {
  const [file, count] = notes(), { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = fs.constants;
  fs.writeFileSync(file, `- [${priority}] ${text}\n`, { flag: O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW });
  return { text: `added note ${count + 1}`, structured: { notes: count + 1 } };
}

const answer = (tool) => ({ request }, reply) => {
  try {
    if (request.tool !== ADD.name) throw new Failure("not_found", `There is no tool ${request.tool}`);
    const { text, structured } = tool(JSON.parse(request.arguments_json.toString() || "{}"));
    reply(null, { result: { content: [{ text: { text } }], structured_json: structured && json(structured) } });
  } catch (error) { // a gRPC status would mean that the plugin is broken
    const code = error instanceof Failure ? error.code : "tool_failed";
    reply(null, { error: { code, message: error.message, hint: error.hint } });
  }
};

if (process.env.TOOLHOST_PLUGIN !== "toolhost.plugin.v1") {
  console.error(`${NAME} is a plugin of toolhost, which starts it from a plugin directory`);
  process.exit(1);
}
const { "toolhost.plugin.v1.ToolPlugin": service } =
  fromJSON(protobuf.parse(proto, { keepCase: true }).root.toJSON(), { keepCase: true, defaults: true });
const server = new grpc.Server({ "grpc.max_receive_message_length": LIMIT, "grpc.max_send_message_length": LIMIT });
server.addService(service, { Describe: (_, reply) => reply(null, DESCRIPTION), Execute: answer(add),
  Preview: answer(preview), Configure: ({ request }, reply) => reply(null, ((config = request), {})) });
server.addService({ Shutdown: { ...service.Configure, path: "/plugin.GRPCController/Shutdown" } }, // no fields
  { Shutdown: (_, reply) => (reply(null, {}), server.tryShutdown(() => process.exit())) });
const fd = process.env.TOOLHOST_GRPC_FD, socket = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, "plugin");
const credentials = grpc.ServerCredentials.createInsecure();
const ready = () => console.log(`1|1|unix|${socket}|grpc`);
if (fd === undefined) {
  server.bindAsync("unix:" + socket, credentials, ready);
} else { // a connection that no other process can make; this one starts none that could inherit it
  fs.writeSync(Number(fd), "toolhost.grpc.v1\n");
  const connection = new net.Socket({ fd: Number(fd) }).on("close", () => process.exit());
  server.createConnectionInjector(credentials).injectConnection(connection);
  ready();
}
