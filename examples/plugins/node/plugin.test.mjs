// Starts the built plugin as a host does, and calls it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const NAME = "notes";
const here = path.dirname(fileURLToPath(import.meta.url));
const { "toolhost.plugin.v1.ToolPlugin": service } =
  loadSync(path.join(here, "plugin.proto"), { keepCase: true, defaults: true, oneofs: true });
const Client = grpc.makeGenericClientConstructor({ ...service,
  Shutdown: { ...service.Configure, path: "/plugin.GRPCController/Shutdown" } }, "ToolPlugin");

// start runs the plugin until the test ends, in a workspace of its own.
async function start(t) {
  const [root, sockets] = ["root-", "sockets-"].map((p) => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), p))));
  const env = { ...process.env, TOOLHOST_PLUGIN: "toolhost.plugin.v1", PLUGIN_PROTOCOL_VERSIONS: "1",
    PLUGIN_UNIX_SOCKET_DIR: sockets };
  delete env.TOOLHOST_GRPC_FD;
  const child = spawn(path.join(here, "bin", NAME), { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const [core, version, network, address, protocol] = line.split("|");
  assert.deepEqual([core, version, network, protocol], ["1", "1", "unix", "grpc"]);
  const client = new Client("unix:" + address, grpc.credentials.createInsecure());
  t.after(async () => {
    client.close();
    child.kill("SIGKILL");
    await ended;
    for (const dir of [root, sockets]) fs.rmSync(dir, { recursive: true });
  });
  const rpc = (method, request) => new Promise((resolve, reject) =>
    client[method](request, (error, reply) => (error ? reject(error) : resolve(reply))));
  const execute = (args, { method = "Execute", tool = NAME + ".add" } = {}) =>
    rpc(method, { id: "1", tool, arguments_json: Buffer.from(JSON.stringify(args)) });
  await rpc("Configure", { root });
  return { root, ended, rpc, execute };
}

test("describes itself", async (t) => {
  const { rpc } = await start(t);
  const { name, tools } = await rpc("Describe", {});
  assert.deepEqual([name, tools.map((tool) => tool.name)], [NAME, [NAME + ".add"]]);
});

test("adds notes", async (t) => {
  const { root, execute } = await start(t);
  for (const [i, args] of [{ text: "é" }, { text: "b", priority: "high" }].entries()) {
    const { error, result } = await execute(args);
    assert.equal(error?.message, undefined);
    assert.deepEqual(JSON.parse(result.structured_json), { notes: i + 1 });
  }
  assert.equal(fs.readFileSync(path.join(root, "NOTES.md"), "utf8"), "- [normal] é\n- [high] b\n");
});

test("a preview changes nothing", async (t) => {
  const { root, execute } = await start(t);
  const { result } = await execute({ text: "a" }, { method: "Preview" });
  assert.match(result.content[0].text.text, /\n\+- \[normal\] a\n$/);
  assert.deepEqual(fs.readdirSync(root), []);
});

test("refuses what is protected", async (t) => {
  const { root, rpc, execute } = await start(t);
  await rpc("Configure", { root, protected: [path.join(root, "NOTES.md")] });
  assert.equal((await execute({ text: "a" })).error.code, "permission_denied");
  assert.deepEqual(fs.readdirSync(root), []);
});

test("refuses a link", async (t) => {
  const { root, execute } = await start(t);
  fs.symlinkSync("elsewhere", path.join(root, "NOTES.md"));
  assert.equal((await execute({ text: "a" })).error.code, "permission_denied");
});

test("knows no other tool", async (t) => {
  const { execute } = await start(t);
  assert.equal((await execute({ text: "a" }, { tool: "other" })).error.code, "not_found");
});

test("ends when it is told to", async (t) => {
  const { rpc, ended } = await start(t);
  await rpc("Shutdown", {});
  assert.deepEqual(await ended, [0, null]);
});
