import t from "tap";
import { defaultSidecarSet, revisedSidecars, sidecarSet } from "../../crds/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import type { FakeServer } from "../../testkit/kube/fake_server.ts";
import { type AnyObject, textAt, toAnyObject } from "../fields.ts";

const setAt = (image: string): AnyObject =>
  toAnyObject(
    defaultSidecarSet({
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "SidecarSet",
      metadata: { name: "proxy", uid: "uid-proxy", generation: 2, resourceVersion: "1" },
      spec: { selector: { matchLabels: { app: "web" } }, containers: [{ name: "side", image }] },
    }),
  );

function revisionIn(namespace: string, number: number, image: string): AnyObject {
  const read = sidecarSet.readStored({ ...setAt(image) });
  if (!("object" in read) || read.object.spec === undefined) throw new Error("the set cannot be read");
  const owner = { apiVersion: "apps.kruise.io/v1beta1", kind: "SidecarSet", name: "proxy", uid: "uid-proxy" };
  return toAnyObject({
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `proxy-${number}`,
      namespace,
      uid: `uid-${namespace}-${number}`,
      labels: { "kruise.io/sidecarset-name": "proxy" },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    revision: number,
    data: JSON.parse(revisedSidecars.data(read.object.spec)),
  });
}

/** The set's history in one namespace, and what names it as owner in another one. */
function withImpostors(history: string): FakeServer {
  const cluster = fakeCluster();
  cluster.put("sidecarsets.apps.kruise.io", setAt("side:2"));
  const put = (revision: AnyObject) => cluster.put("controllerrevisions.apps", revision);
  put(revisionIn(history, 1, "side:1"));
  put(revisionIn(history, 2, "side:2"));
  for (const number of [0, 1, 2, 3]) put(revisionIn("evil", number, "evil:666"));
  return cluster;
}

/** `service`: absent where the API server calls an address. */
function webhooksIn(service: object | undefined): AnyObject {
  const clientConfig = service === undefined ? { url: "https://127.0.0.1:9876/x" } : { service };
  return toAnyObject({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "kruise-mutating-webhook-configuration" },
    webhooks: [{ name: "mpod.kb.io", clientConfig }],
  });
}

const webhooks = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const service = (namespace: string) => ({ namespace, name: "kruise-webhook-service", path: "/x" });

for (const [where, namespace, configuration] of [
  ["where the webhooks are", "platform", webhooksIn(service("platform"))],
  ["in kruise-system while the webhooks have an address", "kruise-system", webhooksIn(undefined)],
  ["in kruise-system while nothing tells", "kruise-system", undefined],
] as const) {
  t.test(`history of a SidecarSet is ${where}: revisions elsewhere are nobody's`, async (t) => {
    const cluster = withImpostors(namespace);
    if (configuration !== undefined) cluster.put(webhooks, configuration);
    const { client } = cluster;
    const history = await run("rollout history sidecarset/proxy", { client });
    t.match(history, { code: 0, stdout: /^sidecarset.*\nREVISION .*\n1 .*\n2 .*\n\n$/ });
    t.notMatch((await run("rollout history sidecarset/proxy --revision 1", { client })).stdout, "evil");
    const tree = await run("tree sidecarset/proxy", { client });
    t.match(tree.stdout, `${namespace}  `);
    t.notMatch(tree.stdout, "evil");
    const plan = await run("plan sidecarset/proxy", { client });
    t.match(plan, { code: 0, stdout: "at revision proxy-2" });
    t.notMatch(plan.stdout, "delete revision");
    t.match(await run("rollout undo sidecarset/proxy", { client }), { code: 0, stdout: /rolled back/ });
    const undone = cluster.read("sidecarsets.apps.kruise.io", "proxy");
    t.equal(textAt(undone, "spec", "containers", 0, "image"), "side:1");
  });
}
