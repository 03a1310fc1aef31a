// A client made with the TypeScript SDK, which a test drives: commands are lines of JSON on
// standard input, answers and what the server sends are lines on standard output.
//
//	node client.mjs MODULES ERA URL            over HTTP
//	node client.mjs MODULES ERA PROGRAM ARG... over standard input and output
//
// ERA is sessions (version 1 of the SDK, the revisions up to 2025-11-25) or requests
// (version 2, the revision 2026-07-28). The variable TOKEN is the bearer token.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const [modules, era, target, ...args] = process.argv.slice(2);
const require = createRequire(join(modules, 'none.js'));
const modern = era === 'requests';
const write = (message) => process.stdout.write(JSON.stringify(message) + '\n');

// The two versions of the SDK, by one interface.
function load() {
	if (modern) {
		const sdk = require('@modelcontextprotocol/client');
		const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
		return { ...sdk, StdioClientTransport, schema: (method) => method };
	}
	const types = require('@modelcontextprotocol/sdk/types.js');
	const byMethod = {
		'elicitation/create': types.ElicitRequestSchema,
		'sampling/createMessage': types.CreateMessageRequestSchema,
		'roots/list': types.ListRootsRequestSchema,
		'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
		'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
		'notifications/message': types.LoggingMessageNotificationSchema,
	};
	return {
		...require('@modelcontextprotocol/sdk/client/index.js'),
		...require('@modelcontextprotocol/sdk/client/stdio.js'),
		...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
		schema: (method) => byMethod[method],
	};
}

const sdk = load();
const client = new sdk.Client(
	{ name: 'typescript', version: '1.0.0' },
	{
		capabilities: { elicitation: {}, sampling: {}, roots: {} },
		...(modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}),
	},
);

let reply = { action: 'cancel' };
client.setRequestHandler(sdk.schema('elicitation/create'), async (request) => {
	write({ event: 'elicitation', params: request.params });
	return reply;
});
client.setRequestHandler(sdk.schema('sampling/createMessage'), async () => ({
	role: 'assistant', model: 'none', content: { type: 'text', text: 'sampled' },
}));
client.setRequestHandler(sdk.schema('roots/list'), async () => ({ roots: [{ uri: 'file:///workspace', name: 'workspace' }] }));
for (const event of ['notifications/tools/list_changed', 'notifications/resources/updated', 'notifications/message'])
	client.setNotificationHandler(sdk.schema(event), (n) => write({ event, params: n.params }));

const transport = target.startsWith('http')
	? new sdk.StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${process.env.TOKEN}` } } })
	: new sdk.StdioClientTransport({ command: target, args, env: process.env, stderr: 'inherit' });
await client.connect(transport);

const running = new Map();

async function call(id, params) {
	const abort = new AbortController();
	running.set(id, abort);
	const options = { signal: abort.signal, onprogress: (params) => write({ event: 'progress', call: id, params }) };
	try {
		return await (modern ? client.callTool(params, options) : client.callTool(params, undefined, options));
	} finally {
		running.delete(id);
	}
}

const operations = {
	server: () => ({ server: client.getServerVersion(), capabilities: client.getServerCapabilities() }),
	tools: () => client.listTools(),
	call,
	cancel: (_, { call }) => running.get(call)?.abort('not needed any more') ?? {},
	answer: (_, params) => { reply = params; return {}; },
	prompts: () => client.listPrompts(),
	prompt: (_, params) => client.getPrompt(params),
	resources: () => client.listResources(),
	templates: () => client.listResourceTemplates(),
	read: (_, params) => client.readResource(params),
	complete: (_, params) => client.complete(params),
	listen: (_, params) => (modern ? client.listen(params).then((s) => ({ honored: s.honoredFilter })) : {}),
	subscribe: (_, params) => client.subscribeResource(params),
};

write({ event: 'connected' });
for await (const line of createInterface({ input: process.stdin })) {
	const { id, op, params } = JSON.parse(line);
	Promise.resolve()
		.then(() => operations[op](id, params ?? {}))
		.then((result) => write({ id, result: result ?? {} }))
		.catch((error) => write({ id, error: { code: error.code, message: String(error.message ?? error) } }));
}
await client.close();
process.exit(0);
