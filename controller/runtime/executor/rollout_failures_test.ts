/** What becomes of every sort of action, whatever the server answers to each of its requests: failure.ts as a table. */
import t from "tap";
import { type Cache, type Client, KubeError, type KubeErrorCode, type Pod } from "../../../kube/index.ts";
import { performerOn, shownAs } from "../../../testkit/controller/performer_scene.ts";
import { plainClaim, plainRevision } from "../../../testkit/controller/projection_builder.ts";
import { createPullJob, deletePullJob } from "../../rollout/images/pre_download.ts";
import { acceptedPod, ownerReference } from "../../rollout/pods/pod_manifest.ts";
import { createRevision, deleteRevision, patchRevision } from "../../rollout/revisions/revision_actions.ts";
import type { Action } from "../../rollout/writes/actions.ts";
import { createClaim, deleteClaim, patchClaim } from "../../rollout/writes/claim_actions.ts";
import { createPod, deletePod, writePod } from "../../rollout/writes/pod_actions.ts";
import type { PodWrite } from "../../rollout/writes/pod_patch.ts";
import { deleteWorkload, patchWorkload } from "../../rollout/writes/workload_actions.ts";

/** What the server may answer instead of doing it, by verb: nothing that it never says to such a request. */
const any: Readonly<Record<string, () => KubeError>> = {
  Conflict: () => refusal("Conflict"),
  NotFound: () => refusal("NotFound"),
  Forbidden: () => refusal("Forbidden"),
  "lost answer": () => new KubeError("Network", "no", { ambiguous: true }),
  Aborted: () => refusal("Aborted"),
};
const answersTo: Readonly<Record<string, typeof any>> = {
  create: {
    ...any,
    AlreadyExists: () => refusal("AlreadyExists"),
    "going already": () => new KubeError("AlreadyExists", "being deleted: no"),
    "no namespace": () => new KubeError("NotFound", "no", { about: { kind: "namespaces", name: "d" } }),
    NamespaceTerminating: () => refusal("NamespaceTerminating"),
  },
};

const refusal = (code: KubeErrorCode) => new KubeError(code, "no");

const metadata = {
  name: "app-1",
  namespace: "d",
  ownerReferences: [ownerReference("CloneSet", "app", "set-1")],
};
const spec = { containers: [{ name: "main", image: "a" }] };
const pod: Pod = { ...acceptedPod(metadata, spec, 0), uid: "1", resourceVersion: "1" };
const claim = plainClaim("d", "data-1", { uid: "2", resourceVersion: "1" });
const revision = plainRevision("d", "app-a", { uid: "3", resourceVersion: "1" });

/** What a server holds of the name that somebody else made. */
const stored: Readonly<Record<string, object>> = {
  pods: { metadata: { ...metadata, uid: "1", resourceVersion: "2" }, spec },
  persistentvolumeclaims: {
    metadata: { name: "data-1", namespace: "d", uid: "2", resourceVersion: "2" },
    spec: {},
  },
  controllerrevisions: {
    metadata: { name: "app-a", namespace: "d", uid: "3", resourceVersion: "2" },
    revision: 1,
  },
  clonesets: { metadata: { name: "app", namespace: "d", uid: "set-1", resourceVersion: "2" } },
  imagepulljobs: { metadata: { name: "pull", namespace: "d", uid: "4", resourceVersion: "2" }, spec: {} },
};

interface Answers {
  /** The request that is refused, from 0 on, and how. */
  readonly nth?: number;
  readonly refused?: string;
  /** What a read finds, if it is not what the workload controls. */
  readonly found?: object;
  /** Of budgets. */
  readonly allows?: "yes" | "no" | "Forbidden";
}

