/** Writes for an owner reach the objects of its namespace, and those that are in none. */
import fc from "fast-check";
import t from "tap";
import { fakeServer } from "../testkit/kube/fake_server.ts";
import { confinedTo, isKubeError, nodeResource, podResource } from "./index.ts";

const namespace = fc.constantFrom("home", "evil", "home-2", "");

t.test(
  "no verb reaches into another namespace, and no request is sent for one that is refused",
  async (t) => {
    const verb = fc.constantFrom("create", "patch", "delete");
    await fc.assert(
      fc.asyncProperty(namespace, verb, fc.boolean(), async (namespace, verb, isNode) => {
        const { client, calls } = fakeServer();
        const writer = confinedTo("home", client);
        const [resource, manifest] = isNode ? [nodeResource, node] : [podResource, podIn(namespace)];
        const ref = { ...(isNode ? {} : { namespace }), name: "x" };
        const isRefused = !isNode && namespace !== "home";
        const write = () => {
          if (verb === "create") return writer.create<unknown>(resource, ref.namespace, manifest);
          if (verb === "delete") return writer.delete<unknown>(resource, ref);
          return writer.patch<unknown>(resource, ref, { type: "merge", body: {} });
        };
        const code = await write().then(
          () => undefined,
          (error: unknown) => (isKubeError(error) ? error.code : error),
        );
        t.equal(code === "OutsideNamespace", isRefused, `${verb} ${resource.plural} in "${namespace}"`);
        t.equal(calls.length, isRefused ? 0 : 1);
      }),
      { numRuns: 200, seed: 23 },
    );
  },
);

t.test("what is refused is named", async (t) => {
  const writer = confinedTo("home", fakeServer().client);
  const refused = writer.delete(podResource, { namespace: "evil", name: "a" });
  await t.rejects(refused, {
    code: "OutsideNamespace",
    message: "delete pods evil/a: an owner in namespace home changes nothing in another one",
  });
  await t.rejects(writer.create(podResource, "evil", podIn("evil")), { message: /create pods evil\/x:/ });
});

const node = { apiVersion: "v1", kind: "Node", metadata: { name: "x" } };

function podIn(namespace: string): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "x", namespace } };
}
