/** A contract over all commands: whatever is wrong with what they are given, or with the server, is one line that says so. */
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../kube/index.ts";
import { startSandbox } from "../sandbox/index.ts";
import { type Run, runHere } from "../testkit/cli/command_fixture.ts";
import { commandGroups } from "./commands.ts";

/** A command line of each command that reaches a cluster. NAME stands for an object, POD for a pod. */
const lines: Readonly<Record<string, string>> = {
  "rollout status": "rollout status clone/NAME --timeout 2s",
  "rollout history": "rollout history clone/NAME",
  "rollout undo": "rollout undo clone/NAME",
  "rollout pause": "rollout pause clone/NAME",
  "rollout resume": "rollout resume clone/NAME",
  "rollout promote": "rollout promote clone/NAME",
  "rollout partition": "rollout partition clone/NAME --to 1",
  "rollout restart": "rollout restart clone/NAME",
  why: "why clone/NAME",
  plan: "plan clone/NAME",
  ui: "ui",
  get: "get clone/NAME",
  tree: "tree clone/NAME",
  scale: "scale clone/NAME --replicas 2",
  scaledown: "scaledown clone/NAME --pods POD",
  "set image": "set image clone/NAME a=nginx:1.21",
  "set env": "set env clone/NAME A=b",
  "set resources": "set resources clone/NAME --limits cpu=1",
  migrate: "migrate CloneSet --from Deployment --src-name NAME --dst-name NAME --replicas 1",
  expose: "expose clone/NAME --port 80",
  "create bcj": "create bcj x --image=nginx:1.21",
  "create broadcastJob": "create broadcastJob x --image=nginx:1.21",
  "create job": "create job x --from=acj/NAME",
  "create crr": "create crr x --pod POD",
  "create ContainerRecreateRequest": "create ContainerRecreateRequest x --pod POD",
  install: "install --webhook-host 127.0.0.1",
  uninstall: "uninstall --check",
  "migrate check": "migrate check",
  "migrate cluster": "migrate cluster --webhook-host 127.0.0.1 --webhook-port 9876",
  "support-bundle": "support-bundle --out FOLDER/NUMBER",
};

/** They need no cluster. */
const alone = new Set(["up", "controller", "manifests", "completion", "version", "__complete"]);

t.test("every command that reaches a cluster has a line here", async (t) => {
  const commands = commandGroups.flatMap((group) => group.commands);
  const wanted = commands
    .filter(({ name, raw }) => raw === undefined && !alone.has(name))
    .map(({ name }) => name);
  t.same(Object.keys(lines).sort(), wanted.sort());
});

let runs = 0;
const folder = t.testdir();

/** Ends what would go on for ever as soon as it says how it is ended. */
async function tried(command: string, flags: string): Promise<Run> {
  const line = command.replaceAll("FOLDER", folder).replaceAll("NUMBER", String(runs++));
  const ending = new AbortController();
  let stdout = "";
  const write = (text: string): void => {
    stdout += text;
    if (text.includes("Ctrl-C")) ending.abort();
  };
  return { ...(await runHere(`${line} ${flags}`, { signal: ending.signal, stdout: { write } })), stdout };
}

/** What is wrong with how a failure is told; empty when nothing is. */
function faultOf({ code, stdout, stderr }: Run, isFailure: boolean): string {
  const told = stderr.split("\n").filter((line) => line !== "");
  const errors = told.filter((line) =>
    /^(error: |Error from server|Unable to connect to the server: )/.test(line),
  );
  if (/\n\s+at \S+ ?\(|node:internal|\.ts:\d+/.test(stdout + stderr)) return `a stack: ${stderr}`;
  if (/\[object Object\]|\bundefined\b|\bNaN\b/.test(stdout + stderr)) return `no words: ${stdout}${stderr}`;
  if (isFailure && code === 0) return `ends with 0: ${stdout}`;
  if (code !== 0 && errors.length !== 1 && !isTold(stdout))
    return `${errors.length} lines of error: ${stderr}`;
  return errors.some((line) => line.length > 1_000) ? `long: ${stderr}` : "";
}

/** Reasons, tables and obstacles are told on standard output. */
const isTold = (stdout: string): boolean => /Cannot tell|In the way|not be read|may not/.test(stdout);

const status = (code: number, reason: string, message: string): string =>
  JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message,
    metadata: {},
  });