/** Carries out one action on a server that answers so: what it asks, and all that can be seen of it in its order. */
async function outcomeOf(action: Action, { nth, refused = "", found, allows = "yes" }: Answers) {
  const requests: string[] = [];
  const answer = (
    what: string,
    { priority, flow = "", subresource = "" }: Options,
    body: unknown = "",
  ): void => {
    const isRefused = requests.length === nth;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    requests.push(
      [what, subresource, priority, flow === "set-1" ? "" : flow, text].filter(Boolean).join(" "),
    );
    const error = isRefused ? refusalsOf(what)[refused]?.() : undefined;
    if (error !== undefined) throw error;
  };
  const served: Partial<Client> = {
    async get(resource, { name }, options = {}) {
      answer(`get ${resource.plural} ${name}`, options);
      return shownAs(resource, { ...stored[resource.plural], ...found });
    },
    async create(resource, _, body, options = {}) {
      answer(`create ${resource.plural}`, options, body);
      return shownAs(resource, stored[resource.plural] ?? {});
    },
    async patch(resource, { name }, { type, body }, options = {}) {
      answer(`${type} patch ${resource.plural} ${name}`, options, body);
      return shownAs(resource, stored[resource.plural] ?? {});
    },
    async delete(resource, { name }, options = {}) {
      const { uid, resourceVersion, propagationPolicy } = options;
      answer(`delete ${resource.plural} ${name}`, options, { uid, resourceVersion, propagationPolicy });
      return undefined;
    },
  };
  const mayDisrupt = async () => {
    happened.push("budgets are asked");
    if (allows === "Forbidden") throw refusal("Forbidden");
    return allows === "yes";
  };
  const { once, failures, pending, caches, objects, happened, log } = performerOn(served, { mayDisrupt });
  caches.pods.upsert(pod);
  caches.claims.upsert(claim);
  caches.revisions.upsert(revision);
  await once({ type: "event", event: { type: "Normal", reason: "First", message: "" } });
  const before = { scale: "before", update: "before" };
  Object.assign(failures(), before);
  happened.length = 0;
  follow(caches.pods, "pod", ({ resourceVersion }) => resourceVersion);
  follow(caches.claims, "claim", ({ resourceVersion }) => resourceVersion);
  follow(caches.revisions, "revision", ({ resourceVersion }) => resourceVersion);
  follow(objects, "workload", ({ metadata }) => metadata.resourceVersion);
  /** Answers are held before plans see the pods again as they are. */
  function follow<T>(cache: Cache<T>, name: string, versionOf: (object: T) => string | undefined): void {
    cache.subscribe(({ type, object }) => {
      const held = type === "removed" ? `no ${name}` : `${name} ${versionOf(object)}`;
      happened.push(`holds ${held}${pending().size > 0 ? " while pending" : ""}`);
    });
  }
  await once(action);
  const { scale, update } = failures();
  const told = [
    ...happened,
    ...(scale === before.scale ? [] : [`scale: ${scale ?? "well"}`]),
    ...(update === before.update ? [] : [`update: ${update ?? "well"}`]),
    ...log.lines.map(({ level, message, fields }) => `${level} ${message} ${Object.keys(fields).join()}`),
  ];
  return { requests, told };
}
type Options = NonNullable<Parameters<Client["patch"]>[3]>;

function refusalsOf(request: string): typeof any {
  return answersTo[request.split(" ", 1)[0] ?? ""] ?? any;
}

/** Without the body. */
function briefly(request: string): string {
  return `> ${request.split(" {", 1)[0]}`;
}

/** All outcomes as text: what is asked when all goes well, and for every request what its refusals lead to. */
async function tableOf(action: Action, more: Readonly<Record<string, Answers>> = {}): Promise<string> {
  const well = await outcomeOf(action, {});
  const lines = [...well.requests, `  ok: ${well.told.join("; ")}`];
  for (const [nth, asked] of well.requests.entries()) {
    const grouped = new Map<string, string[]>();
    for (const refused of Object.keys(refusalsOf(asked))) {
      const { requests, told } = await outcomeOf(action, { nth, refused });
      const text = [...requests.slice(nth + 1).map(briefly), ...told].join("; ");
      grouped.set(text, [...(grouped.get(text) ?? []), refused]);
    }
    for (const [text, codes] of grouped) lines.push(`  ${nth + 1} ${codes.join(", ")}: ${text}`);
  }
  for (const [name, answers] of Object.entries(more)) {
    const { requests, told } = await outcomeOf(action, answers);
    lines.push(`  ${name}: ${[...requests.map(briefly), ...told].join("; ")}`);
  }
  return lines.join("\n");
}

