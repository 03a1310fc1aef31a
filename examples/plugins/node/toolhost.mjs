// What a plugin of toolhost is made with: tool() for each tool, then plugin(). It speaks the protocol of
// https://github.com/toolhost/toolhost/blob/main/docs/plugin-protocol.md. Change it as you like.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import grpc from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import protobuf from "protobufjs";
// @ts-expect-error: its text, which the build puts in
import proto from "./plugin.proto";

/** @typedef {Record<string, any>} Json a JSON object, such as arguments or a JSON Schema */
/** @typedef {"trace" | "debug" | "info" | "warn" | "error"} Level */
/**
 * @typedef {(args: any, call: Call) => unknown} Handler returns, or promises, the answer: a text, a Result,
 *   nothing, or else a value that models see as JSON. A ToolError that it throws is the error of the call;
 *   all else is the error tool_failed, with its stack in the plugin's log.
 * @typedef {object} ToolOptions
 * @property {string} name letters, digits, _, . and -
 * @property {string} description what it does, for models
 * @property {Json} [schema] JSON Schema of the arguments: the host checks them, and defaults are filled in
 * @property {Json} [output] JSON Schema of the value that is returned
 * @property {Handler} [preview] says what a call would do, and changes nothing
 * @property {"safe" | "cautious" | "dangerous"} [safety] default: dangerous
 * @property {string} [permission] the capability that a caller needs, such as fs:write
 * @property {string[]} [sensitive] arguments that logs do not show
 * @property {boolean} [idempotent] whether a second call changes nothing more
 * @typedef {ToolOptions & {title?: string, categories?: string[], maxRetries?: number, timeoutMs?: number,
 *   rateLimit?: {calls: number, periodMs: number}, icons?: Json[], meta?: Json}} Definition the others are as
 *   ToolDefinition in plugin.proto says
 * @typedef {object} PluginOptions
 * @property {string} name
 * @property {string} [version] preferably a semantic version
 * @property {Json} [config] JSON Schema of the configuration, which calls have as call.config
 * @property {(config: any, root: string) => unknown} [configure] takes it before the first call, or throws
 * @property {Needs} [needs] of the system, as plugin.proto says; {}: nothing. Default: it does not say
 * @property {() => unknown} [health] returns, or throws, why the plugin cannot work
 * @property {() => unknown} [shutdown] runs after the last call, and has 5 s
 * @typedef {Partial<Record<"read" | "write" | "net" | "exec", string[]>> & {memoryBytes?: number, cpu?: number}} Needs
 */

const LIMIT = 64 << 20, FRAME = 128 << 10, CHUNK_SIZE = 64 << 10, FIRST_WINDOW = 256 << 10, DELTAS = 64 << 10;
const CALL = 1, RESULT = 2, CHUNK = 3, WINDOW = 4, PROGRESS = 5, CANCEL = 6, ASK = 7, LOG = 9, ANSWER = 10;
const DELTA = 11, MORE = 12, ENDED = 13, PACKAGE = "toolhost.plugin.v1.", { root } = protobuf.parse(proto);
/** @param {string} name */
const type = (name) => root.lookupType(PACKAGE + name);
/** @param {string} name @param {Json} value */
const encode = (name, value) => Buffer.from(type(name).encode(type(name).fromObject(value)).finish());
/** @param {string} name @param {Buffer} payload @returns {any} */
const decode = (name, payload) => type(name).decode(payload);
/** @param {unknown} value */
const json = (value) => (value === undefined ? undefined : Buffer.from(JSON.stringify(value)));
/** @param {unknown} text without halves of characters, which UTF-8 does not have */
const clean = (text) => Buffer.from(String(text)).toString();
/** @param {unknown} error */
const messageOf = (error) => clean((error instanceof Error && error.message) || error);
/** @param {string} what @param {unknown} error to the plugin's log, with its stack */
const report = (what, error) => console.error(what + (error instanceof Error ? error.stack : error));

