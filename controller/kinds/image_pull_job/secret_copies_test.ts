import t from "tap";
import type { PullSecret } from "../../native/pull_secrets.ts";
import { planRelease, planSecretCopies } from "./secret_copies.ts";

const source: PullSecret = {
  namespace: "ns",
  name: "registry",
  uid: "uid-source",
  resourceVersion: "1",
  labels: { team: "a" },
  annotations: { note: "x", "kubectl.kubernetes.io/last-applied-configuration": "{data}" },
  type: "kubernetes.io/dockerconfigjson",
  data: { ".dockerconfigjson": "e30=" },
  deleting: false,
};
const base = { job: "ns/job", jobNamespace: "ns", namespace: "kruise-daemon-config", sources: [source] };

/** The copy that a plan would make, as it is stored. */
function stored(job = "ns/job", from = source): PullSecret {
  const [write] = planSecretCopies({ ...base, job, sources: [from], copies: [] }).writes;
  if (write?.type !== "create") throw new Error("no copy is made");
  const place = { namespace: "kruise-daemon-config", uid: "uid-copy", resourceVersion: "2", deleting: false };
  return { ...place, ...write.copy };
}

t.test("makes one copy that says whence it is and for whom", async (t) => {
  const { writes, references } = planSecretCopies({ ...base, copies: [] });
  t.equal(writes.length, 1);
  const copy = stored();
  t.match(copy.name, /^registry-[0-9a-f]{6}$/);
  t.same(copy.labels, {}, "labels of others are not carried along");
  t.same(copy.annotations, {
    "imagepulljobs.kruise.io/source-key": "ns/registry",
    "imagepulljobs.kruise.io/mode": "batch",
    "imagepulljobs.kruise.io/references": "ns/job",
  });
  t.same(copy.data, source.data);
  t.same(references, [{ namespace: "kruise-daemon-config", name: copy.name, mode: "batch" }]);
});

t.test("a copy that is as it should be is left alone; a changed source is followed", async (t) => {
  t.same(planSecretCopies({ ...base, copies: [stored()] }).writes, []);
  const changed = { ...source, data: { ".dockerconfigjson": "e31=" } };
  const [write] = planSecretCopies({ ...base, sources: [changed], copies: [stored()] }).writes;
  t.match(write, { type: "update", copy: { data: changed.data } });
});

t.test("jobs share a copy, also one under another name", async (t) => {
  const copy = { ...stored("ns/other"), name: "registry-abcdef" };
  const { writes, references } = planSecretCopies({ ...base, copies: [copy] });
  t.match(writes, [{ type: "update", copy: { name: "registry-abcdef" } }]);
  const [write] = writes;
  const annotations = write?.type === "update" ? write.copy.annotations : {};
  t.equal(annotations["imagepulljobs.kruise.io/references"], "ns/job,ns/other");
  t.equal(references[0]?.name, "registry-abcdef");
});

// Their six hex digits are equal: whoever names a namespace can choose it so.
const victims = { ...source, namespace: "shop", name: "regcred" };
const evil = { ...victims, namespace: "tgksaj", data: { ".dockerconfigjson": "ZXZpbA==" } };

t.test("a copy of another namespace's secret is not taken for one's own, whatever its name", async (t) => {
  const theirs = stored("shop/job", victims);
  t.equal(stored("tgksaj/job", evil).name, theirs.name, "the names collide");
  const seen = { ...base, job: "tgksaj/job", jobNamespace: "tgksaj", sources: [evil], copies: [theirs] };
  const { writes, references } = planSecretCopies(seen);
  t.match(writes, [{ type: "create", copy: { data: evil.data, name: /^regcred-[0-9a-f]{6}$/ } }]);
  t.not(references[0]?.name, theirs.name);
  const own = { ...theirs, annotations: {}, labels: {} };
  t.not(
    planSecretCopies({ ...seen, copies: [own] }).references[0]?.name,
    own.name,
    "nor is any other secret",
  );
  const [write] = writes;
  t.ok(write?.type === "create");
  if (write?.type === "create") {
    const again = planSecretCopies({ ...seen, copies: [theirs, { ...theirs, ...write.copy }] });
    t.same(again, { writes: [], references, unsupported: [] }, "the other name is kept");
  }
});

t.test("a source of another type takes the place of the copy", async (t) => {
  const other = { ...source, type: "kubernetes.io/dockercfg" };
  const { writes } = planSecretCopies({ ...base, sources: [other], copies: [stored()] });
  t.same(
    writes.map(({ type }) => type),
    ["delete", "create"],
  );
});

t.test("missing sources are skipped, those in the agents' namespace are used as they are", async (t) => {
  t.same(planSecretCopies({ ...base, sources: [undefined], copies: [] }), {
    writes: [],
    references: [],
    unsupported: [],
  });
  const near = { ...source, namespace: "kruise-daemon-config" };
  const plan = planSecretCopies({ ...base, sources: [near], copies: [] });
  t.same(plan.writes, []);
  t.same(plan.references, [{ namespace: "kruise-daemon-config", name: "registry" }]);
});

t.test("only registry credentials are copied or referred to", async (t) => {
  for (const type of ["Opaque", "", "kubernetes.io/tls", "kubernetes.io/service-account-token"]) {
    const other = { ...source, type };
    const plan = planSecretCopies({ ...base, sources: [other, source], copies: [] });
    t.match(plan.writes, [{ type: "create", copy: { type: source.type } }], type);
    t.equal(plan.references.length, 1);
    t.same(plan.unsupported, [other]);
    const near = { ...other, namespace: "kruise-daemon-config" };
    t.same(planSecretCopies({ ...base, sources: [near], copies: [] }).references, []);
  }
});

t.test("what an earlier copy carried along goes", async (t) => {
  const carrying = {
    ...stored(),
    labels: { team: "a" },
    annotations: { ...stored().annotations, note: "x" },
  };
  t.match(planSecretCopies({ ...base, copies: [carrying] }).writes, [
    { type: "update", copy: { labels: {}, annotations: stored().annotations } },
  ]);
});

t.test("a name that would be too long is cut, and stays its own", async (t) => {
  const long = { ...source, name: "a".repeat(253) };
  t.equal(stored("ns/job", long).name.length, 253);
  t.not(stored("ns/job", { ...long, namespace: "ns2" }).name, stored("ns/job", long).name);
});

t.test("giving back deletes a copy that nobody else names", async (t) => {
  t.match(planRelease({ job: "ns/job", copies: [stored()] }), [{ type: "delete" }]);
  const [sharing] = planSecretCopies({ ...base, job: "ns/other", copies: [stored()] }).writes;
  const shared = { ...stored(), ...sharing?.copy };
  const [write] = planRelease({ job: "ns/job", copies: [shared] });
  t.match(write, {
    type: "update",
    copy: { annotations: { "imagepulljobs.kruise.io/references": "ns/other" } },
  });
  t.same(planRelease({ job: "ns/third", copies: [shared] }), []);
});
