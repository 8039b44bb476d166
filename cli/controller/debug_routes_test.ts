import t, { type Test } from "tap";
import { type RouteRequest, systemClock } from "../../kube/index.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { debugRoutes } from "./debug_routes.ts";
import { Verbosity } from "./verbosity.ts";

function fixture(t: Test) {
  const verbosity = new Verbosity(0);
  const stopping = new AbortController();
  t.teardown(() => stopping.abort());
  const routes = debugRoutes({ verbosity, clock: systemClock, log: testLog(), signal: stopping.signal });
  const methodsOf = (path: string) => {
    const found = routes[path];
    if (found === undefined) throw new Error(`no route ${path}`);
    return typeof found === "function" ? { GET: found } : found;
  };
  const get = (path: string, query = "") => {
    const request: RouteRequest = { path, verbose: false, query: new URLSearchParams(query) };
    return methodsOf(path).GET(request);
  };
  const put = (path: string, body: string) => methodsOf(path).PUT?.(body);
  return { verbosity, stopping, get, put };
}

t.test("the verbosity of the log is changed while it is written", async (t) => {
  const { verbosity, get, put } = fixture(t);
  t.match(await get("/debug/flags/v"), { status: 200, body: "0\n" });
  t.equal(verbosity.level, "info");
  t.match(await put("/debug/flags/v", "5\n"), { status: 200, body: "successfully set verbosity to 5\n" });
  t.equal(verbosity.level, "debug");
  t.match(await get("/debug/flags/v"), { body: "5\n" });
  for (const wrong of ["", "-1", "101", "five", "5 5"])
    t.match(await put("/debug/flags/v", wrong), { status: 400, body: /from 0 to 100/ });
  t.equal(verbosity.value, 5);
});

t.test("profiles are those of the runtime's own tools", async (t) => {
  const { get } = fixture(t);
  const [cpu, heap] = await Promise.all([
    get("/debug/pprof/profile", "seconds=1"),
    get("/debug/pprof/heap", "seconds=1"),
  ]);
  t.match(JSON.parse(cpu.body), { nodes: Array, samples: Array, timeDeltas: Array });
  t.match(JSON.parse(heap.body), { head: { callFrame: { functionName: "(root)" } } });
  for (const wrong of ["seconds=0", "seconds=301", "seconds=x", "seconds="])
    t.match(await get("/debug/pprof/profile", wrong), { status: 400, body: /from 1 to 300/ });
});

t.test("a process that stops does not wait for a profile", async (t) => {
  const { get, stopping } = fixture(t);
  const profile = get("/debug/pprof/profile", "seconds=300");
  stopping.abort();
  t.match(await profile, { status: 503 });
});