/** @type {Map<string, {definition: Definition, handler: Handler}>} */
const tools = new Map();
/** @type {((session: string) => void)[]} */
const forgetters = [];
const host = { root: process.cwd(), protected: /** @type {string[]} */ ([]), config: /** @type {any} */ ({}) };
// What is printed is the plugin's log: standard output is for the handshake alone.
if (process.env.TOOLHOST_PLUGIN) process.stdout.write = process.stderr.write.bind(process.stderr);

/** The error of a call. */
export class ToolError extends Error {
  /**
   * @param {string} code of docs/reference/errors.md, such as unavailable @param {string} message in one line
   * @param {object} [more] @param {string} [more.hint] what to do @param {number} [more.retryAfter] in seconds
   */
  constructor(code, message, { hint = "", retryAfter = 0 } = {}) {
    super(message);
    this.code = code, this.hint = hint, this.retryAfter = retryAfter;
  }
}
const GIVEN_UP = new ToolError("canceled", "the caller gave up");

/** An answer that is more than a text or a value. */
export class Result {
  /**
   * @param {object} fields @param {string} [fields.text] for models. Default: structured as JSON
   * @param {unknown} [fields.structured] fits the output schema
   * @param {Json[]} [fields.content] as Content in plugin.proto, such as {image: {data, mimeType}}
   * @param {boolean} [fields.isError] it failed in its own terms @param {Json} [fields.meta] _meta of MCP
   */
  constructor({ text, structured, content = [], isError = false, meta }) {
    const first = text ?? JSON.stringify(structured);
    this.content = first === undefined ? content : [{ text: { text: clean(first) } }, ...content];
    this.structuredJson = json(structured), this.isError = isError, this.metaJson = json(meta);
  }
}

/** Adds a tool, before plugin() serves it. @param {Definition} definition @param {Handler} handler */
export function tool(definition, handler) {
  if (tools.has(definition.name)) throw new Error(`there are two tools ${definition.name}`);
  tools.set(definition.name, { definition, handler });
}

/** Writes to the plugin's log; call.log says of which call, too. @param {string} message @param {Level} [level] */
export const log = (message, level = "info") => console.error(JSON.stringify({ level, msg: message }));

/**
 * Keeps a value for each session until that ends, and beyond most of them drops the one used longest ago.
 * @template T @param {() => T} make @param {object} [more] @param {(value: T) => void} [more.drop]
 * @param {number} [more.most] @returns {(call: Call) => T}
 */
export function sessions(make, { drop = () => {}, most = 1024 } = {}) {
  /** @type {Map<string, T>} */
  const kept = new Map(); // the one used last is last
  /** @param {string} session */
  const forget = (session) => kept.forEach((value, one) => one === session && kept.delete(one) && drop(value));
  forgetters.push(forget);
  return ({ session }) => {
    const value = kept.get(session) ?? make();
    kept.delete(session);
    if (session) kept.set(session, value);
    for (const oldest of kept.keys()) if (kept.size > most) forget(oldest);
    return value;
  };
}

/** Refuses a file that a tool is about to change, if it controls the host. @param {string} file @throws {ToolError} */
export function checkWrite(file) {
  /** @type {(p: string) => string} */
  const real = (p) => {
    if (fs.existsSync(p)) return fs.realpathSync(p);
    const dir = real(path.dirname(p)), to = path.join(dir, path.basename(p));
    const isLink = fs.lstatSync(to, { throwIfNoEntry: false })?.isSymbolicLink(); // to what does not exist yet
    return isLink ? real(path.resolve(dir, fs.readlinkSync(to))) : to;
  };
  /** @param {string} p */
  const identity = (p) => fs.existsSync(p) && ((s) => `${s.dev} ${s.ino}`)(fs.statSync(p, { bigint: true }));
  const at = path.resolve(host.root, file), id = identity(at);
  const places = [path.join(real(path.dirname(at)), path.basename(at)), real(at)].map((p) => p.toLowerCase() + "/");
  /** @param {string} q */
  const touched = (q) => places.some((p) => p.startsWith(q + "/") || p.startsWith(q + ".") || `${q}/`.startsWith(p));
  if (host.protected.some((q) => touched(q.toLowerCase()) || (id && id === identity(q)))) {
    throw new ToolError("permission_denied", `${file} is protected: it belongs to what rules the host`);
  }
}