const words = {
  succeeded: { reason: "Succeeded", message: "well done" },
  failed: { reason: "Refused", message: "words", condition: "condition" },
} as const;
const newClaim = (name: string) => ({
  name,
  body: { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name, namespace: "d" }, spec: {} },
});
const newRevision = createRevision({ name: "app-a", number: 1, data: '{"a" : 1}' }, { namespace: "d" });
const step = (name: string) => ({ body: { metadata: { uid: "1", labels: { [name]: "1" } } } });
const inPlace: PodWrite = {
  steps: [{ ...step("off"), subresource: "status" }, step("spec")],
  after: pod,
  begins: true,
};
const refresh: PodWrite = { steps: [{ ...step("on"), subresource: "status" }], after: pod };
const unowned = { name: "app-1", namespace: "d", uid: "7" };
const job = {
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "ImagePullJob",
  metadata: { name: "pull", namespace: "d" },
  spec: {},
};

const cases: Readonly<Record<string, readonly [Action, Readonly<Record<string, Answers>>?]>> = {
  "a pod": [createPod(metadata, spec, 0)],
  "a pod with claims and words": [
    createPod(metadata, spec, 0, {
      ...words,
      claims: [newClaim("data-1"), { ...newClaim("data-2"), ...words }],
    }),
    { "a pod of others": { nth: 2, refused: "lost answer", found: { metadata: unowned } } },
  ],
  "an update in place": [writePod(pod, inPlace, "update")],
  "an update in place with words": [writePod(pod, inPlace, "update", { ...words, about: pod })],
  "a refresh": [writePod(pod, refresh, "refresh")],
  "an adoption": [
    writePod(pod, refresh, "scale", { adopts: true }),
    { "another owner": { found: { metadata: { name: "app", namespace: "d", uid: "other" } } } },
  ],
  "a disruption": [
    writePod(pod, refresh, "update", { ...words, disrupts: true }),
    { "no budget": { allows: "no" }, "nobody answers": { allows: "Forbidden" } },
  ],
  "the end of a pod": [deletePod(pod, { claims: [claim] })],
  "the end of a pod with words": [deletePod(pod, words)],
  "a claim": [createClaim("d", { ...newClaim("data-1"), ...words })],
  "a changed claim": [patchClaim(claim, { spec: { a: 1 } })],
  "a changed claim with words": [patchClaim(claim, {}, words)],
  "the end of a claim": [deleteClaim(claim)],
  "a revision": [newRevision],
  "a changed revision": [patchRevision(revision, { revision: 2 })],
  "the end of a revision": [deleteRevision(revision)],
  "a changed workload": [patchWorkload("app", { metadata: { resourceVersion: "1" }, spec: { a: null } })],
  "the end of a workload": [deleteWorkload("app")],
  "a pull job": [createPullJob("d", "pull", job)],
  "a pull job with words": [createPullJob("d", "pull", job, words)],
  "the end of a pull job": [deletePullJob("d", { name: "pull", uid: "4" })],
};

/**
 * For each case: its requests when all goes well, with their priority and, where it is not the workload's, their flow; what is
 * seen then; and the same for every refusal of the first, second, … request. `>` is a request that follows all the same.
 */
