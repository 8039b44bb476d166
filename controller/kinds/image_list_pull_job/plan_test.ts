import t from "tap";
import type { ImageListPullJob, ImagePullJob } from "../../../crds/index.ts";
import { fnv32a, goJson, safeEncode } from "../../../kube/core/index.ts";
import { HASH_LABEL, planImageListPullJob, templateHash } from "./plan.ts";

/** 2026-01-01T00:00:00Z */
const now = 1_767_225_600_000;
const time = "2026-01-01T00:00:00Z";

function list(
  spec: Partial<ImageListPullJob["spec"]> = {},
  status?: ImageListPullJob["status"],
): ImageListPullJob {
  const job = {
    metadata: { name: "list", namespace: "ns", uid: "uid-list" },
    spec: { images: ["nginx:1", "busybox:1"], completionPolicy: { type: "Always" }, ...spec },
    ...(status === undefined ? {} : { status }),
  };
  return { ...job, metadata: { ...job.metadata, labels: { [HASH_LABEL]: templateHash(job) } } };
}

function child(
  job: ImageListPullJob,
  image: string,
  status?: ImagePullJob["status"],
  name = image,
): ImagePullJob {
  const { images: _, ...template } = job.spec;
  const metadata = { name, namespace: "ns", uid: `uid-${name}`, labels: { [HASH_LABEL]: templateHash(job) } };
  return { metadata, spec: { ...template, image }, ...(status === undefined ? {} : { status }) };
}

const done = { startTime: time, desired: 3, succeeded: 3, failed: 0, active: 0 };

t.test("makes a job an image from everything but the images", async (t) => {
  const job = list({ parallelism: 4 });
  const { create, label, status } = planImageListPullJob({ job, children: [] }, now);
  t.same(
    create,
    ["nginx:1", "busybox:1"].map((image) => ({
      completionPolicy: { type: "Always" },
      parallelism: 4,
      image,
    })),
  );
  t.equal(label, undefined);
  t.same(status, { startTime: time, desired: 2, active: 0, completed: 0, succeeded: 0 });
  const unlabelled = { ...job, metadata: { ...job.metadata, labels: {} } };
  t.equal(planImageListPullJob({ job: unlabelled, children: [] }, now).label, templateHash(job));
});

t.test("what a typed client writes back makes no job anew", async (t) => {
  const selector = { matchLabels: { disk: "ssd" } };
  const plain = list({ selector, pullPolicy: { timeoutSeconds: 60 } });
  const withZeros = list({
    selector: { ...selector, matchExpressions: [], names: [] },
    pullPolicy: { timeoutSeconds: 60 },
    pullSecrets: [],
    imagePullPolicy: "",
  });
  t.equal(templateHash(withZeros), templateHash(plain));
  const { create, delete: surplus } = planImageListPullJob(
    { job: withZeros, children: ["nginx:1", "busybox:1"].map((image) => child(plain, image)) },
    now,
  );
  t.same([create, surplus], [[], []]);
  t.not(templateHash(list({ selector, pullPolicy: { timeoutSeconds: 61 } })), templateHash(plain));
  const { images: _, ...template } = plain.spec;
  const bytes = goJson(template, { sortKeys: true });
  t.equal(
    templateHash(plain),
    safeEncode(String(fnv32a(bytes))),
    "the hash of its bytes where it has no zeros",
  );
});

t.test("adds and removes with the images; another template makes all anew", async (t) => {
  const job = list({ images: ["nginx:1", "redis:1"] });
  const children = [child(job, "nginx:1"), child(job, "busybox:1")];
  const plan = planImageListPullJob({ job, children }, now);
  t.same(
    plan.create.map(({ image }) => image),
    ["redis:1"],
  );
  t.same(
    plan.delete.map(({ metadata }) => metadata.name),
    ["busybox:1"],
  );
  const changed = list({ images: ["nginx:1"], parallelism: 2 });
  const anew = planImageListPullJob({ job: changed, children }, now);
  t.equal(anew.create.length, 1);
  t.equal(anew.delete.length, 2);
});

