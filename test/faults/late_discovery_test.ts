import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { controllerOptions, startControllers } from "../../controller/index.ts";
import { type Client, createClient, nullLog, systemClock, undiciTransport } from "../../kube/index.ts";
import { startTestSandbox } from "../cases/sandbox_target.ts";
import type { Item } from "../cluster/api.ts";
import { reached } from "./lab.ts";

const namespace = "late";

/** From here on answers about what the server serves come late, long after pods could be listed. */
function slowDiscovery(client: Client): Client {
  const request = client.request.bind(client);
  client.request = async (...call) => {
    const [, path] = call;
    if (path.startsWith("/apis/")) await sleep(1_000);
    return request(...call);
  };
  return client;
}

function held(name: string, key: string) {
  const configMapKeyRef = { name: "levels-barrier", key };
  return {
    name,
    image: "app:v1",
    env: [{ name: "KRUISE_CONTAINER_BARRIER", valueFrom: { configMapKeyRef } }],
  };
}

t.test("pods that were there before are looked at, however late the kinds are known", async (t) => {
  const sandbox = await startTestSandbox();
  const { api } = sandbox;
  t.teardown(() => sandbox.stop());
  await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const spec = { containers: [held("first", "p_0"), held("second", "p_-1")] };
  const { metadata } = await api.create(
    { apiVersion: "v1", kind: "Pod", metadata: { name: "levels" }, spec },
    namespace,
  );
  // As a controller left it that ended between two levels.
  const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name: "levels", uid: metadata.uid }];
  const barrier = { name: "levels-barrier", ownerReferences };
  await api.create(
    { apiVersion: "v1", kind: "ConfigMap", metadata: barrier, data: { p_0: "true" } },
    namespace,
  );
  const pod = () => api.get("pods", "levels", namespace);
  const readyContainers = ({ status }: Item) =>
    (status?.containerStatuses ?? []).filter(({ ready }) => ready).map(({ name }) => name);
  const place = { api, namespace };
  const untilReady = (...names: string[]) =>
    reached(place, async () => assert.deepEqual(readyContainers(await pod()), names), names.join(" and "));
  await untilReady("first");

  const { credentials } = sandbox;
  const client = createClient({
    credentials,
    clock: systemClock,
    random: Math.random,
    userAgent: "late/1",
    transport: undiciTransport({ clock: systemClock }),
  });
  const controllers = startControllers({
    client: slowDiscovery(client),
    clock: systemClock,
    random: Math.random,
    log: nullLog,
    options: controllerOptions({ namespace }),
  });
  t.teardown(async () => {
    await controllers.stop(0);
    await client.close();
  });
  await untilReady("first", "second");
  t.equal((await pod()).metadata.annotations?.["apps.kruise.io/container-launch-priority-completed"], "true");
});
