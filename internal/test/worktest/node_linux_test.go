package worktest_test

import (
	"os/exec"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const nodeScript = `
const assert = require("node:assert");
const {Worker, isMainThread, parentPort} = require("node:worker_threads");
const child = require("node:child_process"), fs = require("node:fs"), http = require("node:http"), os = require("node:os"), path = require("node:path");
if (!isMainThread) {
	parentPort.postMessage("worker");
} else if (process.argv[2] === "child") {
	process.send("child");
} else {
	(async () => {
		assert.equal(require("greeting").word, "hello");
		assert.equal((await import("modern")).word, "modern");
		assert.equal(await new Promise((ok, no) => new Worker(__filename).on("message", ok).on("error", no)), "worker");
		assert.equal(await new Promise((ok, no) => child.fork(__filename, ["child"]).on("message", ok).on("error", no)), "child");
		assert.equal(child.execFileSync(process.execPath, ["-p", "1+1"]).toString(), "2\n");
		fs.rmSync(fs.mkdtempSync(path.join(os.tmpdir(), "a-")), {recursive: true});
		fs.writeFileSync("made", await fs.promises.readFile(__filename));
		assert(os.cpus().length > 0);
		if (process.argv[2] === "loopback") {
			const server = http.createServer((req, res) => res.end("served"));
			await new Promise((ok, no) => server.on("error", no).listen(0, "127.0.0.1", ok));
			const res = await fetch("http://127.0.0.1:" + server.address().port);
			assert.equal(await res.text(), "served");
			server.close();
			server.closeAllConnections();
		}
		console.log("well");
	})().catch(e => { console.error(e); process.exit(1); });
}
`

func TestNode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not here")
	}
	inBoxes(t, &tool.Needs{Write: []string{tool.Workspace}, Exec: []string{"node"}}, func(t *testing.T, p *place) {
		p.file(t, "node_modules/greeting/package.json", `{"name":"greeting","main":"lib.js"}`)
		p.file(t, "node_modules/greeting/lib.js", `exports.word = "hello"`)
		p.file(t, "node_modules/modern/package.json", `{"name":"modern","type":"module","exports":"./lib.js"}`)
		p.file(t, "node_modules/modern/lib.js", `export const word = "modern"`)
		p.file(t, "script.js", nodeScript)
		line := []string{"node", "script.js"}
		if p.namespaces {
			line = append(line, "loopback")
		}
		assert.Equalf(t, p.run(t, line...), "well\n", "it prints")
		p.refused(t, "true")
	})
}
