// The twin in Node of the plugin with which TestTen compares languages.
import { setTimeout } from "node:timers/promises";
import { plugin, sessions, tool, ToolError } from "./toolhost.mjs";

const string = { type: "string" }, integer = { type: "integer" }, number = { type: "number" };
const schema = (properties, required = Object.keys(properties)) => ({ type: "object", required, properties });
const kept = sessions(() => ({ value: "" }), { drop: ({ value }) => console.log(`forgot ${value}`) });

tool({ name: "echo", description: "Says it again.", safety: "safe", schema: schema({ text: string }) }, (args) => args);

tool({ name: "add", description: "Adds.", safety: "safe",
  schema: schema({ a: integer, b: { ...integer, default: 1 } }, ["a"]) }, ({ a, b }) => ({ sum: a + b }));

tool({ name: "fail", description: "Fails.", safety: "safe",
  schema: schema({ code: string, retry_after: number }, ["code"]) }, ({ code, retry_after: retryAfter }) => {
  throw new ToolError(code, "as you asked", { hint: "do not ask", retryAfter });
});

tool({ name: "count", description: "Counts.", safety: "safe", schema: schema({ n: integer }) }, ({ n }, call) => {
  for (let i = 1; i <= n; i++) {
    call.progress(i, n);
    call.write(`${i}\n`);
  }
  return { n };
});

tool({ name: "sleep", description: "Waits.", safety: "safe", schema: schema({ seconds: number }) }, async ({ seconds }, call) => {
  call.progress(0, seconds);
  call.signal.addEventListener("abort", () => call.log("woken", "warn"));
  await setTimeout(seconds * 1000, undefined, { signal: call.signal });
});

tool({ name: "remember", description: "Keeps a value for the session.", safety: "safe", schema: schema({ value: string }) },
  ({ value }, call) => { kept(call).value = value; });

tool({ name: "recall", description: "Has the session's value, or nothing.", safety: "safe" }, (_, call) => kept(call));

tool({ name: "ask", description: "Asks for a yes or a no.", safety: "safe", schema: schema({ question: string }) },
  async ({ question }, call) => ({ answer: (await call.ask(question)).action }));

tool({ name: "configured", description: "Has the configured greeting.", safety: "safe" },
  (_, call) => ({ greeting: call.config.greeting }));

tool({ name: "change", description: "Changes.", safety: "cautious", schema: schema({ path: string }),
  preview: ({ path }) => `would change ${path}` }, ({ path }) => `changed ${path}`);

tool({ name: "boom", description: "Breaks.", safety: "safe" }, function boom() { throw new TypeError("boom"); });

plugin({ name: "ten", version: "0.1.0", needs: {}, config: schema({ greeting: { ...string, default: "hello" } }, []) });