/** What a handler knows of its call, and sends meanwhile. */
export class Call {
  #request; #send; #controller = new AbortController(); #asked = 0;
  /** @type {Map<number, (answer: any) => void>} */
  #questions = new Map();
  #text = ""; #unsent = ""; #window = DELTAS; // of deltas, in bytes
  /** @param {any} request @param {(kind: number, payload: Buffer) => void} [send] absent: it has no Stream */
  constructor(request, send) {
    this.#request = request, this.#send = send;
    this.id = `${request.id}`, this.tool = `${request.tool}`, this.session = `${request.session}`;
    this.caller = `${request.caller}`, this.idempotencyKey = `${request.idempotencyKey}`;
    this.signal = this.#controller.signal; // aborted when the caller no longer waits
    this.config = host.config, this.root = host.root; // of the plugin; the workspace
  }
  /** @param {number} done never less than before @param {number} [total] 0: unknown @param {string} [message] */
  progress(done, total = 0, message = "") {
    if (this.#request.progress) this.#send?.(PROGRESS, encode("Progress", { done, total, message: clean(message) }));
  }
  /** @param {string} message @param {Level} [level] */
  log(message, level = "info") {
    this.#send ? this.#send(LOG, encode("LogRecord", { level, message: clean(message) })) : log(message, level);
  }
  /** @param {string} text that the answer begins with, and that callers may see as it comes */
  write(text) {
    this.signal.throwIfAborted();
    this.#text += text, this.#unsent += text;
    if (this.#text.length > LIMIT / 4) throw new ToolError("resource_exhausted", "the text is too long");
    this.accept(0);
  }
  /**
   * Puts a question to whoever made the call: for a yes or no, or a form to fill in.
   * @param {string} message @param {Json} [schema] of the form: an object of texts, numbers, booleans and choices
   * @returns {Promise<{action: "accept" | "decline" | "cancel", content?: any}>}
   * @throws {ToolError} such as unsupported: the caller cannot answer
   */
  async ask(message, schema) {
    if (!this.#request.ask || !this.#send) {
      throw new ToolError("unsupported", "the caller of this call cannot answer questions",
        { hint: "call again with all that the tool needs as arguments" });
    }
    const number = this.#asked++, schemaJson = json(schema), size = Buffer.byteLength(message);
    if (!size || size > 8192 || (schemaJson?.length ?? 0) > 65536 || number >= 256) {
      throw new ToolError("invalid_arguments", "a question is empty, too long, or one too many");
    }
    this.signal.throwIfAborted();
    const { action, contentJson, error } = await new Promise((resolve, reject) => {
      this.#questions.set(number, resolve);
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
      this.#send?.(ASK, encode("Question", { number, message: clean(message), schemaJson }));
    });
    if (error) throw new ToolError(error.code, error.message, error);
    return { action: action || "cancel", content: contentJson.length ? JSON.parse(contentJson) : undefined };
  }
  // The rest is for the code below.
  cancel = () => this.#controller.abort(GIVEN_UP);
  /** @param {any} answer */
  answered = (answer) => this.#questions.get(answer.number)?.(answer);
  /** @param {number} bytes of text that the host takes more; small pieces wait until it has taken all */
  accept(bytes) {
    this.#window = Math.min(this.#window + bytes, DELTAS);
    while (this.#request.deltas && this.#send && (this.#window === DELTAS || this.#unsent.length >= 4096)) {
      const piece = this.#unsent.slice(0, this.#window / 3).replace(/[\ud800-\udbff]$/, ""); // no half of a character
      if (!piece) return;
      const delta = clean(piece);
      this.#send(DELTA, encode("Delta", { text: delta }));
      this.#unsent = this.#unsent.slice(piece.length), this.#window -= Buffer.byteLength(delta);
    }
  }
  /** @param {boolean} [preview] @returns {Promise<Buffer>} an ExecuteResponse */
  async answer(preview) {
    const { definition, handler } = tools.get(this.tool) ?? {}, run = preview ? definition?.preview : handler;
    const missing = definition ? "there is no preview of tool " : "Unknown tool: ";
    if (!run) return failed("", new ToolError("not_found", missing + this.tool));
    try {
      const value = await run(object(this.#request.argumentsJson, definition?.schema), this);
      const { content, ...result } = value instanceof Result ? value
        : new Result(typeof value === "string" ? { text: value } : { structured: value ?? undefined });
      const text = clean(this.#text);
      const blocks = text ? [{ text: { text } }, ...content.filter((block) => block.text?.text !== "")] : content;
      this.signal.throwIfAborted();
      const answer = encode("ExecuteResponse", { result: { ...result, content: blocks } });
      if (answer.length <= LIMIT) return answer;
      throw new ToolError("resource_exhausted", "the result is larger than 64 MiB");
    } catch (error) {
      return failed(this.tool, this.signal.aborted ? this.signal.reason : error);
    } finally {
      this.#send = undefined; // nothing follows the answer
    }
  }
}

/** @param {string} tool that failed; empty: it did not run @param {unknown} error @returns {Buffer} */
function failed(tool, error) {
  if (!(error instanceof ToolError)) report(`${tool}: `, error);
  const { code, hint, retryAfter } = error instanceof ToolError ? error : new ToolError("tool_failed", "");
  const message = (tool && `tool ${tool} execution failed: `) + messageOf(error);
  const retryAfterMs = Math.min(Math.max(Math.round(retryAfter * 1000) || 0, 0), 86_400_000); // at most a day
  return encode("ExecuteResponse", { error: { code: clean(code), message, hint: clean(hint), retryAfterMs } });
}

/** @param {Uint8Array} bytes JSON of an object @param {Json} [schema] whose defaults are filled in @returns {Json} */
function object(bytes, schema) {
  const value = JSON.parse(Buffer.from(bytes).toString() || "{}");
  if (Array.isArray(value) || Object(value) !== value) throw new ToolError("invalid_arguments", "not a JSON object");
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    if (!Object.hasOwn(value, name) && property.default !== undefined) value[name] = structuredClone(property.default);
  }
  return value;
}

/** @param {number} kind @param {number} number @param {Buffer} payload @param {number} [total] in the first chunk */
function frame(kind, number, payload, total) {
  const b = Buffer.alloc(total ? 20 : 12);
  b.writeUInt32LE(payload.length), b.writeUInt8(kind, 4), b.writeUInt32LE(number, 8);
  if (total) b.writeUInt8(1, 5), b.writeBigUInt64LE(BigInt(total), 12);
  return Buffer.concat([b, payload]);
}

/** @typedef {(data: Buffer, done: (error?: Error | null) => void) => unknown} Write */
/** The calls of one stream of frames. */
class Stream {
  #write; #rest = Buffer.alloc(0); #writing = false; #small = /** @type {Buffer[]} */ ([]);
  /** @type {Map<number, Call>} */
  #calls = new Map();
  /** @type {Map<number, Buffer[]>} what has come of requests in chunks */
  #arriving = new Map();
  /** @type {(Record<"number" | "sent" | "window", number> & {payload: Buffer})[]} results in chunks, in turn */
  #large = [];
  /** @param {import("node:stream").Duplex} source @param {(packet: any) => Buffer} bytes @param {Write} write */
  constructor(source, bytes, write) {
    this.#write = write;
    source.on("data", (packet) => this.#read(bytes(packet))).on("end", () => source.end()).on("error", () => {});
    source.on("close", () => this.#calls.forEach((call) => call.cancel()));
  }
  /** @param {Buffer} data */
  #read(data) {
    for (this.#rest = Buffer.concat([this.#rest, data]); this.#rest.length >= 12;) {
      const b = this.#rest, size = b.readUInt32LE(), header = b[5] & 1 ? 20 : 12; // with the length of the message
      if (b.length < header + size) return;
      this.#rest = b.subarray(header + size);
      this.#frame(b[4], b.readUInt32LE(8), b.subarray(header, header + size), header === 20);
    }
  }
  /** @param {number} kind @param {number} number @param {Buffer} payload @param {boolean} first of its chunks */
  #frame(kind, number, payload, first) {
    const call = this.#calls.get(number), sending = this.#large.find((m) => m.number === number);
    if (first) this.#arriving.set(number, []);
    if (kind === ANSWER) call?.answered(decode("Answer", payload));
    if (kind === MORE) call?.accept(payload.readUInt32LE());
    if (kind === CHUNK) {
      this.#arriving.get(number)?.push(payload);
      this.#send(WINDOW, number, Buffer.of(payload.length, payload.length >> 8, payload.length >> 16, 0));
    } else if (kind === CALL) {
      const request = decode("ExecuteRequest", Buffer.concat([...(this.#arriving.get(number) ?? []), payload]));
      const begun = new Call(request, (kind, payload) => this.#send(kind, number, payload));
      this.#arriving.delete(number);
      this.#calls.set(number, begun);
      begun.answer().then((answer) => this.#calls.delete(number) && this.#send(RESULT, number, answer));
    } else if (kind === CANCEL) {
      call?.cancel();
      this.#large = this.#large.filter((m) => m !== sending);
      if (this.#arriving.delete(number) || sending) this.#send(RESULT, number, failed("", GIVEN_UP));
    } else if (kind === WINDOW && sending) {
      sending.window += payload.readUInt32LE();
      this.#flush();
    } else if (kind === ENDED) {
      const { session } = decode("SessionEnded", payload);
      for (const forget of forgetters) Promise.resolve(session).then(forget).catch((error) => report("", error));
    }
  }
  /** @param {number} kind @param {number} number @param {Buffer} payload */
  #send(kind, number, payload) {
    const dispensable = kind === PROGRESS || kind === LOG; // if the host does not read, or it is too long
    if (dispensable && (this.#small.length > 4096 || payload.length > FRAME)) return;
    if (payload.length <= FRAME) this.#small.push(frame(kind, number, payload));
    else this.#large.push({ number, payload, sent: 0, window: FIRST_WINDOW });
    this.#flush();
  }
  #flush() {
    if (this.#writing) return;
    const parts = this.#small.splice(0, 64); // then a chunk of a result for which there is a window
    const m = this.#large.find((m) => m.window >= Math.min(CHUNK_SIZE, m.payload.length - m.sent));
    if (m) {
      const chunk = m.payload.subarray(m.sent, m.sent + CHUNK_SIZE), ends = m.sent + chunk.length === m.payload.length;
      parts.push(frame(ends ? RESULT : CHUNK, m.number, chunk, m.sent ? 0 : m.payload.length));
      m.sent += chunk.length, m.window -= chunk.length;
      this.#large = this.#large.filter((other) => other !== m).concat(ends ? [] : m);
    }
    if (!parts.length) return;
    this.#writing = true;
    this.#write(Buffer.concat(parts), (error) => error ?? (this.#writing = false, this.#flush()));
  }
}

/** Serves the tools to the host that started this process, until that ends it. @param {PluginOptions} options */
export function plugin({ name, version = "", config, configure, needs, health, shutdown }) {
  const { env } = process, fd = Number(env.TOOLHOST_GRPC_FD), streamFd = Number(env.TOOLHOST_STREAM_FD);
  if (env.TOOLHOST_PLUGIN !== "toolhost.plugin.v1") {
    console.error(`${name} is a plugin of toolhost, which starts it from a plugin directory`);
    process.exit(1);
  }
  delete env.TOOLHOST_GRPC_FD, delete env.TOOLHOST_STREAM_FD; // Node itself lets no child have the descriptors
  process.on("SIGINT", () => {}); // the host's to act on
  const definitions = [...tools.values()].map(({ definition }) => definition), keeps = forgetters.length;
  const features = Object.entries({ stream: 1, ask: 1, preview: definitions.some((d) => d.preview), sessions: keeps,
    session_end: keeps, health, shutdown, socket: streamFd }).flatMap(([feature, has]) => (has ? [feature] : []));
  const description = { name, version, sdk: "toolhost-node/0.1.0", configSchemaJson: json(config), features, needs,
    tools: definitions.map(({ schema, output, icons, meta, preview, ...rest }) => ({ ...rest,
      inputSchemaJson: json(schema), outputSchemaJson: json(output), iconsJson: json(icons), metaJson: json(meta) })) };
  /** @typedef {(rpc: any, reply: (error: unknown, value?: unknown) => void) => void} Method */
  /** @type {(preview: boolean) => Method} */
  const unary = (preview) => async (rpc, reply) => {
    const call = new Call(rpc.request);
    rpc.on("cancelled", call.cancel);
    reply(null, await call.answer(preview));
  };
  /** @type {(f?: () => unknown) => Method | undefined} */
  const problem = (f) => f && (async (_, reply) => {
    const found = await new Promise((resolve) => resolve(f())).catch((error) => (report("", error), messageOf(error)));
    reply(null, { problem: clean(found ?? "") });
  });
  const server = new grpc.Server({ "grpc.max_receive_message_length": LIMIT, "grpc.max_send_message_length": LIMIT });
  const same = (/** @type {Buffer} */ b) => b, credentials = grpc.ServerCredentials.createInsecure();
  const service = /** @type {any} */ (fromJSON(root.toJSON(), { defaults: true })[PACKAGE + "ToolPlugin"]);
  service.Execute.responseSerialize = service.Preview.responseSerialize = same;
  /** @type {Record<string, Method | undefined>} */
  const methods = {
    Describe: (_, reply) => reply(null, description),
    Configure: async ({ request: { root, protected: files, configJson } }, reply) => {
      try {
        Object.assign(host, { root, protected: files, config: object(configJson, config) });
        await configure?.(host.config, root);
        reply(null, {});
      } catch (error) {
        reply({ code: grpc.status.FAILED_PRECONDITION, details: messageOf(error) });
      }
    },
    Execute: unary(false), Preview: unary(true), Health: problem(health), Shutdown: problem(shutdown),
    Stream: (rpc) => new Stream(rpc, ({ data }) => data, (data, done) => rpc.write({ data }, done)),
  };
  server.addService(service, /** @type {any} */ (methods));
  /** @type {(path: string, answer: Buffer, then?: () => void) => unknown} */
  const bare = (path, answer, then) => server.register(path,
    (/** @type {any} */ _, /** @type {any} */ reply) => (reply(null, answer), then?.()), same, same, "unary");
  bare("/grpc.health.v1.Health/Check", Buffer.from([8, 1])); // it serves
  bare("/plugin.GRPCController/Shutdown", Buffer.alloc(0), () => setTimeout(() => process.exit(), 50));
  const socket = streamFd ? new net.Socket({ fd: streamFd }) : undefined;
  if (socket) new Stream(socket, same, (data, done) => socket.write(data, done));
  const address = path.join(env.PLUGIN_UNIX_SOCKET_DIR ?? "", "plugin");
  const ready = () => fs.writeSync(1, `1|1|unix|${address}|grpc\n`);
  if (!fd) return server.bindAsync("unix:" + address, credentials, ready);
  fs.writeSync(fd, "toolhost.grpc.v1\n"); // a connection that no other process can make
  const peer = new net.Socket({ fd }).on("close", () => process.exit());
  server.createConnectionInjector(credentials).injectConnection(peer);
  ready();
}
