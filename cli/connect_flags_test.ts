import t from "tap";
import type { Transport } from "../kube/index.ts";
import { fixedCredentials } from "../kube/index.ts";
import { parseArguments } from "./arguments.ts";
import { connectFlags } from "./connect_flags.ts";
import { globalFlags } from "./global_flags.ts";
import { overriddenCredentials } from "./overridden_credentials.ts";
import { tracedTransport } from "./traced_transport.ts";

const stderr = { write: () => true };
const requested = (...argv: string[]) =>
  connectFlags(parseArguments(argv, globalFlags, "refit").flags, stderr);

t.test("flags of the connection take the place of what the kubeconfig says", async (t) => {
  const kubeconfig = fixedCredentials("https://server", {
    headers: { authorization: "Bearer secret", "impersonate-user": "other" },
    tls: { ca: "authority" },
  });
  const accessOf = (...argv: string[]) => overriddenCredentials(kubeconfig, requested(...argv)).access();
  t.equal(await accessOf(), await kubeconfig.access(), "without flags it is as it was");
  t.match(await accessOf("--as", "jane", "--as-group=a,b", "--as-group", "c"), {
    headers: {
      authorization: "Bearer secret",
      "impersonate-user": "jane",
      "impersonate-group": ["a,b", "c"],
    },
    tls: { insecure: undefined },
  });
  t.match(await accessOf("--insecure-skip-tls-verify"), {
    headers: { "impersonate-user": "other" },
    tls: { ca: "authority", insecure: true },
  });
});

t.test("values that mean nothing are refused", (t) => {
  t.throws(() => requested("--as-group", "a"), /name that user with --as NAME/);
  t.throws(() => requested("--as="), /name that user with --as NAME/);
  t.throws(() => requested("-v", "loud"), /invalid value "loud" for --verbose/);
  t.equal(requested("-v", "0").trace, undefined);
  t.type(requested("-v", "1").trace, "function");
  t.end();
});

t.test("a trace tells method, path, status and time, and nothing that could be secret", async (t) => {
  let now = 0;
  const clock = { monotonic: () => now };
  const broken = new Error("reset");
  const transport: Transport = {
    send: async (_access, { path }) => {
      now += 12;
      if (path === "/broken") throw broken;
      return { status: 404, headers: {}, body: new Uint8Array() };
    },
    open: async () => ({ status: 200, headers: {}, chunks: (async function* () {})() }),
    close: async () => undefined,
  };
  const lines: string[] = [];
  const traced = tracedTransport(transport, clock, (line) => lines.push(line));
  const access = await fixedCredentials("http://server", { headers: { authorization: "token" } }).access();
  const request = (path: string) => ({
    method: "GET",
    path,
    headers: { authorization: "token" },
    body: "secret",
    timeoutMs: 1000,
    maxBytes: 10,
  });
  await traced.send(access, request("/api?limit=1"));
  await traced.open(access, request("/watch"));
  await t.rejects(traced.send(access, request("/broken")), broken);
  t.same(lines, ["GET /api?limit=1 404 12 ms", "GET /watch 200 0 ms", "GET /broken no answer 12 ms"]);
});
