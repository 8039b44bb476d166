/** A namespace on its way out, kept by somebody's finalizer, is not written to again and again. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { controllerOptions, startControllers } from "../../controller/index.ts";
import { createClient, systemClock, undiciTransport } from "../../kube/index.ts";
import { withFaults } from "../../testkit/kube/fake_faults.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { startTestSandbox } from "../cases/sandbox_target.ts";
import { inTime, reached } from "./lab.ts";
import { clone } from "./scenarios.ts";
import { numbered } from "./stateful_scenarios.ts";

const namespace = "leaving";
const agent = "terminating/1";
const pods = 3;

t.test("at most one try an object, one line in the log, and work again once it is another", async (t) => {
  const sandbox = await startTestSandbox({ serves: ["CloneSet", "StatefulSet"] });
  const { api, credentials, faults } = sandbox;
  const place = { api, namespace };
  /** Before the server answers. */
  const asked: string[] = [];
  const made = createClient({
    credentials,
    clock: systemClock,
    random: Math.random,
    userAgent: agent,
    transport: undiciTransport({ clock: systemClock }),
  });
  const client = withFaults(made, { create: (plural) => ({ before: () => void asked.push(plural) }) });
  const log = testLog();
  const loud = () => log.lines.filter(({ level }) => level === "warn" || level === "error");
  const controllers = startControllers({
    client,
    clock: systemClock,
    random: Math.random,
    log,
    options: controllerOptions({ namespace }),
  });
  t.teardown(async () => {
    await controllers.stop(0);
    await client.close();
    await sandbox.stop();
  });
  await inTime(controllers.synced, "caches were not filled");
  const begin = async () => {
    await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await api.create(clone({ replicas: pods }), namespace);
    await api.create(numbered({ replicas: pods }), namespace);
  };
  const running = async (kind: string) => {
    const { status } = await api.get(`${kind}.v1beta1.apps.kruise.io`, "it", namespace);
    assert.equal(status?.readyReplicas, pods, kind);
  };
  const allRun = async () => void (await Promise.all(["clonesets", "statefulsets"].map(running)));
  await begin();
  await reached(place, allRun, "its beginning");

  // Owners look alive for as long as their deletion is not seen, while their pods go.
  for (const kind of ["clonesets", "statefulsets"])
    faults.add({
      verb: "watch",
      resource: `${kind}.apps.kruise.io`,
      userAgent: agent,
      effect: { type: "withhold" },
    });
  const hold = { finalizers: ["example.com/hold"] };
  await api.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "held", ...hold } }, namespace);
  asked.length = 0;
  log.lines.length = 0;
  await api.remove("namespaces", namespace);
  const reported = () => log.lines.filter(({ message }) => message.includes("is being deleted"));
  await reached(place, async () => assert.equal(reported().length, 1), "its refusal");
  await reached(place, async () => assert.deepEqual(await api.list("pods", namespace), []), "its emptiness");
  await sleep(1_000);
  const tries = asked.length;
  t.ok(tries <= 2 * pods + 2, `tried: ${asked.join(", ")}`);
  await sleep(1_500);
  t.equal(asked.length, tries, `tried: ${asked.join(", ")}`);
  t.same(loud(), []);
  t.equal(reported().length, 1);

  faults.clear();
  await api.patch("configmaps", "held", namespace, "merge", { metadata: { finalizers: null } });
  const gone = async () => {
    const left = (await api.list("namespaces")).map(({ metadata }) => metadata.name);
    assert.ok(!left.includes(namespace));
  };
  await reached(place, gone, "its end");
  await begin();
  await reached(place, allRun, "its second beginning");
});