function answering(code: number, type: string, body: string): RequestListener {
  return (_, response) => response.writeHead(code, { "content-type": type }).end(body);
}

const servers: Readonly<Record<string, RequestListener | undefined>> = {
  "is down": undefined,
  "never answers": () => undefined,
  "hangs up": (request) => request.socket.destroy(),
  "breaks off": (request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"kind":');
    setImmediate(() => request.socket.destroy());
  },
  "is a web page": answering(200, "text/html", "<html><body>Sign in</body></html>"),
  "answers garbage": answering(200, "application/json", "{{{"),
  "answers nothing": answering(200, "application/json", ""),
  "answers another shape": answering(200, "application/json", '{"items":7,"resources":"x","metadata":[]}'),
  "does not know its user": answering(401, "application/json", status(401, "Unauthorized", "Unauthorized")),
  "allows nothing": answering(
    403,
    "application/json",
    status(403, "Forbidden", 'things is forbidden: User "x" cannot do it'),
  ),
  "serves nothing of this": answering(404, "text/plain", "404 page not found\n"),
  "is overloaded": answering(429, "application/json", status(429, "TooManyRequests", "slow down")),
  fails: answering(500, "text/plain", "boom\nsecond line\n"),
};

function kubeconfigOf(port: number, name: string): string {
  const path = join(folder, `${name.replaceAll(" ", "-")}.kubeconfig`);
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function listening(answer: RequestListener | undefined): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

// They wait for most of their time.
t.jobs = 5;
for (const [what, answer] of Object.entries(servers)) {
  t.test(`a server that ${what}`, { buffered: true }, async (t) => {
    const server = await listening(answer);
    const port = portOf(server);
    if (answer === undefined) server.close();
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const flags = `--kubeconfig ${kubeconfigOf(port, what)} --request-timeout 300ms`;
    await Promise.all(
      Object.entries(lines).map(async ([name, line]) => {
        t.equal(faultOf(await tried(line, flags), name !== "ui" && name !== "support-bundle"), "", name);
      }),
    );
  });
}

t.test("words that are wrong", async (t) => {
  const sandbox = await startSandbox({ seed: 27, clock: systemClock });
  t.teardown(() => sandbox.stop());
  const kubeconfig = join(folder, "sandbox.kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  const wrong: Readonly<Record<string, (line: string) => string>> = {
    "a flag that there is not": (line) => `${line} --no-such-flag`,
    "a flag without its value": (line) => `${line} --context`,
    "a context that there is not": (line) => `${line} --context nobody`,
    "a word too many": (line) => `${line} clone/a clone/b clone/c`,
    "a name that no object has": (line) => line,
    "a name that no object can have": (line) => line.replaceAll(/NAME|POD/g, "A..B/%2f"),
    "a path for a name": (line) => line.replaceAll(/NAME|POD/g, "../../x"),
    "a type that there is not": (line) => line.replace("clone/", "nothings/").replace("acj/", "nothings/"),
    "a namespace that there is not": (line) => `${line} -n no-such-namespace`,
    "a namespace that there cannot be": (line) => `${line} -n A/B`,
    "an empty namespace": (line) => `${line} --namespace=`,
  };
  for (const [what, change] of Object.entries(wrong))
    for (const [name, line] of Object.entries(lines)) {
      if (name === "ui" || name === "install") continue;
      const run = await tried(change(line), `--kubeconfig ${kubeconfig}`);
      t.equal(faultOf(run, false), "", `${name}: ${what}`);
    }
});