t.test("a job that was made twice is made once", async (t) => {
  const job = list({ images: ["nginx:1"] });
  const children = [child(job, "nginx:1", undefined, "b"), child(job, "nginx:1", undefined, "a")];
  const plan = planImageListPullJob({ job, children }, now);
  t.same(plan.create, []);
  t.same(
    plan.delete.map(({ metadata }) => metadata.name),
    ["b"],
  );
});

t.test("counts its jobs, and names the images that failed in their order", async (t) => {
  const job = list();
  const failed = { ...done, succeeded: 2, failed: 1 };
  const children = [child(job, "busybox:1", failed, "c1"), child(job, "nginx:1", failed, "c2")];
  const { status } = planImageListPullJob({ job, children }, now);
  t.match(status, { desired: 2, completed: 2, succeeded: 0, completionTime: time });
  const words = (name: string) =>
    `Please check for details which nodes failed by 'kubectl get ImagePullJob ${name}'.`;
  t.same(status?.failedImageStatuses, [
    { imagePullJob: "c2", name: "nginx:1", message: words("c2") },
    { imagePullJob: "c1", name: "busybox:1", message: words("c1") },
  ]);
});

t.test("a job that has not begun counts for nothing; Never does not complete", async (t) => {
  const job = list();
  const children = [child(job, "nginx:1", done), child(job, "busybox:1", { desired: 0 })];
  t.match(planImageListPullJob({ job, children }, now).status, { completed: 1, succeeded: 1 });
  const never = list({ completionPolicy: { type: "Never" } });
  const both = ["nginx:1", "busybox:1"].map((image) => child(never, image, { ...done, active: 1 }));
  const { status } = planImageListPullJob({ job: never, children: both }, now);
  t.match(status, { active: 2, completed: 2 });
  t.equal(status?.completionTime, undefined);
});

// Spec images L2; of jobs that wait see image_pull_job/plan.ts.
t.test("a list waits with its jobs for nodes that have no NodeImage yet", async (t) => {
  const job = list({ images: ["nginx:1"] });
  const waiting = { startTime: time, desired: 0, active: 0, succeeded: 0, failed: 0 };
  const statusWith = (status: ImagePullJob["status"]) =>
    planImageListPullJob({ job, children: [child(job, "nginx:1", status)] }, now).status;
  t.same(statusWith(waiting), { startTime: time, desired: 1, active: 0, completed: 0, succeeded: 0 });
  t.match(statusWith({ ...waiting, completionTime: time }), { completed: 1, completionTime: time });
});

t.test("a list is not finished before the jobs of images that it no longer has are gone", async (t) => {
  const job = list({ images: ["nginx:1"] });
  const [wanted, other] = [child(job, "nginx:1", done), child(job, "busybox:1", done)];
  const held = planImageListPullJob({ job, children: [wanted, other] }, now);
  t.same([held.delete, held.status?.completed, held.status?.completionTime], [[other], 1, undefined]);
  const going = { ...other, metadata: { ...other.metadata, deletionTimestamp: time } };
  t.equal(planImageListPullJob({ job, children: [wanted, going] }, now).status?.completionTime, time);
});

t.test("a finished list syncs nothing and goes after its time to live", async (t) => {
  const finished = { desired: 2, completionTime: time };
  const job = list({ completionPolicy: { type: "Always", ttlSecondsAfterFinished: 20 } }, finished);
  const plan = planImageListPullJob({ job, children: [] }, now + 5000);
  t.match(plan, { create: [], remove: false, requeueAfterMs: 15_000 });
  t.equal(planImageListPullJob({ job, children: [] }, now + 20_000).remove, true);
  t.equal(planImageListPullJob({ job: list({}, finished), children: [] }, now + 1e9).remove, false);
});

t.test("a list that is being deleted makes nothing", async (t) => {
  const job = list();
  const going = { ...job, metadata: { ...job.metadata, deletionTimestamp: time } };
  t.match(planImageListPullJob({ job: going, children: [] }, now), { create: [], status: undefined });
});