const table = `
a pod
create pods high set-1 creations {"apiVersion":"v1","kind":"Pod","metadata":{"name":"app-1","namespace":"d","ownerReferences":[{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","name":"app","uid":"set-1","controller":true,"blockOwnerDeletion":true}]},"spec":{"containers":[{"name":"main","image":"a"}]}}
  ok: holds pod 2 while pending; again after 0 ms; scale: well
  1 Conflict, NotFound, Forbidden, AlreadyExists, no namespace, NamespaceTerminating: Warning FailedCreate failed to create pod: no, pod: {"namespace":"d","name":"app-1"}; again after 1 ms; scale: failed to create pod: no
  1 lost answer: > get pods app-1 high set-1 creations; holds pod 2 while pending; again after 0 ms; scale: well
  1 Aborted: again after 1 ms
  1 going already: Warning FailedCreate failed to create pod: being deleted: no, pod: {"namespace":"d","name":"app-1"}; again after 1 ms; scale: failed to create pod: being deleted: no

a pod with claims and words
create persistentvolumeclaims high set-1 creations {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-1","namespace":"d"},"spec":{}}
create persistentvolumeclaims high set-1 creations {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-2","namespace":"d"},"spec":{}}
create pods high set-1 creations {"apiVersion":"v1","kind":"Pod","metadata":{"name":"app-1","namespace":"d","ownerReferences":[{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","name":"app","uid":"set-1","controller":true,"blockOwnerDeletion":true}]},"spec":{"containers":[{"name":"main","image":"a"}]}}
  ok: holds claim 2 while pending; Normal Succeeded well done; holds pod 2 while pending; Normal Succeeded well done; again after 0 ms; scale: well
  1 Conflict, NotFound, Forbidden, lost answer, no namespace, NamespaceTerminating: Warning FailedCreate failed to create pvc: no, pvc: {"namespace":"d","name":"data-1"}; again after 1 ms; scale: failed to create pvc: no, pvc: {"namespace":"d","name":"data-1"}
  1 Aborted: again after 1 ms
  1 AlreadyExists: > create persistentvolumeclaims high set-1 creations; > create pods high set-1 creations; holds claim 2 while pending; Normal Succeeded well done; holds pod 2 while pending; Normal Succeeded well done; again after 0 ms; scale: well
  1 going already: Warning FailedCreate failed to create pvc: being deleted: no, pvc: {"namespace":"d","name":"data-1"}; again after 1 ms; scale: failed to create pvc: being deleted: no, pvc: {"namespace":"d","name":"data-1"}
  2 Conflict, NotFound, Forbidden, lost answer, no namespace, NamespaceTerminating: holds claim 2 while pending; Warning Refused words: no; again after 1 ms; scale: failed to create pvc: no, pvc: {"namespace":"d","name":"data-2"}
  2 Aborted: holds claim 2 while pending; again after 1 ms
  2 AlreadyExists: > create pods high set-1 creations; holds claim 2 while pending; holds pod 2 while pending; Normal Succeeded well done; again after 0 ms; scale: well
  2 going already: holds claim 2 while pending; Warning Refused words: being deleted: no; again after 1 ms; scale: failed to create pvc: being deleted: no, pvc: {"namespace":"d","name":"data-2"}
  3 Conflict, NotFound, Forbidden, AlreadyExists, no namespace, NamespaceTerminating: holds claim 2 while pending; Normal Succeeded well done; Warning Refused words: no; again after 1 ms; scale: condition: no
  3 lost answer: > get pods app-1 high set-1 creations; holds claim 2 while pending; Normal Succeeded well done; holds pod 2 while pending; Normal Succeeded well done; again after 0 ms; scale: well
  3 Aborted: holds claim 2 while pending; Normal Succeeded well done; again after 1 ms
  3 going already: holds claim 2 while pending; Normal Succeeded well done; Warning Refused words: being deleted: no; again after 1 ms; scale: condition: being deleted: no
  a pod of others: > create persistentvolumeclaims high set-1 creations; > create persistentvolumeclaims high set-1 creations; > create pods high set-1 creations; > get pods app-1 high set-1 creations; holds claim 2 while pending; Normal Succeeded well done; Warning Refused words: no; again after 1 ms; scale: condition: no

an update in place
strategic patch pods app-1 status high {"metadata":{"uid":"1","labels":{"off":"1"}}}
strategic patch pods app-1 urgent {"metadata":{"uid":"1","labels":{"spec":"1"}}}
  ok: holds pod 2 while pending; again after 0 ms; update: well
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: Warning FailedUpdate failed to patch pod app-1: no; again after 1 ms; update: failed to patch pod app-1: no; warn a pod could not be patched error,object,pod
  2 Conflict, NotFound, Aborted: holds pod 2 while pending; again after 1 ms
  2 Forbidden, lost answer: holds pod 2 while pending; Warning FailedUpdate failed to patch pod app-1: no; again after 1 ms; update: failed to patch pod app-1: no; warn a pod could not be patched error,object,pod

an update in place with words
strategic patch pods app-1 status high {"metadata":{"uid":"1","labels":{"off":"1"}}}
strategic patch pods app-1 urgent {"metadata":{"uid":"1","labels":{"spec":"1"}}}
  ok: holds pod 2 while pending; Normal Succeeded well done; again after 0 ms; update: well
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: Warning Refused words: no; again after 1 ms; update: condition: no; warn a pod could not be patched error,object,pod
  2 Conflict, NotFound, Aborted: holds pod 2 while pending; again after 1 ms
  2 Forbidden, lost answer: holds pod 2 while pending; Warning Refused words: no; again after 1 ms; update: condition: no; warn a pod could not be patched error,object,pod

a refresh
strategic patch pods app-1 status prompt {"metadata":{"uid":"1","labels":{"on":"1"}}}
  ok: holds pod 2 while pending; again after 0 ms
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: Warning FailedUpdate failed to patch pod app-1: no; again after 1 ms; warn a pod could not be patched error,object,pod

an adoption
get clonesets app high
strategic patch pods app-1 status prompt {"metadata":{"uid":"1","labels":{"on":"1"}}}
  ok: holds pod 2 while pending; again after 0 ms; scale: well
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: Warning FailedUpdate failed to patch pod app-1: no; again after 1 ms; scale: failed to patch pod app-1: no; warn a pod could not be patched error,object,pod
  2 Conflict, NotFound, Aborted: again after 1 ms
  2 Forbidden, lost answer: Warning FailedUpdate failed to patch pod app-1: no; again after 1 ms; scale: failed to patch pod app-1: no; warn a pod could not be patched error,object,pod
  another owner: > get clonesets app high; again after 1 ms

a disruption
strategic patch pods app-1 status high {"metadata":{"uid":"1","labels":{"on":"1"}}}
  ok: budgets are asked; holds pod 2 while pending; Normal Succeeded well done; again after 0 ms; update: well
  1 Conflict, NotFound, Aborted: budgets are asked; again after 1 ms
  1 Forbidden, lost answer: budgets are asked; Warning Refused words: no; again after 1 ms; update: condition: no; warn a pod could not be patched error,object,pod
  no budget: budgets are asked; again after 1000 ms
  nobody answers: budgets are asked; Warning Refused words: no; again after 1 ms; update: condition: no; warn a pod could not be patched error,object,pod

the end of a pod
delete pods app-1 high {"uid":"1","resourceVersion":"1"}
delete persistentvolumeclaims data-1 high {"uid":"2"}
  ok: holds no pod while pending; holds no claim while pending; again after 0 ms; scale: well
  1 Conflict, Aborted: again after 1 ms
  1 NotFound: > delete persistentvolumeclaims data-1 high; holds no pod while pending; holds no claim while pending; again after 0 ms; scale: well
  1 Forbidden, lost answer: Warning FailedDelete failed to delete pod app-1: no; again after 1 ms; scale: failed to delete pod app-1: no
  2 Conflict, Aborted: holds no pod while pending; again after 1 ms
  2 NotFound: holds no pod while pending; holds no claim while pending; again after 0 ms; scale: well
  2 Forbidden, lost answer: holds no pod while pending; Warning FailedDelete failed to delete pvc data-1: no; again after 1 ms; scale: failed to delete pvc data-1: no

the end of a pod with words
delete pods app-1 high {"uid":"1","resourceVersion":"1"}
  ok: holds no pod while pending; Normal Succeeded well done; again after 0 ms; scale: well
  1 Conflict, Aborted: again after 1 ms
  1 NotFound: holds no pod while pending; again after 0 ms; scale: well
  1 Forbidden, lost answer: Warning Refused words: no; again after 1 ms

a claim
create persistentvolumeclaims high set-1 creations {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-1","namespace":"d"},"spec":{}}
  ok: holds claim 2; Normal Succeeded well done; again after 0 ms
  1 Conflict, NotFound, Forbidden, lost answer, no namespace, NamespaceTerminating: Warning Refused words: no; again after 1 ms; scale: failed to create pvc: no, pvc: {"namespace":"d","name":"data-1"}
  1 Aborted: again after 1 ms
  1 AlreadyExists: again after 0 ms
  1 going already: Warning Refused words: being deleted: no; again after 1 ms; scale: failed to create pvc: being deleted: no, pvc: {"namespace":"d","name":"data-1"}

a changed claim
strategic patch persistentvolumeclaims data-1 high {"spec":{"a":1}}
  ok: holds claim 2; again after 0 ms
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: Warning FailedUpdate failed to update PVC data-1: no; again after 1 ms; warn patch claim failed error,object

a changed claim with words
strategic patch persistentvolumeclaims data-1 high {}
  ok: holds claim 2; Normal Succeeded well done; again after 0 ms
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: Warning Refused words: no; again after 1 ms; warn patch claim failed error,object

the end of a claim
delete persistentvolumeclaims data-1 high {"uid":"2"}
  ok: holds no claim; again after 0 ms
  1 Conflict, Aborted: again after 1 ms
  1 NotFound: holds no claim; again after 0 ms
  1 Forbidden, lost answer: Warning FailedDelete failed to clean up PVC data-1: no; again after 1 ms; warn delete claim failed error,object

a revision
get clonesets app high
create controllerrevisions high {"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"app-a","namespace":"d"},"revision":1,"data":{"a" : 1}}
  ok: holds revision 2; again at once
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: again after 1 ms; warn create revision failed error,object
  2 Conflict, NotFound, Aborted: again after 1 ms
  2 Forbidden, no namespace: again after 1 ms; warn create revision failed error,object
  2 lost answer, AlreadyExists, going already: > get controllerrevisions app-a high; holds revision 2; again at once
  2 NamespaceTerminating: again after 1 ms; debug create revision failed error,object

a changed revision
merge patch controllerrevisions app-a high {"revision":2}
  ok: holds revision 2; again at once
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: again after 1 ms; warn patch revision failed error,object

the end of a revision
delete controllerrevisions app-a high {"uid":"3","resourceVersion":"1"}
  ok: holds no revision; again at once
  1 Conflict, Aborted: again after 1 ms
  1 NotFound: holds no revision; again at once
  1 Forbidden, lost answer: again after 1 ms; warn delete revision failed error,object

a changed workload
merge patch clonesets app high {"metadata":{"uid":"set-1","resourceVersion":"1"},"spec":{"a":null}}
  ok: holds workload 2; again after 0 ms
  1 Conflict, NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: again after 1 ms; warn patch workload failed error,object

the end of a workload
delete clonesets app high {"uid":"set-1","resourceVersion":"1","propagationPolicy":"Background"}
  ok: holds no workload; again after 0 ms
  1 Conflict: > get clonesets app; holds workload 2; again after 1 ms
  1 NotFound, Aborted: again after 1 ms
  1 Forbidden, lost answer: again after 1 ms; warn delete workload failed error,object

a pull job
create imagepulljobs high {"apiVersion":"apps.kruise.io/v1beta1","kind":"ImagePullJob","metadata":{"name":"pull","namespace":"d"},"spec":{}}
  ok: holds pull; again after 0 ms
  1 Conflict, NotFound, Aborted, going already: again after 1 ms
  1 Forbidden, lost answer, no namespace: again after 1 ms; warn create object failed error,object
  1 AlreadyExists: again after 0 ms
  1 NamespaceTerminating: again after 1 ms; debug create object failed error,object

a pull job with words
create imagepulljobs high {"apiVersion":"apps.kruise.io/v1beta1","kind":"ImagePullJob","metadata":{"name":"pull","namespace":"d"},"spec":{}}
  ok: holds pull; Normal Succeeded well done; again after 0 ms
  1 Conflict, NotFound, Aborted, going already: again after 1 ms
  1 Forbidden, lost answer, no namespace: Normal Refused words: no; again after 1 ms; warn create object failed error,object
  1 AlreadyExists: Normal Succeeded well done; again after 0 ms
  1 NamespaceTerminating: Normal Refused words: no; again after 1 ms; debug create object failed error,object

the end of a pull job
delete imagepulljobs pull high {"uid":"4"}
  ok: again after 0 ms
  1 Conflict, Aborted: again after 1 ms
  1 NotFound: again after 0 ms
  1 Forbidden, lost answer: again after 1 ms; warn delete object failed error,object
`;

t.test("every sort of action comes to what the table says", async (t) => {
  const tables: string[] = [];
  for (const [name, [action, more]] of Object.entries(cases))
    tables.push(`${name}\n${await tableOf(action, more)}`);
  t.strictSame(tables, table.trim().split("\n\n"));
});
